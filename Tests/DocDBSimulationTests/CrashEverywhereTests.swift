import DocDB
import DocDBSimulation
import DocDBStorage
import Testing

/// Tasks of a store, each ended at every operation by which it changes the disk.
@Suite("A store that ends at any disk operation")
struct CrashEverywhereTests {
    /// One task: what stands before it, what it does, and what may be missing after it.
    struct Task: Sendable, CustomTestStringConvertible {
        var testDescription: String
        var preparedCommitCount: Int64 = 3
        var prepare: @Sendable (CrashHistory) throws -> Void = { _ in }
        var run: @Sendable (CrashHistory) throws -> Void
        var evicted: Set<Int64> = []
        var check: @Sendable (CrashHistory, Comment) throws -> Void = { (_, _) in }

        init(_ name: String, _ run: @escaping @Sendable (CrashHistory) throws -> Void) {
            testDescription = name
            self.run = run
        }

        func with(_ change: (inout Task) -> Void) -> Task {
            var task = self
            change(&task)
            return task
        }
    }

    static let tasks: [Task] = [
        Task("creation") {
            _ = try $0.db()
            try $0.commit(.full)
            try $0.close()
        }.with { $0.preparedCommitCount = 0 },
        Task("commits") {
            try $0.commit()
            try $0.commit(.full)
            try $0.commit(fillerCount: 9_000)
            try $0.commit()
            try $0.synchronize()
            try $0.commit()
        },
        Task("closing") {
            try $0.commit()
            try $0.close()
        },
        Task("a log fold") { for _ in 0..<6 { try $0.commit(fillerCount: 8_000) } }.with {
            $0.preparedCommitCount = 0
            $0.prepare = { history in
                _ = try history.db().write { transaction in
                    for number in 0..<10 {
                        try transaction.collection("others").upsert(["_id": .int(Int64(number)), "n": 0])
                    }
                }
                // Displaced values fill the log's tail to just below a fold.
                for round in 1..<4 {
                    _ = try history.db().write { transaction in
                        for number in 0..<10 {
                            let text = String(repeating: "x", count: 1_000)
                            try transaction.collection("others")
                                .upsert(["_id": .int(Int64(number)), "n": .string(text + "\(round)")])
                        }
                    }
                }
            }
            $0.run = { history in
                for round in 1..<3 {
                    _ = try history.db().write { transaction in
                        for number in 0..<10 {
                            let text = String(repeating: "y", count: 1_000)
                            try transaction.collection("others")
                                .upsert(["_id": .int(Int64(number)), "n": .string(text + "\(round)")])
                        }
                    }
                    try history.commit()
                }
                #expect(try history.db().statistics().log.blockCount > 0)
            }
        },
        Task("the creation of an index") {
            try $0.db().collection("cars").createIndex(["filler"])
            try $0.commit(.full)
            try $0.db().collection("cars").dropIndex(["filler"])
            try $0.commit()
        }.with { $0.preparedCommitCount = 20 },
        Task("an eviction") {
            try $0.db().collection("cars").evict(2, force: true)
            try $0.commit()
            _ = try $0.db().collection("cars").find("_id == 1").evict(force: true)
        }.with { $0.evicted = [1, 2] },
        Task("a checkpoint") {
            try $0.commit(fillerCount: 20_000)
            try $0.db().checkpoint()
            try $0.commit()
        },
        Task("compaction") {
            try $0.commit(fillerCount: 9_000)
            try $0.db().compact()
            try $0.commit(.full)
        }.with { $0.preparedCommitCount = 10 },
        Task("a backup") {
            try $0.commit()
            try $0.db().backup(to: "/copy.docdb")
            try $0.commit()
        }.with {
            $0.check = { (history, comment) in
                // It is there whole or not at all.
                guard history.disk.content(of: "/copy.docdb/store.sqlite") != nil else { return }
                let copy = try Database(at: "/copy.docdb", options: .simulated(on: history.disk, clock: history.clock))
                #expect(try copy.verify().isEmpty, comment)
                #expect(try copy.collection("cars").find(id: "last")?["n"] == 4, comment)
                try copy.collection("cars").upsert(["_id": "new"])
            }
        },
    ]

    @Test("finds every durable commit again, the others as a prefix, and goes on", arguments: tasks)
    func survives(task: Task) throws {
        let image = try Self.prepare(task)
        var changeCount = 0
        var stop = 0
        repeat {
            // Each stop with a killed process and one kind of power cut; the kinds take turns.
            for end in [CrashEnd.process, CrashEnd.powerCuts[stop % CrashEnd.powerCuts.count]] {
                let disk = SimulatedDisk(seed: UInt64(stop))
                disk.restore(image, keepsIdentity: true)
                let history = CrashHistory.prepared(disk, count: task.preparedCommitCount)
                let before = disk.changeCount
                disk.stop(afterChanges: stop)
                do { try task.run(history) } catch { #expect(error is DocDBError) }
                if !disk.isStopped { changeCount = disk.changeCount - before }
                history.forget()
                end.happen(to: disk, seed: UInt64(stop))
                let comment: Comment = "\(task.testDescription), change \(stop), \(end)"
                try history.check(after: end, evicted: task.evicted, comment)
                try task.check(history, comment)
            }
            stop += 1
        } while changeCount == 0
        #expect(stop > 10, "a task of \(changeCount) changes is none")
    }

    static func prepare(_ task: Task) throws -> DiskSnapshot {
        let disk = SimulatedDisk(seed: 1)
        let history = CrashHistory(disk)
        for _ in 0..<task.preparedCommitCount { try history.commit() }
        try task.prepare(history)
        try history.close()
        return disk.snapshot()
    }
}
