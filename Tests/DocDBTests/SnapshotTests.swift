import DocDB
import DocDBCore
import Foundation
import Synchronization
import Testing

@Suite("Snapshot") struct SnapshotTests {
    let database: TemporaryDatabase
    var db: Database { database.db }
    var cars: Collection { database.cars }

    init() throws { database = try TemporaryDatabase() }

    @Test("sees one moment while a writer commits")
    func isolation() throws {
        try cars.insert(["_id": "a", "price": 1])
        try db.read { snapshot in
            let then = snapshot.collection("cars")
            let sequence = try snapshot.sequence()
            try cars.update("a") { $0["price"] = 2 }
            try cars.insert(["_id": "b", "price": 3])
            try db.collection("new").insert(["_id": "c"])
            #expect(try then.find(id: "a")?["price"] == 1)
            #expect(try then.find(id: "b") == nil)
            #expect(try then.findAll().count() == 1)
            #expect(try then.find("price > 1").exists() == false)
            #expect(try snapshot.collectionNames() == ["cars"])
            #expect(try snapshot.sequence() == sequence)
            #expect(try db.read { try $0.sequence() } == sequence + 3)
        }
        #expect(try db.read { try $0.collection("cars").findAll().count() } == 2)
    }

    @Test("throws misuse once its closure has ended, also for what came of it")
    func usedLate() throws {
        try cars.insert(["_id": "a"])
        let (snapshot, collection, query, document) = try db.read { snapshot in
            let cars = snapshot.collection("cars")
            return (snapshot, cars, cars.findAll(), try cars.find(id: "a"))
        }
        #expect(errorCode { try snapshot.collection("cars").find(id: "a") } == .misuse)
        #expect(errorCode { try snapshot.collectionNames() } == .misuse)
        #expect(errorCode { try snapshot.sequence() } == .misuse)
        #expect(errorCode { try collection.find(id: "a") } == .misuse)
        #expect(errorCode { try collection.history(of: "a") } == .misuse)
        #expect(errorCode { try collection.indexes() } == .misuse)
        #expect(errorCode { try query.count() } == .misuse)
        #expect(try document?.json() == #"{"_id":"a"}"#, "documents stay")
    }

    @Test("refuses its queries on another thread")
    func queryOnAnotherThread() throws {
        try cars.insert(["_id": "a"])
        try db.read { snapshot throws in
            let query = snapshot.collection("cars").findAll()
            let code = Lock<DocDBError.Code?>(nil)
            let done = DispatchSemaphore(value: 0)
            Thread.detachNewThread {
                code.withLock { $0 = errorCode { try query.count() } }
                done.signal()
            }
            done.wait()
            #expect(code.withLock { $0 } == .misuse)
            #expect(try query.count() == 1)
        }
    }

    @Test("lets a query run within another one's results")
    func nestedQueries() throws {
        for number in Int64(0)..<4 { try cars.insert(["_id": .int(number), "next": .int((number + 1) % 4)]) }
        var pairs: [String] = []
        try db.read { snapshot in
            let cars = snapshot.collection("cars")
            try cars.findAll().forEach { car in
                for other in try cars.find("_id == $id", ["id": car["next"] ?? .null]).documents() {
                    try cars.findAll().limit(1).forEach { first in pairs.append("\(car.id)\(other.id)\(first.id)") }
                }
            }
        }
        #expect(pairs == ["010", "120", "230", "300"])
    }
}

@Suite("Database in concurrent use") struct ConcurrencyTests {
    let database: TemporaryDatabase
    var db: Database { database.db }

    init() throws { database = try TemporaryDatabase() }

    @Test("writes and reads in synchronous code")
    func synchronousForms() throws {
        let id = try db.write { tx in try tx.collection("cars").insert(["a": 1]) }
        let found = try db.read { snapshot in try snapshot.collection("cars").find(id: id) }
        #expect(found?["a"] == 1)
        try db.write(durability: .full) { tx in
            let cars = tx.collection("cars")
            try cars.insert(["a": 2])
        }
        #expect(try db.collection("cars").findAll().count() == 2)
    }

    @Test("writes and reads in asynchronous code")
    func asynchronousForms() async throws {
        let id = try await db.write { tx in try tx.collection("cars").insert(["a": 1]) }
        let value = try await db.read { snapshot in try snapshot.collection("cars").find(id: id)?["a"] }
        #expect(value == 1)
        try await db.write(durability: .full) { tx in
            let cars = tx.collection("cars")
            try cars.insert(["a": 2])
        }
        let documents = try await db.read { try $0.collection("cars").findAll().documents() }
        #expect(documents.count == 2)
    }

