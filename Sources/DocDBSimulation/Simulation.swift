import DocDB
package import DocDBSync

/// A world of databases that replicate over a simulated network, on simulated disks, by simulated clocks.
///
/// Everything that happens follows from the seed: the same seed gives the same run, frame by frame. All of it runs on the
/// thread that calls ``run(for:)``, so nothing in it may be used from another.
///
/// ```swift
/// let simulation = Simulation(seed: 7)
/// let hub = try simulation.addPeer("hub") { $0.isKeeper = true }
/// let phone = try simulation.addPeer("phone")
/// simulation.connect(phone, to: hub)
/// for peer in simulation.peers { try peer.subscribe("cars") }
/// try simulation.start()
/// try phone.write { try $0.collection("cars").insert(["_id": 1, "make": "toyota"]) }
/// simulation.network.partition([[hub], [phone]])
/// simulation.run(for: .seconds(60))
/// try simulation.settle()
/// ```
///
/// ``settle(within:)`` heals everything and has the ``auditor`` check that nothing was lost and that all converged.
public final class Simulation: @unchecked Sendable {
    // Unchecked: a simulation runs on one thread.

    /// What replays the simulation.
    public let seed: UInt64
    /// What the simulation is called, in failures.
    public let name: String
    /// The true time.
    public let time: SimulatedTime
    /// What connects the peers.
    public let network: SimulatedNetwork
    /// The peers, in the order in which they were added.
    public private(set) var peers: [SimulatedPeer] = []
    /// Chance, for scenarios: what they draw here is part of the seed.
    public var random: SimulationRandom
    /// Checks what holds whatever happens.
    public private(set) var auditor: Auditor!

    /// Rules of the protocol that the peers break: a simulation with any of them must fail.
    package var disabledRules: Set<SyncRule> = []

    /// Creates a world without peers.
    ///
    /// - Parameters:
    ///   - seed: what replays everything that happens.
    ///   - name: what the simulation is called, in failures.
    public init(seed: UInt64, name: String = "simulation") {
        self.seed = seed
        self.name = name
        var random = SimulationRandom(seed: seed)
        time = SimulatedTime(seed: random.next())
        network = SimulatedNetwork(time, seed: random.next())
        self.random = random
        auditor = Auditor(self)
    }

    /// Adds a peer, which does not run yet.
    ///
    /// - Parameters:
    ///   - name: what it is called.
    ///   - skew: how wrong its clock is from the start.
    ///   - configure: changes how it replicates; where it listens and connects to is set by the simulation.
    public func addPeer(
        _ name: String, skew: Duration = .zero, _ configure: (inout PeerDescription) -> Void = { _ in }
    ) throws -> SimulatedPeer {
        var configuration = PeerDescription()
        configure(&configuration)
        let peer = SimulatedPeer(name, number: peers.count, self, skew: skew, configuration)
        peers.append(peer)
        return peer
    }

    /// Has a peer keep connected to another one, from its next start on.
    public func connect(_ peer: SimulatedPeer, to other: SimulatedPeer) { peer.keepConnected(to: other) }

    /// Starts all peers that do not run.
    public func start() throws { for peer in peers where !peer.isRunning { try peer.start() } }

    // MARK: Running

    /// Lets the time pass.
    public func run(for duration: Duration) { time.advance(by: duration) }

    /// Lets the time pass until something holds; looks after everything that happens.
    ///
    /// - Throws: ``SimulationFailure`` where it does not hold within the limit.
    public func run(
        within limit: Duration = .seconds(600), until what: String, _ condition: () throws -> Bool
    ) throws {
        let end = time.nanoseconds + UInt64(max(0, limit.nanoseconds))
        while try !condition() {
            guard let next = time.nextTimerNanoseconds, next <= end else {
                throw failure(15, "within \(limit), it has not come to this: \(what)")
            }
            time.advanceToNextTimer()
        }
    }

    /// Lets the time pass until all peers that can reach each other are connected and have nothing to say any more.
    ///
    /// - Throws: ``SimulationFailure`` where that does not come within the limit.
    public func runUntilQuiet(within limit: Duration = .seconds(1_800)) throws {
        let end = time.nanoseconds + UInt64(max(0, limit.nanoseconds))
        var (known, quietSeconds) = (network.traffic.dataFrameCount, 0)
        while quietSeconds < Self.quietSeconds {
            guard time.nanoseconds < end else {
                throw failure(15, "within \(limit), the peers have not come to rest: \(restlessness)")
            }
            run(for: .seconds(1))
            let isQuiet = network.traffic.dataFrameCount == known && !network.isCarrying && unconnected == nil
            quietSeconds = isQuiet ? quietSeconds + 1 : 0
            known = network.traffic.dataFrameCount
        }
    }

    /// How long nothing must have been said; totals are stated after five seconds.
    private static let quietSeconds = 12

    /// A connection that could be open and is not.
    private var unconnected: String? {
        for peer in peers where peer.isRunning {
            for connection in peer.openDatabase?.sync.status.connections ?? [] {
                switch connection.state {
                case .connected, .redundant, .failed, .loginRequired: continue
                case .connecting, .waiting:
                    guard let other = peers.first(where: { $0.url == connection.url }), network.isReachable(other, peer)
                    else { continue }
                    let problem = connection.lastProblem.map { ", \($0.error.message)" } ?? ""
                    return "\(peer.name) is not connected to \(other.name)\(problem)"
                }
            }
        }
        return nil
    }

    private var restlessness: String {
        unconnected ?? (network.isCarrying ? "frames are under way" : "documents, interests or totals are sent")
    }

    /// Heals the network and the disks, starts who does not run, waits for rest, and checks everything.
    ///
    /// - Throws: ``SimulationFailure`` where an invariant is broken, or rest does not come within the limit.
    public func settle(within limit: Duration = .seconds(1_800)) throws {
        network.heal()
        for peer in peers { peer.healDisk() }
        try start()
        try runUntilQuiet(within: limit)
        try auditor.checkAll()
        try auditor.checkSilence()
    }

    /// A failure of this simulation.
    ///
    /// - Parameters:
    ///   - invariant: the number of the invariant; zero for what belongs to a scenario alone.
    ///   - text: what was found.
    public func failure(_ invariant: Int = 0, _ text: String) -> SimulationFailure {
        SimulationFailure(
            invariant: invariant, text: text, seed: seed, name: name,
            time: .nanoseconds(Int64(clamping: time.nanoseconds)))
    }

    /// Checks something of a scenario.
    ///
    /// - Throws: ``SimulationFailure`` where it does not hold.
    public func expect(_ condition: Bool, _ text: @autoclosure () throws -> String) throws {
        if !condition { throw failure(0, try text()) }
    }
}
