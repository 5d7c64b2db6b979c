import DocDB
import Testing

@Suite("Query") struct QueryTests {
    let database: TemporaryDatabase
    var cars: Collection { database.cars }

    /// Twelve cars, their prices falling from 12 to 1 in the order of insertion.
    init() throws {
        database = try TemporaryDatabase()
        let database = database
        try database.db.write { tx in
            let cars = tx.collection("cars")
            for number in Int64(1)...12 {
                try cars.insert([
                    "_id": .string("car-" + (number < 10 ? "0" : "") + String(number)), "price": .int(13 - number),
                    "state": number % 3 == 0 ? "sold" : "for sale", "make": number % 2 == 0 ? "fiat" : "audi",
                ])
            }
        }
    }

    private func numbers(_ query: Query) throws -> [Int] {
        try query.ids().map { try #require(Int($0.description.suffix(2))) }
    }

    @Test("finds what matches, in the order of insertion unless sorted")
    func find() throws {
        #expect(try numbers(cars.find("state == 'sold'")) == [3, 6, 9, 12])
        #expect(try numbers(cars.find("state == $s && price > $least", ["s": "sold", "least": 4])) == [3, 6])
        #expect(try numbers(cars.findAll()) == Array(1...12))
        #expect(try numbers(cars.find("")) == Array(1...12))
        #expect(try numbers(cars.find("_id == 'car-07'")) == [7])
        #expect(try numbers(cars.find("price > 100")) == [])
    }

    @Test("sorts by several paths, ties by id in the direction of the last")
    func sort() throws {
        #expect(try numbers(cars.find("price <= 3").sort("price")) == [12, 11, 10])
        #expect(try numbers(cars.findAll().sort("make").sort("price").limit(3)) == [11, 9, 7])
        #expect(try numbers(cars.findAll().sort("make", .descending).sort("price", .descending).limit(3)) == [2, 4, 6])
        #expect(try numbers(cars.findAll().sort("state").limit(2)) == [1, 2])
        #expect(try numbers(cars.findAll().sort("state", .descending).limit(5)) == [12, 9, 6, 3, 11])
        #expect(try numbers(cars.findAll().sort("_id", .descending).limit(2)) == [12, 11])
    }

    @Test("takes the part that limit and offset say, also in counts")
    func limitAndOffset() throws {
        let query = cars.findAll().sort("price")
        #expect(try numbers(query.limit(2)) == [12, 11])
        #expect(try numbers(query.offset(10)) == [2, 1])
        #expect(try numbers(query.offset(2).limit(2)) == [10, 9])
        #expect(try numbers(query.limit(0)) == [])
        #expect(try numbers(query.offset(100)) == [])
        #expect(try numbers(query.limit(.max).offset(.max)) == [])
        #expect(try query.offset(5).count() == 7)
        #expect(try query.offset(5).limit(3).count() == 3)
        #expect(try query.limit(0).exists() == false)
        #expect(try query.offset(11).exists())
        #expect(try query.offset(12).exists() == false)
        #expect(try query.offset(3).first()?["price"] == 4)
        #expect(try query.limit(0).first() == nil)
        #expect(try query.offset(12).first() == nil)
    }

    @Test("gives the same results in every form")
    func forms() throws {
        struct Priced: Decodable, Equatable {
            // swift-format-ignore: NoLeadingUnderscores
            let _id: String
            let price: Int
        }
        let query = try cars.find("state == 'sold'").sort("price", .descending)
        let expected = [
            Priced(_id: "car-03", price: 10), Priced(_id: "car-06", price: 7), Priced(_id: "car-09", price: 4),
            Priced(_id: "car-12", price: 1),
        ]
        #expect(try query.documents(as: Priced.self) == expected)
        #expect(try query.documents().map { try $0.decode(as: Priced.self) } == expected)
        var seen: [Priced] = []
        try query.forEach { seen.append(try $0.decode()) }
        #expect(seen == expected)
        #expect(try query.first(as: Priced.self) == expected[0])
        #expect(try query.count() == 4)
        #expect(try query.exists())
        try database.db.read { snapshot in
            let query = try snapshot.collection("cars").find("state == 'sold'").sort("price", .descending)
            #expect(try query.documents(as: Priced.self) == expected)
            #expect(try query.count() == 4)
        }
        try database.db.write { tx in
            let query = try tx.collection("cars").find("state == 'sold'").sort("price", .descending)
            #expect(try query.documents(as: Priced.self) == expected)
            #expect(try query.count() == 4)
        }
    }

    @Test("can be kept, and sees the database as it is when asked")
    func keptQuery() throws {
        let query = try cars.find("state == 'sold'")
        #expect(try query.count() == 4)
        try cars.update("car-01") { $0["state"] = "sold" }
        #expect(try query.count() == 5)
        try cars.createIndex(["state"])
        #expect(try query.count() == 5)
        #expect(try numbers(query) == [1, 3, 6, 9, 12])
        try cars.dropIndex(["state"])
        #expect(try query.count() == 5)
    }

    @Test("finds fields that no document had when it was made")
    func newFields() throws {
        let query = try cars.find("color == 'red'").sort("shade")
        #expect(try query.count() == 0)
        try cars.insert(["_id": "car-20", "color": "red", "shade": 2])
        try cars.insert(["_id": "car-21", "color": "red", "shade": 1])
        #expect(try numbers(query) == [21, 20])
    }

    @Test("ends at the first error of its closure")
    func errorInClosure() throws {
        struct Stop: Error {}
        var count = 0
        #expect(throws: Stop.self) {
            try cars.findAll().forEach { _ in
                count += 1
                if count == 3 { throw Stop() }
            }
        }
        #expect(count == 3)
        #expect(try cars.findAll().count() == 12)
    }

