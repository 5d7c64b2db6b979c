import DocDB
import DocDBSimulation
import Testing

@Suite("A simulation")
struct SimulationTests {
    /// Two peers that write to the same documents over a mobile network.
    static func run(seed: UInt64) throws -> Simulation {
        let simulation = Simulation(seed: seed, name: "two peers")
        let hub = try simulation.addPeer("hub") { $0.isKeeper = true }
        let phone = try simulation.addPeer("phone", skew: .seconds(2))
        simulation.connect(phone, to: hub)
        simulation.network.conditions = .mobile
        for peer in simulation.peers { try peer.subscribe("cars") }
        try simulation.start()
        try phone.observe("cars") { $0.findAll().sort("price").limit(5) }
        for turn in 0..<20 {
            let peer = simulation.peers[Int.random(in: 0..<2, using: &simulation.random)]
            let id = Int64.random(in: 0..<8, using: &simulation.random)
            try peer.write { try $0.collection("cars").upsert(["_id": .int(id), "price": .int(Int64(turn))]) }
            simulation.run(for: .milliseconds(Int64.random(in: 0...3_000, using: &simulation.random)))
            try simulation.auditor.check()
        }
        try simulation.settle()
        return simulation
    }

    static func contents(_ peer: SimulatedPeer) throws -> [String] {
        try peer.db.collection("cars").findAll().sort("_id").documents().map { try $0.json() }
    }

    @Test("lets two databases converge over a network that breaks", arguments: 1...3 as ClosedRange<UInt64>)
    func converges(seed: UInt64) throws {
        let simulation = try Self.run(seed: seed)
        let contents = try simulation.peers.map(Self.contents)
        #expect(contents[0] == contents[1] && !contents[0].isEmpty)
        #expect(simulation.network.traffic.dataFrameCount > 10)
        #expect(simulation.auditor.writeCount > 10)
    }

    @Test("happens again frame by frame with the same seed, and otherwise with another")
    func isDeterministic() throws {
        let (first, second) = (try Self.run(seed: 11), try Self.run(seed: 11))
        #expect(first.network.traceHash == second.network.traceHash)
        #expect(first.network.traffic == second.network.traffic)
        #expect(first.time.nanoseconds == second.time.nanoseconds)
        #expect(try Self.run(seed: 12).network.traceHash != first.network.traceHash)
    }
}
