import DocDBCore
import DocDBQuery
import DocDBStorage
import Testing

@Suite("The planner")
struct PlannerTests {
    struct Case: Sendable, CustomTestStringConvertible {
        var indexes: [[String]]
        var predicate: String
        var sort: [String] = []
        var limit: Int?
        var plan: String
        var testDescription: String { "\(indexes) \(predicate) \(sort) \(limit ?? -1)" }
    }

    private static let pair = ["state", "price"]

    static let cases: [Case] = [
        // No index helps.
        Case(indexes: [], predicate: "", plan: "full scan"),
        Case(indexes: [], predicate: "price < 5", plan: "full scan; tests the rest on each document"),
        Case(indexes: [["year"]], predicate: "price < 5", plan: "full scan; tests the rest on each document"),
        Case(indexes: [pair], predicate: "price < 5", plan: "full scan; tests the rest on each document"),
        Case(
            indexes: [], predicate: "price < 5", sort: ["year"], limit: 3,
            plan: "full scan; tests the rest on each document; sorts in memory, keeping 3"),
        Case(indexes: [["price"]], predicate: "price != 5", plan: "full scan; tests the rest on each document"),
        Case(
            indexes: [["price"]], predicate: "price == 'a' && price == 1", plan: "no documents: the filter never holds"),
        // Ids.
        Case(
            indexes: [pair], predicate: "_id == 'x' && state == 'a'",
            plan: "lookup by _id; tests the rest on each document"),
        Case(indexes: [], predicate: "_id in ['x', 3, 4.0, 4]", plan: "lookup by 3 ids; put in storage order"),
        Case(indexes: [], predicate: "_id == {'a': 'x'}", plan: "lookup by _id"),
        // Numbers within an id may be stored as integers or floats.
        Case(indexes: [], predicate: "_id == {'a': 1}", plan: "lookup by 2 ids; put in storage order"),
        Case(
            indexes: [], predicate: "_id == [0, 1, 2, 3, 4, 5]",
            plan: "full scan; tests the rest on each document"),
        Case(indexes: [], predicate: "_id == null", plan: "no documents: the filter never holds"),
        Case(indexes: [], predicate: "_id > 'm'", sort: ["_id"], plan: "scan by _id _id > ?; in order, no sort"),
        Case(
            indexes: [], predicate: "", sort: ["_id:desc"], limit: 2,
            plan: "scan by _id backward; in order, no sort; stops at 2"),
        // Equality, then range.
        Case(
            indexes: [pair], predicate: "state == 'a' && price < 5",
            plan: "index scan on (state, price) state == ?, price < ?; put in storage order; count from the index alone"
        ),
        Case(
            indexes: [["price"], ["state"], pair], predicate: "price < 5 && state == 'a'",
            plan: "index scan on (state, price) state == ?, price < ?; put in storage order; count from the index alone"
        ),
        Case(
            indexes: [["price"], ["state"]], predicate: "price < 5 && state == 'a'",
            plan: "index scan on (state) state == ?; tests the rest on each document; put in storage order"),
        Case(
            indexes: [["price:desc"]], predicate: "price >= 5 && price < 7",
            plan: "index scan on (price desc) price >= ?, price < ?; put in storage order; count from the index alone"),
        Case(
            indexes: [["name"]], predicate: "starts_with(name, 'a')",
            plan: "index scan on (name) starts_with(name, ?); put in storage order; count from the index alone"),
        Case(
            indexes: [["name"]], predicate: "name == null",
            plan: "index scan on (name) name == null; put in storage order; count from the index alone"),
        Case(
            indexes: [pair], predicate: "state in ['a', 'b'] && price == 3",
            plan:
                "index scan on (state, price) state in (2 values), price == ?; put in storage order; count from the index alone"
        ),
        // Order.
        Case(
            indexes: [["price"]], predicate: "", sort: ["price"], limit: 20,
            plan: "index scan on (price); in order, no sort; stops at 20; count from the index alone"),
        Case(
            indexes: [["price"]], predicate: "", sort: ["price:desc"], limit: 20,
            plan: "index scan on (price) backward; in order, no sort; stops at 20; count from the index alone"),
        Case(
            indexes: [pair], predicate: "state == 'a'", sort: ["price"],
            plan: "index scan on (state, price) state == ?; in order, no sort; count from the index alone"),
        Case(
            indexes: [pair], predicate: "state == 'a'", sort: ["state:desc", "price"],
            plan: "index scan on (state, price) state == ?; in order, no sort; count from the index alone"),
        Case(
            indexes: [pair], predicate: "state in ['a', 'b']", sort: ["price"],
            plan: "index scan on (state, price) state in (2 values); sorts in memory; count from the index alone"),
        Case(
            indexes: [pair], predicate: "state in ['a', 'b']", sort: ["state:desc", "price:desc"],
            plan:
                "index scan on (state, price) backward state in (2 values); in order, no sort; count from the index alone"
        ),
        Case(
            indexes: [pair], predicate: "state == null", sort: ["price"],
            plan: "index scan on (state, price) state == null; sorts in memory; count from the index alone"),
        Case(
            indexes: [pair], predicate: "", sort: ["state", "price:desc"],
            plan: "full scan; sorts in memory; count from the index alone"),
        Case(
            indexes: [["state", "price:desc"]], predicate: "", sort: ["state:desc", "price"],
            plan: "index scan on (state, price desc) backward; in order, no sort; count from the index alone"),
        // Ties go by id in the direction of the last key, which an index with one more path does not give.
        Case(
            indexes: [["price", "year"]], predicate: "", sort: ["price"],
            plan: "full scan; sorts in memory; count from the index alone"),
        Case(
            indexes: [["state"]], predicate: "state == 'a'", sort: ["_id"],
            plan: "index scan on (state) state == ?; in order, no sort; count from the index alone"),
        // A limit makes the order worth more than a range, and not more than an equality.
        Case(
            indexes: [["price"], ["year"]], predicate: "price < 5", sort: ["year"], limit: 3,
            plan:
                "index scan on (year); tests the rest on each document; in order, no sort; stops at 3; count from the index alone"
        ),
        Case(
            indexes: [["price"], ["year"]], predicate: "price < 5", sort: ["year"],
            plan: "index scan on (price) price < ?; sorts in memory; count from the index alone"),
        Case(
            indexes: [["price"], ["year"]], predicate: "price == 5", sort: ["year"], limit: 3,
            plan: "index scan on (price) price == ?; sorts in memory, keeping 3; count from the index alone"),
        // Arrays.
        Case(
            indexes: [["tags[*]"]], predicate: "tags[*] == 'x'", sort: ["_id"],
            plan: "index scan on (tags[*]) tags[*] == ?; in order, no sort; count from the index alone"),
        Case(
            indexes: [["tags[*]"]], predicate: "tags[*] > 'x'",
            plan:
                "index scan on (tags[*]) tags[*] > ?; each document once; put in storage order; count from the index alone"
        ),
        Case(
            indexes: [["tags[*]"]], predicate: "tags[*] > 3 && tags[*] < 5",
            plan:
                "index scan on (tags[*]) tags[*] > ?; each document once; tests the rest on each document; put in storage order"
        ),
        Case(
            indexes: [["tags[*]", "price"]], predicate: "'x' in tags", sort: ["price"], limit: 5,
            plan:
                "index scan on (tags[*], price) tags[*] == ?; in order, no sort; stops at 5; count from the index alone"
        ),
        Case(
            indexes: [["tags[*]"]], predicate: "", sort: ["price"],
            plan: "full scan; sorts in memory"),
    ]