    @Test("tells which document does not fit the type")
    func decodingFailure() throws {
        struct Strict: Decodable { let price: String }
        let error = try #require(docDBError { try cars.findAll().documents(as: Strict.self) })
        #expect(error.code == .typeMismatch)
        #expect(error.context["path"] == "price")
    }

    @Test("decodes other documents while a type is being decoded")
    func decodingWithinDecoding() throws {
        let decoded = try cars.find("price > 10").documents(as: Nested.self)
        #expect(decoded.map(\.price) == [12, 11])
        #expect(decoded.map(\.copy) == [["make": "audi", "price": 1], ["make": "audi", "price": 1]])
    }

    /// A type that runs a decoder of its own in between.
    private struct Nested: Decodable {
        let price: Int
        let copy: [String: Value]
        enum CodingKeys: String, CodingKey { case price }
        init(from decoder: any Decoder) throws {
            let container = try decoder.container(keyedBy: CodingKeys.self)
            let inner = try TemporaryDatabase()
            try inner.cars.insert(["_id": 1, "make": "audi", "price": 1])
            copy = try inner.cars.findAll().documents(as: Inner.self).map {
                ["make": .string($0.make), "price": .int(Int64($0.price))]
            }[0]
            price = try container.decode(Int.self, forKey: .price)
        }
        struct Inner: Decodable { let make: String; let price: Int }
    }

    @Test("refuses what cannot be asked")
    func invalidParts() throws {
        let all = cars.findAll()
        #expect(errorCode { try all.limit(-1).documents() } == .misuse)
        #expect(errorCode { try all.offset(-1).count() } == .misuse)
        #expect(errorCode { try all.sort("tags[*]").ids() } == .invalidPath)
        #expect(errorCode { try all.sort("a ==").first() } == .invalidPredicate)
        #expect(errorCode { try all.sort("a b").limit(1).exists() } == .invalidPredicate)
        #expect(errorCode { try all.limit(-1).remove() } == .misuse)
        #expect(errorCode { try all.limit(-1).explain() } == .misuse)
        #expect(try all.count() == 12)
    }

    @Test("explains itself without values")
    func explain() throws {
        let query = try cars.find("state == 'sold' && price > 3").sort("price")
        let scan = try query.explain()
        try cars.createIndex(["state", "price"])
        let indexed = try query.explain()
        #expect(scan != indexed)
        #expect(indexed.contains("state, price"))
        #expect(!indexed.contains("sold") && !scan.contains("sold"))
    }
}
