import DocDBCore
import DocDBLive
import DocDBStorage
import Dispatch
import Synchronization
import Testing

@Suite("What live queries share")
struct LiveSharingTests {
    let place: LiveStore

    init() throws { place = try LiveStore() }

    @Test("queries for the same results share a window, others do not")
    func windows() throws {
        let first = try place.live(place.query("price>=1&&price<9", by: ["price"], limit: 5))
        let same = try place.live(place.query("price >= 1 && price < 9", by: ["price"], limit: 5))
        #expect(first.sharesWindow(with: same))
        for other in [
            try place.query("price >= 1 && price < 8", by: ["price"], limit: 5),
            try place.query("price >= 1 && price < 9", by: ["price"], descending: true, limit: 5),
            try place.query("price >= 1 && price < 9", by: ["price"], limit: 6),
            try place.query("price >= 1 && price < 9", by: ["price"], limit: 5, offset: 1),
            try place.query("price >= 1 && price < 9", by: ["price"]),
            try place.query("price >= 1 && price < 9", limit: 5),
        ] {
            #expect(!first.sharesWindow(with: try place.live(other)))
        }
    }

    @Test("each of them is woken and takes for itself, and the last one ends the window")
    func independence() throws {
        let definition = try place.query("price > 0", by: ["price"])
        let wakes = Lock<[Int]>([])
        let isWoken = DispatchSemaphore(value: 0)
        func query(_ number: Int) throws -> LiveQuery {
            try LiveQuery(definition, store: place.store) {
                wakes.withLock { $0.append(number) }
                isWoken.signal()
            }
        }
        var first: LiveConsumer? = LiveConsumer(try query(1))
        var second = LiveConsumer(try query(2))
        #expect(try first?.take() == nil)
        #expect(try second.take() == nil)
        try place.store.write { try $0.put(["_id": 1, "price": 5]) }
        for _ in 1...2 { isWoken.wait() }
        #expect(wakes.withLock { $0.sorted() } == [1, 2])
        #expect(try first?.take() == nil)
        try place.store.write { try $0.put(["_id": 2, "price": 4]) }
        // The second has not taken yet: it is awake.
        isWoken.wait()
        #expect(wakes.withLock { $0.sorted() } == [1, 1, 2])
        #expect(try second.take() == nil)
        #expect(second.results.count == 2)
        #expect(second.deliveryCount == 2)
        first?.query.close()
        #expect(first?.query.hasEnded == true)
        #expect(!second.query.hasEnded)
        first = nil
        try place.store.write { try $0.put(["_id": 3, "price": 3]) }
        #expect(try second.take() == nil)
        #expect(second.results == (try place.fresh(definition)))
        second.query.close()
        #expect(try second.query.take() == nil)
        // A window that has closed is not joined.
        var third = LiveConsumer(try query(3))
        #expect(!third.query.sharesWindow(with: second.query))
        #expect(try third.take() == nil)
        #expect(third.results == (try place.fresh(definition)))
    }

    @Test("60,000 documents that several queries observe are held once, and so are those that an event brings")
    func documents() throws {
        let count = 60_000
        try place.store.write { transaction in
            for id in 0..<count {
                try transaction.put(["_id": .int(Int64(id)), "price": .int(Int64(id * 7 % 1_000)), "n": 0])
            }
        }
        let queries = try [
            place.query(), place.query("price >= 0", by: ["price"]), place.query("", by: ["_id"], descending: true),
            place.query("price >= 0", by: ["price"]),
        ].map { try place.live($0) }
        var objects: Set<ObjectIdentifier> = []
        var snapshots: [ResultSnapshot<SharedDocument>] = []
        for query in queries {
            guard case .initial(let snapshot) = try query.take() else {
                Issue.record("the first delivery is the initial one")
                return
            }
            #expect(snapshot.count == count)
            objects.formUnion(snapshot.lazy.map { ObjectIdentifier($0.content) })
            snapshots.append(snapshot)
        }
        #expect(objects.count == count)
        for round in 1...3 {
            try place.store.write { transaction in
                for id in 0..<100 {
                    try transaction.put([
                        "_id": .int(Int64(id * 31)), "price": .int(Int64(id)), "n": .int(Int64(round)),
                    ])
                }
            }
            for query in queries {
                guard case .update(let event) = try query.take() else {
                    Issue.record("a later delivery is an update")
                    return
                }
                #expect(event.new.count == count)
                objects.formUnion(event.new.lazy.map { ObjectIdentifier($0.content) })
                objects.formUnion(event.old.lazy.map { ObjectIdentifier($0.content) })
                snapshots.append(event.new)
            }
            // All results ever delivered are kept here, so that no object's place is used again.
            #expect(objects.count == count + round * 100)
        }
        withExtendedLifetime(snapshots) {}
    }

