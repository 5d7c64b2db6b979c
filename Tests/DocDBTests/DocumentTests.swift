import DocDB
import Testing

@Suite("Document") struct DocumentTests {
    let database: TemporaryDatabase
    var cars: Collection { database.cars }

    init() throws { database = try TemporaryDatabase() }

    private static let whole: Value = [
        "_id": "car-1", "make": "toyota", "price": 9_500, "weight": 1.5, "sold": false, "owner": .null,
        "key": .bytes([0, 255]), "tags": ["red", 1, [true]], "seller": ["name": "Ann", "address": ["city": "Ulm"]],
        "odd key.with dot": 1,
    ]

    private func document() throws -> Document {
        try cars.insert(Self.whole)
        return try #require(try cars.find(id: "car-1"))
    }

    @Test("gives back every value as it was written")
    func fields() throws {
        let document = try document()
        #expect(try document.value == Self.whole)
        for (name, value) in try #require(Self.whole.objectValue) { #expect(document[name] == value) }
        #expect(document["none"] == nil)
        #expect(document["odd key"] == nil)
        #expect(document["Make"] == nil)
        #expect(document[""] == nil)
        #expect(document["owner"] == .some(.null))
        #expect(document.id == "car-1")
    }

    @Test("follows paths")
    func paths() throws {
        let document = try document()
        #expect(document[path: "seller.address.city"] == "Ulm")
        #expect(document[path: "seller"] == ["name": "Ann", "address": ["city": "Ulm"]])
        #expect(document[path: "`odd key.with dot`"] == 1)
        #expect(document[path: "_id"] == "car-1")
        #expect(document[path: "_id.x"] == nil)
        #expect(document[path: "seller.none"] == nil)
        #expect(document[path: "make.x"] == nil)
        #expect(document[path: "tags.x"] == nil)
        try cars.insert(["_id": ["storeID": 7], "a": 1])
        #expect(try cars.find(id: DocumentID(["storeID": 7]))?[path: "_id.storeID"] == 7)
    }

    @Test("prints JSON with sorted names, the id first")
    func json() throws {
        let document = try document()
        #expect(
            try document.json()
                == #"{"_id":"car-1","key":"AP8=","make":"toyota","odd key.with dot":1,"owner":null,"price":9500,"#
                + #""seller":{"address":{"city":"Ulm"},"name":"Ann"},"sold":false,"tags":["red",1,[true]],"weight":1.5}"#
        )
        try cars.insert(["_id": 1, "a": [2]])
        #expect(
            try cars.find(id: 1)?.json(pretty: true)
                == """
                {
                  "_id": 1,
                  "a": [
                    2
                  ]
                }
                """)
    }

    @Test("decodes into a type, and tells the field that does not fit")
    func decode() throws {
        let document = try document()
        let car = try document.decode(as: Car.self)
        #expect(car == Car(_id: "car-1", make: "toyota", price: 9_500, seller: .init(name: "Ann")))
        struct Other: Decodable { let seller: Seller; struct Seller: Decodable { let name: Int } }
        let error = try #require(docDBError { try document.decode(as: Other.self) })
        #expect(error.code == .typeMismatch)
        #expect(error.context["path"] == "seller.name")
        #expect(!error.message.contains("Ann"))
    }

    @Test("stays as it was read when the database changes and closes")
    func outlivesDatabase() throws {
        let document = try document()
        try cars.remove("car-1")
        try database.db.close()
        #expect(try document.value == Self.whole)
        #expect(document["price"] == 9_500)
    }

    @Test("finds fields among many, of names that are stored as numbers and as text")
    func manyFields() throws {
        var members: [String: Value] = ["_id": 1]
        for number in 0..<300 {
            members["name\(number)"] = .int(Int64(number))
            members["name \(number)"] = .int(Int64(-number))
        }
        try cars.insert(.object(members))
        let document = try #require(try cars.find(id: 1))
        for number in 0..<300 {
            #expect(document["name\(number)"] == .int(Int64(number)))
            #expect(document["name \(number)"] == .int(Int64(-number)))
        }
        #expect(document["name300"] == nil)
        #expect(document["name 300"] == nil)
    }
}
