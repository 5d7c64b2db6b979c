import DocDBCore

/// What may be sent between two peers (13): by what has changed and how often they met, never by what is stored.
struct ByteBudget {
    /// The changes, each with all names spelt out.
    private var changedByteCount = 0
    private var largestChange = 0

    /// What goes with one change one way: heads of frames, definitions, the acknowledgement, a total thereafter, and where
    /// there is nothing to resume from, the steps of a reconciliation that find it.
    private static let changeByteCount = 512
    /// What a session takes before documents flow, and what was under way when it broke: one further change each way.
    private static let sessionByteCount = 4_096

    mutating func note(_ change: DocumentState, idByteCount: Int) {
        var body = ByteBuffer()
        var state = ByteBuffer()
        change.encode(into: &body, state: &state, actors: ActorTable())
        let byteCount = body.count + state.count + idByteCount + Self.changeByteCount
        changedByteCount += byteCount
        largestChange = max(largestChange, byteCount)
    }

    /// The most bytes that two peers may have exchanged: each change may cross either way, where both got it from others.
    func limit(sessionCount: Int) -> Int {
        2 * changedByteCount + sessionCount * (Self.sessionByteCount + 2 * largestChange)
    }
}

extension Auditor {
    /// Begins to count what changes and what is sent for it; the peers must have come to rest.
    public func beginBudget() {
        budget = ByteBudget()
        simulation.network.beginPairTraffic()
    }

    /// Checks that what each two peers have sent to each other since ``beginBudget()`` is within what has changed (13).
    ///
    /// Peers may have been away and may have crashed meanwhile; subscriptions must be the same, and nothing evicted.
    ///
    /// - Throws: ``SimulationFailure`` where it is not.
    public func checkBudget() throws {
        guard let budget else { return }
        for (pair, traffic) in simulation.network.pairTraffic.sorted(by: { $0.key.lexicographicallyPrecedes($1.key) }) {
            let limit = budget.limit(sessionCount: traffic.sessionCount)
            guard traffic.byteCount > limit else { continue }
            let names = pair.map { simulation.peers[$0].name }
            throw simulation.failure(
                13, "\(names[0]) and \(names[1]) exchanged \(traffic.byteCount) bytes, where \(limit) would do")
        }
    }
}
