import DocDB
import DocDBSimulation
import Testing

@Suite("Scenarios of absence and loss", .timeLimit(.minutes(10)))
struct AbsenceScenarioTests {
    @Test("a device returns after a long absence", arguments: Scenario.seeds)
    func longAbsence(seed: UInt64) throws {
        try Scenario.run("long absence", seed) { simulation in
            let (hub, devices) = try simulation.addStar(2)
            for device in devices { try device.subscribe("cars") }
            try simulation.start()
            try devices[0].fill(1...60) { ["n": .int(Int64($0))] }
            try simulation.runUntilQuiet()
            try devices[1].stop()
            for week in 0..<20 {
                for _ in 0..<10 {
                    let id = simulation.number(1...80)
                    if simulation.number(0...3) == 0 {
                        try hub.delete(id)
                    } else {
                        try devices[0].put(id, ["week": .int(Int64(week))])
                    }
                }
                simulation.run(for: .seconds(week % 5 == 0 ? 7_200 : 60))
            }
            try devices[0].stop()
            try hub.stop()
            simulation.run(for: .seconds(90 * 86_400))
            simulation.network.block(from: devices[1], to: hub)
            try devices[1].start()
            for id in 1...10 { try devices[1].put(id, ["mine": .int(Int64(id))]) }
            simulation.run(for: .seconds(300))
            try simulation.settle()
            try simulation.expectSame([hub] + devices)
        }
    }

    @Test("the hub has cut its log, so that no cursor is valid", arguments: Scenario.seeds)
    func invalidCursor(seed: UInt64) throws {
        try Scenario.run("cursor invalid", seed) { simulation in
            let (hub, devices) = try simulation.addStar(2, history: 0)
            for device in devices { try device.subscribe("cars") }
            try simulation.start()
            try devices[0].fill(1...200) { ["n": .int(Int64($0))] }
            try simulation.runUntilQuiet()
            for _ in 0..<3 {
                try devices[1].stop()
                for _ in 0..<15 {
                    let text = String(repeating: "x", count: simulation.number(1...1_200))
                    try hub.put(simulation.number(1...220), ["text": .string(text)])
                    if simulation.number(0...4) == 0 { try hub.delete(simulation.number(1...220)) }
                }
                simulation.run(for: .seconds(60))
                try devices[1].start()
                try devices[1].put(simulation.number(1...220), ["mine": true])
                simulation.run(upTo: 30_000)
            }
            try simulation.settle()
            try simulation.expectSame([hub] + devices)
        }
    }

    @Test("a database is restored from an old backup", arguments: Scenario.seeds)
    func oldBackup(seed: UInt64) throws {
        try Scenario.run("old backup", seed) { simulation in
            let (hub, devices) = try simulation.addStar(2)
            for device in devices { try device.subscribe("cars") }
            try simulation.start()
            for id in 1...10 { try devices[0].put(id, ["first": .int(Int64(id))]) }
            simulation.run(upTo: 2_000)
            let backup = try devices[0].backUp()
            for _ in 0..<3 {
                for id in 5...14 { try devices[0].put(id, ["second": .int(Int64(simulation.number(0...99)))]) }
                try devices[0].delete(simulation.number(1...4))
                try simulation.runUntilQuiet()
                if simulation.number(0...1) == 0 { devices[0].crash() } else { try devices[0].stop() }
                try devices[0].restore(backup)
                try devices[0].start()
                for id in 3...7 { try devices[0].put(id, ["third": .int(Int64(simulation.number(0...99)))]) }
                simulation.run(upTo: 5_000)
                try simulation.auditor.check()
            }
            try simulation.settle()
            try simulation.expectSame([hub] + devices)
        }
    }

    @Test("a database's directory is copied to a second device", arguments: Scenario.seeds)
    func copiedDirectory(seed: UInt64) throws {
        try Scenario.run("copied directory", seed) { simulation in
            let (hub, devices) = try simulation.addStar(2)
            for device in devices { try device.subscribe("cars") }
            try hub.start()
            try devices[0].start()
            for id in 1...10 { try devices[0].put(id, ["n": .int(Int64(id))]) }
            simulation.run(upTo: 5_000)
            try devices[0].stop()
            try devices[1].restore(devices[0].copyDirectory())
            try simulation.start()
            for id in 1...12 { try simulation.pick(devices).put(id, ["m": .int(Int64(id))]) }
            try simulation.settle()
            try simulation.expectSame([hub] + devices)
        }
    }

