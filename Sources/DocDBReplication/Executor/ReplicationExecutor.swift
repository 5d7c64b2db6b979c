/// Runs the work of one replicating peer, one piece at a time: a dispatch queue in life, a seeded scheduler in simulation.
package protocol ReplicationExecutor: AnyObject, Sendable {
    /// Runs `work` after all that was enqueued before it.
    func enqueue(_ work: @escaping @Sendable () -> Void)
    /// Runs `work` once the monotonic time has come; the same key replaces what was scheduled under it before.
    func schedule(key: UInt64, atNanoseconds: UInt64, _ work: @escaping @Sendable () -> Void)
    /// Forgets what was scheduled under a key.
    func cancel(key: UInt64)
    /// A clock that never goes back and counts suspension, in nanoseconds.
    var monotonicNanoseconds: UInt64 { get }
    /// The wall clock, in nanoseconds since 1970.
    var wallNanoseconds: UInt64 { get }
}
