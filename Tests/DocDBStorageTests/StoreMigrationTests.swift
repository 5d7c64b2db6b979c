import DocDBCore
import DocDBStorage
import Foundation
import Testing

/// Stores that version 1 of the format wrote; `Tests/Golden/store-version-1.sql` is the dump of one.
@Suite("Migration of a store from version 1")
struct StoreMigrationTests {
    static func restore(_ place: TemporaryStore) throws {
        let golden = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .appending(path: "Golden/store-version-1.sql")
        try FileManager.default.createDirectory(atPath: place.path, withIntermediateDirectories: false)
        try place.alter("PRAGMA page_size = 4096; PRAGMA journal_mode = WAL;")
        try place.alter(String(contentsOf: golden, encoding: .utf8))
    }

    static func check(_ store: Store) throws {
        let cars = try store.all()
        // 40 were written, number 3 removed and number 5 evicted.
        #expect(cars.count == 38 && cars[3] == nil && cars[5] == nil)
        #expect(cars[1] == ["make": "volvo", "price": 1, "sold": true])
        #expect(cars[2] == ["make": "toyota", "price": 207, "sold": true])
        #expect(cars[39] == ["make": "volvo", "price": 3900])
        let shop = try DocumentID(Value.object(["shop": "north", "n": 1]))
        let shops = try store.all(in: "shops")
        #expect(shops.count == 2 && shops[shop] == ["owner": "Ann"])
        #expect(shops["a"] == ["flag": nil, "list": [1, 2.5, "x"]])
        #expect(try store.revisions(of: 1).map(\.sequence) == [5, 2, 1])
        #expect(try store.verify().isEmpty)
    }

    static func version(_ place: TemporaryStore) throws -> Int64? {
        let connection = try SQLiteConnection(path: place.database, mode: .readOnly, busyTimeoutMilliseconds: 1_000)
        return try connection.integer("PRAGMA user_version")
    }

    @Test("keeps documents, history and indexes, and adds what replication needs")
    func migrates() throws {
        let place = TemporaryStore("migration")
        try Self.restore(place)
        #expect(try Self.version(place) == 1)
        let store = try place.open()
        try Self.check(store)
        #expect(try store.statistics().replication.peerCount == 0)
        #expect(try store.statistics().collections.first?.indexes.first?.entryCount == 38)
        let before = try store.logRecords().last?.stamps.last?.actorNumber
        try store.put(["_id": 2, "price": 1])
        let last = try #require(try store.lastActor())
        #expect(try store.logRecords().last?.stamps.last?.actorNumber != before)
        #expect(try store.read { try $0.ownActors().map(\.id) } == [last], "an actor that can be proven")
        #expect(try store.read { try $0.currentActor() } == last)
        try store.close()
        #expect(try Self.version(place) == Store.formatVersion)
        #expect(try place.open().verify().isEmpty)
    }

    @Test("waits until the store is opened for writing; until then it is read as it is")
    func readsOld() throws {
        let place = TemporaryStore("migration")
        try Self.restore(place)
        let store = try place.open { $0.access = .readOnly }
        try Self.check(store)
        #expect(try store.statistics().replication.peerCount == 0)
        try store.close()
        #expect(try Self.version(place) == 1)
    }

    @Test("leaves the store of version 1 where it cannot be finished")
    func leavesOld() throws {
        let place = TemporaryStore("migration")
        try Self.restore(place)
        // The last table that the migration makes is in the way.
        try place.alter("CREATE TABLE deferred_evictions (x)")
        #expect(throws: DocDBError.self) { try place.open() }
        #expect(try Self.version(place) == 1)
        try place.alter("DROP TABLE deferred_evictions")
        try Self.check(place.open())
    }
}
