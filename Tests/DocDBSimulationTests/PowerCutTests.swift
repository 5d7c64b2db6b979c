import DocDB
import DocDBSimulation
import DocDBStorage
import Testing

/// Stores under random work on disks whose power goes, again and again.
@Suite("A store whose power goes at random")
struct PowerCutTests {
    /// A store, and what is done to it, drawn from one seed.
    struct Run {
        let seed: UInt64
        let disk: SimulatedDisk
        let history: CrashHistory
        var random: SimulationRandom
        var evicted: Set<Int64> = []
        var backupCount = 0

        init(seed: UInt64) {
            self.seed = seed
            disk = SimulatedDisk(seed: seed)
            history = CrashHistory(disk)
            random = SimulationRandom(seed: seed &+ 1_000_000)
        }

        mutating func step() throws {
            let cars = try history.db().collection("cars")
            switch Int.random(in: 0..<40, using: &random) {
            case 0..<20: try history.commit(fillerCount: Int.random(in: 1...400, using: &random))
            case 20..<25: try history.commit(.full, fillerCount: Int.random(in: 1...20_000, using: &random))
            case 25..<29: try history.synchronize()
            case 29..<31: try history.db().checkpoint()
            case 31..<33: try cars.createIndex(["filler", "n"])
            case 33: try? cars.dropIndex(["filler", "n"])
            case 34:
                let victim = Int64.random(in: 1...max(1, history.begun), using: &random)
                evicted.insert(victim)
                try cars.evict(DocumentID(victim), force: true)
            case 35: try history.close()
            case 36: try history.db().compact()
            case 37:
                backupCount += 1
                try history.db().backup(to: "/backup\(backupCount).docdb")
            default:
                // A clock that is set anew must not make times come back.
                history.clock.jump(by: .seconds(Int.random(in: -100_000...100_000, using: &random)))
            }
        }

        mutating func round(_ number: Int) throws {
            var stepCount = Int.random(in: 1...25, using: &random)
            if random.chance(0.7) { disk.stop(afterChanges: Int.random(in: 0...150, using: &random)) }
            while stepCount > 0, !disk.isStopped {
                stepCount -= 1
                do {
                    try step()
                } catch let error as DocDBError {
                    #expect(disk.isStopped, "seed \(seed), round \(number): \(error)")
                }
            }
            let end: CrashEnd =
                [.process, .powerWithAll, .powerWithSome, .powerTorn, .powerTorn]
                .randomElement(using: &random) ?? .process
            history.forget()
            end.happen(to: disk, seed: random.next())
            if random.chance(0.3) { interruptRecovery(end) }
            try history.check(after: end, evicted: evicted, "seed \(seed), round \(number), \(end)")
        }

        /// Opens the store, which recovers, and ends it again meanwhile.
        private mutating func interruptRecovery(_ end: CrashEnd) {
            disk.stop(afterChanges: Int.random(in: 0...20, using: &random))
            if let db = try? history.db() { _ = try? db.checkpoint() }
            history.forget()
            end.happen(to: disk, seed: random.next())
        }
    }

    @Test("keeps what was durable, a prefix of the rest, and no time twice", arguments: 0..<200 as Range<UInt64>)
    func survives(seed: UInt64) throws {
        var run = Run(seed: seed)
        for round in 0..<3 { try run.round(round) }
    }

    @Test("on a disk that lies about what it has synchronised loses durable commits, which these tests would tell")
    func canary() throws {
        var lostCount = 0
        for seed in 0..<20 as Range<UInt64> {
            let disk = SimulatedDisk(seed: seed)
            let history = CrashHistory(disk)
            try history.commit(.full)
            disk.inject(DiskFault(.ignored, on: [.synchronize], path: "-wal", count: nil))
            for _ in 0..<5 { try history.commit(.full) }
            history.forget()
            disk.cutPower(.tearsPages)
            disk.clearFaults()
            let last = try history.db().collection("cars").find(id: "last")?["n"]?.intValue ?? 0
            if last < history.durable { lostCount += 1 }
        }
        #expect(lostCount > 0)
    }

    @Test("keeps grouped commits whole, and those that were durable all", arguments: 0..<30 as Range<UInt64>)
    func groupCommits(seed: UInt64) async throws {
        let disk = SimulatedDisk(seed: seed)
        var random = SimulationRandom(seed: seed)
        var db: Database? = try Database(at: "cars.docdb", options: .simulated(on: disk))
        try db?.collection("cars").insert(["_id": "first"])
        disk.stop(afterChanges: Int.random(in: 0...25, using: &random))
        let durability: Durability = seed % 2 == 0 ? .full : .normal
        let acknowledged = await withTaskGroup(of: Int?.self) { [db] group in
            for number in 0..<20 {
                group.addTask {
                    do {
                        try await db?.write(durability: durability) { transaction in
                            let cars = transaction.collection("cars")
                            try cars.insert(["_id": .string("left\(number)")])
                            try cars.insert(["_id": .string("right\(number)"), "field\(number)": 1])
                        }
                        return number
                    } catch {
                        #expect(error is DocDBError)
                        return nil
                    }
                }
            }
            return await group.reduce(into: Set<Int>()) { if let number = $1 { $0.insert(number) } }
        }
        db = nil
        let end: CrashEnd = seed % 3 == 0 ? .process : .powerTorn
        end.happen(to: disk, seed: seed)
        let reopened = try Database(at: "cars.docdb", options: .simulated(on: disk))
        for number in 0..<20 {
            let left = try reopened.collection("cars").find(id: DocumentID("left\(number)"))
            let right = try reopened.collection("cars").find(id: DocumentID("right\(number)"))
            #expect((left == nil) == (right == nil), "seed \(seed)")
            if right != nil { #expect(right?["field\(number)"] == 1) }
            if acknowledged.contains(number), durability == .full || !end.isPowerCut {
                #expect(left != nil, "seed \(seed)")
            }
        }
        #expect(try reopened.verify().isEmpty, "seed \(seed)")
    }
}
