/// One life of a simulated peer's process, from its start to its end.
final class SimulatedProcess: @unchecked Sendable {
    // Unchecked: a simulation runs on one thread.

    /// The peer's place in the network.
    let host: Int
    /// False once the process has ended: then nothing of it happens any more.
    var isAlive = true

    init(host: Int) { self.host = host }
}
