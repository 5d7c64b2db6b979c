import DocDB
import DocDBCore
import DocDBSimulation
import DocDBStorage
import DocDBSync
import Testing

@Suite("Scenarios of wrong clocks, versions and peers", .timeLimit(.minutes(10)))
struct HostileScenarioTests {
    @Test("a clock is three years ahead: what it dates waits until it is right", arguments: Scenario.seeds)
    func clockAhead(seed: UInt64) throws {
        try Scenario.run("clock three years ahead", seed) { simulation in
            let (hub, devices) = try simulation.addStar(2)
            for device in devices { try device.subscribe("cars") }
            try simulation.start()
            for id in 1...4 { try devices[0].put(id, ["n": .int(Int64(id))]) }
            try simulation.runUntilQuiet()
            devices[0].clock.jump(by: .seconds(3 * 365 * 86_400))
            for id in 3...6 { try devices[0].put(id, ["ahead": .int(Int64(id))]) }
            simulation.run(for: .seconds(30))
            try simulation.expect(try hub.find(5) == nil && hub.find(3)?["ahead"] == nil, "a time far ahead was taken")
            devices[0].clock.correct()
            for id in 2...4 { try devices[1].put(id, ["right": .int(Int64(id))]) }
            simulation.run(for: .seconds(120))
            try simulation.expect(try hub.find(2)?["right"] == 2, "the others are held up")
            try simulation.auditor.check()
            // Three years later it is no longer ahead.
            for peer in simulation.peers { try peer.stop() }
            simulation.run(for: .seconds(3 * 365 * 86_400 + 3_600))
            try simulation.settle()
            try simulation.expectSame([hub] + devices, count: 6)
        }
    }

    @Test("a clock is set back to 1970", arguments: Scenario.seeds)
    func clockBehind(seed: UInt64) throws {
        try Scenario.run("clock back to 1970", seed) { simulation in
            let (hub, devices) = try simulation.addStar(2)
            for device in devices { try device.subscribe("cars") }
            try simulation.start()
            for id in 1...4 { try devices[0].put(id, ["n": .int(Int64(id))]) }
            try simulation.runUntilQuiet()
            devices[0].clock.set(toNanosecondsSince1970: UInt64(simulation.number(0...1_000_000_000)))
            for id in 3...6 { try devices[0].put(id, ["behind": .int(Int64(id))]) }
            if simulation.number(0...1) == 0 {
                devices[0].crash()
                try devices[0].start()
            }
            for id in 1...4 { try devices[1].put(id, ["right": .int(Int64(id))]) }
            simulation.run(for: .seconds(60))
            for id in 5...8 { try devices[0].put(id, ["later": .int(Int64(id))]) }
            simulation.run(for: .seconds(60))
            try simulation.expect(try hub.find(8) != nil, "what a clock that is behind dates does not come")
            devices[0].clock.correct()
            try simulation.settle()
            try simulation.expectSame([hub] + devices, count: 8)
        }
    }

    @Test("peers speak different versions of the protocol", arguments: Scenario.seeds)
    func versions(seed: UInt64) throws {
        try Scenario.run("mixed versions", seed) { simulation in
            let hub = try simulation.addPeer("hub") { $0.protocolVersions = 1...3 }
            let devices = [
                try simulation.addPeer("old"), try simulation.addPeer("new") { $0.protocolVersions = 1...2 },
                try simulation.addPeer("tooNew") { $0.protocolVersions = 4...5 },
            ]
            for device in devices { simulation.connect(device, to: hub) }
            for peer in simulation.peers { try peer.subscribe("cars") }
            // The newer one says more in each message than the others know.
            let newer = devices[1].number
            simulation.network.tamper = { from, _, frame in
                from == newer ? Self.withFurtherField(frame) : frame
            }
            try simulation.start()
            for turn in 0..<12 {
                try simulation.pick(simulation.peers).put(turn, ["turn": .int(Int64(turn))])
                simulation.run(upTo: 500)
            }
            simulation.run(for: .seconds(30))
            let problem = try devices[2].db.sync.status.connections[0].lastProblem?.error
            try simulation.expect(
                problem?.message.contains("update the older one") ?? false,
                "the device that is too new does not know why it is refused: \(String(describing: problem))")
            try devices[2].stop()
            try simulation.runUntilQuiet()
            try simulation.auditor.checkAll()
            try simulation.expectSame([hub, devices[0], devices[1]])
        }
    }

