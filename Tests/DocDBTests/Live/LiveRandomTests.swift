import DocDB
import Dispatch
import Testing

@Suite("Live queries under random operations")
struct LiveRandomTests {
    struct Abort: Error {}

    /// The shapes of queries that are observed.
    static func queries(_ cars: Collection) throws -> [Query] {
        [
            cars.findAll(),
            cars.findAll().sort("price"),
            cars.findAll().sort("price", .descending).limit(5),
            try cars.find("price < 50").sort("make").sort("price", .descending).limit(4).offset(3),
            try cars.find("_id == 7"),
            try cars.find("_id in [1, 3, 5, 7]").sort("_id", .descending),
            try cars.find("price >= 20 && price < 40"),
            try cars.find("make == 'opel'").sort("seller.name").offset(2),
            try cars.find("tags[*] == 'b' || price > 90").sort("tags[0]").limit(1),
            try cars.find("make == 'none'").limit(3),
            cars.findAll().limit(0),
            cars.findAll().limit(6).offset(2),
        ]
    }

    static func document(_ id: Int, _ random: inout SeededNumbers) -> Value {
        var members: [String: Value] = [
            "_id": .int(Int64(id)), "price": .int(Int64(random.next(below: 100))),
            "make": .string(["opel", "ford", "fiat"][random.next(below: 3)]),
        ]
        if random.next(below: 2) == 0 { members["seller"] = ["name": .string(String(random.next(below: 5)))] }
        if random.next(below: 2) == 0 { members["tags"] = .array([["a"], ["b"], ["a", "b"]][random.next(below: 3)]) }
        return .object(members)
    }

    /// Does one random thing in one transaction or outside of one.
    static func act(_ db: Database, _ random: inout SeededNumbers, idCount: Int) throws {
        let cars = db.collection("cars")
        let id = random.next(below: idCount)
        let documentID = DocumentID(Int64(id))
        switch random.next(below: 12) {
        case 0...3: try cars.upsert(document(id, &random), strategy: .replace)
        case 4, 5:
            let price = Int64(random.next(below: 100))
            try db.write { transaction in
                let cars = transaction.collection("cars")
                if try cars.find(id: documentID) != nil { try cars.update(documentID) { $0["price"] = .int(price) } }
            }
        case 6: _ = try cars.remove(documentID)
        case 7: _ = try cars.evict(documentID, force: true)
        case 8, 9:
            // Several documents in one commit, some of them more than once.
            try db.write { transaction in
                let cars = transaction.collection("cars")
                for _ in 0..<(1 + random.next(below: 30)) {
                    let id = random.next(below: idCount)
                    if random.next(below: 3) == 0 {
                        _ = try cars.remove(DocumentID(Int64(id)))
                    } else {
                        try cars.upsert(document(id, &random), strategy: .replace)
                    }
                }
            }
        case 10:
            #expect(throws: Abort.self) {
                try db.write { transaction in
                    try transaction.collection("cars").upsert(document(id, &random), strategy: .replace)
                    throw Abort()
                }
            }
        default: try db.collection("others").upsert(document(id, &random), strategy: .replace)
        }
    }

    @Test(
        "each event leads from the old results to the new ones, and all end equal to fresh queries", arguments: 0..<120)
    func converges(seed: UInt64) throws {
        let place = try TemporaryDatabase()
        var random = SeededNumbers(seed: seed)
        let idCount = [12, 60, 150][random.next(below: 3)]
        for id in 0..<random.next(below: idCount) { try place.cars.upsert(Self.document(id, &random)) }
        if random.next(below: 2) == 0 { try place.cars.createIndex(["price"]) }
        var observed: [(Query, LiveRecorder)] = []
        for query in try Self.queries(place.cars) {
            let recorder = LiveRecorder()
            try recorder.observe(query)
            observed.append((query, recorder))
        }
        for _ in 0..<4 {
            for _ in 0..<(1 + random.next(below: 12)) { try Self.act(place.db, &random, idCount: idCount) }
            for (index, (query, recorder)) in observed.enumerated() {
                let fresh = try query.documents().map(LiveRecorder.text)
                let problem = recorder.wait(for: fresh)
                #expect(problem == nil, "seed \(seed), query \(index)")
            }
            // One goes and another one of its kind comes.
            let index = random.next(below: observed.count)
            observed[index].1.cancel()
            let recorder = LiveRecorder()
            try recorder.observe(observed[index].0)
            observed[index].1 = recorder
        }
    }

    @Test("observers come and go on other threads while commits run", arguments: 0..<4)
    func threads(seed: UInt64) throws {
        let place = try TemporaryDatabase()
        let queries = try Self.queries(place.cars)
        let lasting = try queries.map { query in
            let recorder = LiveRecorder()
            try recorder.observe(query)
            return recorder
        }
        let failures = Awaited<String>()
        DispatchQueue.concurrentPerform(iterations: 6) { thread in
            var random = SeededNumbers(seed: seed * 16 + UInt64(thread))
            do {
                for turn in 0..<60 {
                    if thread < 2 {
                        try Self.act(place.db, &random, idCount: 80)
                    } else {
                        let recorder = LiveRecorder()
                        try recorder.observe(queries[random.next(below: queries.count)])
                        if turn % 3 == 0 { try Self.act(place.db, &random, idCount: 80) }
                        if turn % 2 == 0 { recorder.cancel() }
                    }
                }
            } catch {
                failures.append("\(error)")
            }
        }
        #expect(failures.all.isEmpty)
        for (index, (query, recorder)) in zip(queries, lasting).enumerated() {
            let fresh = try query.documents().map(LiveRecorder.text)
            #expect(recorder.wait(for: fresh) == nil, "seed \(seed), query \(index)")
        }
    }
}
