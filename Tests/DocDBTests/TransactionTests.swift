import DocDB
import Testing

@Suite("Transaction") struct TransactionTests {
    let database: TemporaryDatabase
    var db: Database { database.db }
    var cars: Collection { database.cars }

    init() throws { database = try TemporaryDatabase() }

    private struct Stop: Error {}

    @Test("commits over several collections at once, and returns the closure's result")
    func commit() throws {
        let count = try db.write { tx in
            try tx.collection("cars").insert(["_id": 1, "owner": "ann"])
            try tx.collection("people").insert(["_id": "ann"])
            return try tx.collectionNames().count
        }
        #expect(count == 2)
        #expect(try db.collectionNames() == ["cars", "people"])
        let log = try db.log()
        #expect(log.count == 1)
        #expect(log[0].changes.map(\.collection) == ["cars", "people"])
    }

    @Test("rolls back whole where the closure throws, collections and indexes included")
    func rollback() throws {
        try cars.insert(["_id": 1, "price": 1])
        let last = try db.read { try $0.sequence() }
        #expect(throws: Stop.self) {
            try db.write { tx in
                try tx.collection("cars").update(1) { $0["price"] = 2 }
                try tx.collection("cars").insert(["_id": 2])
                try tx.collection("cars").createIndex(["price"])
                try tx.collection("new").insert(["_id": 3])
                try tx.collection("cars").remove(1)
                throw Stop()
            }
        }
        #expect(try cars.findAll().documents().map { try $0.value } == [["_id": 1, "price": 1]])
        #expect(try cars.indexes().isEmpty)
        #expect(try db.collectionNames() == ["cars"])
        #expect(try db.read { try $0.sequence() } == last)
        try cars.insert(["_id": 2])
        #expect(try db.verify().isEmpty)
    }

    @Test("reads its own writes, which nobody else sees before the commit")
    func readsOwnWrites() throws {
        try db.write { tx in
            let mine = tx.collection("cars")
            #expect(try mine.find(id: "a") == nil)
            try mine.insert(["_id": "a", "price": 1])
            #expect(try mine.find(id: "a")?["price"] == 1)
            try mine.update("a") { $0["price"].increment(by: 4) }
            try mine.upsert(["_id": "b", "price": 7])
            #expect(try mine.find("price >= 5").sort("price").ids() == ["a", "b"])
            #expect(try mine.find("price >= 5").count() == 2)
            #expect(try cars.find(id: "a") == nil, "a snapshot of its own")
            #expect(try db.read { try $0.collection("cars").findAll().count() } == 0)
            try mine.remove("a")
            #expect(try mine.find(id: "a") == nil)
            #expect(try mine.findAll().ids() == ["b"])
        }
        #expect(try cars.findAll().ids() == ["b"])
    }

    @Test("finds its own writes by an index that it has made itself")
    func ownIndex() throws {
        try db.write { tx in
            let mine = tx.collection("cars")
            for price in Int64(0)..<10 { try mine.insert(["price": .int(price)]) }
            try mine.createIndex(["price"])
            try mine.insert(["price": 100])
            #expect(try mine.indexes().map(\.paths) == [["price"]])
            #expect(try mine.find("price > 7").explain().contains("index"))
            #expect(try mine.find("price > 7").count() == 3)
            try mine.dropIndex(["price"])
            #expect(try mine.find("price > 7").count() == 3)
            try mine.createIndex(["price:desc"])
        }
        #expect(try cars.indexes().map(\.paths) == [["price:desc"]])
        #expect(try cars.find("price > 7").count() == 3)
        #expect(try db.verify().isEmpty)
    }

    @Test("stays usable after operations that failed before they wrote")
    func failuresBeforeWriting() throws {
        try cars.insert(["_id": "a", "name": "x", "price": 1])
        try db.write { tx in
            let mine = tx.collection("cars")
            try mine.insert(["_id": "b"])
            #expect(errorCode { try mine.insert(json: "{") } == .invalidJSON)
            #expect(errorCode { try mine.insert(["_id": "a"]) } == .documentExists)
            #expect(errorCode { try mine.insert(["_id": .null]) } == .invalidDocumentID)
            #expect(errorCode { try mine.insert(["x": .float(.nan)]) } == .invalidValue)
            #expect(errorCode { try mine.update("none") { $0["a"] = 1 } } == .documentNotFound)
            #expect(errorCode { try mine.update("a") { $0["name"].increment() } } == .typeMismatch)
            #expect(errorCode { try mine.find("price >") } == .invalidPredicate)
            #expect(errorCode { try mine.dropIndex(["none"]) } == .invalidIndex)
            #expect(errorCode { try mine.evict("a") } == .unsyncedChanges)
            #expect(throws: Stop.self) {
                try mine.update("a") {
                    $0["price"] = 99; throw Stop()
                }
            }
            #expect(errorCode { try tx.collection("__x").insert(["a": 1]) } == .invalidCollectionName)
            try mine.insert(["_id": "c"])
        }
        #expect(Set(try cars.findAll().ids()) == ["a", "b", "c"])
        #expect(try cars.find(id: "a")?.value == ["_id": "a", "name": "x", "price": 1])
        #expect(try db.verify().isEmpty)
    }

    @Test("throws misuse once its closure has ended")
    func usedLate() throws {
        try cars.insert(["_id": "a"])
        let (transaction, collection, query) = try db.write { tx in
            (tx, tx.collection("cars"), try tx.collection("cars").find("true"))
        }
        #expect(errorCode { try transaction.collection("cars").insert(["a": 1]) } == .misuse)
        #expect(errorCode { try transaction.collectionNames() } == .misuse)
        #expect(errorCode { try collection.insert(["a": 1]) } == .misuse)
        #expect(errorCode { try collection.insert(json: "{}") } == .misuse)
        #expect(errorCode { try collection.insert(Car(make: "a", price: 1)) } == .misuse)
        #expect(errorCode { try collection.update("a") { $0["b"] = 1 } } == .misuse)
        #expect(errorCode { try collection.remove("a") } == .misuse)
        #expect(errorCode { try collection.evict("a", force: true) } == .misuse)
        #expect(errorCode { try collection.find(id: "a") } == .misuse)
        #expect(errorCode { try collection.findAll().count() } == .misuse)
        #expect(errorCode { try collection.createIndex(["a"]) } == .misuse)
        #expect(errorCode { try collection.indexes() } == .misuse)
        #expect(errorCode { try query.documents() } == .misuse)
        #expect(errorCode { try query.remove() } == .misuse)
        #expect(try cars.findAll().count() == 1)
    }

    @Test("refuses a write within a write, in every form")
    func nestedWrite() throws {
        try db.write { tx in
            try tx.collection("cars").insert(["_id": "a"])
            #expect(errorCode { try db.write { _ in } } == .misuse)
            #expect(errorCode { try cars.insert(["_id": "b"]) } == .misuse)
            #expect(errorCode { try cars.findAll().remove() } == .misuse)
            #expect(errorCode { try db.compact() } == .misuse)
        }
        #expect(try cars.findAll().ids() == ["a"])
    }

    @Test("lets a query's closure write to the collection that it reads")
    func writesWhileIterating() throws {
        try db.write { tx in
            let mine = tx.collection("cars")
            for number in Int64(0)..<50 { try mine.insert(["_id": .int(number), "n": .int(number)]) }
            try mine.createIndex(["n"])
            var seen: [DocumentID] = []
            try mine.find("n < 10").sort("n").forEach { car in
                seen.append(car.id)
                try mine.update(car.id) { $0["n"].increment(by: 100) }
                try mine.insert(["n": 5])
                if car.id == 3 { try mine.remove(4) }
            }
            #expect(seen == [0, 1, 2, 3, 5, 6, 7, 8, 9])
            #expect(try mine.find("n >= 100").count() == 9)
        }
        #expect(try cars.findAll().count() == 49 + 9)
        #expect(try db.verify().isEmpty)
    }

    @Test("lets queries run within one another's results, and within updates")
    func nestedQueries() throws {
        try db.write { tx in
            let mine = tx.collection("cars")
            for number in Int64(0)..<4 { try mine.insert(["_id": .int(number), "next": .int((number + 1) % 4)]) }
            var pairs: [String] = []
            try mine.findAll().forEach { car in
                try mine.find("_id >= $id", ["id": car.id.value]).forEach { other in
                    pairs.append("\(car.id)\(other.id)")
                }
            }
            #expect(pairs == ["00", "01", "02", "03", "11", "12", "13", "22", "23", "33"])
            let count = try mine.findAll().update { editor in
                let next = try mine.find("_id == $id", ["id": editor["next"].value ?? .null]).ids()
                try mine.findAll().forEach { _ in editor["count"].increment() }
                editor["found"] = next.first?.value
            }
            #expect(count == 4)
        }
        for number in Int64(0)..<4 {
            let next = Value.int((number + 1) % 4)
            #expect(
                try cars.find(id: DocumentID(number))?.value
                    == ["_id": .int(number), "next": next, "found": next, "count": 4])
        }
    }

    @Test("cannot be ended by closing the database within it")
    func closedWithin() throws {
        try db.write { tx in
            #expect(errorCode { try db.close() } == .misuse)
            try tx.collection("cars").insert(["_id": "a"])
        }
        #expect(try cars.findAll().ids() == ["a"])
    }

    @Test("removes, updates and evicts what a query finds")
    func changesOfQueries() throws {
        for number in Int64(0)..<20 { try cars.insert(["_id": .int(number), "n": .int(number)]) }
        #expect(try cars.find("n >= 15").remove() == 5)
        #expect(try cars.find("n < 5").update { $0["n"].increment(by: 100) } == 5)
        #expect(try cars.findAll().sort("n", .descending).limit(2).evict(force: true) == 2)
        #expect(try cars.findAll().sort("n").ids() == [5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 0, 1, 2])
        try db.write { tx throws in
            #expect(try tx.collection("cars").find("n < 10").remove() == 5)
            #expect(try tx.collection("cars").findAll().count() == 8)
        }
        #expect(errorCode { try db.read { try $0.collection("cars").findAll().remove() } } == .misuse)
        #expect(errorCode { try db.asOf(sequence: 1).collection("cars").findAll().evict(force: true) } == .misuse)
        #expect(try cars.findAll().count() == 8)
        #expect(try db.verify().isEmpty)
    }
}