    /// A frame with a field at its end that only later versions of the protocol would know.
    private static func withFurtherField(_ frame: [UInt8]) -> [UInt8] {
        guard let message = try? MessageCodec.message(frame) else { return frame }
        var plain = MessageCodec.frame(message, compresses: false)
        // The head of an array of up to 23 fields holds their number.
        guard plain.count > 1, plain[1] >= 0x80, plain[1] < 0x97 else { return frame }
        plain[1] += 1
        return plain + [0x82, 0x19, 0x12, 0x34, 0x61, 0x78]
    }

    @Test("a peer claims to have seen what it has not: what was written arrives everywhere", arguments: Scenario.seeds)
    func forgedVectors(seed: UInt64) throws {
        try Scenario.run("forged vectors", seed) { simulation in
            let (hub, devices) = try simulation.addStar(3)
            let (author, forger) = (devices[0], devices[1])
            if simulation.number(0...1) == 0 { simulation.connect(devices[2], to: author) }
            for device in devices { try device.subscribe("cars") }
            try simulation.start()
            for id in 1...4 { try author.put(id, ["n": .int(Int64(id))]) }
            try simulation.runUntilQuiet()
            for other in [hub, devices[2]] {
                simulation.network.block(from: author, to: other)
                simulation.network.block(from: other, to: author)
            }
            for id in 1...4 { try author.put(id, ["late": .int(Int64(id)), "secret": "yes"]) }
            let claimed = forger.clock.wallNanoseconds + UInt64(simulation.number(0...100)) * 1_000_000_000
            for id in 1...4 { try Self.forge(forger, id, of: author, upTo: claimed) }
            try forger.put(4, ["forger": 4])
            simulation.run(for: .seconds(20))
            // What the author writes meanwhile, and after it has heard of the claim.
            for id in 1...2 { try author.put(id, ["meanwhile": .int(Int64(id))]) }
            simulation.network.heal()
            if simulation.number(0...1) == 0 { simulation.peers[simulation.number(1...3)].crash() }
            simulation.run(for: .seconds(5))
            try simulation.start()
            simulation.run(for: .seconds(120))
            for id in 2...3 { try author.put(id, ["later": .int(Int64(id))]) }
            simulation.run(for: .seconds(120))
            try simulation.expectSame([hub] + devices, count: 4)
            for id in 1...4 {
                try simulation.expect(
                    try hub.find(id)?["late"] == .int(Int64(id)), "what the author wrote to \(id) has not come")
            }
            try simulation.expect(try hub.find(2)?["later"] == 2, "what the author writes does not come any more")
            try simulation.auditor.checkSilence()
        }
    }

    /// Has a document of a peer say that it has seen what another peer wrote up to a time.
    private static func forge(_ peer: SimulatedPeer, _ id: Int, of author: SimulatedPeer, upTo time: UInt64) throws {
        let actor = try author.replica.read { $0.actor }
        let replica = try peer.replica
        let key = [UInt8(id)]
        try replica.write { writer in
            guard let actor, let collection = try writer.collection(named: "cars"),
                let reference = try key.withUnsafeBytes({ try writer.reference(collection: collection, id: $0) })
            else { return }
            var state = DocumentState()
            try writer.withDocument(reference) {
                state = try DocumentState(body: $0.body, state: $0.state, actors: replica.actors)
            }
            let claim = DocumentState(seen: VersionVector(actor: actor, time: HybridTime(rawValue: time)))
            _ = state.apply(DocumentDelta(base: VersionVector(), state: claim), forgets: true, names: replica.names)
            try key.withUnsafeBytes { try writer.store(state, reference, id: $0, from: 1) }
        }
    }

