import DocDB
import DocDBSimulation
import Testing

@Suite("Scenarios of subscriptions", .timeLimit(.minutes(10)))
struct SubscriptionScenarioTests {
    @Test("a subscription changes back and forth while documents come", arguments: Scenario.seeds)
    func backAndForth(seed: UInt64) throws {
        try Scenario.run("subscription back and forth", seed) { simulation in
            let (hub, devices) = try simulation.addStar(1)
            let device = devices[0]
            try simulation.start()
            try hub.fill(1...400) {
                ["kind": .int(Int64($0 % 3)), "text": .string(String(repeating: "x", count: 300))]
            }
            simulation.network.conditions.bytesPerSecond = 60_000
            var subscription = try device.subscribe("cars", "kind == 0")
            for turn in 0..<12 {
                simulation.run(upTo: 700)
                let next = try device.subscribe(
                    "cars", simulation.pick(["kind == 0", "kind == 1", "kind >= 1", "true"]))
                if simulation.number(0...3) > 0 { simulation.run(upTo: 20) }
                device.cancel(subscription)
                subscription = next
                try hub.put(
                    simulation.number(1...400),
                    ["kind": .int(Int64(simulation.number(0...2))), "turn": .int(Int64(turn))])
                if turn == 6 { simulation.network.breakLinks(between: device, and: hub) }
            }
            try simulation.settle()
        }
    }

    @Test("documents leave the filter while the subscriber is away", arguments: Scenario.seeds)
    func leavesWhileAway(seed: UInt64) throws {
        try Scenario.run("leaves while away", seed) { simulation in
            let (hub, devices) = try simulation.addStar(2)
            let policy: SyncSubscription.LeavingPolicy = simulation.number(0...1) == 0 ? .keep : .evict
            try devices[0].subscribe("cars", "state == 'for sale'", whenLeaving: policy)
            try devices[1].subscribe("cars")
            try simulation.start()
            try hub.fill(1...12) { ["state": "for sale", "n": .int(Int64($0))] }
            try simulation.runUntilQuiet()
            try devices[0].stop()
            for id in 1...4 { try devices[1].put(id, ["state": "sold", "buyer": "Ann"]) }
            for id in 5...6 { try hub.delete(id) }
            simulation.run(upTo: 5_000)
            // One comes back, one is written to by both.
            try hub.put(1, ["state": "for sale"])
            try devices[0].start()
            try devices[0].put(3, ["note": "mine"])
            try simulation.settle()
            let held = try devices[0].db.collection("cars").findAll().sort("_id").ids()
            let expected: [DocumentID] =
                policy == .keep ? [1, 2, 3, 4, 7, 8, 9, 10, 11, 12] : [1, 7, 8, 9, 10, 11, 12]
            try simulation.expect(held == expected, "with \(policy) the device holds \(held)")
            if policy == .keep {
                try simulation.expect(
                    try devices[0].find(2)?["state"] == "sold", "the last update of a document that left has not come")
            }
        }
    }

    @Test(
        "documents are evicted while changes of them come, and before theirs are acknowledged",
        arguments: Scenario.seeds)
    func evictions(seed: UInt64) throws {
        try Scenario.run("evictions", seed) { simulation in
            let (hub, devices) = try simulation.addStar(2)
            for device in devices { try device.subscribe("cars") }
            try simulation.start()
            try hub.fill(1...8) { ["n": .int(Int64($0))] }
            try simulation.runUntilQuiet()
            var refused = 0
            for turn in 0..<50 {
                let (device, id) = (simulation.pick(devices), simulation.number(1...8))
                switch simulation.number(0...9) {
                case 0...3: try simulation.pick(simulation.peers).put(id, ["turn": .int(Int64(turn))])
                case 4...8:
                    // At once after a write of its own, or whenever it is.
                    if simulation.number(0...1) == 0 { try device.put(id, ["mine": .int(Int64(turn))]) }
                    do {
                        _ = try device.evict(id)
                    } catch let error as DocDBError where error.code == .unsyncedChanges {
                        refused += 1
                    }
                default: simulation.network.breakLinks(between: device, and: hub)
                }
                simulation.run(upTo: 60)
                try simulation.auditor.check()
            }
            try simulation.settle()
            try simulation.expect(refused > 0, "no eviction was refused")
        }
    }

