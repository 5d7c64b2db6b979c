import DocDBCore
import DocDBStorage
import Foundation
import Testing

/// Stores whose write-ahead log somebody has deleted, with the commits in it.
@Suite("A store that has lost its write-ahead log")
struct LostWriteAheadLogTests {
    /// A store as a killed process leaves it, in its own place: what lies in the write-ahead log is not in the database.
    static func killed() throws -> TemporaryStore {
        let place = TemporaryStore("lost")
        let (database, log) = (place.path + "/store.sqlite", place.path + "/store.sqlite-wal")
        let (databaseBytes, logBytes) = try {
            // Its connections close with the last reference to it.
            let store = try place.open()
            try store.put(["_id": 1])
            try store.checkpoint()
            try store.put(["_id": 2])
            let files = FileManager.default
            return (files.contents(atPath: database), files.contents(atPath: log))
        }()
        // The incarnation file stays the one that it was, by which a store is told from a copy of it.
        try #require(databaseBytes).write(to: URL(filePath: database))
        try #require(logBytes).write(to: URL(filePath: log))
        return place
    }

    @Test("is told by verification, whether it is opened for reading or for writing", arguments: [true, false])
    func told(isReading: Bool) throws {
        let place = try Self.killed()
        defer { withExtendedLifetime(place) {} }
        let sound = try place.open { $0.access = .readOnly }
        #expect(try sound.verify() == [])
        #expect(try sound.all().count == 2)
        try sound.close()
        try FileManager.default.removeItem(atPath: place.path + "/store.sqlite-wal")
        let store = try place.open { $0.access = isReading ? .readOnly : .readWrite }
        let findings = try store.verify()
        #expect(findings.map(\.location) == ["write-ahead log"])
        #expect(findings.first?.message.contains("not closed in order") == true)
        #expect(try store.all().keys.map { $0 } == [1])
    }

    @Test("keeps it where it is opened for writing and nothing is written", arguments: [true, false])
    func kept(isClosed: Bool) throws {
        let place = try Self.killed()
        for _ in 0..<2 {
            let store = try place.open()
            #expect(try store.all().count == 2)
            #expect(try store.verify() == [])
            if isClosed { try store.close() }
        }
        let actor = try place.open().lastActor()
        let store = try place.open()
        try store.put(["_id": 3])
        #expect(try store.lastActor() == actor, "nothing was lost, so nobody else has to write")
    }

    @Test("goes on under a new actor, and once closed in order has nothing left to tell")
    func goesOn() throws {
        let place = try Self.killed()
        let actor = try place.open { $0.access = .readOnly }.lastActor()
        try FileManager.default.removeItem(atPath: place.path + "/store.sqlite-wal")
        var store = try place.open()
        try store.put(["_id": 3])
        #expect(try store.lastActor() != actor)
        try store.close()
        store = try place.open { $0.access = .readOnly }
        #expect(try store.verify() == [])
    }
}
