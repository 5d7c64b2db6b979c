import DocDB
import Dispatch
import Observation
import Synchronization
import Testing

@Suite("Observing queries")
struct LiveQueryTests {
    let place: TemporaryDatabase
    var cars: Collection { place.cars }

    init() throws { place = try TemporaryDatabase() }

    @Test("a write that has returned is in the next event, and a slow handler gets one event for many commits")
    func coalesces() throws {
        let entered = DispatchSemaphore(value: 0)
        let proceed = DispatchSemaphore(value: 0)
        let heard = Awaited<[Int]>()
        let observation = try cars.findAll().sort("_id").observe { documents, event in
            var insertions: [Int] = []
            if case .update(let indices, _, _, _, _) = event { insertions = indices }
            heard.append([documents.count] + insertions)
            entered.signal()
            proceed.wait()
        }
        entered.wait()
        // The handler is busy with the initial event.
        for id in Int64(0)..<200 { try cars.insert(["_id": .int(id)]) }
        try cars.remove(10)
        proceed.signal()
        entered.wait()
        #expect(heard.all == [[0], [199] + Array(0..<199)])
        proceed.signal()
        withExtendedLifetime(observation) {}
    }

    @Test("a handler that never returns holds up neither writers nor other observations")
    func blockedConsumer() throws {
        let entered = DispatchSemaphore(value: 0)
        let never = DispatchSemaphore(value: 0)
        let blocked = try cars.findAll().observe { _, _ in
            entered.signal()
            never.wait()
        }
        entered.wait()
        let recorder = LiveRecorder()
        try recorder.observe(cars.findAll())
        for id in 0..<200 { try cars.upsert(["_id": .int(Int64(id % 20)), "n": .int(Int64(id))]) }
        #expect(recorder.wait(for: try cars.findAll().documents().map(LiveRecorder.text)) == nil)
        blocked.cancel()
        never.signal()
    }

