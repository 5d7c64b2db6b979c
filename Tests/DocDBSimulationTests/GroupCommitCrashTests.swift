import DocDBCore
import DocDB
import DocDBSimulation
import DocDBStorage
import Synchronization
import Testing

/// Stores that commit concurrent writes in groups, and end meanwhile at every operation that changes the disk.
@Suite("A store that ends while it commits a group")
struct GroupCommitCrashTests {
    static let writeCount: Int64 = 12

    private final class Outcomes: Sendable {
        let acknowledged = Lock<Set<Int64>>([])
    }

    /// Writes from as many tasks at once, of which every third wants its write durable; two documents in each transaction.
    private static func write(_ db: Database, _ outcomes: Outcomes) async {
        await withTaskGroup(of: Void.self) { tasks in
            for number in 1...writeCount {
                tasks.addTask {
                    do {
                        try await db.write(durability: number % 3 == 0 ? .full : .normal) { transaction in
                            try transaction.collection("cars").upsert(["_id": .int(number), "n": .int(number)])
                            try transaction.collection("others").upsert(["_id": .int(number), "n": .int(number)])
                        }
                        outcomes.acknowledged.withLock { _ = $0.insert(number) }
                    } catch { #expect(error is DocDBError) }
                }
            }
        }
    }

    @Test("holds whole transactions, all that were acknowledged as durable, and goes on")
    func survives() async throws {
        let prepared = SimulatedDisk(seed: 1)
        let db = try Database(at: "cars.docdb", options: .simulated(on: prepared))
        for name in ["cars", "others"] { try db.collection(name).upsert(["_id": 0]) }
        try db.close()
        let image = prepared.snapshot()
        var isFinished = false
        var stop = 0
        var acknowledgedCount = 0
        while !isFinished {
            for end in [CrashEnd.process, CrashEnd.powerCuts[stop % CrashEnd.powerCuts.count]] {
                let disk = SimulatedDisk(seed: UInt64(stop))
                disk.restore(image, keepsIdentity: true)
                disk.stop(afterChanges: stop)
                let outcomes = Outcomes()
                do {
                    let db = try Database(at: "cars.docdb", options: .simulated(on: disk))
                    await Self.write(db, outcomes)
                } catch { #expect(error is DocDBError) }
                isFinished = !disk.isStopped
                end.happen(to: disk, seed: UInt64(stop))
                let comment: Comment = "change \(stop), \(end)"
                let db = try Database(at: "cars.docdb", options: .simulated(on: disk))
                let cars = Set(try db.collection("cars").findAll().ids())
                #expect(cars == Set(try db.collection("others").findAll().ids()), comment)
                let acknowledged = outcomes.acknowledged.withLock { $0 }
                for number in acknowledged where number % 3 == 0 || !end.isPowerCut {
                    #expect(cars.contains(DocumentID(number)), "write \(number), \(comment)")
                }
                acknowledgedCount += acknowledged.count
                let findings = try db.verify()
                #expect(findings.isEmpty, "\(findings): \(comment)")
                try db.collection("cars").upsert(["_id": "after"])
            }
            stop += 1
        }
        #expect(stop > 10 && acknowledgedCount > Int(Self.writeCount))
    }
}
