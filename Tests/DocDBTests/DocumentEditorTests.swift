import DocDB
import Foundation
import Testing

@Suite("DocumentEditor") struct DocumentEditorTests {
    let database: TemporaryDatabase
    var cars: Collection { database.cars }

    init() throws {
        database = try TemporaryDatabase()
        try cars.insert(["_id": "a", "price": 1, "name": "x", "seller": ["name": "Ann", "city": "Ulm"]])
    }

    private func value() throws -> Value? { try cars.find(id: "a")?.value }

    @Test("keeps a counter within what was text when its neighbour is set")
    func counterWithinText() throws {
        try cars.update("a") { $0["name"]["views"].increment(by: 2) }
        try cars.update("a") { $0["name"]["full"] = "x y" }
        try cars.upsert(["_id": "a", "name": ["short": "x"]])
        #expect(try value()?["name"] == ["views": 2, "full": "x y", "short": "x"])
        #expect(try database.db.verify().isEmpty)
    }

    @Test("sets, merges, unsets and increments fields")
    func operations() throws {
        try cars.update("a") {
            $0["views"].increment()
            $0["price"] = 9_000
            $0["seller"]["name"].set("Bob")
            $0["seller"]["phone"]["home"] = "12"
            $0[path: "seller.zip"].set(89_073)
            $0["name"].unset()
            $0["rating"].increment(by: 0.5)
            $0["list"] = [1, ["a": 2]]
        }
        #expect(
            try value() == [
                "_id": "a", "views": 1, "price": 9_000, "rating": 0.5, "list": [1, ["a": 2]],
                "seller": ["name": "Bob", "city": "Ulm", "phone": ["home": "12"], "zip": 89_073],
            ])
        try cars.update("a") {
            $0["list"] = nil
            $0["rating"] = .null
            $0.set("seller", ["name": "Eve"])
            $0.merge(["price": 5, "seller": ["age": 40]])
            $0.merge(["city": "Bonn"], at: "seller")
            $0["seller"].merge(["zip": "1"])
            $0.unset("views")
            $0.unset("none.at.all")
            $0.increment("price", by: -1)
        }
        #expect(
            try value() == [
                "_id": "a", "price": 4, "rating": .null,
                "seller": ["name": "Eve", "age": 40, "city": "Bonn", "zip": "1"],
            ])
    }

    @Test("reads the fields as its own changes leave them")
    func reading() throws {
        try cars.update("a") {
            #expect($0.id == "a")
            #expect($0["price"].value == 1)
            #expect($0["none"].value == nil)
            #expect($0["seller"]["name"].value == "Ann")
            $0["price"].increment(by: 41)
            #expect($0["price"].value == 42)
            if let price: Value = $0["price"] { #expect(price == 42) } else { Issue.record("no price") }
            $0["seller"].unset()
            #expect($0[path: "seller.name"].value == nil)
            #expect($0.value == ["_id": "a", "price": 42, "name": "x"])
            let price = $0["price"].value?.intValue ?? 0
            $0["price"] = .int(price * 2)
        }
        #expect(try value()?["price"] == 84)
    }

    @Test("sets values of the app's own types")
    func encodableValues() throws {
        struct Size: Codable { let width: Int; let height: Double }
        let width = 3
        try cars.update("a") {
            $0["width"].set(width)
            $0["size"].set(Size(width: width, height: 0.5))
            $0["tags"].set(["a", "b"])
            $0["nothing"].set(String?.none)
        }
        #expect(try value()?["width"] == 3)
        #expect(try value()?["size"] == ["width": 3, "height": 0.5])
        #expect(try value()?["tags"] == ["a", "b"])
        #expect(try value()?["nothing"] == .null)
    }

    @Test("writes nothing where it changes nothing")
    func noChange() throws {
        let last = try database.db.read { try $0.sequence() }
        try cars.update("a") { _ in }
        try cars.update("a") { $0["none"].unset() }
        try cars.update("a") { $0.merge(["price": 1, "seller": ["city": "Ulm"]]) }
        try cars.update("a") { #expect($0["price"].value == 1) }
        #expect(try database.db.read { try $0.sequence() } == last)
    }

    private static let failures: [(DocDBError.Code, @Sendable (inout DocumentEditor) -> Void)] = [
        (.typeMismatch, { $0["name"].increment() }), (.typeMismatch, { $0["seller"].increment() }),
        (.typeMismatch, { $0["price"].increment(by: "1") }), (.invalidValue, { $0["price"] = .float(.infinity) }),
        (.invalidValue, { $0["price"].increment(by: .float(.nan)) }), (.invalidValue, { $0["x"].set(Double.nan) }),
        (.invalidDocumentID, { $0["_id"] = "b" }), (.invalidDocumentID, { $0["_id"].unset() }),
        (.invalidDocumentID, { $0["_id"]["x"].increment() }), (.invalidDocumentID, { $0.merge(["_id": "b"]) }),
        (.invalidValue, { $0.merge(1) }), (.invalidValue, { $0["seller"].merge("x") }),
        (.documentTooDeep, { $0["deep"] = DocumentEditorTests.nested(Limits.nestingDepth) }),
        (.documentTooLarge, { $0["big"] = .string(String(repeating: "x", count: Limits.documentByteCount)) }),
    ]

    static func nested(_ depth: Int) -> Value {
        var value: Value = 1
        for _ in 0..<depth { value = .array([value]) }
        return value
    }

    @Test("throws the first failure when the closure ends, and writes nothing", arguments: 0..<14)
    func failures(_ index: Int) throws {
        try #require(Self.failures.count == 14)
        let before = try value()
        let (code, change) = Self.failures[index]
        let thrown = errorCode {
            try cars.update("a") {
                $0["price"] = 77
                change(&$0)
                $0["price"].increment(by: 2)
            }
        }
        #expect(thrown == code)
        #expect(try value() == before)
        try cars.update("a") { $0["price"] = 78 }
        #expect(try value()?["price"] == 78)
        #expect(try database.db.verify().isEmpty)
    }

    @Test("accepts its own id in a merge, and nesting up to the limit")
    func atTheLimits() throws {
        try cars.update("a") {
            $0.merge(["_id": "a", "price": 2])
            $0["deep"] = Self.nested(Limits.nestingDepth - 1)
        }
        #expect(try value()?["price"] == 2)
        #expect(try value()?["deep"] == Self.nested(Limits.nestingDepth - 1))
        #expect(try cars.find(id: "a")?.json().contains("[[[") == true)
    }

    @Test("does nothing once its closure has ended")
    func usedLate() throws {
        var field: FieldEditor?
        try cars.update("a") { field = $0["price"] }
        field?.set(99)
        field?.increment()
        field?.unset()
        #expect(field?.value == nil)
        #expect(try value()?["price"] == 1)
    }

    @Test("leaves deleting and changing of a field apart from a null")
    func nullAndMissing() throws {
        try cars.update("a") { $0["name"] = .null }
        #expect(try cars.find("name == null").count() == 1)
        #expect(try cars.find("exists(name)").count() == 1)
        try cars.update("a") { $0["name"] = nil }
        #expect(try cars.find("exists(name)").count() == 0)
    }
}
