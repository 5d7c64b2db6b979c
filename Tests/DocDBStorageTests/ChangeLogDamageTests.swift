import DocDBCore
import DocDBStorage
import Foundation
import Testing

/// Damage to rows of the change log: never a trap, always told by `verify`, and never in the way of documents or writes.
@Suite("A damaged change log", .timeLimit(.minutes(10)))
struct ChangeLogDamageTests {
    struct Abort: Error {}

    @Test("What a damaged number says comes after the last commit that can be, nothing does")
    func beyondAllCommits() throws {
        let place = TemporaryStore("beyond")
        let store = try Self.store(place)
        try store.read { context in
            let reader = ChangeLogReader(connection: context.connection)
            var count = 0
            try reader.forEachEntry(after: .max) { _, _ in count += 1 }
            #expect(count == 0)
        }
        try store.close()
    }

    /// One row of the log table.
    struct Row {
        var sequence: Int64
        var lastSequence: Int64
        var codec: Int64
        var rawLength: Int64
        var data: [UInt8]
        /// The checksum, or nil for the one that fits.
        var checksum: Int64?
    }

    /// A store with one folded block of ten commits, and three commits in the tail.
    static func store(_ place: TemporaryStore) throws -> Store {
        let store = try place.open()
        for round in 0..<10 {
            let text = String(repeating: "\(round)", count: 4_000)
            try store.write { transaction in
                try transaction.put(["_id": 1, "text": .string(text)])
                try transaction.put(["_id": .int(Int64(10 + round))])
            }
        }
        try store.write { transaction in
            for number in Int64(100)..<105 { try transaction.put(["_id": .int(number), "a": 1]) }
            try transaction.put(["_id": 1, "text": "short", "m": ["x": 1, "y": [1, 2]]])
        }
        try store.write { transaction in
            try transaction.put(["_id": 1, "m": ["x": 2]])
            _ = try transaction.remove(10)
            try transaction.put(["_id": 10, "again": true])
        }
        try store.put(["_id": 100, "a": 2], in: "cars")
        return store
    }

    static func rows(_ store: Store) throws -> [Row] {
        try store.read { context in
            let rows = try context.connection.prepareOnce(
                "SELECT seq, last_seq, codec, raw_length, data, checksum FROM log ORDER BY seq")
            var result: [Row] = []
            while try rows.step() {
                result.append(
                    Row(
                        sequence: rows.int(0), lastSequence: rows.int(1), codec: rows.int(2), rawLength: rows.int(3),
                        data: [UInt8](rows.blob(4)), checksum: rows.int(5)))
            }
            return result
        }
    }

    /// Puts a row in place of the one with number `sequence`.
    static func replace(_ sequence: Int64, by row: Row, in store: Store) throws {
        let checksum = row.checksum ?? row.data.withUnsafeBytes { Int64(bitPattern: ContentHash.checksum($0)) }
        try store.write {
            try $0.context.connection.execute(
                """
                UPDATE log SET seq = \(row.sequence), last_seq = \(row.lastSequence), codec = \(row.codec),
                    raw_length = \(row.rawLength), data = \(row.data.sqlLiteral), checksum = \(checksum)
                WHERE seq = \(sequence)
                """)
        }
    }

    /// Does all that reads the log, and returns the codes of what failed; anything but a `DocDBError` is a failure.
    static func exercise(_ store: Store) -> [DocDBError.Code] {
        var codes: [DocDBError.Code] = []
        func attempt(_ body: () throws -> Void) {
            do {
                try body()
            } catch let error as DocDBError {
                codes.append(error.code)
            } catch is CBORError {
                // The decoding of a value in these tests, which the layer above reports in its own way.
                codes.append(.corrupted)
            } catch is Abort {
            } catch {
                Issue.record("\(error)")
            }
        }
        for id in [1, 10, 11, 100] as [DocumentID] { attempt { _ = try store.revisions(of: id) } }
        for sequence in [0, 5, 11] as [Int64] { attempt { _ = try store.all(asOf: sequence) } }
        attempt { _ = try store.logRecords() }
        attempt { _ = try store.statistics() }
        attempt { _ = try store.read { try $0.sequence(at: HybridTime(nanosecondsSince1970: 1)) } }
        for id in [1, 100] as [DocumentID] {
            attempt {
                try store.write { transaction in
                    _ = try transaction.evict(id)
                    throw Abort()
                }
            }
        }
        return codes
    }