    @Test("throws what an asynchronous closure throws, and undoes that closure alone")
    func asynchronousFailure() async throws {
        let db = db
        let outcomes = await withTaskGroup(of: Bool.self) { group in
            for number in Int64(0)..<40 {
                group.addTask {
                    do {
                        try await db.write { tx in
                            try tx.collection("cars").insert(["_id": .int(number)])
                            if number % 4 == 0 { _ = try tx.collection("cars").insert(["_id": .int(number)]) }
                        }
                        return true
                    } catch let error as DocDBError where error.code == .documentExists {
                        return false
                    } catch {
                        Issue.record(error)
                        return false
                    }
                }
            }
            return await group.reduce(into: []) { $0.append($1) }
        }
        #expect(outcomes.count { $0 } == 30)
        #expect(try db.collection("cars").findAll().count() == 30)
        #expect(try db.verify().isEmpty)
    }

    @Test("adds up the increments of many tasks and threads, while readers see whole transactions")
    func manyTasks() async throws {
        let db = db
        let taskCount = 8
        let roundCount = 25
        try await db.write { tx in
            try tx.collection("counters").insert(["_id": "one", "n": 0])
            try tx.collection("counters").insert(["_id": "two", "n": 0])
        }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for task in 0..<taskCount {
                group.addTask {
                    for round in 0..<roundCount {
                        try await db.write { tx in
                            let counters = tx.collection("counters")
                            try counters.update("one") { $0["n"].increment() }
                            try counters.update("two") { $0["n"].increment(by: 2) }
                            try tx.collection("events").insert(["task": .int(Int64(task)), "round": .int(Int64(round))])
                        }
                    }
                }
                group.addTask {
                    for _ in 0..<roundCount {
                        let (one, two, events) = try await db.read { snapshot in
                            let counters = snapshot.collection("counters")
                            return (
                                try counters.find(id: "one")?["n"]?.intValue ?? -1,
                                try counters.find(id: "two")?["n"]?.intValue ?? -1,
                                try snapshot.collection("events").findAll().count()
                            )
                        }
                        #expect(two == 2 * one)
                        #expect(events == Int(one))
                    }
                }
            }
            try await group.waitForAll()
        }
        let total = taskCount * roundCount
        #expect(try db.collection("counters").find(id: "one")?["n"] == .int(Int64(total)))
        #expect(try db.collection("events").findAll().count() == total)
        for task in 0..<taskCount {
            #expect(
                try db.collection("events").find("task == $task", ["task": .int(Int64(task))]).count() == roundCount)
        }
        #expect(try db.verify().isEmpty)
    }

    @Test("does not begin the write of a task that was cancelled")
    func cancelledTask() async throws {
        let db = db
        let task = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            return try await db.write { tx in try tx.collection("cars").insert(["a": 1]) }
        }
        let result = await task.result
        #expect(errorCode { try result.get() } == .cancelled)
        #expect(try db.collection("cars").findAll().count() == 0)
    }

    @Test("throws databaseClosed in every call after it was closed")
    func closed() async throws {
        let cars = db.collection("cars")
        try cars.insert(["_id": "a"])
        let query = try cars.find("true")
        let past = try db.asOf(sequence: 1).collection("cars")
        try db.close()
        try db.close()
        let calls: [() throws -> Any?] = [
            { try cars.find(id: "a") }, { try cars.insert(["b": 1]) }, { try cars.upsert(json: "{}") },
            { try cars.remove("a") }, { try query.documents() }, { try query.count() }, { try query.remove() },
            { try cars.history(of: "a") }, { try cars.indexes() }, { try cars.createIndex(["a"]) },
            { try past.find(id: "a") }, { try past.findAll().count() }, { try db.collectionNames() },
            { try db.write { _ in } }, { try db.read { _ in } }, { try db.synchronize() }, { try db.checkpoint() },
            { try db.compact() }, { try db.statistics() }, { try db.verify() }, { try db.log() },
            { try db.asOf(sequence: 1) }, { try db.backup(to: database.directory + "/copy.docdb") },
        ]
        for (index, call) in calls.enumerated() { #expect(errorCode(call) == .databaseClosed, "call \(index)") }
        await #expect(throws: DocDBError.self) { try await db.write { _ in } }
        await #expect(throws: DocDBError.self) { try await db.read { _ in } }
    }

    @Test("lets a read go on to its end when the database is closed meanwhile")
    func closedWhileReading() throws {
        let cars = db.collection("cars")
        for number in Int64(0)..<10 { try cars.insert(["_id": .int(number)]) }
        let count = try db.read { snapshot in
            try db.close()
            return try snapshot.collection("cars").findAll().count()
        }
        #expect(count == 10)
        #expect(errorCode { try cars.findAll().count() } == .databaseClosed)
    }
}
