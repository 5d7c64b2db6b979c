import DocDBCore
import DocDBSimulation
import Synchronization
import Testing

@Suite("The time of a simulation")
struct SimulatedTimeTests {
    /// Notes what happened, in order.
    final class Journal: Sendable {
        private let entries = Lock<[String]>([])
        func note(_ entry: String) { entries.withLock { $0.append(entry) } }
        var all: [String] { entries.withLock { $0 } }
    }

    @Test("fires timers in the order of their times, each at its own, those scheduled meanwhile too")
    func order() {
        let time = SimulatedTime(seed: 1)
        let journal = Journal()
        for milliseconds in [30, 10, 20, 50] {
            time.schedule(after: .milliseconds(milliseconds)) {
                journal.note("\(milliseconds) at \(time.nanoseconds / 1_000_000)")
                if milliseconds == 10 { time.schedule(after: .milliseconds(15)) { journal.note("25") } }
            }
        }
        let cancelled = time.schedule(after: .milliseconds(15)) { journal.note("never") }
        time.cancel(cancelled)
        time.advance(by: .milliseconds(40))
        #expect(journal.all == ["10 at 10", "20 at 20", "25", "30 at 30"])
        #expect(time.nanoseconds == 40_000_000)
        #expect(time.nextTimerNanoseconds == 50_000_000)
        #expect(time.advanceToNextTimer())
        #expect(time.nanoseconds == 50_000_000)
        #expect(!time.advanceToNextTimer())
    }

    @Test("fires timers of one moment in an order that the seed draws")
    func ties() {
        func order(_ seed: UInt64) -> [String] {
            let time = SimulatedTime(seed: seed)
            let journal = Journal()
            for name in ["a", "b", "c"] { time.schedule(after: .seconds(1)) { journal.note(name) } }
            time.advance(by: .seconds(1))
            return journal.all
        }
        #expect(Set((0..<200).map { order($0) }).count == 6)
        #expect(order(3) == order(3))
    }

    @Test("gives clocks that are wrong, jump and drift, and never touch the monotonic time")
    func clocks() {
        let time = SimulatedTime(seed: 1, startNanosecondsSince1970: 1_000_000_000_000)
        let clock = time.makeClock(skew: .seconds(-3))
        #expect(clock.wallNanoseconds == 997_000_000_000)
        clock.jump(by: .seconds(10))
        #expect(clock.wallNanoseconds == 1_007_000_000_000)
        clock.setDrift(partsPerMillion: 1_000)
        time.advance(by: .seconds(100))
        #expect(clock.wallNanoseconds == 1_107_100_000_000)
        #expect(clock.monotonicNanoseconds == 100_000_000_000)
        clock.setDrift(partsPerMillion: 0)
        clock.set(toNanosecondsSince1970: 0)
        #expect(clock.wallNanoseconds == 0)
        clock.jump(by: .seconds(-5))
        #expect(clock.wallNanoseconds == 0)
        clock.correct()
        #expect(clock.wallNanoseconds == 1_100_000_000_000)
        for seed in 0..<50 as Range<UInt64> {
            let drawn = SimulatedTime(seed: seed).makeClock(maximumSkew: .seconds(2))
            #expect(abs(Int64(drawn.wallNanoseconds) - 1_798_761_600_000_000_000) <= 2_000_000_000)
        }
    }
}