    static func expectDamage(_ store: Store, at sequence: Int64, _ comment: Comment) throws {
        let findings = try store.verify()
        #expect(findings.contains { $0.message.contains("damaged at \(sequence)") }, "\(comment): \(findings)")
        #expect(Self.exercise(store).contains(.corrupted), comment)
        #expect(try store.get(1) == ["text": "short", "m": ["x": 2, "y": [1, 2]]], comment)
        try store.put(["_id": 5_000, "n": .int(try store.lastSequence())])
    }

    @Test("is told by its checksum, whichever byte of a block changed")
    func blockBytes() throws {
        let place = TemporaryStore("damage")
        let store = try Self.store(place)
        let row = try #require(try Self.rows(store).first)
        #expect(row.codec == 1 && row.lastSequence == 10)
        for offset in stride(from: 0, to: row.data.count, by: max(1, row.data.count / 50)) {
            var damaged = row
            damaged.data[offset] ^= 1 << UInt8(offset % 8)
            try Self.replace(1, by: damaged, in: store)
            try Self.expectDamage(store, at: 1, "byte \(offset)")
        }
        try Self.replace(1, by: row, in: store)
        #expect(try store.verify().isEmpty)
    }

    @Test("is told by its checksum, whichever byte of a tail record changed, and is never folded")
    func tailBytes() throws {
        let place = TemporaryStore("damage")
        var store = try Self.store(place)
        let row = try Self.rows(store)[1]
        #expect(row.codec == 0 && row.sequence == 11)
        for offset in stride(from: 0, to: row.data.count, by: max(1, row.data.count / 50)) {
            var damaged = row
            damaged.data[offset] ^= 1 << UInt8(offset % 8)
            try Self.replace(11, by: damaged, in: store)
            try Self.expectDamage(store, at: 11, "byte \(offset)")
        }
        // Reopened, and with a tail that is folded behind the damage.
        try store.close()
        store = try place.open()
        for round in 0..<12 {
            try store.put(["_id": 2, "text": .string(String(repeating: "\(round)", count: 4_000))])
        }
        #expect(try store.statistics().log.blockCount >= 2)
        try Self.expectDamage(store, at: 11, "folded")
        try Self.replace(11, by: row, in: store)
        #expect(try store.verify().isEmpty)
    }

    @Test(
        "is refused where the row's numbers lie",
        arguments: [
            "raw_length = 4611686018427387904", "raw_length = 536870912", "raw_length = -1", "raw_length = 0",
            "raw_length = raw_length + 1", "codec = 0", "codec = 2", "codec = 7", "codec = -1", "last_seq = 9",
            "last_seq = 11", "last_seq = 9223372036854775807", "last_seq = 0", "last_seq = -9223372036854775808",
            "seq = 0", "seq = -9223372036854775808", "seq = 2", "data = x''", "data = zeroblob(1000000)",
            "checksum = 0",
        ])
    func rowNumbers(change: String) throws {
        let place = TemporaryStore("damage")
        let store = try Self.store(place)
        try store.write { try $0.context.connection.execute("UPDATE log SET \(change) WHERE seq = 1") }
        #expect(try !store.verify().isEmpty)
        #expect(Self.exercise(store).contains(.corrupted))
        #expect(try store.get(1) == ["text": "short", "m": ["x": 2, "y": [1, 2]]])
        try store.put(["_id": 5_000])
        try store.close()
        let reopened = try place.open()
        try reopened.put(["_id": 5_001])
        #expect(try reopened.get(5_000) == [:])
    }

    @Test(
        "at its newest row is refused or read, and never traps",
        arguments: [
            "raw_length = 9223372036854775807", "raw_length = -9223372036854775808", "codec = 1", "codec = 9",
            "last_seq = 9223372036854775807", "last_seq = -1", "seq = 9223372036854775807",
            "seq = 9223372036854775807, last_seq = 9223372036854775807", "seq = -1", "seq = 14", "data = x''",
            "last_time = -1", "last_time = 9223372036854775807",
        ])
    func newestRow(change: String) throws {
        let place = TemporaryStore("damage")
        try Self.store(place).close()
        try place.alter("UPDATE log SET \(change) WHERE seq = 13")
        do {
            let store = try place.open()
            _ = Self.exercise(store)
            _ = try store.verify()
            #expect(try store.get(1) == ["text": "short", "m": ["x": 2, "y": [1, 2]]])
            for number in Int64(0)..<5 { try store.put(["_id": .int(number)]) }
            try store.close()
        } catch let error as DocDBError {
            #expect(error.code == .corrupted)
        }
        // Whatever became of the log, the documents are read.
        let reader = try place.open { $0.access = .readOnly }
        #expect(try reader.get(1)?["text"] == "short")
    }

