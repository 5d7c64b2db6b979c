import CXXHash
import DocDB
import DocDBStorage
import Foundation
import Testing

/// `Schemas/change-log.md`, `document-state.md` and the files of SQL against the file that a store has written.
@Suite("The pages of stored bytes")
struct StoredBytesTests {
    /// A store that has been closed, with a folded block, a tail, deletions, an eviction and sums.
    private final class Written {
        let directory = FileManager.default.temporaryDirectory.appending(path: "docdb-schemas-\(UUID().uuidString)")
        let connection: SQLiteConnection

        init() throws {
            try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
            let path = directory.appending(path: "cars.docdb").path
            let db = try Database(at: path)
            let cars = db.collection("cars")
            for number in Int64(1)...1_100 {
                try cars.insert(["_id": .int(number), "make": "toyota", "n": .int(number % 7)])
            }
            try db.write { transaction in
                let cars = transaction.collection("cars")
                for number in Int64(2_001)...2_010 {
                    try cars.insert(["_id": .int(number), "deep": ["a": [1], "b": [:]]])
                }
                try transaction.collection("boats").insert(["_id": "b", "sail": nil])
            }
            try cars.createIndex(["n"])
            try cars.upsert(["_id": 1, "n": 100])
            try cars.increment("n", by: 5, id: 2)
            try cars.update(3) { $0.unset("make") }
            _ = try cars.remove(4)
            _ = try cars.evict(5, force: true)
            try db.close()
            connection = try SQLiteConnection(
                path: path + "/store.sqlite", mode: .readWriteCreate, busyTimeoutMilliseconds: 1_000)
        }

        deinit { try? FileManager.default.removeItem(at: directory) }

        func rows<R>(_ sql: String, _ body: (SQLiteStatement) throws -> R) throws -> [R] {
            let statement = try connection.prepareOnce(sql)
            var rows: [R] = []
            while try statement.step() { rows.append(try body(statement)) }
            return rows
        }

        func records() throws -> [StoredBytesReader.Record] {
            try rows("SELECT codec, raw_length, data FROM log ORDER BY seq") { row in
                try StoredBytesReader.records(
                    codec: row.int(0), rawLength: row.int(1), data: [UInt8](row.blob(2)))
            }.flatMap { $0 }
        }
    }

    private static func hash(_ bytes: [UInt8], _ seed: UInt64) -> UInt64 {
        bytes.withUnsafeBytes { XXH3_64bits_withSeed($0.baseAddress, $0.count, seed) }
    }

    @Test("the change log reads by its page, and tells what was done")
    func changeLog() throws {
        let written = try Written()
        let codecs = try written.rows("SELECT codec FROM log ORDER BY seq") { $0.int(0) }
        #expect(codecs.first == 1 && codecs.last == 0)
        let checksums = try written.rows("SELECT checksum, data FROM log") { row in
            UInt64(bitPattern: row.int(0)) == Self.hash([UInt8](row.blob(1)), 0)
        }
        #expect(checksums.allSatisfy { $0 })

        let records = try written.records()
        let commits = records.filter { !$0.entries.isEmpty }
        #expect(zip(records, records.dropFirst()).allSatisfy { $0.time < $1.time })
        #expect(records.allSatisfy { $0.kind == 3 || $0.stamps.first?.time == $0.time })
        func entries(_ index: Int) -> [StoredBytesReader.Entry] { commits[index].entries }
        // Each of the inserts has the next key; the transaction has eleven.
        for number in 0..<1_100 {
            let isErased = number == 4
            #expect(entries(number).map(\.key) == [Int64(number) + 1])
            #expect(entries(number).map(\.change) == [isErased ? .erased : .inserted])
        }
        #expect(entries(1_100).map(\.collection) == Array(repeating: 1, count: 10) + [2])
        #expect(entries(1_100).map(\.key) == Array(1_101...1_110) + [1])
        // Changes of the documents with the keys 1 to 4, then the eviction.
        for (place, key) in zip(1_101..., Int64(1)...4) {
            #expect(entries(place).map(\.key) == [key])
            guard case .changed(let distance, let undo) = entries(place)[0].change else {
                Issue.record("commit \(place) changed nothing")
                continue
            }
            #expect(Int(distance) == records.firstIndex { $0 == commits[place] }! - (Int(key) - 1))
            #expect(!undo.isEmpty)
        }
        #expect(entries(1_105).map(\.change) == [.evicted])
        #expect(commits.count == 1_106)
    }

