import DocDBCore
import DocDBLive
import DocDBStorage
import Dispatch
import Testing

@Suite("Live queries whose window runs dry")
struct LiveRefillTests {
    let place: LiveStore

    init() throws { place = try LiveStore() }

    /// Puts documents 0..<count in one commit; prices tie in threes.
    private func fill(_ count: Int, index: Bool = true) throws {
        try place.store.write { transaction in
            if index {
                _ = try transaction.createIndex(IndexDefinition(paths: ["price"]), collection: "cars")
            }
            for id in 0..<count { try transaction.put(["_id": .int(Int64(id)), "price": .int(Int64(id / 3))]) }
        }
    }

    @Test("it is read on from its last row: each row is read once", arguments: [true, false])
    func readsOn(index: Bool) throws {
        try fill(1_500, index: index)
        let definition = try place.query("price >= 0", by: ["price"], limit: 10)
        var consumer = LiveConsumer(try place.live(definition))
        #expect(try consumer.take() == nil)
        let held = 10 + WindowLimits.leastOverscan
        #expect(consumer.query.readRowCount == held)
        // Eight at a time leave, so that every few commits the window lacks rows.
        for first in stride(from: 0, to: 1_200, by: 8) {
            try place.store.write { transaction in
                for id in first..<(first + 8) { try transaction.remove(id) }
            }
            #expect(try consumer.take() == nil)
            #expect(consumer.results == (try place.fresh(definition)))
        }
        // What has left and what is held was read; nothing was read twice.
        #expect(consumer.query.readRowCount <= 1_200 + held)
        #expect(consumer.query.readRowCount >= 1_200)
    }

    @Test("it may lose all its rows, and the last document that matches, at once")
    func losesAll() throws {
        try fill(200)
        let definition = try place.query("price >= 0", by: ["price"], descending: true, limit: 3, offset: 2)
        var consumer = LiveConsumer(try place.live(definition))
        #expect(try consumer.take() == nil)
        try place.store.write { transaction in for id in 100..<200 { try transaction.remove(id) } }
        #expect(try consumer.take() == nil)
        #expect(consumer.results == (try place.fresh(definition)))
        try place.store.write { transaction in for id in 0..<100 { try transaction.remove(id) } }
        #expect(try consumer.take() == nil)
        #expect(consumer.results.isEmpty)
        try place.store.write { transaction in try transaction.put(["_id": 7, "price": 1]) }
        #expect(try consumer.take() == nil)
        #expect(try place.fresh(definition).isEmpty)
        try place.store.write { transaction in
            for id in 0..<3 { try transaction.put(["_id": .int(Int64(id)), "price": 0]) }
        }
        #expect(try consumer.take() == nil)
        #expect(consumer.results.count == 2)
        #expect(consumer.results == (try place.fresh(definition)))
    }

    /// Limited queries in all the ways that the store gives an order.
    private func definitions(_ random: inout WindowNumbers) throws -> [QueryDefinition] {
        let limit = 1 + random.below(4)
        return [
            try place.query("price >= 0", by: ["price"], limit: limit, offset: random.below(40)),
            try place.query("price >= 0", by: ["price"], descending: true, limit: limit),
            try place.query("price < 12", by: ["make", "price"], limit: limit, offset: 1),
            try place.query("make == 'opel'", by: ["price"], descending: true, limit: limit),
            try place.query("tags[*] == 'b'", by: ["price"], limit: limit),
            try place.query("", by: ["_id"], limit: limit, offset: 3),
            try place.query("price > 2", by: ["_id"], descending: true, limit: limit),
            try place.query("price > 1", limit: limit, offset: random.below(5)),
            try place.query("", limit: limit),
        ]
    }

    /// One commit: drains the edges, moves documents across them, ties them, and puts new ones.
    static func commit(_ random: inout WindowNumbers, _ transaction: borrowing WriteTransaction, idCount: Int) throws {
        let count = random.chance(60) ? 1 + random.below(6) : 1 + random.below(idCount)
        let removes = random.chance(50)
        let first = random.below(idCount)
        for step in 0..<count {
            let id = random.chance(50) ? (first + step) % idCount : random.below(idCount)
            if removes ? random.chance(85) : random.chance(15) {
                try transaction.remove(id)
            } else {
                let makes: [Value] = ["opel", "ford"]
                let tags: [Value] = [["a"], ["b"], ["a", "b"], []]
                try transaction.put([
                    "_id": .int(Int64(id)), "price": .int(Int64(random.below(15))), "make": makes[random.below(2)],
                    "tags": tags[random.below(4)],
                ])
            }
        }
    }