    @Test(
        "whose start is unknown is told",
        arguments: [
            "UPDATE meta SET value = 2 WHERE name = 'oldest_seq'",
            "UPDATE meta SET value = 11 WHERE name = 'oldest_seq'",
            "UPDATE meta SET value = 9223372036854775807 WHERE name = 'oldest_seq'",
            "UPDATE meta SET value = -9223372036854775808 WHERE name = 'oldest_seq'",
            "UPDATE meta SET value = 1 WHERE name = 'oldest_sum'", "DELETE FROM log WHERE seq = 1",
            "DELETE FROM log WHERE seq = 11", "DELETE FROM log",
        ])
    func start(change: String) throws {
        let place = TemporaryStore("damage")
        try Self.store(place).close()
        try place.alter(change)
        let reader = try place.open { $0.access = .readOnly }
        #expect(try !reader.verify().isEmpty)
        _ = Self.exercise(reader)
        #expect(try reader.get(1)?["text"] == "short")
        #expect(docdbError { try place.open().put(["_id": 3]) }.map { $0.code == .corrupted } ?? true)
    }

    @Test("does not keep the log from being written when its oldest block should be cut")
    func damagedBlockStopsCutting() throws {
        var random = SeededGenerator(seed: 5)
        let place = TemporaryStore("damage")
        let store = try place.open { $0.historyByteCount = 100_000 }
        _ = try ChangeLogTests.fill(store, commits: 20, &random)
        var row = try #require(try Self.rows(store).first)
        let sound = row
        row.data[100] ^= 1
        try Self.replace(1, by: row, in: store)
        _ = try ChangeLogTests.fill(store, commits: 60, &random)
        #expect(try store.lastSequence() == 80)
        #expect(try store.oldestSequence() == 1)
        #expect(try !store.verify().isEmpty)
        try Self.replace(1, by: sound, in: store)
        #expect(try store.verify().isEmpty)
        _ = try ChangeLogTests.fill(store, commits: 20, &random)
        #expect(try store.oldestSequence() > 1)
    }

    @Test("with records of somebody's making, checksums in order, never traps", arguments: 0..<8)
    func hostileRecords(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        let place = TemporaryStore("damage")
        let store = try Self.store(place)
        let rows = try Self.rows(store)
        for _ in 0..<40 {
            var row = rows[Int.random(in: 1...3, using: &random)]
            let sound = row
            for _ in 0..<Int.random(in: 1...4, using: &random) {
                let offset = Int.random(in: 0..<max(1, row.data.count), using: &random)
                switch Int.random(in: 0..<6, using: &random) {
                case 0: row.data.insert(UInt8.random(in: 0...8, using: &random), at: offset)
                case 1: row.data.removeSubrange(offset..<min(row.data.count, offset + 1))
                case 2: row.data.removeLast(min(row.data.count, Int.random(in: 1...8, using: &random)))
                case 3 where offset < row.data.count: row.data[offset] = 0xFF
                default:
                    if offset < row.data.count { row.data[offset] ^= 1 << UInt8.random(in: 0..<8, using: &random) }
                }
            }
            row.checksum = nil
            row.rawLength = Int64(row.data.count)
            try Self.replace(row.sequence, by: row, in: store)
            _ = try store.verify()
            _ = Self.exercise(store)
            try Self.replace(row.sequence, by: sound, in: store)
        }
        #expect(try store.verify().isEmpty, "seed \(seed)")
    }

    @Test("that tells of more insertions than there is room for is refused at once")
    func giantRuns() throws {
        let place = TemporaryStore("damage")
        let store = try Self.store(place)
        var row = try Self.rows(store)[1]
        for count in [100_000, 1 << 32, Int64.max] {
            // Kind, time, content delta, no stamps; collection 1; a run from key 1 on.
            var bytes = ByteBuffer()
            bytes.append([1] + [UInt8](repeating: 0, count: 16) + [0, 1, 1, 2, 2])
            bytes.appendVarint(UInt64(count))
            row.data = bytes.array
            row.rawLength = Int64(row.data.count)
            row.checksum = nil
            try Self.replace(11, by: row, in: store)
            #expect(try store.verify().contains { $0.message.contains("damaged at 11") })
            #expect(Self.exercise(store).contains(.corrupted))
        }
    }
}