    @Test("chooses by equality, range and order, and says so without literals", arguments: cases)
    func plans(_ example: Case) throws {
        let place = TemporaryStore("planner")
        let store = try place.open()
        try store.write { transaction in
            try transaction.put(["_id": "x", "state": "a", "price": 3, "tags": ["x"]])
            for paths in example.indexes {
                try transaction.createIndex(IndexDefinition(paths: paths), collection: "cars")
            }
        }
        let sort = try example.sort.map { text in
            let parts = text.split(separator: ":")
            return try SortKey(String(parts[0]), descending: parts.count > 1)
        }
        let query = try QueryDefinition(
            collection: "cars", predicate: example.predicate, sort: sort, limit: example.limit)
        #expect(try store.read { try QueryExecution(query, in: $0).explain() } == example.plan)
    }

    @Test("looks up ids however the numbers within them are written")
    func idSpellings() throws {
        let place = TemporaryStore("planner")
        let store = try place.open()
        try store.write {
            for id: Value in [["a": 1], ["a": 1.0], ["a": 2], [0, "x"], [-0.0, "x"]] { try $0.put(["_id": id]) }
        }
        func ids(_ predicate: String) throws -> [Value] {
            let query = try QueryDefinition(collection: "cars", predicate: predicate)
            return try store.read { try QueryExecution(query, in: $0).ids().map(\.value) }
        }
        #expect(try ids("_id == {'a': 1}") == [["a": 1], ["a": 1.0]])
        #expect(try ids("_id in [{'a': 2.0}, {'a': 3}]") == [["a": 2]])
        #expect(try ids("_id == [0.0, 'x']") == [[0, "x"], [-0.0, "x"]])
    }

    @Test("sorts by _id in memory once there are ids that SQLite orders otherwise")
    func mixedIDs() throws {
        let place = TemporaryStore("planner")
        let store = try place.open()
        let query = try QueryDefinition(collection: "cars", predicate: "", sort: [SortKey("_id")])
        try store.write { for id: Value in ["b", 10, "a", -5, 9] { try $0.put(["_id": id]) } }
        #expect(try store.read { try QueryExecution(query, in: $0).ids() } == [-5, 9, 10, "a", "b"])
        // Truth values come before numbers, and bytes before arrays; as blobs they would all come last.
        try store.write { for id: Value in [true, [1], .bytes([7])] { try $0.put(["_id": id]) } }
        let ids = try store.read { try QueryExecution(query, in: $0).ids() }
        #expect(ids.map(\.value) == [true, -5, 9, 10, "a", "b", .bytes([7]), [1]])
    }
}
