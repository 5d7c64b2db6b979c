import DocDBCore
import DocDBStorage
import Foundation
import Testing

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

@Suite("The stamps of commits")
struct StampTests {
    /// The times of all commits, oldest first, which must rise.
    static func expectRising(_ store: Store, _ comment: Comment) throws {
        let times = try store.logRecords().flatMap { record in record.stamps.map(\.time) }
        for (earlier, later) in zip(times, times.dropFirst()) {
            #expect(earlier < later, comment)
        }
    }

    @Test(
        "rise over reopening, rollback, eviction and clocks that jump either way; none is issued twice",
        arguments: 0..<6)
    func rise(seed: UInt64) throws {
        struct Abort: Error {}
        var random = SeededGenerator(seed: seed)
        let place = TemporaryStore("stamp")
        let clock = ManualClock()
        func open() throws -> Store { try place.open { $0.clock = { clock.now } } }
        var store = try open()
        var seen: Set<HybridTime> = []
        var last = HybridTime.zero
        for round in 0..<150 {
            switch Int.random(in: 0..<12, using: &random) {
            case 0:
                try store.close()
                store = try open()
            case 1: clock.goBack(seconds: UInt64.random(in: 1...100_000, using: &random))
            case 2: clock.advance(seconds: UInt64.random(in: 1...100_000, using: &random))
            case 3:
                #expect(throws: Abort.self) {
                    try store.write { transaction in
                        try transaction.put(["_id": 1, "n": .int(Int64(round))])
                        throw Abort()
                    }
                }
            case 4: _ = try store.write { try $0.evict(1) }
            default: try store.put(["_id": .int(Int64(round % 5)), "n": .int(Int64(round))])
            }
            guard let record = try store.logRecords().last, record.time > last else { continue }
            for stamp in record.stamps { #expect(seen.insert(stamp.time).inserted, "seed \(seed), round \(round)") }
            last = record.time
        }
        try Self.expectRising(store, "seed \(seed)")
        #expect(try store.verify().isEmpty, "seed \(seed)")
    }

    @Test("are one to a transaction, however much it writes")
    func areOne() throws {
        let place = TemporaryStore("stamp")
        let store = try place.open()
        try store.write { transaction in
            for number in Int64(0)..<100 { try transaction.put(["_id": .int(number)], in: "c\(number % 3)") }
            for number in Int64(0)..<100 { try transaction.put(["_id": .int(number), "a": 1], in: "c\(number % 3)") }
        }
        let record = try #require(try store.logRecords().first)
        #expect(record.stamps.count == 1)
        #expect(record.stamps[0].time == record.time)
        #expect(record.entries.count == 200)
    }

    @Test("follow the wall clock within a tick")
    func followClock() throws {
        let place = TemporaryStore("stamp")
        let clock = ManualClock(1_800_000_000_000_000_000)
        let store = try place.open { $0.clock = { clock.now } }
        try store.put(["_id": 1])
        clock.advance(seconds: 3_600)
        try store.put(["_id": 2])
        let times = try store.logRecords().map(\.time.nanosecondsSince1970)
        #expect(times == [1_800_000_000_000_000_000 & ~0xFFFF, 1_800_003_600_000_000_000 & ~0xFFFF])
    }

    @Test("lie after those of a process that was killed, though its clock was far ahead")
    func lieAfterCrash() async throws {
        let place = TemporaryStore("stamp")
        await #expect(processExitsWith: .signal(SIGKILL)) { [path = place.path as String] in
            var options = StoreOptions()
            options.clock = { 1_900_000_000_000_000_000 }
            let store = try Store(path: path, options: options)
            for number in Int64(0)..<5 { try store.put(["_id": .int(number)]) }
            kill(getpid(), SIGKILL)
        }
        let store = try place.open { $0.clock = { 1_800_000_000_000_000_000 } }
        try store.put(["_id": 5])
        try Self.expectRising(store, "after a kill")
        // What the crash may have lost had times up to the reservation: the next one lies beyond that.
        let times = try store.logRecords().map(\.time)
        #expect(times[5].nanosecondsSince1970 >= 1_900_000_000_000_000_000 + 10_000_000_000)
    }

    @Test("go on where the clock stands at either end of time", arguments: [0, 1, UInt64(Int64.max), UInt64.max])
    func survivesExtremes(now: UInt64) throws {
        let place = TemporaryStore("stamp")
        for round in 0..<3 {
            let store = try place.open { $0.clock = { now } }
            for number in 0..<3 {
                do throws {
                    try store.put(["_id": .int(Int64(round * 3 + number)), "a": 1])
                } catch let error as DocDBError {
                    #expect(error.code == .limitReached, "a clock at \(now)")
                }
            }
            try Self.expectRising(store, "a clock at \(now)")
            #expect(try store.verify().isEmpty)
            try store.close()
        }
    }

    @Test("of one transaction stay within what is reserved, however long it lasts")
    func longTransaction() throws {
        let place = TemporaryStore("stamp")
        let clock = ManualClock()
        let store = try place.open { $0.clock = { clock.now } }
        try store.write { transaction in
            clock.advance(seconds: 1_000_000)
            try transaction.put(["_id": 1])
        }
        try store.put(["_id": 2])
        try Self.expectRising(store, "a long transaction")
        let reserved = try store.read {
            try $0.connection.integer("SELECT value FROM meta WHERE name = 'clock_reserved'")
        }
        #expect(try store.logRecords().last.map { Int64($0.time.rawValue) <= reserved ?? 0 } == true)
    }
}
