import DocDB
import DocDBSimulation
import Testing

@Suite("Scenarios of merging", .timeLimit(.minutes(10)))
struct MergingScenarioTests {
    /// Three peers that are all connected to each other, and subscribe to everything.
    static func mesh(_ simulation: Simulation) throws -> [SimulatedPeer] {
        let peers = try ["anna", "bert", "cleo"].map { try simulation.addPeer($0) }
        for peer in peers { try peer.subscribe("cars") }
        simulation.connect(peers[0], to: peers[1])
        simulation.connect(peers[1], to: peers[2])
        simulation.connect(peers[2], to: peers[0])
        try simulation.start()
        return peers
    }

    @Test("messages come in any order, over any path", arguments: Scenario.seeds)
    func permutations(seed: UInt64) throws {
        try Scenario.run("permutations", seed) { simulation in
            let peers = try Self.mesh(simulation)
            for turn in 0..<40 {
                let peer = simulation.pick(peers)
                try peer.put(simulation.number(1...4), [simulation.pick(["a", "b", "c"]): .int(Int64(turn))])
                var conditions = NetworkConditions.mobile
                conditions.maximumDelay = .milliseconds(Int64(simulation.number(20...4_000)))
                let (from, to) = (simulation.pick(peers), simulation.pick(peers))
                if from !== to { simulation.network.setConditions(conditions, from: from, to: to) }
                if simulation.number(0...9) == 0 { simulation.network.breakLinks(between: from, and: to) }
                simulation.run(upTo: 1_500)
                try simulation.auditor.check()
            }
            try simulation.settle()
            try simulation.expectSame(peers)
        }
    }

    @Test("writes of several peers have equal times", arguments: Scenario.seeds)
    func ties(seed: UInt64) throws {
        try Scenario.run("equal times", seed) { simulation in
            let peers = try Self.mesh(simulation)
            var ties = 0
            for turn in 0..<10 {
                simulation.network.partition(peers.map { [$0] })
                simulation.run(for: .seconds(1))
                for (index, peer) in peers.enumerated() { try peer.put(1, ["a": .int(Int64(turn * 10 + index))]) }
                let times = try peers.compactMap { peer in
                    try peer.db.log(since: 0, limit: .max).last { $0.origin == .local }?.time
                }
                ties += Set(times).count < times.count ? 1 : 0
                simulation.network.heal()
                try simulation.runUntilQuiet()
                try simulation.expectSame(peers, count: 1)
            }
            try simulation.expect(ties > 0, "no two writes had the same time")
            try simulation.settle()
        }
    }

    @Test("one key is set to a scalar, an object and a counter at once", arguments: Scenario.seeds)
    func kinds(seed: UInt64) throws {
        try Scenario.run("one key of three kinds", seed) { simulation in
            let peers = try Self.mesh(simulation)
            try peers[0].put(1, ["key": 5])
            try simulation.runUntilQuiet()
            for _ in 0..<6 {
                simulation.network.partition(peers.map { [$0] })
                for peer in peers {
                    try peer.write { transaction in
                        try transaction.collection("cars").update(1) { document in
                            switch simulation.number(0...3) {
                            case 0: document.set("key", .int(Int64(simulation.number(0...9))))
                            case 1: document.set("key", ["inner": .int(Int64(simulation.number(0...9)))])
                            case 2: document.set("key", .array([1, "two"]))
                            default:
                                document.set("key", 0)
                                document.increment("key", by: 3)
                            }
                        }
                    }
                    simulation.run(upTo: 50)
                }
                simulation.network.heal()
                try simulation.runUntilQuiet()
                try simulation.expectSame(peers, count: 1)
            }
            try simulation.settle()
        }
    }

    @Test("nested objects are made on three peers", arguments: Scenario.seeds)
    func nested(seed: UInt64) throws {
        try Scenario.run("nested objects", seed) { simulation in
            let peers = try Self.mesh(simulation)
            simulation.network.partition(peers.map { [$0] })
            for (index, peer) in peers.enumerated() {
                let name = "from\(index)"
                try peer.put(1, ["outer": ["inner": [name: ["value": .int(Int64(index))]]]])
                simulation.run(upTo: 2_000)
            }
            try simulation.settle()
            try simulation.expectSame(peers, count: 1)
            let inner = try peers[0].find(1)?[path: "outer.inner"]
            try simulation.expect(
                inner == ["from0": ["value": 0], "from1": ["value": 1], "from2": ["value": 2]],
                "the objects of three peers are not united: \(String(describing: inner))")
        }
    }

