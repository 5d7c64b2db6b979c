import Dispatch
import DocDBCore
import Synchronization

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// The executor of a peer in life: a serial dispatch queue, its clocks those of the system.
package final class DispatchExecutor: ReplicationExecutor {
    private struct Timers {
        var queue = TimerQueue()
        /// What the one timer source is set to; nil where it is not set.
        var armed: UInt64?
    }

    private let queue = DispatchQueue(label: "docdb.replication", qos: .userInitiated)
    private let timers = Lock(Timers())
    // Only made and set here; dispatch sources may be used from any thread.
    private nonisolated(unsafe) let source: any DispatchSourceTimer

    package init() {
        source = DispatchSource.makeTimerSource(queue: queue)
        source.setEventHandler { [weak self] in self?.fire() }
        source.activate()
    }

    deinit { source.cancel() }

    package func enqueue(_ work: @escaping @Sendable () -> Void) { queue.async(execute: work) }

    package func schedule(key: UInt64, atNanoseconds time: UInt64, _ work: @escaping @Sendable () -> Void) {
        timers.withLock { timers in
            timers.queue.set(key: key, deadline: time, work)
            // A later deadline needs no system call: the source fires early and finds out.
            if timers.armed.map({ time < $0 }) ?? true { arm(&timers, time) }
        }
    }

    package func cancel(key: UInt64) { timers.withLock { $0.queue.cancel(key: key) } }

    package var monotonicNanoseconds: UInt64 { Self.read(Self.monotonicClock) }
    package var wallNanoseconds: UInt64 { Self.read(CLOCK_REALTIME) }

    #if canImport(Darwin)
        private static let monotonicClock = CLOCK_MONOTONIC
    #else
        private static let monotonicClock = CLOCK_BOOTTIME
    #endif

    private static func read(_ clock: clockid_t) -> UInt64 {
        var time = timespec()
        clock_gettime(clock, &time)
        return UInt64(max(0, Int64(time.tv_sec))) &* 1_000_000_000 &+ UInt64(max(0, Int64(time.tv_nsec)))
    }

    private func arm(_ timers: inout Timers, _ deadline: UInt64) {
        timers.armed = deadline
        let now = monotonicNanoseconds
        let wait = deadline > now ? min(deadline - now, 3_600_000_000_000) : 0
        source.schedule(deadline: .now() + .nanoseconds(Int(wait)), leeway: .milliseconds(1))
    }

    private func fire() {
        timers.withLock { $0.armed = nil }
        while let work = timers.withLock({ $0.queue.takeDue(now: monotonicNanoseconds) }) { work() }
        timers.withLock { timers in
            guard let next = timers.queue.nextDeadline(), timers.armed.map({ next < $0 }) ?? true else { return }
            arm(&timers, next)
        }
    }
}
