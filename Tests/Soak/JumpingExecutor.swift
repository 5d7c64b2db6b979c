import DocDBReplication
import Synchronization

/// The executor of a client, whose wall clock can be set forward and back.
final class JumpingExecutor: ReplicationExecutor {
    private let base = DispatchExecutor()
    private let offset: Atomic<Int64>

    init(offsetSeconds: Int64) { offset = Atomic(offsetSeconds &* 1_000_000_000) }

    func jump(toOffsetSeconds seconds: Int64) { offset.store(seconds &* 1_000_000_000, ordering: .relaxed) }

    var wallNanoseconds: UInt64 {
        UInt64(clamping: Int64(clamping: base.wallNanoseconds) &+ offset.load(ordering: .relaxed))
    }
    var monotonicNanoseconds: UInt64 { base.monotonicNanoseconds }
    func enqueue(_ work: @escaping @Sendable () -> Void) { base.enqueue(work) }
    func schedule(key: UInt64, atNanoseconds time: UInt64, _ work: @escaping @Sendable () -> Void) {
        base.schedule(key: key, atNanoseconds: time, work)
    }
    func cancel(key: UInt64) { base.cancel(key: key) }
}
