// The examples of doc comments, as code that is compiled and run; those of pages are run by Scripts/check-examples.
import DocDB
import Testing

@Suite("Examples") struct ExamplesTests {
    let database: TemporaryDatabase
    var db: Database { database.db }

    init() throws { database = try TemporaryDatabase() }

    @Test("a first program runs")
    func firstProgram() throws {
        let cars = db.collection("cars")

        let id = try cars.insert(["make": "toyota", "state": "for sale", "price": 9_500, "views": 0])
        try db.write { tx in
            try tx.collection("cars").update(id) {
                $0["price"] = 9_000
                $0["views"].increment()
            }
        }

        let cheap = try cars.find("state == 'for sale' && price < $most", ["most": 10_000]).sort("price").limit(20)
        var lines: [String] = []
        for car in try cheap.documents() { lines.append(try car.json()) }

        struct Car: Codable { let make: String; let price: Int }
        let typed = try cheap.documents(as: Car.self)

        try cars.createIndex(["state", "price"])
        let plan = try cheap.explain()

        #expect(lines == [#"{"_id":"\#(id)","make":"toyota","price":9000,"state":"for sale","views":1}"#])
        #expect(typed.map(\.price) == [9_000])
        #expect(plan.contains("state, price"))
        #expect(try cars.history(of: id).map(\.sequence) == [2, 1])
        // The program can be run again on the same database.
        try cars.createIndex(["state", "price"])
        try db.close()
    }

    @Test("the examples of Database run")
    func databaseExamples() async throws {
        let car: Value = ["_id": "car-000001", "make": "audi", "price": 4_000]
        let accounts = db.collection("accounts")
        try accounts.insert(["_id": "ann", "balance": 100])
        try accounts.insert(["_id": "bob", "balance": 0])

        try db.transfer()
        let id = try await db.write { tx in try tx.collection("cars").insert(car) }
        let (cheap, all) = try db.counts()

        #expect(id == "car-000001")
        #expect((cheap, all) == (1, 1))
        #expect(try accounts.find(id: "bob")?["balance"] == 10)
        #expect(try accounts.find(id: "ann")?["balance"] == 90)
    }

    @Test("the examples of Collection and Document run")
    func collectionExamples() throws {
        let cars = db.collection("cars")
        let id = try cars.insert(["make": "toyota", "price": 9_500, "seller": ["name": "Eve"], "reserved": true])
        try cars.update(id) {
            $0["views"].increment()
            $0["price"] = 9_000
            $0["seller"]["name"].set("Ann")
            $0["reserved"].unset()
        }
        try cars.update(id) {
            $0.merge(["city": "Ulm", "zip": "89073"], at: "seller")
            $0["reserved"] = nil
        }
        let car = try #require(try cars.find(id: id))
        #expect(car["price"]?.intValue == 9_000)
        #expect(car[path: "seller.name"]?.stringValue == "Ann")
        var prices: [Value?] = []
        for revision in try cars.history(of: id) { prices.append(revision.document?["price"]) }
        #expect(prices == [9_000, 9_000, 9_500])
        let before = try db.asOf(sequence: 1)
        #expect(try before.collection("cars").find(id: id)?["price"] == 9_500)
        var last: Int64 = 0
        for record in try db.log(since: last, limit: 100) { last = record.sequence }
        #expect(last == 3)
        try cars.find("price == 9000").update { $0["state"] = "for sale" }
        try cars.createIndex(["state", "price:desc"])
        #expect(
            try cars.find("state == 'for sale'").sort("price", .descending).explain().contains("state, price desc"))
    }

    @Test("errors are told apart by their code")
    func errors() throws {
        let cars = db.collection("cars")
        let car: Value = ["_id": 1]
        try cars.insert(car)
        var isKnown = false
        do { try cars.insert(car) } catch let error as DocDBError where error.code == .documentExists { isKnown = true }
        #expect(isKnown)
    }
}

// Synchronous code, as in most apps.
extension Database {
    fileprivate func transfer() throws {
        let db = self
        try db.write { tx in
            let accounts = tx.collection("accounts")
            try accounts.update("ann") { $0["balance"].increment(by: -10) }
            try accounts.update("bob") { $0["balance"].increment(by: 10) }
        }
    }

    fileprivate func counts() throws -> (Int, Int) {
        let db = self
        return try db.read { snapshot in
            let cars = snapshot.collection("cars")
            return (try cars.find("price < 5000").count(), try cars.findAll().count())
        }
    }
}
