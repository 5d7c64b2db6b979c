import DocDBCore
import DocDBStorage
import Foundation
import Testing

@Suite("The change log")
struct ChangeLogTests {
    /// A text of `count` bytes that LZ4 cannot shorten.
    static func noise(_ count: Int, _ random: inout SeededGenerator) -> Value {
        .bytes((0..<count).map { _ in UInt8.random(in: .min ... .max, using: &random) })
    }

    static func log(_ store: Store) throws -> StoreStatistics.LogStatistics { try store.statistics().log }

    @Test("folds its tail at 1,024 records, and tells the same before and after")
    func foldsByCount() throws {
        let place = TemporaryStore("log")
        let store = try place.open()
        for number in 1...1023 { try store.put(["_id": .int(Int64(number)), "field\(number % 5)": 1]) }
        var log = try Self.log(store)
        #expect(log.blockCount == 0 && log.tailCount == 1023 && log.recordCount == 1023)
        #expect(log.byteCount == log.rawByteCount && log.rawByteCount < 32 * 1024)
        let before = try store.logRecords().map { "\($0)" }
        try store.put(["_id": 1024])
        log = try Self.log(store)
        #expect(log.blockCount == 1 && log.tailCount == 0 && log.recordCount == 1024)
        #expect(log.byteCount < log.rawByteCount)
        let after = try store.logRecords().map { "\($0)" }
        #expect(Array(after.dropLast()) == before)
        try store.put(["_id": 1025])
        log = try Self.log(store)
        #expect(log.blockCount == 1 && log.tailCount == 1)
        #expect(try store.verify().isEmpty)
        try store.close()
        let reopened = try place.open()
        #expect(try reopened.logRecords().dropLast().map { "\($0)" } == after)
        #expect(try reopened.verify().isEmpty)
    }

    @Test("folds its tail at 32 KiB, whether it can be shortened or not", arguments: [true, false])
    func foldsBySize(isCompressible: Bool) throws {
        var random = SeededGenerator(seed: 7)
        let place = TemporaryStore("log")
        let store = try place.open()
        // The first makes the document; each of the others displaces 4,000 bytes: the ninth of them fills 32 KiB.
        for round in 0..<9 {
            let text: Value =
                isCompressible
                ? .string(String(repeating: "\(round)", count: 4_000)) : Self.noise(4_000, &random)
            try store.put(["_id": 1, "text": text])
            #expect(try Self.log(store).blockCount == 0, "round \(round)")
        }
        let before = try store.logRecords().map { "\($0)" }
        try store.put(["_id": 1, "text": "end"])
        #expect(try Array(store.logRecords().map { "\($0)" }.dropLast()) == before)
        let log = try Self.log(store)
        #expect(log.blockCount == 1 && log.tailCount == 0 && log.recordCount == 10)
        #expect(isCompressible ? log.byteCount < 2_000 : log.byteCount == log.rawByteCount)
        #expect(try store.revisions(of: 1).count == 10)
        #expect(try store.verify().isEmpty)
    }

    @Test("holds a transaction that is larger than a block")
    func holdsLarge() throws {
        var random = SeededGenerator(seed: 3)
        let place = TemporaryStore("log")
        let store = try place.open()
        let first = Self.noise(300_000, &random)
        try store.put(["_id": 1, "a": first])
        try store.put(["_id": 1, "a": Self.noise(300_000, &random)])
        try store.put(["_id": 1, "a": 3])
        #expect(try store.all(asOf: 1) == [1: ["a": first]])
        #expect(try store.verify().isEmpty)
    }

    /// Writes one document over and over with 3,000 bytes that cannot be shortened; returns what stood after each commit.
    static func fill(_ store: Store, commits: Int, _ random: inout SeededGenerator) throws -> [Int64: Value] {
        var past: [Int64: Value] = [:]
        for _ in 0..<commits {
            let value = Self.noise(3_000, &random)
            let sequence = try store.write { transaction in
                try transaction.put(["_id": 1, "a": value])
                return transaction.sequence
            }
            past[sequence] = ["a": value]
        }
        return past
    }

    @Test("is cut at its old end beyond a number of bytes", arguments: [0, 50_000, 200_000])
    func cutsBySize(limit: Int64) throws {
        var random = SeededGenerator(seed: 11)
        let place = TemporaryStore("log")
        let store = try place.open { $0.historyByteCount = limit }
        let past = try Self.fill(store, commits: 120, &random)
        let log = try Self.log(store)
        let newestBlock = 36_000
        #expect(log.byteCount <= limit + 2 * Int64(newestBlock))
        #expect(log.byteCount >= min(limit, 100_000) - Int64(newestBlock))
        let oldest = log.oldestSequence
        #expect(oldest > 1 && oldest == log.lastSequence - log.recordCount + 1)
        #expect(try store.verify().isEmpty)
        for sequence in (oldest - 1)...120 {
            #expect(try store.all(asOf: sequence)[1] == past[sequence], "commit \(sequence)")
        }
        for sequence in [0, 1, oldest - 2] {
            #expect(errorCode { _ = try store.all(asOf: sequence) } == .historyNotRetained)
        }
        let revisions = try store.revisions(of: 1)
        #expect(revisions.map(\.sequence) == Array((oldest...120).reversed()))
        #expect(try revisions.allSatisfy { try $0.value(store.names) == past[$0.sequence] })
        try store.close()
        let reopened = try place.open()
        #expect(try reopened.oldestSequence() == oldest)
        #expect(try reopened.verify().isEmpty)
        try reopened.put(["_id": 1, "a": 1])
        #expect(try reopened.lastSequence() == 121)
    }

    @Test("is cut at its old end beyond an age")
    func cutsByAge() throws {
        var random = SeededGenerator(seed: 12)
        let place = TemporaryStore("log")
        let clock = ManualClock()
        let store = try place.open {
            $0.clock = { clock.now }
            $0.historyAgeNanoseconds = 3_600 * 1_000_000_000
        }
        _ = try Self.fill(store, commits: 40, &random)
        #expect(try store.oldestSequence() == 1)
        clock.advance(seconds: 3_000)
        _ = try Self.fill(store, commits: 20, &random)
        #expect(try store.oldestSequence() == 1)
        clock.advance(seconds: 1_000)
        _ = try Self.fill(store, commits: 20, &random)
        // What was made 4,000 seconds ago has gone, but for a block that is newer in part.
        let oldest = try store.oldestSequence()
        #expect(oldest > 20 && oldest <= 41)
        #expect(try store.verify().isEmpty)
    }

    @Test("goes on after it was cut while documents were deleted, evicted and made anew", arguments: 0..<4)
    func cutsUnderChanges(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        let place = TemporaryStore("log")
        let store = try place.open { $0.historyByteCount = 10_000 }
        for round in 0..<150 {
            let id = DocumentID(Int64.random(in: 0..<4, using: &random))
            switch Int.random(in: 0..<8, using: &random) {
            case 0: _ = try store.write { try $0.remove(id) }
            case 1: _ = try store.write { try $0.evict(id) }
            default: try store.put(["_id": id.value, "a": Self.noise(2_000, &random), "n": .int(Int64(round))])
            }
        }
        #expect(try store.oldestSequence() > 1)
        let findings = try store.verify()
        #expect(findings.isEmpty, "seed \(seed): \(findings)")
    }
}
