import DocDBReplication

/// Runs the replication of one simulated peer as timers of the simulation's one time.
///
/// A piece of work begins some microseconds after it was enqueued or the one before it ended, by chance, so that the work
/// of several peers interleaves differently with each seed.
final class SimulationExecutor: ReplicationExecutor, @unchecked Sendable {
    // Unchecked: a simulation runs on one thread.

    private let clock: SimulatedClock
    private let process: SimulatedProcess
    private var random: SimulationRandom
    private var work: [@Sendable () -> Void] = []
    private var next = 0
    private var isScheduled = false
    /// The newest timer under each key; others have been replaced or cancelled.
    private var timers: [UInt64: UInt64] = [:]
    private var timerCount: UInt64 = 0
    /// Whether work is done at once, without the simulation's time: for the end of a database that has stopped.
    var isImmediate = false

    init(_ clock: SimulatedClock, _ process: SimulatedProcess, seed: UInt64) {
        self.clock = clock
        self.process = process
        random = SimulationRandom(seed: seed)
    }

    /// How many pieces of work wait.
    var waitingCount: Int { work.count - next }

    func enqueue(_ work: @escaping @Sendable () -> Void) {
        guard process.isAlive else { return }
        if isImmediate { return work() }
        self.work.append(work)
        scheduleNext()
    }

    private func scheduleNext() {
        guard !isScheduled, next < work.count else { return }
        isScheduled = true
        clock.schedule(after: .microseconds(Int64.random(in: 1...40, using: &random))) { [self] in runNext() }
    }

    private func runNext() {
        isScheduled = false
        guard process.isAlive, next < work.count else {
            work = []
            return next = 0
        }
        let first = work[next]
        next += 1
        if next == work.count {
            work.removeAll(keepingCapacity: true)
            next = 0
        } else if next >= 256 {
            work.removeFirst(next)
            next = 0
        }
        first()
        scheduleNext()
    }

    func schedule(key: UInt64, atNanoseconds time: UInt64, _ work: @escaping @Sendable () -> Void) {
        guard process.isAlive else { return }
        timerCount += 1
        let number = timerCount
        timers[key] = number
        let now = clock.monotonicNanoseconds
        clock.schedule(after: .nanoseconds(Int64(clamping: time > now ? time - now : 0))) { [weak self] in
            guard let self, process.isAlive, timers[key] == number else { return }
            timers[key] = nil
            work()
        }
    }

    func cancel(key: UInt64) { timers[key] = nil }

    var monotonicNanoseconds: UInt64 { clock.monotonicNanoseconds }
    var wallNanoseconds: UInt64 { clock.wallNanoseconds }
}
