import DocDB
import Testing

@Suite("History") struct HistoryTests {
    let database: TemporaryDatabase
    var db: Database { database.db }
    var cars: Collection { database.cars }

    init() throws { database = try TemporaryDatabase() }

    /// Five commits on two documents: a is made, changed, deleted; b is made after a's first change, and stays.
    private func writeStory() throws {
        try cars.insert(["_id": "a", "price": 10, "state": "for sale"])
        try cars.update("a") { $0["price"] = 8 }
        try cars.insert(["_id": "b", "price": 5, "state": "for sale"])
        try cars.update("a") {
            $0["state"] = "sold"; $0["price"].unset()
        }
        try cars.remove("a")
    }

    @Test("tells the versions of a document, newest first")
    func revisions() throws {
        try writeStory()
        let revisions = try cars.history(of: "a")
        #expect(revisions.map(\.sequence) == [5, 4, 2, 1])
        #expect(
            try revisions.map { try $0.document?.value } == [
                nil, ["_id": "a", "state": "sold"], ["_id": "a", "price": 8, "state": "for sale"],
                ["_id": "a", "price": 10, "state": "for sale"],
            ])
        #expect(Set(try #require(revisions[1].paths)) == ["price", "state"])
        #expect(revisions[2].paths == ["price"])
        #expect(revisions[3].paths == nil)
        #expect(revisions.map(\.time) == revisions.map(\.time).sorted(by: >))
        #expect(revisions.allSatisfy { $0.origin == .local && $0.actors.count == 1 })
        #expect(try cars.history(of: "a", limit: 2).map(\.sequence) == [5, 4])
        #expect(try cars.history(of: "none").isEmpty)
        #expect(try db.read { try $0.collection("cars").history(of: "b").map(\.sequence) } == [3])
    }

    @Test("shows the database as it was after each commit")
    func asOfSequence() throws {
        try writeStory()
        let expected: [(Int64, [DocumentID: Value])] = [
            (0, [:]), (1, ["a": 10]), (2, ["a": 8]), (3, ["a": 8, "b": 5]), (4, ["a": .null, "b": 5]), (5, ["b": 5]),
        ]
        for (sequence, prices) in expected {
            let then = try db.asOf(sequence: sequence).collection("cars")
            #expect(Set(try then.findAll().ids()) == Set(prices.keys), "after commit \(sequence)")
            for id in ["a", "b"] as [DocumentID] {
                let found = try then.find(id: id)
                #expect((found != nil) == (prices[id] != nil))
                #expect((found?["price"] ?? .null) == (prices[id] ?? .null))
            }
            #expect(try then.find("price >= 5").count() == prices.values.count { $0 != .null })
        }
    }

    @Test("queries the past in every form")
    func queriesOfThePast() throws {
        try db.write { tx in
            for number in Int64(0)..<10 {
                try tx.collection("cars").insert(["_id": .int(number), "n": .int(number * 7 % 10)])
            }
        }
        try cars.findAll().update { $0["n"].increment(by: 1000) }
        try cars.find("_id < 5").remove()
        let then = try db.asOf(sequence: 1).collection("cars")
        // n of the ids 0...9 was 0 7 4 1 8 5 2 9 6 3.
        #expect(try then.find("n >= 5").ids() == [1, 4, 5, 7, 8])
        #expect(try then.find("n >= 5").sort("n").ids() == [5, 8, 1, 4, 7])
        #expect(try then.find("n >= 5").sort("n", .descending).limit(2).ids() == [7, 4])
        #expect(try then.find("n >= 5").sort("n").offset(3).ids() == [4, 7])
        #expect(try then.find("n >= 5").limit(2).ids() == [1, 4])
        #expect(try then.find("n >= 5").offset(4).ids() == [8])
        #expect(try then.findAll().limit(0).ids() == [])
        #expect(try then.find("n >= 5").count() == 5)
        #expect(try then.find("n >= 5").offset(2).limit(2).count() == 2)
        #expect(try then.find("n >= 5").exists())
        #expect(try then.find("n >= 5").offset(5).exists() == false)
        #expect(try then.find("n > 100").exists() == false)
        #expect(try then.find("_id == 3").first()?["n"] == 1)
        struct Numbered: Decodable { let n: Int }
        #expect(try then.findAll().sort("_id").documents(as: Numbered.self).map(\.n) == [0, 7, 4, 1, 8, 5, 2, 9, 6, 3])
        #expect(try cars.find("n >= 5").count() == 5)
        #expect(errorCode { try then.find("n >=") } == .invalidPredicate)
    }

    @Test("finds the state of a time")
    func asOfTime() throws {
        try writeStory()
        let times = try db.log().map(\.time)
        #expect(times.count == 5)
        for (index, time) in times.enumerated() {
            #expect(try db.asOf(time: time).sequence == Int64(index + 1))
            #expect(try db.asOf(time: HybridTime(rawValue: time.rawValue - 1)).sequence == Int64(index))
        }
        #expect(try db.asOf(time: .zero).sequence == 0)
        #expect(try db.asOf(time: HybridTime(rawValue: .max)).sequence == 5)
    }

    @Test("refuses a state that is not there yet, or no more")
    func notRetained() throws {
        try writeStory()
        #expect(errorCode { try db.asOf(sequence: 6) } == .historyNotRetained)
        #expect(errorCode { try db.asOf(sequence: -1) } == .historyNotRetained)
        let small = try TemporaryDatabase { $0.historyByteCount = 1024 }
        for number in Int64(0)..<3_000 { try small.cars.upsert(["_id": 1, "n": .int(number)]) }
        let log = try small.db.statistics().log
        #expect(log.oldestSequence > 1)
        #expect(errorCode { try small.db.asOf(sequence: log.oldestSequence - 2) } == .historyNotRetained)
        #expect(errorCode { try small.db.asOf(time: .zero) } == .historyNotRetained)
        #expect(errorCode { try small.db.log(since: 1, limit: 1) } == .historyNotRetained)
        #expect(try small.db.log(since: 0, limit: 1).map(\.sequence) == [log.oldestSequence])
        let oldest = try small.db.asOf(sequence: log.oldestSequence).collection("cars").find(id: 1)
        #expect(oldest?["n"] == .int(log.oldestSequence - 1))
    }

    @Test("lists commits and the documents that they touched")
    func log() throws {
        try writeStory()
        try db.write { tx in
            try tx.collection("other").insert(["_id": 1])
            try tx.collection("cars").upsert(["_id": "b", "price": 6])
        }
        let log = try db.log(limit: 100)
        #expect(log.map(\.sequence) == [1, 2, 3, 4, 5, 6])
        #expect(log.map { $0.changes.map(\.id) } == [["a"], ["a"], ["b"], ["a"], ["a"], [1, "b"]])
        #expect(
            log.map { $0.changes.map(\.kind) }.map { $0.map { "\($0)" } } == [
                ["inserted"], ["changed"], ["inserted"], ["changed"], ["changed"], ["inserted", "changed"],
            ])
        #expect(log[5].changes.map(\.collection) == ["other", "cars"])
        #expect(try db.log(since: 4, limit: 1).map(\.sequence) == [5])
        #expect(try db.log(since: 6).isEmpty)
        #expect(try db.log(since: .max).isEmpty)
        #expect(try db.log(limit: 0).isEmpty)
    }

    @Test(
        "of an age beyond all clocks keeps everything",
        arguments: [
            Duration.seconds(100 * 365 * 86_400), .seconds(18_446_744_073) + .nanoseconds(709_551_615),
            .seconds(18_446_744_073) + .nanoseconds(709_551_616), .seconds(Int64.max),
        ])
    func longAge(age: Duration) throws {
        let database = try TemporaryDatabase {
            $0.historyAge = age
            $0.historyByteCount = .max
        }
        // Long enough that the log is folded, which is when its old end is cut, several times.
        for number in 0..<300 {
            try database.cars.upsert(["_id": 1, "text": .string(String(repeating: "\(number) ", count: 250))])
        }
        #expect(try database.db.log().count == 300)
        #expect(try database.db.statistics().log.blockCount > 1)
    }

    @Test("keeps nothing of an evicted document")
    func eviction() throws {
        try writeStory()
        try cars.evict("b", force: true)
        let log = try db.log()
        #expect(log.count == 6)
        #expect(log[2].changes.map(\.id) == [nil])
        #expect(log[2].changes.map { "\($0.kind)" } == ["erased"])
        #expect(log[5].origin == .eviction)
        #expect(log[5].changes.map { "\($0.kind)" } == ["evicted"])
        #expect(try db.asOf(sequence: 3).collection("cars").findAll().ids() == ["a"])
        #expect(try db.verify().isEmpty)
    }
}
