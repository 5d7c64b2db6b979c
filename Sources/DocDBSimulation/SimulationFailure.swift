/// What a simulation has shown to be broken.
///
/// Its description names the seed and the command that replays it.
public struct SimulationFailure: Error, CustomStringConvertible {
    /// The number of the invariant, as ``Auditor`` lists them; zero for what belongs to a scenario alone.
    public let invariant: Int
    /// What was found.
    public let text: String
    /// The seed of the simulation.
    public let seed: UInt64
    /// The name of the simulation.
    public let name: String
    /// The simulated time at which it was found, since the start.
    public let time: Duration

    /// What was found, where, and how to see it again.
    public var description: String {
        let what = invariant == 0 ? text : "invariant \(invariant): \(text)"
        return
            "\(what); seed \(seed) of '\(name)', after \(time); replay: make simulate SCENARIO='\(name)' SEED=\(seed)"
    }
}