    @Test("power goes and takes the last commits", arguments: Scenario.seeds)
    func powerLoss(seed: UInt64) throws {
        try Scenario.run("power loss", seed) { simulation in
            let (hub, devices) = try simulation.addStar(3)
            for device in devices { try device.subscribe("cars") }
            try simulation.start()
            for turn in 0..<12 {
                for _ in 0..<simulation.number(1...8) {
                    let peer = simulation.pick(simulation.peers)
                    if peer.isRunning { try peer.put(simulation.number(1...6), ["turn": .int(Int64(turn))]) }
                    simulation.run(upTo: 30)
                }
                let victim = simulation.pick(simulation.peers)
                victim.cutPower(simulation.pick([.losesUnsynchronized, .keepsSomeWrites, .tearsPages]))
                simulation.run(upTo: 200_000)
                try victim.start()
                try victim.put(simulation.number(1...6), ["after": .int(Int64(turn))])
                try simulation.auditor.check()
            }
            try simulation.settle()
            try simulation.expectSame([hub] + devices)
        }
    }

    @Test("a device crashes at each disk operation of what it applies", arguments: Scenario.seeds)
    func crashWhileApplying(seed: UInt64) throws {
        try Scenario.run("crash while applying", seed) { simulation in
            let (hub, devices) = try simulation.addStar(1)
            let device = devices[0]
            try device.subscribe("cars")
            try simulation.start()
            try simulation.runUntilQuiet()
            var (stop, wasStopped) = (0, true)
            while wasStopped {
                device.disk.stop(afterChanges: stop)
                try hub.write { transaction in
                    for id in 1...5 {
                        try transaction.collection("cars").upsert(["_id": .int(Int64(id)), "stop": .int(Int64(stop))])
                    }
                }
                simulation.run(for: .seconds(3))
                wasStopped = device.disk.isStopped
                device.disk.clearFaults()
                if simulation.number(0...1) == 0 {
                    device.crash()
                } else {
                    device.cutPower(simulation.pick([.losesUnsynchronized, .keepsSomeWrites, .tearsPages]))
                }
                try device.start()
                try simulation.expect(
                    Set(try device.db.collection("cars").findAll().documents().map { $0["stop"] }).count <= 1,
                    "a snapshot was applied in part")
                try simulation.run(until: "the device has what the hub wrote") {
                    try device.contents() == hub.contents()
                }
                simulation.run(for: .seconds(1))
                try simulation.auditor.check()
                stop += 1
            }
            try simulation.expect(stop > 5, "the device has stopped \(stop) times only")
            try simulation.settle()
        }
    }

    @Test("the disk is full in the middle of replication", arguments: Scenario.seeds)
    func diskFull(seed: UInt64) throws {
        try Scenario.run("disk full", seed) { simulation in
            let (hub, devices) = try simulation.addStar(1)
            let device = devices[0]
            try device.subscribe("cars")
            try simulation.start()
            try hub.fill(1...20) { ["n": .int(Int64($0))] }
            try simulation.runUntilQuiet()
            device.disk.byteLimit = device.disk.usedByteCount + simulation.number(0...60_000)
            try hub.fill(21...300) { ["text": .string(String(repeating: "\($0)", count: 200))] }
            simulation.run(for: .seconds(120))
            try simulation.expect(try device.count() < 300, "the disk was not full")
            let problems =
                try device.db.sync.status.peers.compactMap(\.lastProblem)
                + device.db.sync.status.connections.compactMap(\.lastProblem)
            try simulation.expect(
                problems.contains { $0.error.code == .diskFull },
                "the status does not tell that the disk is full: \(problems)")
            device.disk.byteLimit = nil
            try simulation.settle()
            try simulation.expectSame([hub, device], count: 300)
        }
    }

    @Test("the first synchronisation is interrupted fifty times", arguments: Scenario.seeds(usually: 1))
    func interrupted(seed: UInt64) throws {
        try Scenario.run("interrupted first sync", seed) { simulation in
            let (hub, devices) = try simulation.addStar(1)
            let device = devices[0]
            try device.subscribe("cars")
            try hub.start()
            try hub.fill(1...1_200) {
                ["text": .string("\(simulation.random.next()) \(simulation.random.next())"), "n": .int(Int64($0))]
            }
            simulation.network.conditions.bytesPerSecond = 4_000
            try device.start()
            var interruptions = 0
            for turn in 0..<50 {
                simulation.run(for: .milliseconds(Int64(simulation.number(200...900))))
                if try device.count() < 1_200 { interruptions += 1 }
                if turn % 10 == 9 {
                    device.crash()
                    try device.start()
                } else {
                    simulation.network.breakLinks(between: device, and: hub)
                    device.openSync()
                }
            }
            try simulation.expect(interruptions > 10, "only \(interruptions) interruptions came in time")
            try simulation.settle()
            try simulation.expectSame([hub, device], count: 1_200)
        }
    }
}

extension SimulatedPeer {
    /// Tries to connect at once.
    func openSync() { try? db.sync.networkDidChange() }
}