    @Test("it agrees with fresh queries, at the edges, with ties, offsets and moving documents", arguments: 0..<100)
    func random(seed: Int) throws {
        var random = WindowNumbers(seed: UInt64(seed))
        let idCount = 150
        try place.store.write { transaction in
            for path in [["price"], ["make", "price"], ["tags[*]", "price"]] where random.chance(50) {
                _ = try transaction.createIndex(IndexDefinition(paths: path), collection: "cars")
            }
            for id in 0..<idCount {
                try transaction.put([
                    "_id": .int(Int64(id)), "price": .int(Int64(random.below(15))), "make": "opel", "tags": ["b"],
                ])
            }
        }
        let definitions = try definitions(&random)
        var consumers = try definitions.map { LiveConsumer(try place.live($0)) }
        for _ in 0..<25 {
            try place.store.write { transaction in
                try Self.commit(&random, transaction, idCount: idCount)
            }
            for index in consumers.indices where random.chance(60) {
                #expect(try consumers[index].take() == nil, "seed \(seed), query \(index)")
                let fresh = try place.fresh(definitions[index])
                #expect(consumers[index].results == fresh, "seed \(seed), query \(index)")
            }
        }
    }

    @Test("commits that come while it reads on are in what it delivers", arguments: 0..<6)
    func concurrent(seed: Int) throws {
        var random = WindowNumbers(seed: UInt64(seed))
        try fill(400)
        let definitions = try definitions(&random)
        let place = place
        let isOver = DispatchSemaphore(value: 0)
        DispatchQueue.global().async {
            var random = WindowNumbers(seed: UInt64(seed) + 1_000)
            for _ in 0..<150 {
                try? place.store.write { transaction in
                    try Self.commit(&random, transaction, idCount: 60)
                }
            }
            isOver.signal()
        }
        var consumers = try definitions.map { LiveConsumer(try place.live($0)) }
        var isWriting = true
        while isWriting {
            isWriting = isOver.wait(timeout: .now()) == .timedOut
            for index in consumers.indices {
                #expect(try consumers[index].take() == nil, "seed \(seed), query \(index)")
            }
        }
        for index in consumers.indices {
            #expect(try consumers[index].take() == nil, "seed \(seed), query \(index)")
            #expect(consumers[index].results == (try place.fresh(definitions[index])), "seed \(seed), query \(index)")
        }
    }

    @Test("where it cannot be read on the take fails, and the next one reads everything anew")
    func failure() throws {
        try fill(120)
        let definition = try place.query("price >= 0", by: ["price"], limit: 3)
        var consumer = LiveConsumer(try place.live(definition))
        var other = LiveConsumer(try place.live(definition))
        #expect(try consumer.take() == nil)
        #expect(try other.take() == nil)
        let bytes = try place.store.read { try $0.connection.integer("SELECT length(body) FROM documents_1 LIMIT 1") }
        #expect(bytes != nil)
        try place.store.write { transaction in
            try transaction.context.connection.execute(
                "CREATE TEMP TABLE kept AS SELECT key, body FROM documents_1 WHERE id = 60;"
                    + "UPDATE documents_1 SET body = x'FF' WHERE id = 60")
            for id in 0..<34 { try transaction.remove(id) }
        }
        #expect(throws: DocDBError.self) { _ = try consumer.query.take() }
        #expect(throws: DocDBError.self) { _ = try other.query.take() }
        try place.store.write { transaction in
            try transaction.context.connection.execute(
                "UPDATE documents_1 SET body = (SELECT body FROM kept WHERE kept.key = documents_1.key) WHERE id = 60")
        }
        #expect(try consumer.take() == nil)
        #expect(try other.take() == nil)
        #expect(consumer.results == (try place.fresh(definition)))
        #expect(other.results == consumer.results)
    }
}
