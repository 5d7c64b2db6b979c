import Dispatch
import DocDBCore
import DocDBReplication
import Synchronization

/// Clocks that stand still until they are advanced, for any number of executors.
final class ManualClock: Sendable {
    fileprivate struct State {
        var wall: UInt64
        var monotonic: UInt64 = 1_000_000_000
        var executors: [ManualExecutor] = []
    }

    fileprivate let state: Lock<State>

    init(seconds: Int64) { state = Lock(State(wall: UInt64(seconds) * 1_000_000_000)) }

    var monotonicNanoseconds: UInt64 { state.withLock { $0.monotonic } }
    var wallNanoseconds: UInt64 { state.withLock { $0.wall } }

    /// Makes an executor on a queue of its own.
    func makeExecutor() -> ManualExecutor {
        let executor = ManualExecutor(self)
        state.withLock { $0.executors.append(executor) }
        return executor
    }

    /// Lets time pass, and has all executors do what is due then.
    func advance(nanoseconds: UInt64) {
        let executors = state.withLock { state in
            state.wall += nanoseconds
            state.monotonic += nanoseconds
            return state.executors
        }
        for executor in executors { executor.runDue() }
    }

    /// Lets the wall clock go on while the device sleeps: the monotonic clock and all timers stand still.
    func suspend(seconds: UInt64) { state.withLock { $0.wall += seconds * 1_000_000_000 } }

    /// Sets the wall clock back, as somebody may who has the device.
    func setBack(seconds: UInt64) { state.withLock { $0.wall -= seconds * 1_000_000_000 } }
}

/// An executor on a queue whose timers are those of a manual clock.
final class ManualExecutor: ReplicationExecutor {
    private let clock: ManualClock
    private let queue = DispatchQueue(label: "manual")
    private let timers = Lock<[UInt64: (time: UInt64, work: @Sendable () -> Void)]>([:])

    fileprivate init(_ clock: ManualClock) { self.clock = clock }

    func enqueue(_ work: @escaping @Sendable () -> Void) { queue.async(execute: work) }

    func schedule(key: UInt64, atNanoseconds time: UInt64, _ work: @escaping @Sendable () -> Void) {
        timers.withLock { $0[key] = (time, work) }
    }

    func cancel(key: UInt64) { timers.withLock { _ = $0.removeValue(forKey: key) } }

    var monotonicNanoseconds: UInt64 { clock.monotonicNanoseconds }
    var wallNanoseconds: UInt64 { clock.wallNanoseconds }

    fileprivate func runDue() {
        queue.sync {
            while let work = takeDue() { work() }
        }
    }

    private func takeDue() -> (@Sendable () -> Void)? {
        let now = monotonicNanoseconds
        return timers.withLock { timers in
            let due = timers.filter { $0.value.time <= now }
            guard let first = due.min(by: { ($0.value.time, $0.key) < ($1.value.time, $1.key) }) else { return nil }
            timers[first.key] = nil
            return first.value.work
        }
    }
}
