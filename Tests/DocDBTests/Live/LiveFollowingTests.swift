import DocDB
import Testing

@Suite("Observing a database that is open for reading")
struct LiveFollowingTests {
    let place: TemporaryDatabase
    let reader: Database
    /// The collection as the writer has it, and as the reader sees it.
    var cars: Collection { place.cars }
    var seen: Collection { reader.collection("cars") }

    init() throws {
        place = try TemporaryDatabase()
        try place.cars.insert(["_id": 1, "price": 5])
        reader = try place.reopen(.readOnly)
    }

    @Test("each event leads from the old results to the new ones, and all end equal to fresh queries", arguments: 0..<4)
    func events(seed: UInt64) throws {
        var random = SeededNumbers(seed: seed)
        let queries = try LiveRandomTests.queries(seen)
        let recorders = try queries.map { query in
            let recorder = LiveRecorder()
            try recorder.observe(query)
            return recorder
        }
        for _ in 0..<3 {
            for _ in 0..<30 { try LiveRandomTests.act(place.db, &random, idCount: 60) }
            for (index, (query, recorder)) in zip(queries, recorders).enumerated() {
                let fresh = try query.documents().map(LiveRecorder.text)
                #expect(recorder.wait(for: fresh) == nil, "seed \(seed), query \(index)")
            }
        }
    }

    @Test("counts, single documents and the list of collections follow as well")
    func otherForms() throws {
        let counts = Awaited<Int>()
        let values = Awaited<Value?>()
        let names = Awaited<[String]>()
        let observations = [
            try seen.find("price < 10").observeCount { counts.append($0) },
            try seen.observe(id: 7) { values.append($0?["n"]) },
            try reader.observeCollectionNames { names.append($0) },
        ]
        #expect(counts.wait(count: 1) == [1])
        #expect(values.wait(count: 1) == [nil])
        #expect(names.wait(count: 1) == [["cars"]])
        try place.db.write { transaction in
            try transaction.collection("cars").insert(["_id": 7, "price": 6, "n": 1])
            try transaction.collection("boats").insert(["_id": 1])
        }
        #expect(counts.wait(count: 2) == [1, 2])
        #expect(values.wait(count: 2) == [nil, 1])
        #expect(names.wait(count: 2) == [["cars"], ["boats", "cars"]])
        withExtendedLifetime(observations) {}
    }

    @Test("a sequence of changes ends when the database closes, and an observation without an error")
    func closing() async throws {
        var changes = seen.findAll().sort("_id").changes.makeAsyncIterator()
        #expect(try await changes.next()?.documents.map(\.id) == [1])
        try cars.insert(["_id": 2])
        #expect(try await changes.next()?.documents.map(\.id) == [1, 2])
        let errors = Awaited<String>()
        let heard = Awaited<Int>()
        let observation = try seen.findAll().observe(onError: { errors.append("\($0)") }) { documents, _ in
            heard.append(documents.count)
        }
        #expect(heard.wait(count: 1) == [2])
        try reader.close()
        #expect(try await changes.next() == nil)
        #expect(observation.error == nil)
        #expect(errors.all.isEmpty)
        #expect(errorCode { try seen.findAll().observe { _, _ in } } == .databaseClosed)
    }

    @Test("a released database closes although an observation of it is kept")
    func released() throws {
        var other: Database? = try place.reopen(.readOnly)
        let heard = Awaited<Int>()
        let observation = try other?.collection("cars").findAll().observe { documents, _ in
            heard.append(documents.count)
        }
        #expect(heard.wait(count: 1) == [1])
        weak let released = other
        other = nil
        #expect(released == nil)
        withExtendedLifetime(observation) {}
    }
}