    @Test("the sums of the change log are those of the documents that are there, as the page adds them up")
    func contentSums() throws {
        let written = try Written()
        var sum: UInt64 = 0
        for collection in [UInt64(1), 2] {
            let hashes = try written.rows("SELECT key, body, state FROM documents_\(collection)") { row in
                var state = [UInt8](row.blob(2))
                while state.last == 0 { state.removeLast() }
                let seed = collection &* 0x9E37_79B9_7F4A_7C15 &+ UInt64(bitPattern: row.int(0))
                let ofState = Self.hash(state, seed)
                return row.isNull(1) ? ofState ^ 0xD1B5_4A32_D192_ED03 : Self.hash([UInt8](row.blob(1)), ofState)
            }
            sum = hashes.reduce(sum, &+)
        }
        let told = try written.records().reduce(UInt64(0)) { $0 &+ $1.contentDelta }
        let start = try written.rows("SELECT value FROM meta WHERE name = 'oldest_sum'") { $0.int(0) }
        #expect(told &+ UInt64(bitPattern: start[0]) == sum)
    }

    @Test("states read by their page, to the end, and their stamps are those of the log")
    func states() throws {
        let written = try Written()
        let stamps = Set(try written.records().flatMap(\.stamps).map(\.time))
        let names = try written.rows("SELECT number, name FROM field_names") { ($0.int(0), $0.text(1)) }
        var forms: Set<UInt8> = []
        let schema = try BodySchemaTests.schema()
        for collection in 1...2 {
            let states = try written.rows("SELECT key, body, state FROM documents_\(collection)") { row in
                let body = row.isNull(1) ? nil : try DataItem(cbor: [UInt8](row.blob(1)))
                if let body { #expect(schema.describes(body, as: "body")) }
                var reader = StoredBytesReader([UInt8](row.blob(2)))
                forms.insert(row.blob(2)[0])
                return (row.int(0), try reader.state(leafCount: body.map { Self.leafCount($0, isRoot: true) } ?? 0))
            }
            for (key, state) in states {
                #expect(state.stamps.allSatisfy { stamps.contains($0.time) }, "key \(key)")
                #expect(state.stamps.map(\.time) == state.stamps.map(\.time).sorted(), "key \(key)")
            }
            guard collection == 1 else { continue }
            let byKey = Dictionary(uniqueKeysWithValues: states)
            // A field set again, a sum, an absent field, a deletion.
            #expect(byKey[1]?.stamps.count == 2 && byKey[1]?.leaves == [0, 1])
            #expect(byKey[2]?.leaves.contains(nil) == true && (byKey[2]?.extraCount ?? 0) >= 2)
            #expect(byKey[3]?.extraCount == 1)
            #expect(byKey[4]?.deleted.isEmpty == false)
            #expect(byKey[5] == nil)
        }
        #expect(forms == [0x10, 0x11])
        #expect(names.count == Set(names.map(\.1)).count)
    }

    /// The leaves of a body: members, however deep, that are no objects or empty ones.
    private static func leafCount(_ item: DataItem, isRoot: Bool) -> Int {
        guard case .map(let members) = item, isRoot || !members.isEmpty else { return 1 }
        return members.reduce(0) { $0 + leafCount($1.value, isRoot: false) }
    }

    @Test("the tables and indexes of a store are those of the files of SQL, and no others")
    func tables() throws {
        func normalized(_ sql: String) -> String {
            sql.split(separator: "\n").map { $0.prefix { $0 != "-" } }.joined(separator: " ")
                .split(whereSeparator: \.isWhitespace).joined(separator: " ")
        }
        var known: [String] = []
        for file in ["store.sql", "replication.sql", "voided.sql", "collection.sql", "index.sql"] {
            // What a line says behind dashes is a comment, and no name has a dash.
            known += normalized(try SchemaFiles.text(file)).split(separator: ";").map {
                $0.trimmingCharacters(in: .whitespaces)
            }
        }
        known = known.filter { $0.hasPrefix("CREATE") }
        let found = try Written().rows("SELECT sql FROM sqlite_master WHERE sql IS NOT NULL") { $0.text(0) }
            .filter { !$0.hasPrefix("CREATE TABLE sqlite_") }
        #expect(found.count > 10)
        for sql in found {
            let text = normalized(sql).replacing(/(documents|index)_(\d+)/) { "\($0.output.1)_{N}" }
            #expect(
                known.contains { $0.replacing(/(documents|index)_\{\w+\}/) { "\($0.output.1)_{N}" } == text }, "\(text)"
            )
        }
        for statement in known {
            let name = statement.split(separator: " ")[2]
            #expect(found.contains { $0.contains(name.replacing("{N}", with: "1")) }, "\(name) is in no store")
        }
    }
}