    @Test("a parent is removed while a child is edited", arguments: Scenario.seeds)
    func parentRemoved(seed: UInt64) throws {
        try Scenario.run("parent removed", seed) { simulation in
            let peers = try Self.mesh(simulation)
            try peers[0].put(1, ["outer": ["kept": 1, "edited": 1], "beside": 1])
            try simulation.runUntilQuiet()
            simulation.network.partition(peers.map { [$0] })
            let isRemovedFirst = simulation.number(0...1) == 0
            func remove() throws { try peers[0].write { try $0.collection("cars").update(1) { $0.unset("outer") } } }
            if isRemovedFirst { try remove() }
            simulation.run(for: .seconds(5))
            try peers[1].write { try $0.collection("cars").update(1) { $0.set("outer.edited", 2) } }
            simulation.run(for: .seconds(5))
            if !isRemovedFirst { try remove() }
            try simulation.settle()
            try simulation.expectSame(peers, count: 1)
            let outer = try peers[2].find(1)?[path: "outer"]
            try simulation.expect(
                outer == (isRemovedFirst ? ["edited": 2] : nil),
                "the later change has not won: \(String(describing: outer))")
        }
    }

    @Test("counters count once what is sent twice, and all through crashes", arguments: Scenario.seeds)
    func counters(seed: UInt64) throws {
        try Scenario.run("counters", seed) { simulation in
            let peers = try Self.mesh(simulation)
            try peers[0].put(1, ["count": 0])
            try simulation.runUntilQuiet()
            var sum: Int64 = 0
            for _ in 0..<60 {
                let peer = simulation.pick(peers)
                switch simulation.number(0...9) {
                case 0:
                    peer.crash()
                    try peer.start()
                case 1: simulation.network.breakLinks(between: peers[0], and: peers[simulation.number(1...2)])
                case 2: simulation.network.breakLink(afterFrames: simulation.number(0...6))
                default:
                    let amount = Int64(simulation.number(-3...9))
                    sum += amount
                    try peer.write { try $0.collection("cars").increment("count", by: .int(amount), id: 1) }
                }
                simulation.run(upTo: 400)
            }
            try simulation.settle()
            try simulation.expectSame(peers, count: 1)
            let count = try peers[2].find(1)?["count"]
            try simulation.expect(count == .int(sum), "the counter shows \(String(describing: count)), not \(sum)")
        }
    }

    @Test("a document is deleted and updated at once: it stays whole, or goes", arguments: Scenario.seeds)
    func deletedAndUpdated(seed: UInt64) throws {
        try Scenario.run("deleted and updated", seed) { simulation in
            let peers = try Self.mesh(simulation)
            for id in 1...4 { try peers[0].put(id, ["a": 1, "b": 2, "c": ["d": 3]]) }
            try simulation.runUntilQuiet()
            simulation.network.partition([[peers[0]], [peers[1], peers[2]]])
            for id in 1...4 { try peers[0].delete(id) }
            simulation.run(upTo: 3_000)
            for id in 1...2 { try peers[1].put(id, ["b": 20]) }
            if simulation.number(0...1) == 0 { try peers[2].delete(3) }
            try simulation.settle()
            try simulation.expectSame(peers, count: 2)
            try simulation.expect(
                try peers[0].json(1) == #"{"_id":1,"a":1,"b":20,"c":{"d":3}}"#,
                "the updated document is a husk: \(try peers[0].json(1) ?? "gone")")
            // Known to be deleted: then the old fields do not return.
            try peers[2].put(4, ["new": true])
            try simulation.settle()
            try simulation.expect(
                try peers[0].json(4) == #"{"_id":4,"new":true}"#,
                "deleted fields came back: \(try peers[0].json(4) ?? "gone")")
        }
    }
}