    @Test("a peer lies about its totals: the honest ones converge, and do not ask for ever", arguments: Scenario.seeds)
    func lyingPeer(seed: UInt64) throws {
        try Scenario.run("lying peer", seed) { simulation in
            let (hub, devices) = try simulation.addStar(2)
            let liar = try simulation.addPeer("liar")
            simulation.connect(devices[0], to: liar)
            for peer in devices + [liar] { try peer.subscribe("cars") }
            let number = liar.number
            simulation.network.tamper = { from, _, frame in
                guard from == number, let message = try? MessageCodec.message(frame) else { return frame }
                switch message {
                case .end(var end):
                    end.total?.sum.low &+= 1
                    return MessageCodec.frame(.end(end))
                case .sum(var sum):
                    sum.total.count += 1
                    return MessageCodec.frame(.sum(sum))
                default: return frame
                }
            }
            try simulation.start()
            for turn in 0..<20 {
                try simulation.pick(simulation.peers).put(turn, ["turn": .int(Int64(turn))])
                simulation.run(upTo: 500)
            }
            simulation.run(for: .seconds(600))
            let before = simulation.network.traffic.dataFrameCount
            simulation.run(for: .seconds(600))
            let sent = simulation.network.traffic.dataFrameCount - before
            try simulation.expect(sent < 1_000, "\(sent) frames in ten minutes, for nothing")
            try simulation.expectSame([hub] + devices, count: 20)
            simulation.network.tamper = nil
            try liar.stop()
            try simulation.runUntilQuiet()
            try simulation.auditor.checkAll()
        }
    }

    @Test(
        "frames arrive with wrong bits: nothing traps, and the link is made anew", arguments: Scenario.seeds(usually: 4)
    )
    func wrongBits(seed: UInt64) throws {
        try Scenario.run("wrong bits", seed) { simulation in
            let (hub, devices) = try simulation.addStar(2)
            for device in devices { try device.subscribe("cars") }
            var conditions = NetworkConditions.reliable
            conditions.bitFlipProbability = 0.05
            simulation.network.setConditions(conditions, from: devices[0], to: hub)
            simulation.network.setConditions(conditions, from: hub, to: devices[0])
            try simulation.start()
            for turn in 0..<60 {
                try simulation.pick([hub, devices[1]]).put(
                    simulation.number(1...9), ["text": .string(String(repeating: "text", count: turn))])
                simulation.run(upTo: 1_000)
            }
            // What a peer that may write everything sends wrong is what it writes; so the device sends nothing here.
            simulation.run(for: .seconds(120))
            let contents = try devices[1].contents()
            try simulation.expect(!contents.isEmpty, "nothing came")
            for peer in simulation.peers { try simulation.expect(peer.isRunning, "\(peer.name) has ended") }
        }
    }

    @Test("a block of a device's change log is damaged: it says so, and goes on", arguments: Scenario.seeds)
    func damagedLog(seed: UInt64) throws {
        try Scenario.run("damaged log", seed) { simulation in
            let (hub, devices) = try simulation.addStar(2)
            for device in devices { try device.subscribe("cars") }
            try simulation.start()
            try devices[0].fill(1...150) { ["text": .string(String(repeating: "\($0)", count: 400))] }
            for id in 1...60 { try devices[0].put(id, ["again": .int(Int64(id))]) }
            try simulation.runUntilQuiet()
            let damaged = simulation.pick([hub, devices[0]])
            if simulation.number(0...1) == 0 { try devices[1].stop() }
            try damaged.put(simulation.number(1...50), ["last": 1])
            try damaged.db.store.write {
                try $0.context.connection.execute(
                    "UPDATE log SET data = zeroblob(length(data)) WHERE seq IN (SELECT seq FROM log ORDER BY seq DESC LIMIT 2)"
                )
            }
            simulation.auditor.expectDamage(of: damaged)
            try simulation.expect(!(try damaged.db.verify().isEmpty), "the damage is not found")
            for id in 40...70 { try simulation.pick([hub, devices[0]]).put(id, ["after": .int(Int64(id))]) }
            damaged.crash()
            simulation.run(for: .seconds(5))
            try simulation.settle()
            try simulation.expectSame([hub] + devices)
        }
    }
}
