import DocDB
import DocDBSimulation
import DocDBSync
import Testing

@Suite("Scenarios of what is sent", .timeLimit(.minutes(10)))
struct BudgetScenarioTests {
    /// Peers that hold much and change little, and are away now and then.
    private static func run(_ simulation: Simulation) throws {
        let (hub, devices) = try simulation.addStar(3)
        // A second way between two of them.
        simulation.connect(devices[0], to: devices[1])
        for device in devices { try device.subscribe("cars") }
        try simulation.start()
        try hub.fill(1...100) { _ in
            // Nothing that compression would shorten much.
            ["text": .string(String((0..<500).map { _ in String(simulation.number(1_000_000...9_999_999)) }.joined()))]
        }
        try simulation.runUntilQuiet()
        simulation.auditor.beginBudget()
        for turn in 0..<30 {
            let peer = simulation.pick(simulation.peers)
            try simulation.start()
            switch simulation.number(0...9) {
            case 0: try peer.put(1_000 + turn, ["turn": .int(Int64(turn))])
            case 1: try peer.delete(simulation.number(1...100))
            case 2: peer.crash()
            case 3: simulation.network.breakLinks(between: hub, and: simulation.pick(devices))
            default: try peer.put(simulation.number(1...100), ["turn": .int(Int64(turn))])
            }
            simulation.run(upTo: 20_000)
        }
        try simulation.settle()
        try simulation.auditor.checkBudget()
        try simulation.expectSame([hub] + devices)
    }

    @Test("what is sent follows what has changed, and not what is stored", arguments: Scenario.seeds)
    func budget(seed: UInt64) throws {
        try Scenario.run("bytes within the budget", seed) { try Self.run($0) }
    }

    @Test("a bug that was planted is found: whole documents are sent where one field has changed", arguments: [1, 2])
    func canary(seed: UInt64) throws {
        let simulation = Simulation(seed: seed, name: "budget canary")
        simulation.disabledRules = [.bases]
        do {
            try Self.run(simulation)
            Issue.record("nothing was found")
        } catch let failure as SimulationFailure {
            #expect(failure.invariant == 13, "\(failure)")
        }
    }
}
