import DocDBCore
import Synchronization

/// The true time of a simulation, which moves only when told to, and the timers that wait for it.
///
/// Each peer has a ``SimulatedClock`` of it, which may be wrong. Timers fire in the order of their times; those of one
/// moment fire in an order that the seed draws, so that no test relies on one.
///
/// ```swift
/// let time = SimulatedTime(seed: 1)
/// let clock = time.makeClock(skew: .seconds(3))
/// time.schedule(after: .milliseconds(20)) { print("delivered at", clock.wallNanoseconds) }
/// time.advance(by: .seconds(1))
/// ```
public final class SimulatedTime: Sendable {
    /// Names a timer, to cancel it.
    public struct TimerID: Hashable, Sendable {
        fileprivate let number: UInt64
    }

    private struct Timer {
        var deadline: UInt64
        var tieBreaker: UInt64
        var number: UInt64
        var action: @Sendable () -> Void

        func comes(before other: Timer) -> Bool {
            (deadline, tieBreaker, number) < (other.deadline, other.tieBreaker, other.number)
        }
    }

    private struct State {
        var now: UInt64 = 0
        var random: SimulationRandom
        var timers = TimerHeap()
        var timerCount: UInt64 = 0
    }

    /// The wall time of the simulation's start, in nanoseconds since 1970.
    public let startNanosecondsSince1970: UInt64
    private let state: Lock<State>

    /// Creates a time that stands at its start.
    ///
    /// - Parameters:
    ///   - seed: what replays the order of timers of one moment, and the skews of clocks.
    ///   - startNanosecondsSince1970: the wall time of the start; the first second of 2027 unless given.
    public init(seed: UInt64, startNanosecondsSince1970: UInt64 = 1_798_761_600_000_000_000) {
        self.startNanosecondsSince1970 = startNanosecondsSince1970
        state = Lock(State(random: SimulationRandom(seed: seed)))
    }

    /// The nanoseconds since the start.
    public var nanoseconds: UInt64 { state.withLock { $0.now } }

    /// Makes a clock that goes wrong by this much from the start.
    public func makeClock(skew: Duration = .zero) -> SimulatedClock { SimulatedClock(self, skew: skew) }

    /// Makes a clock whose skew the seed draws, at most this much in either direction.
    public func makeClock(maximumSkew: Duration) -> SimulatedClock {
        let bound = max(0, maximumSkew.nanoseconds)
        return makeClock(skew: .nanoseconds(state.withLock { Int64.random(in: -bound...bound, using: &$0.random) }))
    }

    // MARK: Timers

    /// Has `action` run once this much time has passed, during ``advance(by:)`` or ``advanceToNextTimer()``.
    ///
    /// - Complexity: O(log n) of the timers that wait.
    @discardableResult
    public func schedule(after delay: Duration, _ action: @escaping @Sendable () -> Void) -> TimerID {
        state.withLock { state in
            state.timerCount += 1
            let (deadline, isBeyond) = state.now.addingReportingOverflow(UInt64(max(0, delay.nanoseconds)))
            state.timers.insert(
                Timer(
                    deadline: isBeyond ? .max : deadline, tieBreaker: state.random.next(), number: state.timerCount,
                    action: action))
            return TimerID(number: state.timerCount)
        }
    }

    /// Makes a timer never fire; does nothing where it has fired.
    ///
    /// - Complexity: O(n) of the timers that wait.
    public func cancel(_ timer: TimerID) { state.withLock { $0.timers.remove(number: timer.number) } }

    /// How many timers wait.
    public var timerCount: Int { state.withLock { $0.timers.count } }

    /// The nanoseconds since the start at which the next timer fires, or nil where none waits.
    public var nextTimerNanoseconds: UInt64? { state.withLock { $0.timers.first?.deadline } }

    /// Moves to the time of the next timer and fires it; false where none waits.
    @discardableResult
    public func advanceToNextTimer() -> Bool { fireNext(until: .max) }

    /// Moves the time by this much and fires what falls within it, each timer at its own time.
    ///
    /// Timers that these schedule fire too, where they fall within it.
    public func advance(by duration: Duration) {
        let (end, isBeyond) = nanoseconds.addingReportingOverflow(UInt64(max(0, duration.nanoseconds)))
        let last = isBeyond ? UInt64.max : end
        while fireNext(until: last) {}
        state.withLock { $0.now = max($0.now, last) }
    }

    private func fireNext(until last: UInt64) -> Bool {
        let timer: Timer? = state.withLock { state in
            guard let next = state.timers.first, next.deadline <= last else { return nil }
            state.timers.removeFirst()
            state.now = max(state.now, next.deadline)
            return next
        }
        timer?.action()
        return timer != nil
    }

    /// The timers that wait, the next one first: a binary heap.
    private struct TimerHeap {
        private var timers: [Timer] = []

        var first: Timer? { timers.first }
        var count: Int { timers.count }