    @Test("of a transaction over two collections, one is subscribed to", arguments: Scenario.seeds)
    func twoCollections(seed: UInt64) throws {
        try Scenario.run("two collections", seed) { simulation in
            let (hub, devices) = try simulation.addStar(3)
            try hub.subscribe("owners")
            try devices[0].subscribe("cars")
            try devices[1].subscribe("cars")
            try devices[1].subscribe("owners")
            try simulation.start()
            for turn in 0..<20 {
                let writer = simulation.pick([hub, devices[2]])
                let id = Int64(simulation.number(1...5))
                try writer.write { transaction in
                    try transaction.collection("cars").upsert(["_id": .int(id), "turn": .int(Int64(turn))])
                    try transaction.collection("owners").upsert(["_id": .int(id), "turn": .int(Int64(turn))])
                }
                if simulation.number(0...4) == 0 { simulation.network.breakLink(afterFrames: simulation.number(0...5)) }
                simulation.run(upTo: 300)
                // All of a transaction, or nothing.
                let (cars, owners) = (try devices[1].contents("cars"), try devices[1].contents("owners"))
                try simulation.expect(cars == owners, "a transaction is here in part: \(cars), \(owners)")
            }
            try simulation.settle()
            try simulation.expectSame([hub, devices[0], devices[1]], "cars")
            try simulation.expect(try devices[0].count("owners") == 0, "a collection came that nobody asked for")
        }
    }

    @Test("transfers between accounts never change their sum at those who watch", arguments: Scenario.seeds)
    func transfers(seed: UInt64) throws {
        try Scenario.run("transfers", seed) { simulation in
            let (hub, devices) = try simulation.addStar(2)
            for device in devices { try device.subscribe("cars") }
            try simulation.start()
            try hub.fill(1...6) { _ in ["balance": 100] }
            try simulation.runUntilQuiet()
            for _ in 0..<30 {
                let writer = simulation.pick(simulation.peers)
                let (from, to) = (simulation.number(1...3), simulation.number(4...6))
                let amount = Int64(simulation.number(1...50))
                try writer.write { transaction in
                    let accounts = transaction.collection("cars")
                    try accounts.increment("balance", by: .int(-amount), id: DocumentID(Int64(from)))
                    try accounts.increment("balance", by: .int(amount), id: DocumentID(Int64(to)))
                }
                if simulation.number(0...5) == 0 { simulation.network.breakLink(afterFrames: simulation.number(0...5)) }
                for _ in 0..<simulation.number(0...12) {
                    simulation.run(upTo: 8)
                    for peer in simulation.peers {
                        var sum: Int64 = 0
                        for account in try peer.db.collection("cars").findAll().documents() {
                            if case .int(let balance)? = account["balance"] { sum += balance }
                        }
                        try simulation.expect(sum == 600, "\(peer.name) sees a sum of \(sum)")
                    }
                }
            }
            try simulation.settle()
        }
    }

    @Test("hundreds of live queries run meanwhile", arguments: Scenario.seeds(usually: 1))
    func liveQueries(seed: UInt64) throws {
        try Scenario.run("live queries", seed) { simulation in
            let (hub, devices) = try simulation.addStar(2)
            for device in devices { try device.subscribe("cars") }
            try simulation.start()
            for number in 0..<300 {
                switch number % 4 {
                case 0: try devices[0].observe("cars") { try $0.find("_id == \(number)") }
                case 1: try devices[0].observe("cars") { try $0.find("price > \(number)").sort("price").limit(5) }
                case 2:
                    try devices[0].observe("cars") {
                        try $0.find("make == 'make\(number % 7)'").sort("_id", .descending)
                    }
                default: try devices[0].observe("cars") { $0.findAll().sort("price").limit(3).offset(number % 20) }
                }
            }
            try hub.fill(1...120) { ["price": .int(Int64(($0 * 37) % 300)), "make": .string("make\($0 % 7)")] }
            for turn in 0..<20 {
                simulation.run(upTo: 200)
                let id = simulation.number(1...130)
                switch simulation.number(0...3) {
                case 0: try devices[1].delete(id)
                case 1: try devices[0].put(id, ["price": .int(Int64(turn))])
                default: try hub.put(id, ["price": .int(Int64(simulation.number(0...300))), "make": "make3"])
                }
            }
            devices[0].crash()
            try devices[0].start()
            try simulation.settle()
            try simulation.expectSame([hub] + devices)
        }
    }
}

extension SimulatedPeer {
    @discardableResult
    func evict(_ id: Int, force: Bool = false) throws -> Bool {
        try evict("cars", DocumentID(Int64(id)), force: force)
    }
}