    @Test("what changes nothing of the results leads to no event")
    func noEvent() throws {
        try cars.insert(["_id": 1, "price": 10])
        let recorder = LiveRecorder()
        try recorder.observe(try cars.find("price < 50").sort("price").limit(1))
        #expect(recorder.wait(for: [#"{"_id":1,"price":10}"#]) == nil)
        try cars.insert(["_id": 2, "price": 90])
        try cars.insert(["_id": 3, "price": 20])
        try cars.upsert(["_id": 1, "price": 10])
        #expect(throws: CancellationError.self) {
            try place.db.write { transaction in
                _ = try transaction.collection("cars").remove(1)
                throw CancellationError()
            }
        }
        try place.db.write { transaction in
            try transaction.collection("cars").update(1) { $0["price"] = 11 }
            try transaction.collection("cars").update(1) { $0["price"] = 10 }
        }
        // The next visible change is the second event.
        try cars.update(1) { $0["price"] = 12 }
        #expect(recorder.wait(for: [#"{"_id":1,"price":12}"#]) == nil)
        #expect(recorder.count == 2)
    }

    @Test("typed results follow the events, and a document that does not fit ends the observation with an error")
    func typed() throws {
        try cars.insert(["_id": "a", "make": "opel", "price": 3])
        let heard = Awaited<[Car]>()
        let errors = Awaited<DocDBError.Code?>()
        let observation = try cars.findAll().sort("price").observe(
            as: Car.self, onError: { errors.append(($0 as? DocDBError)?.code) }, { cars, _ in heard.append(cars) })
        let opel = Car(_id: "a", make: "opel", price: 3)
        #expect(heard.wait(count: 1) == [[opel]])
        try cars.insert(["_id": "b", "make": "ford", "price": 1])
        let ford = Car(_id: "b", make: "ford", price: 1)
        #expect(heard.wait(count: 2).last == [ford, opel])
        try cars.insert(["_id": "c", "make": 7, "price": 2])
        #expect(errors.wait(count: 1) == [.typeMismatch])
        #expect((observation.error as? DocDBError)?.code == .typeMismatch)
        #expect(heard.all.count == 2)
        withExtendedLifetime(observation) {}
    }

    @Test("one document is observed from before it exists until after it is gone")
    func oneDocument() throws {
        let heard = Awaited<Value?>()
        let observation = try cars.observe(id: 5) { heard.append($0?["n"]) }
        #expect(heard.wait(count: 1) == [nil])
        try cars.insert(["_id": 5, "n": 1])
        #expect(heard.wait(count: 2).last == 1)
        try cars.insert(["_id": 6, "n": 2])
        try cars.update(5) { $0["n"] = 3 }
        #expect(heard.wait(count: 3).last == 3)
        try cars.remove(5)
        #expect(heard.wait(count: 4) == [nil, 1, 3, nil])
        withExtendedLifetime(observation) {}
    }

    @Test("a count is told when it changes, with limit and offset")
    func count() throws {
        for id in Int64(0)..<4 { try cars.insert(["_id": .int(id), "price": .int(id)]) }
        let all = Awaited<Int>()
        let part = Awaited<Int>()
        let observations = [
            try cars.find("price < 10").observeCount { all.append($0) },
            try cars.find("price < 10").limit(3).offset(2).observeCount { part.append($0) },
        ]
        #expect(all.wait(count: 1) == [4])
        #expect(part.wait(count: 1) == [2])
        try cars.insert(["_id": 9, "price": 5])
        #expect(all.wait(count: 2) == [4, 5])
        #expect(part.wait(count: 2) == [2, 3])
        try cars.update(9) { $0["price"] = 6 }
        try cars.insert(["_id": 10, "price": 50])
        try cars.update(9) { $0["price"] = 60 }
        #expect(all.wait(count: 3) == [4, 5, 4])
        #expect(part.wait(count: 3) == [2, 3, 2])
        withExtendedLifetime(observations) {}
    }

    @Test("the list of collections is told when one is added")
    func collectionNames() throws {
        let heard = Awaited<[String]>()
        let observation = try place.db.observeCollectionNames { heard.append($0) }
        #expect(heard.wait(count: 1) == [[]])
        try cars.insert(["_id": 1])
        #expect(heard.wait(count: 2).last == ["cars"])
        try cars.insert(["_id": 2])
        try cars.createIndex(["price"])
        try place.db.collection("boats").insert(["_id": 1])
        #expect(heard.wait(count: 3) == [[], ["cars"], ["boats", "cars"]])
        withExtendedLifetime(observation) {}
    }

    @Test("only queries of the database itself can be observed, and only outside of a write")
    func misuse() throws {
        try cars.insert(["_id": 1])
        let sequence = try place.db.read { try $0.sequence() }
        try place.db.read { snapshot in
            let query = snapshot.collection("cars").findAll()
            #expect(errorCode { try query.observe { _, _ in } } == .misuse)
        }
        let past = try place.db.asOf(sequence: sequence).collection("cars").findAll()
        #expect(errorCode { try past.observe { _, _ in } } == .misuse)
        try place.db.write { transaction in
            let query = transaction.collection("cars").findAll()
            #expect(errorCode { try query.observe { _, _ in } } == .misuse)
            #expect(errorCode { try cars.findAll().observe { _, _ in } } == .misuse)
            #expect(errorCode { try place.db.observeCollectionNames { _ in } } == .misuse)
        }
        #expect(errorCode { try place.db.collection("__x").findAll().observe { _, _ in } } == .invalidCollectionName)
        try place.db.close()
        #expect(errorCode { try cars.findAll().observe { _, _ in } } == .databaseClosed)
    }

    @Test("a database closes whatever is observed, and what was committed before is still delivered")
    func closing() async throws {
        let recorder = LiveRecorder()
        try recorder.observe(cars.findAll())
        let names = try place.db.observeCollectionNames { _ in }
        let count = try cars.findAll().observeCount { _ in }
        #expect(recorder.wait(for: []) == nil)
        var iterator = cars.findAll().changes.makeAsyncIterator()
        #expect(try await iterator.next()?.documents.count == 0)
        try cars.insert(["_id": 1])
        try place.db.close()
        #expect(recorder.wait(for: [#"{"_id":1}"#]) == nil)
        #expect(try await iterator.next()?.documents.count == 1)
        #expect(try await iterator.next() == nil)
        #expect(try await iterator.next() == nil)
        let reopened = try place.reopen()
        try reopened.collection("cars").insert(["_id": 2])
        try reopened.close()
        withExtendedLifetime((names, count, recorder)) {}
    }

    @Test("a released database closes although an observation of it is kept")
    func releasedDatabase() throws {
        let directory = TemporaryDirectory.make()
        var db: Database? = try Database(at: directory + "/a.docdb")
        let recorder = LiveRecorder()
        try recorder.observe(try #require(db?.collection("cars").findAll()))
        #expect(recorder.wait(for: []) == nil)
        weak let released = db
        db = nil
        #expect(released == nil)
        recorder.cancel()
    }

    @Test("nothing is called after cancel, nor after the observation is released")
    func ends() throws {
        let queue = DispatchQueue(label: "test")
        let calls = Atomic<Int>(0)
        let cancelled = try cars.findAll().observe(on: queue) { _, _ in calls.add(1, ordering: .relaxed) }
        var released: LiveObservation? = try cars.findAll().observe(on: queue) { _, _ in
            calls.add(1, ordering: .relaxed)
        }
        withExtendedLifetime(released) {}
        queue.sync {
            // Nothing else runs on the queue while this does.
            cancelled.cancel()
            released = nil
        }
        let before = calls.load(ordering: .relaxed)
        #expect(cancelled.error == nil)
        try cars.insert(["_id": 1])
        let recorder = LiveRecorder()
        try recorder.observe(cars.findAll())
        #expect(recorder.wait(for: [#"{"_id":1}"#]) == nil)
        queue.sync {}
        #expect(calls.load(ordering: .relaxed) == before)
    }
}