        mutating func insert(_ timer: Timer) {
            timers.append(timer)
            rise(from: timers.count - 1)
        }

        mutating func removeFirst() { remove(at: 0) }

        mutating func remove(number: UInt64) {
            if let index = timers.firstIndex(where: { $0.number == number }) { remove(at: index) }
        }

        private mutating func remove(at index: Int) {
            timers.swapAt(index, timers.count - 1)
            timers.removeLast()
            guard index < timers.count else { return }
            rise(from: index)
            sink(from: index)
        }

        private mutating func rise(from start: Int) {
            var index = start
            while index > 0, timers[index].comes(before: timers[(index - 1) / 2]) {
                timers.swapAt(index, (index - 1) / 2)
                index = (index - 1) / 2
            }
        }

        private mutating func sink(from start: Int) {
            var index = start
            while true {
                var least = index
                for child in [2 * index + 1, 2 * index + 2] where child < timers.count {
                    if timers[child].comes(before: timers[least]) { least = child }
                }
                guard least != index else { return }
                timers.swapAt(index, least)
                index = least
            }
        }
    }
}

/// One peer's clock in a simulation: a wall clock that may be wrong, jump and drift, and a monotonic one that does not.
public final class SimulatedClock: Sendable {
    private struct State {
        /// The wall clock's error, in nanoseconds, at the true time `since`.
        var offset: Int64
        var since: UInt64 = 0
        /// How many nanoseconds the wall clock gains in a million.
        var drift: Int64 = 0
    }

    private let time: SimulatedTime
    private let state: Lock<State>

    init(_ time: SimulatedTime, skew: Duration) {
        self.time = time
        state = Lock(State(offset: skew.nanoseconds))
    }

    /// What the wall clock shows, in nanoseconds since 1970; never before that.
    public var wallNanoseconds: UInt64 {
        let now = time.nanoseconds
        let offset = state.withLock { Self.offset($0, at: now) }
        let (wall, isBeyond) = time.startNanosecondsSince1970.addingReportingOverflow(now)
        guard !isBeyond else { return .max }
        if offset < 0 { return wall - min(wall, offset.magnitude) }
        let (sum, isSumBeyond) = wall.addingReportingOverflow(offset.magnitude)
        return isSumBeyond ? .max : sum
    }

    /// The nanoseconds since the start of the simulation, which no skew, jump or drift changes.
    public var monotonicNanoseconds: UInt64 { time.nanoseconds }

    /// Moves the wall clock, forwards or backwards.
    public func jump(by duration: Duration) {
        let now = time.nanoseconds
        state.withLock { state in
            let (offset, isBeyond) = Self.offset(state, at: now).addingReportingOverflow(duration.nanoseconds)
            state.offset = isBeyond ? (duration.nanoseconds < 0 ? .min : .max) : offset
            state.since = now
        }
    }

    /// Sets the wall clock, in nanoseconds since 1970.
    public func set(toNanosecondsSince1970 wall: UInt64) {
        let now = time.nanoseconds
        let right = Int64(clamping: time.startNanosecondsSince1970) &+ Int64(clamping: now)
        state.withLock { state in
            state.offset = Int64(clamping: wall) &- right
            state.since = now
        }
    }

    /// Sets the wall clock right.
    public func correct() { set(toNanosecondsSince1970: time.startNanosecondsSince1970 &+ time.nanoseconds) }

    /// Makes the wall clock go too fast, or too slow where negative, by parts in a million.
    public func setDrift(partsPerMillion drift: Int) {
        let now = time.nanoseconds
        state.withLock { state in
            state.offset = Self.offset(state, at: now)
            state.since = now
            state.drift = Int64(min(max(drift, -1_000_000), 1_000_000))
        }
    }

    private static func offset(_ state: State, at now: UInt64) -> Int64 {
        guard state.drift != 0 else { return state.offset }
        let gain = Double(now - state.since) * Double(state.drift) / 1_000_000
        return state.offset &+ Int64(max(-4e18, min(4e18, gain)))
    }

    /// Has `action` run once this much time has passed; see ``SimulatedTime/schedule(after:_:)``.
    @discardableResult
    public func schedule(after delay: Duration, _ action: @escaping @Sendable () -> Void) -> SimulatedTime.TimerID {
        time.schedule(after: delay, action)
    }

    /// Makes a timer never fire.
    public func cancel(_ timer: SimulatedTime.TimerID) { time.cancel(timer) }
}

extension Duration {
    /// The duration in nanoseconds, at the end of the range where it passes it.
    var nanoseconds: Int64 {
        let (seconds, attoseconds) = components
        let (whole, isBeyond) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
        let (sum, isSumBeyond) = whole.addingReportingOverflow(attoseconds / 1_000_000_000)
        return isBeyond || isSumBeyond ? (seconds < 0 ? .min : .max) : sum
    }
}
