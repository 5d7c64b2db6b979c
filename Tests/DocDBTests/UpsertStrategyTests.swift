import DocDB
import Testing

@Suite("UpsertStrategy") struct UpsertStrategyTests {
    let database: TemporaryDatabase
    var cars: Collection { database.cars }

    init() throws { database = try TemporaryDatabase() }

    private static let old: Value = [
        "_id": "a", "make": "toyota", "price": 1, "seller": ["name": "Ann", "city": "Ulm"],
    ]
    private static let new: Value = ["_id": "a", "price": 2, "seller": ["name": "Bob"]]

    /// What each strategy makes of `new` over `old`; nil where it throws.
    private static let outcomes: [(UpsertStrategy, Value?)] = [
        (.merge, ["_id": "a", "make": "toyota", "price": 2, "seller": ["name": "Bob", "city": "Ulm"]]),
        (.replace, new), (.insert, nil), (.insertIfAbsent, old), (.insertDefault, old),
    ]

    @Test("decides what happens to a document that exists", arguments: outcomes)
    func existing(_ strategy: UpsertStrategy, _ expected: Value?) throws {
        try cars.insert(Self.old)
        if let expected {
            #expect(try cars.upsert(Self.new, strategy: strategy) == "a")
            #expect(try cars.find(id: "a")?.value == expected)
        } else {
            #expect(errorCode { try cars.upsert(Self.new, strategy: strategy) } == .documentExists)
            #expect(try cars.find(id: "a")?.value == Self.old)
        }
    }

    @Test("writes a document that does not exist whatever it is", arguments: UpsertStrategy.allCases)
    func absent(_ strategy: UpsertStrategy) throws {
        #expect(try cars.upsert(Self.new, strategy: strategy) == "a")
        #expect(try cars.find(id: "a")?.value == Self.new)
    }

    @Test("is the same for values, text and types", arguments: UpsertStrategy.allCases)
    func forms(_ strategy: UpsertStrategy) throws {
        let car = Car(_id: "a", make: "fiat", price: 2)
        for name in ["value", "text", "type"] {
            try database.db.collection(name).insert(["_id": "a", "make": "audi", "views": 9])
        }
        let codes = [
            errorCode {
                try database.db.collection("value").upsert(
                    ["_id": "a", "make": "fiat", "price": 2], strategy: strategy)
            },
            errorCode {
                try database.db.collection("text").upsert(
                    json: #"{"_id":"a","make":"fiat","price":2}"#, strategy: strategy)
            },
            errorCode { try database.db.collection("type").upsert(car, strategy: strategy) },
        ]
        #expect(Set(codes).count == 1)
        let values = try ["value", "text", "type"].map { try database.db.collection($0).find(id: "a")?.value }
        #expect(Set(values).count == 1)
    }

    @Test("writes only the fields that differ, so that a struct written back touches no other field")
    func mergeWritesDifferences() throws {
        try cars.insert(Car(_id: "a", make: "toyota", price: 100, views: 1))
        var car = try #require(try cars.find(id: "a")?.decode(as: Car.self))
        car.price = 90
        try cars.upsert(car)
        let newest = try #require(try cars.history(of: "a").first)
        // Only what a commit wrote competes with the commits of other replicas.
        #expect(newest.paths == ["price"])
        #expect(newest.document?["views"] == 1)
    }

    @Test("makes no commit where nothing differs")
    func mergeOfEqualDocument() throws {
        try cars.insert(Self.old)
        let last = try database.db.read { try $0.sequence() }
        try cars.upsert(Self.old)
        #expect(try database.db.read { try $0.sequence() } == last)
        #expect(try cars.history(of: "a").count == 1)
    }

    @Test("merges around a field that was changed after the struct was read")
    func mergeAfterIncrement() throws {
        try cars.insert(Car(_id: "a", make: "toyota", price: 100))
        let stale = try #require(try cars.find(id: "a")?.decode(as: Car.self))
        try cars.update("a") { $0["views"].increment(by: 3) }
        var changed = stale
        changed.make = "lexus"
        // `views` is nil in the struct: what the struct does not have stays as it is.
        try cars.upsert(changed)
        #expect(try cars.find(id: "a")?.value == ["_id": "a", "make": "lexus", "price": 100, "views": 3])
    }

    @Test("leaves a deleted document deleted for defaults, and brings it back for real writes")
    func deletedDocument() throws {
        try cars.insert(Self.old)
        try cars.remove("a")
        try cars.upsert(Self.new, strategy: .insertDefault)
        #expect(try cars.find(id: "a") == nil)
        try cars.upsert(Self.new, strategy: .insertIfAbsent)
        #expect(try cars.find(id: "a")?.value == Self.new)
    }
}
