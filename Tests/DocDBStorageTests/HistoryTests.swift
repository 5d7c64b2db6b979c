import DocDBCore
import DocDBStorage
import Foundation
import Testing

@Suite("The history of documents")
struct HistoryTests {
    /// Each version as its commit and its document, newest first.
    static func history(_ store: Store, _ id: DocumentID) throws -> [(Int64, Value?)] {
        try store.revisions(of: id).map { ($0.sequence, try $0.value(store.names)) }
    }

    static func expect(
        _ found: [(Int64, Value?)], _ expected: [(Int64, Value?)],
        _ location: SourceLocation = #_sourceLocation
    ) {
        #expect(found.map(\.0) == expected.map(\.0), sourceLocation: location)
        #expect(found.map(\.1) == expected.map(\.1), sourceLocation: location)
    }

    @Test("tells of insertion, change, deletion and a new life")
    func tells() throws {
        let place = TemporaryStore("history")
        let clock = ManualClock()
        let store = try place.open { $0.clock = { clock.now } }
        try store.put(["_id": 1, "a": 1])
        clock.advance(seconds: 10)
        _ = try store.write { try $0.set(["a"], to: 2, of: 1) }
        clock.advance(seconds: 10)
        _ = try store.write { try $0.remove(1) }
        clock.advance(seconds: 10)
        try store.put(["_id": 1, "b": 1])
        Self.expect(try Self.history(store, 1), [(4, ["b": 1]), (3, nil), (2, ["a": 2]), (1, ["a": 1])])
        let revisions = try store.revisions(of: 1)
        let start: UInt64 = 1_800_000_000_000_000_000
        #expect(
            revisions.map { $0.time.nanosecondsSince1970 }
                == [30, 20, 10, 0].map {
                    (start + $0 * 1_000_000_000) & ~0xFFFF
                })
        #expect(Set(revisions.flatMap(\.actors)).count == 1)
        #expect(revisions.map(\.kind) == [.local, .local, .local, .local])
        #expect(revisions[3].paths == nil)
        #expect(revisions[2].paths?.count == 1)
        #expect(try store.all(asOf: 0) == [:])
        #expect(try store.all(asOf: 1) == [1: ["a": 1]])
        #expect(try store.all(asOf: 2) == [1: ["a": 2]])
        #expect(try store.all(asOf: 3) == [:])
        #expect(try store.all(asOf: 4) == [1: ["b": 1]])
        try store.close()
        Self.expect(try Self.history(place.open(), 1), [(4, ["b": 1]), (3, nil), (2, ["a": 2]), (1, ["a": 1])])
    }

    @Test("makes one version of many changes in one transaction")
    func oneVersion() throws {
        let place = TemporaryStore("history")
        let store = try place.open()
        try store.put(["_id": 1, "a": 1, "m": ["x": 1, "y": 1]])
        try store.write { transaction in
            try transaction.set(["a"], to: 2, of: 1)
            try transaction.set(["a"], to: 3, of: 1)
            try transaction.put(["_id": 2, "other": true])
            try transaction.set(["m", "x"], to: 4, of: 1)
            try transaction.put(["_id": 1, "b": 5])
        }
        Self.expect(
            try Self.history(store, 1),
            [(2, ["a": 3, "b": 5, "m": ["x": 4, "y": 1]]), (1, ["a": 1, "m": ["x": 1, "y": 1]])])
        #expect(try store.revisions(of: 1)[0].paths?.count == 3)
        #expect(try store.all(asOf: 1) == [1: ["a": 1, "m": ["x": 1, "y": 1]]])
        #expect(try store.verify().isEmpty)
    }

    @Test("makes one version of a deletion and a new life in one transaction")
    func deleteAndCreate() throws {
        let place = TemporaryStore("history")
        let store = try place.open()
        try store.put(["_id": 1, "a": 1])
        try store.write { transaction in
            _ = try transaction.remove(1)
            try transaction.put(["_id": 1, "b": 2])
        }
        Self.expect(try Self.history(store, 1), [(2, ["b": 2]), (1, ["a": 1])])
        try store.write { transaction in
            for round in Int64(0)..<3 {
                _ = try transaction.remove(1)
                try transaction.put(["_id": 1, "c": .int(round)])
            }
            _ = try transaction.remove(1)
        }
        Self.expect(try Self.history(store, 1), [(3, nil), (2, ["b": 2]), (1, ["a": 1])])
        #expect(try store.all(asOf: 2) == [1: ["b": 2]])
        #expect(try store.verify().isEmpty)
        try StampTests.expectRising(store, "delete and create")
    }

    @Test("tells of a document that lived for one transaction only")
    func shortLife() throws {
        let place = TemporaryStore("history")
        let store = try place.open()
        try store.write { transaction in
            try transaction.put(["_id": 1, "a": 1])
            _ = try transaction.remove(1)
        }
        Self.expect(try Self.history(store, 1), [(1, nil)])
        #expect(try store.all(asOf: 0) == [:])
        #expect(try store.all(asOf: 1) == [:])
        #expect(try store.get(1) == nil)
        #expect(try store.verify().isEmpty)
    }

    @Test("does not grow by writes that change nothing")
    func unchanged() throws {
        let place = TemporaryStore("history")
        let store = try place.open()
        try store.put(["_id": 1, "a": 1, "m": ["x": 1]])
        #expect(try store.put(["_id": 1, "a": 1]) == .unchanged)
        #expect(try store.put(["_id": 1, "m": ["x": 1]]) == .unchanged)
        #expect(try store.put(["_id": 1, "a": 9], .insertIfAbsent) == .unchanged)
        #expect(errorCode { try store.put(["_id": 1, "a": 9], .insert) } == .documentExists)
        #expect(try store.write { try $0.remove(2) } == false)
        #expect(try store.lastSequence() == 1)
        Self.expect(try Self.history(store, 1), [(1, ["a": 1, "m": ["x": 1]])])
    }

    @Test("ends at an eviction, and begins anew after it")
    func eviction() throws {
        let place = TemporaryStore("history")
        let store = try place.open()
        try store.put(["_id": 1, "a": 1])
        try store.put(["_id": 2, "a": 1])
        _ = try store.write { try $0.evict(1) }
        Self.expect(try Self.history(store, 1), [])
        try store.put(["_id": 1, "a": 2])
        Self.expect(try Self.history(store, 1), [(4, ["a": 2])])
        #expect(try store.all(asOf: 3) == [2: ["a": 1]])
        #expect(try store.all(asOf: 2) == [2: ["a": 1]])
        #expect(try store.verify().isEmpty)
    }

    @Test("of several collections and documents is told apart")
    func collections() throws {
        let place = TemporaryStore("history")
        let store = try place.open()
        try store.write { transaction in
            try transaction.put(["_id": 1, "a": 1], in: "left")
            try transaction.put(["_id": 1, "a": 2], in: "right")
            try transaction.put(["_id": 2, "a": 3], in: "left")
        }
        try store.write { transaction in
            try transaction.put(["_id": 1, "a": 4], in: "right")
            _ = try transaction.remove(2, in: "left")
        }
        #expect(try store.all(in: "left", asOf: 1) == [1: ["a": 1], 2: ["a": 3]])
        #expect(try store.all(in: "right", asOf: 1) == [1: ["a": 2]])
        #expect(try store.all(in: "left", asOf: 2) == [1: ["a": 1]])
        #expect(try store.revisions(of: 1, in: "left").map(\.sequence) == [1])
        #expect(try store.revisions(of: 1, in: "right").map(\.sequence) == [2, 1])
        #expect(try store.revisions(of: 9, in: "left").isEmpty)
    }

    @Test("is refused for commits that are not there", arguments: [-1, 3, .max, .min])
    func bounds(sequence: Int64) throws {
        let place = TemporaryStore("history")
        let store = try place.open()
        try store.put(["_id": 1])
        try store.put(["_id": 2])
        #expect(errorCode { _ = try store.all(asOf: sequence) } == .historyNotRetained)
    }

    @Test("finds the commit of a time")
    func sequenceAtTime() throws {
        let place = TemporaryStore("history")
        let clock = ManualClock(1_800_000_000_000_000_000)
        let store = try place.open { $0.clock = { clock.now } }
        func sequence(_ seconds: UInt64) throws -> Int64 {
            let time = HybridTime(nanosecondsSince1970: (1_800_000_000 + seconds) * 1_000_000_000)
            return try store.read { try $0.sequence(at: time) }
        }
        #expect(try sequence(5) == 0)
        // Commits at 0, 10, 20 ... seconds; more than a block of them.
        for round in 0..<30 {
            try store.put(["_id": 1, "text": .string(String(repeating: "\(round % 10)", count: 4_000))])
            clock.advance(seconds: 10)
        }
        for (seconds, expected) in [(0, 1), (9, 1), (10, 2), (15, 2), (105, 11), (289, 29), (290, 30), (5_000, 30)] {
            #expect(try sequence(UInt64(seconds)) == Int64(expected), "\(seconds) seconds")
        }
        let before = HybridTime(nanosecondsSince1970: 1_799_999_999_000_000_000)
        #expect(try store.read { try $0.sequence(at: before) } == 0)
        // An eviction makes no stamp, and its record lies in time all the same.
        _ = try store.write { try $0.evict(1) }
        try store.put(["_id": 2])
        #expect(try sequence(299) == 30)
        #expect(try sequence(300) == 32)
        clock.goBack(seconds: 200)
        _ = try store.write { try $0.evict(2) }
        #expect(try sequence(299) == 30)
        #expect(try sequence(400) == 33)
    }

    @Test("finds no commit of a time that may have been cut")
    func sequenceAtCutTime() throws {
        var random = SeededGenerator(seed: 1)
        let place = TemporaryStore("history")
        let clock = ManualClock(1_800_000_000_000_000_000)
        let store = try place.open {
            $0.clock = { clock.now }
            $0.historyByteCount = 0
        }
        for _ in 0..<60 {
            _ = try ChangeLogTests.fill(store, commits: 1, &random)
            clock.advance(seconds: 10)
        }
        #expect(try store.oldestSequence() > 1)
        let old = HybridTime(nanosecondsSince1970: 1_800_000_015_000_000_000)
        #expect(errorCode { _ = try store.read { try $0.sequence(at: old) } } == .historyNotRetained)
        let late = HybridTime(nanosecondsSince1970: 1_800_000_595_000_000_000)
        #expect(try store.read { try $0.sequence(at: late) } == 60)
    }
}
