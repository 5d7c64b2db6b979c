// Each row of the table in the documentation's "Modelling for Merges".
import DocDB
import Testing

@Suite("What changes made apart come to", .timeLimit(.minutes(10))) struct SyncMergeTests {
    @Test("every row of the table in the documentation holds")
    func table() async throws {
        let early = try SyncPeer("early")
        let late = try SyncPeer("late")
        for id in Self.ids where id != "same id" { try early.cars.insert(json: Self.before(id)) }
        let received = try late.cars.findAll().subscribe()
        let returned = try early.cars.findAll().subscribe()
        let url = try early.listen()
        try late.connect(url)
        await received.waitUntilCaughtUp()
        #expect(try late.contents() == early.contents())
        await late.sync.stop()
        await early.sync.stop()

        try Self.changeEarly(early.cars)
        try Self.waitForTime(beyond: early.db, in: late.db)
        try Self.changeLate(late.cars)

        try early.sync.start()
        try late.sync.start()
        await received.waitUntilCaughtUp()
        await returned.waitUntilCaughtUp()
        for peer in [early, late] {
            for (id, text) in Self.after {
                let found = try peer.cars.find(id: id)?.json()
                #expect(found == text, "\(id) at \(peer.name)")
            }
        }
    }

    private static let ids: [DocumentID] = [
        "other fields", "same field", "increments", "increment, set", "set, increment", "array", "same id",
        "deletion, change", "change, deletion", "deletions", "removal, set", "set, removal", "field, object",
        "object, field",
    ]

    private static func before(_ id: DocumentID) -> String {
        #"{"_id": "\#(id)", "make": "audi", "price": 0, "tags": ["a"], "seller": {"name": "Ann", "city": "Ulm"}}"#
    }

    private static func changeEarly(_ cars: Collection) throws {
        try cars.update("other fields") { $0["price"] = 1 }
        try cars.update("same field") { $0["price"] = 1 }
        try cars.increment("price", by: 2, id: "increments")
        try cars.increment("price", by: 2, id: "increment, set")
        try cars.update("set, increment") { $0["price"] = 1 }
        try cars.update("array") { $0["tags"] = ["a", "early"] }
        try cars.insert(["_id": "same id", "make": "audi", "price": 1])
        try cars.remove("deletion, change")
        try cars.update("change, deletion") { $0["price"] = 1 }
        try cars.remove("deletions")
        try cars.update("removal, set") { $0["make"].unset() }
        try cars.update("set, removal") { $0["make"] = "vw" }
        try cars.update("field, object") { $0["seller"]["city"].set("Bonn") }
        try cars.update("object, field") { $0["seller"] = ["name": "Bob"] }
    }

    private static func changeLate(_ cars: Collection) throws {
        try cars.update("other fields") { $0["make"] = "vw" }
        try cars.update("same field") { $0["price"] = 2 }
        try cars.increment("price", by: 3, id: "increments")
        try cars.update("increment, set") { $0["price"] = 9 }
        try cars.increment("price", by: 3, id: "set, increment")
        try cars.update("array") { $0["tags"] = ["a", "late"] }
        try cars.insert(["_id": "same id", "price": 2, "year": 2020])
        try cars.update("deletion, change") { $0["price"] = 2 }
        try cars.remove("change, deletion")
        try cars.remove("deletions")
        try cars.update("removal, set") { $0["make"] = "fiat" }
        try cars.update("set, removal") { $0["make"].unset() }
        try cars.update("field, object") { $0["seller"] = ["name": "Bob"] }
        try cars.update("object, field") { $0["seller"]["city"].set("Bonn") }
    }

    private static let after: [DocumentID: String?] = [
        "other fields": document("other fields", make: "vw", price: 1),
        "same field": document("same field", price: 2),
        "increments": document("increments", price: 5),
        "increment, set": document("increment, set", price: 9),
        "set, increment": document("set, increment", price: 1),
        "array": document("array", tags: #"["a","late"]"#),
        "same id": #"{"_id":"same id","make":"audi","price":2,"year":2020}"#,
        "deletion, change": document("deletion, change", price: 2),
        "change, deletion": document("change, deletion", price: 1),
        "deletions": nil,
        "removal, set": document("removal, set", make: "fiat"),
        "set, removal": document("set, removal", make: nil),
        "field, object": document("field, object", seller: #"{"name":"Bob"}"#),
        "object, field": document("object, field", seller: #"{"city":"Bonn","name":"Bob"}"#),
    ]

    private static func document(
        _ id: String, make: String? = "audi", price: Int = 0, tags: String = #"["a"]"#,
        seller: String = #"{"city":"Ulm","name":"Ann"}"#
    ) -> String? {
        let make = make.map { #""make":"\#($0)","# } ?? ""
        return #"{"_id":"\#(id)",\#(make)"price":\#(price),"seller":\#(seller),"tags":\#(tags)}"#
    }

    /// Writes elsewhere in a database until its times are a tick of the clock later than those of another.
    private static func waitForTime(beyond other: Database, in db: Database) throws {
        let last = try #require(other.log().last).time
        repeat {
            try db.collection("ticks").upsert(["_id": 1, "n": .int(Int64(db.log().count))])
        } while try #require(db.log().last).time.nanosecondsSince1970 <= last.nanosecondsSince1970
    }
}
