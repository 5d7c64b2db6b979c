import DocDB
import DocDBSimulation
import Testing

@Suite("Scenarios of many peers", .timeLimit(.minutes(10)))
struct TopologyScenarioTests {
    @Test("relays in a ring pass on what others want, over redundant paths", arguments: Scenario.seeds)
    func ring(seed: UInt64) throws {
        try Scenario.run("ring", seed) { simulation in
            let peers = try (1...5).map { number in
                try simulation.addPeer("peer\(number)") { $0.relay = .on(limit: 16) }
            }
            for (index, peer) in peers.enumerated() { simulation.connect(peer, to: peers[(index + 1) % peers.count]) }
            try peers[0].subscribe("cars", "make == 'audi'")
            try simulation.start()
            for id in 1...10 {
                try simulation.pick(peers).put(id, ["make": .string(simulation.pick(["audi", "bmw"]))])
                simulation.run(upTo: 500)
            }
            simulation.network.breakLinks(between: peers[0], and: peers[1])
            try peers[2].put(11, ["make": "audi"])
            try peers[3].put(12, ["make": "audi"])
            try simulation.settle()
            for id in 11...12 {
                try simulation.expect(try peers[0].find(id) != nil, "\(id) has not come round the ring")
            }
            // What nobody wants any more is not wanted for ever round the ring.
            peers[0].cancelAll()
            try simulation.settle()
            try peers[2].put(13, ["make": "audi"])
            try simulation.settle()
            try simulation.expect(try peers[0].find(13) == nil, "a cancelled interest lives on in the ring")
        }
    }

    @Test("a chain is narrower in the middle", arguments: Scenario.seeds)
    func chain(seed: UInt64) throws {
        try Scenario.run("narrow chain", seed) { simulation in
            let peers = try ["left", "middle", "right"].map { try simulation.addPeer($0) }
            simulation.connect(peers[0], to: peers[1])
            simulation.connect(peers[2], to: peers[1])
            try peers[0].subscribe("cars")
            try peers[1].subscribe("cars", "kind == 1")
            try peers[2].subscribe("cars")
            try simulation.start()
            for turn in 0..<30 {
                let peer = simulation.pick(peers)
                try peer.put(
                    simulation.number(1...8),
                    ["kind": .int(Int64(simulation.number(0...1))), "turn": .int(Int64(turn))])
                simulation.run(upTo: 300)
                try simulation.auditor.check()
            }
            try simulation.settle()
        }
    }

    @Test("a relay disappears, and another one takes its place", arguments: Scenario.seeds)
    func relayDisappears(seed: UInt64) throws {
        try Scenario.run("relay disappears", seed) { simulation in
            let relays = try ["relay1", "relay2"].map { name in
                try simulation.addPeer(name) { $0.relay = .on(limit: 8) }
            }
            let (left, right) = (try simulation.addPeer("left"), try simulation.addPeer("right"))
            for relay in relays {
                simulation.connect(left, to: relay)
                simulation.connect(right, to: relay)
            }
            try left.subscribe("cars")
            try simulation.start()
            for id in 1...20 {
                try right.put(id, ["n": .int(Int64(id))])
                simulation.run(upTo: 400)
                switch id {
                case 5: relays[0].cutPower()
                case 10: try relays[0].start()
                case 12: relays[1].crash()
                case 15: try relays[1].start()
                default: break
                }
            }
            relays[simulation.number(0...1)].crash()
            try simulation.run(until: "the last relay has brought everything") { try left.count() == 20 }
            try simulation.settle()
        }
    }

    @Test("two hubs stand behind one device", arguments: Scenario.seeds)
    func twoHubs(seed: UInt64) throws {
        try Scenario.run("two hubs", seed) { simulation in
            let hubs = try ["hub1", "hub2"].map { name in try simulation.addPeer(name) { $0.isKeeper = true } }
            let device = try simulation.addPeer("device")
            for hub in hubs {
                try hub.subscribe("cars")
                simulation.connect(device, to: hub)
            }
            try device.subscribe("cars")
            try simulation.start()
            for turn in 0..<30 {
                let peer = simulation.pick(simulation.peers)
                let id = simulation.number(1...6)
                if simulation.number(0...5) == 0 {
                    try peer.delete(id)
                } else {
                    try peer.put(id, [peer.name: .int(Int64(turn))])
                }
                switch simulation.number(0...7) {
                case 0: simulation.network.breakLinks(between: device, and: simulation.pick(hubs))
                case 1: _ = try? device.evict(id)
                default: break
                }
                simulation.run(upTo: 800)
                try simulation.auditor.check()
            }
            try simulation.settle()
            try simulation.expectSame(hubs)
        }
    }

    @Test("sixty-four peers are in a random mesh", arguments: Scenario.seeds(usually: 1))
    func mesh(seed: UInt64) throws {
        try Scenario.run("mesh of 64", seed) { simulation in
            let peers = try (1...64).map { try simulation.addPeer("peer\($0)") }
            for (index, peer) in peers.enumerated().dropFirst() {
                simulation.connect(peer, to: peers[simulation.number(0...(index - 1))])
                if simulation.number(0...2) == 0 {
                    let other = simulation.pick(peers)
                    if other !== peer { simulation.connect(peer, to: other) }
                }
            }
            for peer in peers { try peer.subscribe("cars") }
            try simulation.start()
            for turn in 0..<60 {
                let peer = simulation.pick(peers)
                if peer.isRunning { try peer.put(simulation.number(1...10), ["turn": .int(Int64(turn))]) }
                if simulation.number(0...5) == 0 {
                    peer.crash()
                    simulation.run(upTo: 300)
                    try peer.start()
                }
                simulation.run(upTo: 200)
            }
            try simulation.settle()
            try simulation.expectSame(peers)
        }
    }
}

extension SimulatedPeer {
    func cancelAll() { for subscription in subscriptionList { cancel(subscription) } }
}
