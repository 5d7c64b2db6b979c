import Dispatch
import DocDBCore
import Synchronization

/// Writes of concurrent tasks, grouped: those that wait while one group commits are the next group.
final class AsyncWriteQueue: Sendable {
    /// One task's transaction and how it hears of the end.
    struct Job: Sendable {
        /// Runs the task's closure in the transaction.
        var run: @Sendable (WriteTransaction) throws -> Void
        /// Tells the task: nil when it is committed, or why it is not.
        var finish: @Sendable ((any Error)?) -> Void
    }

    /// The most transactions that one commit groups.
    static let groupCountLimit = 256
    /// How long the thread looks for the next group before it rests: resumed writers are about to come back.
    static let spinNanoseconds: UInt64 = 40_000

    private struct State {
        var pending: [(durability: StoreDurability, job: Job)] = []
        var isDraining = false
        var isClosed = false
    }

    private let state = Lock(State())
    private let pendingCount = Atomic<Int>(0)
    private let queue = DispatchQueue(label: "docdb.writer")

    init() {}

    /// Queues a job for the next group.
    func enqueue(_ job: Job, durability: StoreDurability, on writer: StoreWriter) {
        let (isRefused, mustStart) = state.withLock { state in
            guard !state.isClosed else { return (true, false) }
            state.pending.append((durability, job))
            pendingCount.store(state.pending.count, ordering: .releasing)
            defer { state.isDraining = true }
            return (false, !state.isDraining)
        }
        if isRefused {
            job.finish(
                DocDBError(.databaseClosed, "the database at \(writer.directory.path) has been closed; open it again"))
        }
        if mustStart { queue.async { self.drain(writer) } }
    }

    private func drain(_ writer: StoreWriter) {
        while true {
            let group = takeGroup()
            if group.isEmpty { return }
            writer.writeGroup(group.map(\.job), durability: group.contains { $0.durability == .full } ? .full : .normal)
            waitBriefly()
        }
    }

    private func takeGroup() -> [(durability: StoreDurability, job: Job)] {
        state.withLock { state in
            let group = Array(state.pending.prefix(Self.groupCountLimit))
            state.pending.removeFirst(group.count)
            pendingCount.store(state.pending.count, ordering: .releasing)
            if group.isEmpty { state.isDraining = false }
            return group
        }
    }

    private func waitBriefly() {
        let deadline = DispatchTime.now().uptimeNanoseconds + Self.spinNanoseconds
        while pendingCount.load(ordering: .acquiring) == 0, DispatchTime.now().uptimeNanoseconds < deadline {}
    }

    /// Refuses jobs from now on; those that are queued still run and hear that the database was closed.
    func close() { state.withLock { $0.isClosed = true } }
}

extension StoreWriter {
    /// Runs several tasks' transactions as one SQLite transaction, each in a savepoint of its own.
    func writeGroup(_ jobs: [AsyncWriteQueue.Job], durability: StoreDurability) {
        var outcomes = [(any Error)?](repeating: nil, count: jobs.count)
        do {
            try exclusively {
                try begin(durability)
                let before = state
                do {
                    for (index, job) in jobs.enumerated() {
                        outcomes[index] = try runInSavepoint(job)
                    }
                    try commit()
                } catch {
                    rollback(to: before)
                    throw error
                }
            }
        } catch {
            // Those that failed on their own have their own reason.
            for index in outcomes.indices where outcomes[index] == nil { outcomes[index] = error }
        }
        for (job, outcome) in zip(jobs, outcomes) { job.finish(outcome) }
    }

    /// Runs one job; returns its own error, or throws where the whole group cannot go on.
    private func runInSavepoint(_ job: AsyncWriteQueue.Job) throws -> (any Error)? {
        try connection.prepare("SAVEPOINT job").run()
        let before = state
        let captured = scratch.pointee.capture.mark
        let transaction = WriteTransaction(writer: self)
        do {
            try job.run(transaction)
            try transaction.finish()
            try connection.prepare("RELEASE job").run()
            state.log = changeLog.state
            return nil
        } catch {
            transaction.abandon()
            // Some failures of the disk end the whole transaction; the others of the group then hear of that one.
            guard connection.isInTransaction else { throw error }
            try connection.prepare("ROLLBACK TO job").run()
            try connection.prepare("RELEASE job").run()
            restore(before)
            scratch.pointee.capture.truncate(to: captured)
            return error
        }
    }
}
