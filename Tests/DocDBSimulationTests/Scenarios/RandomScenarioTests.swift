import DocDB
import DocDBSimulation
import DocDBSync
import Testing

/// Anything may happen, in any order.
@Suite("Scenarios that chance makes", .timeLimit(.minutes(10)))
struct RandomScenarioTests {
    /// Makes peers, links and subscriptions by chance.
    static func makeWorld(_ simulation: Simulation) throws {
        let hasHub = simulation.number(0...3) > 0
        let count = simulation.number(2...5)
        let history: Int64? = simulation.number(0...3) == 0 ? 0 : nil
        for number in 0..<count {
            _ = try simulation.addPeer("peer\(number)", skew: .milliseconds(Int64(simulation.number(-20_000...20_000))))
            {
                $0.isKeeper = hasHub && number == 0
                $0.historyByteCount = history
                $0.durability = simulation.number(0...4) == 0 ? .full : .normal
            }
        }
        for (index, peer) in simulation.peers.enumerated().dropFirst() {
            simulation.connect(peer, to: simulation.peers[hasHub ? 0 : simulation.number(0...(index - 1))])
            if simulation.number(0...4) == 0 { simulation.connect(simulation.peers[0], to: peer) }
        }
        for (index, peer) in simulation.peers.enumerated() {
            if hasHub && index == 0 || simulation.number(0...1) == 0 {
                try peer.subscribe("cars")
            } else {
                try peer.subscribe("cars", simulation.pick(["x == 0", "x == 1", "x != 2", "y == 0"]))
            }
        }
    }

    static func write(_ peer: SimulatedPeer, _ simulation: Simulation) throws {
        try peer.write { transaction in
            let cars = transaction.collection("cars")
            for _ in 0..<simulation.pick([1, 1, 1, 2, 3]) {
                let number = Int64(simulation.number(1...5))
                let id = DocumentID(number)
                let isThere = try cars.find(id: id) != nil
                switch simulation.number(0...6) {
                case 0: _ = try cars.remove(id)
                case 1 where isThere: try cars.increment("count", by: 1, id: id)
                case 2 where isThere: try cars.update(id) { $0.set("z.inner", .int(Int64(simulation.number(0...99)))) }
                case 3 where isThere: try cars.update(id) { $0.unset("z") }
                default:
                    try cars.upsert([
                        "_id": .int(number), "x": .int(Int64(simulation.number(0...2))),
                        "y": .int(Int64(simulation.number(0...1))),
                    ])
                }
            }
        }
    }

    static func act(_ simulation: Simulation) throws {
        let peer = simulation.pick(simulation.peers)
        let other = simulation.pick(simulation.peers)
        guard peer.isRunning else {
            if simulation.number(0...2) == 0 { try peer.start() }
            return
        }
        switch simulation.number(0...99) {
        case ..<50: try write(peer, simulation)
        case ..<55 where !peer.isKeeper:
            _ = try? peer.evict(simulation.number(1...5), force: simulation.number(0...4) == 0)
        case ..<60: peer.crash()
        case ..<65: peer.cutPower(simulation.pick([.losesUnsynchronized, .keepsSomeWrites, .tearsPages]))
        case ..<68: try peer.stop()
        case ..<75: simulation.network.breakLinks(between: peer, and: other)
        case ..<80: simulation.network.breakLink(afterFrames: simulation.number(0...10))
        case ..<83: if peer !== other { simulation.network.block(from: peer, to: other) }
        case ..<86: simulation.network.heal()
        case ..<89: simulation.network.conditions = .mobile
        case ..<92: peer.clock.jump(by: .seconds(Int64(simulation.number(-100...60))))
        case ..<95 where !peer.isKeeper:
            if let subscription = peer.subscriptionList.first { peer.cancel(subscription) }
            try peer.subscribe(
                "cars", simulation.pick(["x == 0", "x == 1", "true", "y == 0"]),
                whenLeaving: simulation.pick([.keep, .keep, .evict]))
        default: simulation.run(for: .seconds(Int64(simulation.number(1...120))))
        }
    }

    static func run(_ simulation: Simulation, steps: Int) throws {
        try makeWorld(simulation)
        try simulation.start()
        try simulation.peers[0].observe("cars") { $0.findAll().sort("x").limit(3) }
        for step in 0..<steps {
            try act(simulation)
            simulation.run(upTo: 400)
            if step % 4 == 0 { try simulation.auditor.check() }
        }
        for peer in simulation.peers { peer.clock.correct() }
        // What was dated ahead is no longer.
        simulation.run(for: .seconds(1_000))
        try simulation.settle()
        // Once more from the start: what is stored must be enough to go on from.
        for peer in simulation.peers { peer.crash() }
        try simulation.settle()
    }

    @Test("whatever happens, nothing is lost and all converge", arguments: Scenario.seeds(usually: 12))
    func anything(seed: UInt64) throws {
        try Scenario.run("anything", seed) { try Self.run($0, steps: 60) }
    }

    @Test(
        "a bug that was planted is found: a rule of the protocol is left out",
        arguments: [SyncRule.transition, .need, .told, .evictionNotice])
    func canary(rule: SyncRule) {
        let isFound = (1...40 as ClosedRange<UInt64>).contains { seed in
            do {
                try Scenario.run("canary", seed) { simulation in
                    simulation.disabledRules = [rule]
                    try Self.run(simulation, steps: 60)
                }
                return false
            } catch {
                return true
            }
        }
        #expect(isFound, "no history has failed without the rule '\(rule.rawValue)'")
    }
}
