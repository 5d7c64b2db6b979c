import DocDB
import Foundation
import Testing

@Suite("Codable types in a database") struct StoredTypesTests {
    let database: TemporaryDatabase
    var cars: Collection { database.cars }

    init() throws { database = try TemporaryDatabase() }

    private struct Everything: Codable, Equatable {
        // swift-format-ignore: NoLeadingUnderscores
        var _id: String?
        var flag: Bool
        var small: UInt8
        var large: Int64
        var weight: Double
        var text: String
        var missing: Int?
        var tags: [String]
        var grid: [[Double]]
        var byName: [String: Int]
        var kind: Kind
        var inner: Inner
        var others: [Inner]
        var date: Date
        var link: URL
        var key: UUID
        var data: Data
        var any: Value

        enum Kind: String, Codable { case old, new }
        struct Inner: Codable, Equatable { var name: String; var next: [Inner] = [] }
    }

    private static let sample = Everything(
        _id: "e", flag: true, small: 255, large: .min, weight: -0.1, text: "é\u{0}\"\\\n", missing: nil,
        tags: ["", "b"],
        grid: [[1, 2.5], []], byName: ["x": 1, "odd key.": -1], kind: .new,
        inner: .init(name: "a", next: [.init(name: "b")]),
        others: [], date: Date(timeIntervalSince1970: 1_700_000_000.25),
        link: URL(string: "https://example.org/a?b=c")!,
        key: UUID(uuidString: "6BA7B810-9DAD-11D1-80B4-00C04FD430C8")!, data: Data([0, 1, 255]), any: ["a": [1, .null]])

    @Test("come back as they were written, one by one and by queries")
    func roundTrip() throws {
        try cars.insert(Self.sample)
        #expect(try cars.find(id: "e")?.decode(as: Everything.self) == Self.sample)
        #expect(try cars.findAll().documents(as: Everything.self) == [Self.sample])
        try cars.upsert(Self.sample, strategy: .replace)
        #expect(try cars.findAll().first(as: Everything.self) == Self.sample)
        #expect(try database.db.verify().isEmpty)
    }

    @Test("have the same bytes as the same document of JSON text")
    func sameAsText() throws {
        try cars.insert(Car(_id: "a", make: "x", price: 1, views: 2, seller: .init(name: "n", city: "c")))
        try cars.insert(json: #"{"seller":{"city":"c","name":"n"},"views":2,"price":1,"_id":"b","make":"x"}"#)
        let a = try #require(try cars.find(id: "a")?.json())
        let b = try #require(try cars.find(id: "b")?.json())
        #expect(a.replacingOccurrences(of: "\"a\"", with: "\"b\"") == b)
    }

    @Test("leave out what is nil, and give a new id for an id that is nil")
    func nilProperties() throws {
        let id = try cars.insert(Car(make: "x", price: 1))
        let stored = try #require(try cars.find(id: id))
        #expect(try stored.value == ["_id": id.value, "make": "x", "price": 1])
        #expect(try stored.decode(as: Car.self)._id == id.description)
    }

    @Test("may themselves use the transaction that they are written in")
    func reentrantEncoding() throws {
        struct Reentrant: Encodable {
            let cars: TransactionCollection
            func encode(to encoder: any Encoder) throws {
                var container = encoder.singleValueContainer()
                try cars.insert(["_id": "inner"])
                try container.encode(["_id": "outer", "found": "\(try cars.find(id: "inner") != nil)"])
            }
        }
        try database.db.write { tx in _ = try tx.collection("cars").insert(Reentrant(cars: tx.collection("cars"))) }
        #expect(Set(try cars.findAll().ids()) == ["inner", "outer"])
        #expect(try cars.find(id: "outer")?["found"] == "true")
    }
}
