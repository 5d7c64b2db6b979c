import DocDB
import Testing

@Suite("Collection") struct CollectionTests {
    let database: TemporaryDatabase
    var db: Database { database.db }
    var cars: Collection { database.cars }

    init() throws { database = try TemporaryDatabase() }

    @Test("inserts values, text and Codable types alike")
    func insertForms() throws {
        let value = try cars.insert(["_id": "a", "make": "toyota", "price": 9_500])
        let text = try cars.insert(json: #"{"_id": "b", "price": 9500, "make": "toyota"}"#)
        let typed = try cars.insert(Car(_id: "c", make: "toyota", price: 9_500))
        #expect([value, text, typed] == ["a", "b", "c"])
        let texts = try ["a", "b", "c"].map { try #require(try cars.find(id: DocumentID($0))).json() }
        #expect(
            texts == ["a", "b", "c"].map { #"{"_id":"\#($0)","make":"toyota","price":9500}"# })
    }

    @Test("reads raw bytes of JSON in a transaction")
    func rawBytes() throws {
        let bytes = Array(#"{"_id": 7, "make": "fiat"}"#.utf8)
        let id = try db.write { tx in
            try bytes.withUnsafeBytes { try tx.collection("cars").insert(json: $0) }
        }
        #expect(id == 7)
        #expect(try cars.find(id: 7)?["make"] == "fiat")
        try db.write { tx in
            _ = try bytes.withUnsafeBytes { try tx.collection("cars").upsert(json: $0, strategy: .replace) }
        }
        #expect(try cars.findAll().count() == 1)
    }

    @Test("gives a new id to a document without one, in every form")
    func generatedIDs() throws {
        let ids = [
            try cars.insert(["make": "a"]), try cars.insert(json: "{}"), try cars.insert(Car(make: "b", price: 1)),
            try cars.upsert(["make": "c"]), try cars.upsert(json: #"{"make":"d"}"#),
            try cars.upsert(Car(make: "e", price: 2)),
        ]
        #expect(Set(ids).count == 6)
        for id in ids {
            let text = try #require(id.value.stringValue)
            #expect(text.utf8.count == 36)
            #expect(Array(text)[14] == "7")
            #expect(try cars.find(id: id)?.id == id)
        }
        #expect(ids == ids.sorted { $0.description < $1.description }, "ids of one process sort by time")
    }

    @Test("keeps ids of every kind apart")
    func idKinds() throws {
        let ids: [Value] = [
            "1", 1, true, .bytes([1]), ["storeID": 7, "number": "A-12"], [1, 2], -3, "", .int(.max), .int(.min),
        ]
        for (index, id) in ids.enumerated() { try cars.insert(["_id": id, "index": .int(Int64(index))]) }
        for (index, id) in ids.enumerated() {
            let document = try #require(try cars.find(id: DocumentID(id)))
            #expect(document["index"] == .int(Int64(index)))
            #expect(document["_id"] == id)
            #expect(try document.id == DocumentID(id))
        }
        #expect(try cars.findAll().count() == ids.count)
    }

    @Test("refuses to insert an id twice and leaves the first document")
    func duplicateID() throws {
        try cars.insert(["_id": "a", "price": 1])
        #expect(errorCode { try cars.insert(["_id": "a", "price": 2]) } == .documentExists)
        #expect(errorCode { try cars.insert(json: #"{"_id":"a"}"#) } == .documentExists)
        #expect(errorCode { try cars.insert(Car(_id: "a", make: "x", price: 3)) } == .documentExists)
        #expect(try cars.find(id: "a")?["price"] == 1)
    }

    @Test("deletes, finds nothing, and writes anew without old fields")
    func removeAndRecreate() throws {
        try cars.insert(["_id": "a", "old": true, "price": 1])
        #expect(try cars.remove("a"))
        #expect(try cars.find(id: "a") == nil)
        #expect(try cars.findAll().count() == 0)
        #expect(try cars.remove("a") == false)
        #expect(errorCode { try cars.update("a") { $0["price"] = 2 } } == .documentNotFound)
        try cars.upsert(["_id": "a", "price": 3])
        #expect(try cars.find(id: "a")?.value == ["_id": "a", "price": 3])
        try cars.remove("a")
        try cars.insert(["_id": "a", "new": 1])
        #expect(try cars.find(id: "a")?.value == ["_id": "a", "new": 1])
    }

    @Test("increments a field, missing ones from zero")
    func increment() throws {
        try cars.insert(["_id": "a", "price": 10])
        try cars.increment("price", id: "a")
        try cars.increment("price", by: -5, id: "a")
        try cars.increment("seller.rating", by: 0.5, id: "a")
        #expect(
            try cars.find(id: "a")?.value == ["_id": "a", "price": 6, "seller": ["rating": 0.5]])
        #expect(errorCode { try cars.increment("price", by: "2", id: "a") } == .typeMismatch)
        #expect(errorCode { try cars.increment("seller", id: "a") } == .typeMismatch)
        #expect(errorCode { try cars.increment("price", id: "b") } == .documentNotFound)
    }

    @Test("evicts only by force while nobody else holds the changes")
    func evict() throws {
        try cars.insert(["_id": "a", "price": 10])
        #expect(errorCode { try cars.evict("a") } == .unsyncedChanges)
        #expect(try cars.find(id: "a") != nil)
        #expect(errorCode { try cars.findAll().evict() } == .unsyncedChanges)
        #expect(try cars.evict("a", force: true))
        #expect(try cars.find(id: "a") == nil)
        #expect(try cars.evict("a", force: true) == false)
        #expect(try cars.history(of: "a").isEmpty)
        #expect(try db.verify().isEmpty)
    }

    @Test("has no documents where it does not exist, and no collection comes of reading")
    func unknownCollection() throws {
        let none = db.collection("none")
        #expect(try none.find(id: "a") == nil)
        #expect(try none.findAll().count() == 0)
        #expect(try none.find("price > 1").documents().isEmpty)
        #expect(try none.history(of: "a").isEmpty)
        #expect(try none.indexes().isEmpty)
        #expect(try none.remove("a") == false)
        #expect(errorCode { try none.update("a") { $0["b"] = 1 } } == .documentNotFound)
        #expect(try db.collectionNames().isEmpty)
    }

    @Test("lists, creates and drops indexes")
    func indexes() throws {
        for price in 0..<20 {
            try cars.insert(["state": price % 2 == 0 ? "for sale" : "sold", "price": .int(Int64(price))])
        }
        #expect(try cars.createIndex(["state", "price:desc"]))
        #expect(try cars.createIndex(["seller.name"]))
        #expect(try cars.indexes().map(\.paths) == [["state", "price:desc"], ["seller.name"]])
        #expect(try cars.indexes().map(\.description) == ["state, price desc", "seller.name"])
        #expect(try cars.find("state == 'sold' && price < 10").explain().contains("state, price desc"))
        #expect(try cars.find("state == 'sold' && price < 10").count() == 5)
        #expect(try !cars.createIndex([" state ", "price desc"]))
        #expect(try cars.indexes().count == 2)
        #expect(errorCode { try cars.createIndex([]) } == .invalidIndex)
        #expect(errorCode { try cars.createIndex(["state ==="]) } == .invalidIndex)
        for definition in try cars.indexes() { try cars.dropIndex(definition.paths) }
        #expect(try cars.indexes().isEmpty)
        #expect(errorCode { try cars.dropIndex(["seller.name"]) } == .invalidIndex)
        #expect(try cars.find("state == 'sold' && price < 10").count() == 5)
    }

    @Test("whose names differ in Unicode normalisation alone are two")
    func names() throws {
        let db = database.db
        let composed = "caf\u{E9}"
        let decomposed = "cafe\u{301}"
        try db.collection(composed).insert(["_id": 1, "form": "composed"])
        try db.collection(decomposed).insert(["_id": 1, "form": "decomposed"])
        func forms() throws -> [Value?] {
            try [composed, decomposed].map { try db.collection($0).find(id: 1)?["form"] }
        }
        #expect(try forms() == ["composed", "decomposed"])
        // In the order of their bytes: an accent of its own comes after the plain letter.
        #expect(try db.collectionNames().map { Array($0.utf8) } == [Array(decomposed.utf8), Array(composed.utf8)])
        try db.write { tx in
            let forms = try [composed, decomposed].map { try tx.collection($0).find(id: 1)?["form"] }
            #expect(forms == ["composed", "decomposed"])
            try tx.collection(decomposed).remove(1)
        }
        #expect(try forms() == ["composed", nil])
        #expect(try db.verify().isEmpty)
    }
}