    @Test("a commit of hundreds of insertions, deletions and moves is one event", arguments: 0..<20)
    func batches(seed: Int) throws {
        var random = WindowNumbers(seed: UInt64(seed))
        try place.store.write { transaction in
            for id in 0..<1_000 {
                try transaction.put(["_id": .int(Int64(id)), "price": .int(Int64(random.below(500)))])
            }
        }
        let definitions = try [
            place.query("", by: ["price"]), place.query("price < 200", by: ["price"], descending: true),
            place.query("price >= 100", by: ["price"], limit: 50, offset: 20), place.query(),
        ]
        var consumers = try definitions.map { LiveConsumer(try place.live($0)) }
        for index in consumers.indices { #expect(try consumers[index].take() == nil) }
        for round in 1...4 {
            // As a peer's changes come: everything it did since the last time, in one transaction.
            try place.store.write { transaction in
                for _ in 0..<600 {
                    let id = random.below(1_400)
                    if random.chance(30) {
                        try transaction.remove(id)
                    } else {
                        try transaction.put(["_id": .int(Int64(id)), "price": .int(Int64(random.below(500)))])
                    }
                }
            }
            for index in consumers.indices {
                #expect(try consumers[index].take() == nil, "seed \(seed), query \(index)")
                #expect(consumers[index].deliveryCount == 1 + round, "seed \(seed), query \(index)")
                #expect(consumers[index].results == (try place.fresh(definitions[index])), "seed \(seed)")
            }
        }
    }

    @Test("queries come and go on many threads while others commit and take", arguments: 0..<6)
    func threads(seed: Int) throws {
        let definitions = try [
            place.query("", by: ["price"]), place.query("price < 8", by: ["price"], descending: true, limit: 2),
            place.query("make == 'opel'", limit: 3),
            place.query("price < 8", by: ["price"], descending: true, limit: 2),
        ]
        let place = place
        let problems = Lock<[String]>([])
        DispatchQueue.concurrentPerform(iterations: 6) { thread in
            var random = WindowNumbers(seed: UInt64(seed * 16 + thread))
            do {
                for _ in 0..<40 {
                    if thread < 2 {
                        try place.store.write { transaction in
                            try LiveRefillTests.commit(&random, transaction, idCount: 60)
                        }
                        continue
                    }
                    let number = random.below(definitions.count)
                    var consumer = LiveConsumer(try place.live(definitions[number]))
                    for _ in 0..<random.below(4) {
                        if let problem = try consumer.take() { problems.withLock { $0.append(problem) } }
                    }
                    if random.chance(30) {
                        try place.store.write { try LiveRefillTests.commit(&random, $0, idCount: 60) }
                        if let problem = try consumer.take() { problems.withLock { $0.append(problem) } }
                    }
                    if random.chance(50) { consumer.query.close() }
                }
            } catch {
                problems.withLock { $0.append("\(error)") }
            }
        }
        #expect(problems.withLock { $0 } == [], "seed \(seed)")
        for definition in definitions {
            var consumer = LiveConsumer(try place.live(definition))
            #expect(try consumer.take() == nil)
            #expect(consumer.results == (try place.fresh(definition)), "seed \(seed)")
        }
    }
}
