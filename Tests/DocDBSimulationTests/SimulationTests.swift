import DocDB
import DocDBSimulation
import DocDBSync
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

    @Test("a peer that crashes again and again does not get ahead of its clock")
    func crashLoop() throws {
        let simulation = Simulation(seed: 1, name: "crash loop")
        let peer = try simulation.addPeer("phone")
        for number in Int64(0)..<30 {
            try peer.start()
            try peer.write { try $0.collection("cars").upsert(["_id": 1, "number": .int(number)]) }
            peer.crash()
        }
        try peer.start()
        let time = try #require(try peer.db.log(since: 0).last?.time)
        let ahead = time.rawValue - peer.clock.wallNanoseconds
        // What was reserved before the first crash, and half a second for each other.
        #expect(ahead > 10_000_000_000 && ahead < 60_000_000_000)
    }

    @Test("a copied database is another one to its peers, a restarted one is not")
    func copies() throws {
        let simulation = Simulation(seed: 1, name: "copies")
        let (first, second) = (try simulation.addPeer("first"), try simulation.addPeer("second"))
        try first.start()
        try first.write { try $0.collection("cars").upsert(["_id": 1]) }
        let id = try first.replica.storeID
        try first.stop()
        try second.restore(first.copyDirectory())
        try first.start()
        try second.start()
        #expect(try first.replica.storeID == id)
        #expect(try second.replica.storeID != id)
        let copiedID = try second.replica.storeID
        second.crash()
        try second.start()
        #expect(try second.replica.storeID == copiedID)
    }
}
