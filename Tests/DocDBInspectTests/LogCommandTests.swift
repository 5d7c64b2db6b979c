import DocDB
import DocDBInspect
import Testing

@Suite("Commands on the change log")
struct LogCommandTests {
    /// A store whose commits do one thing each.
    private static func store() throws -> InspectedStore {
        let store = try InspectedStore()
        let database = try Database(at: store.path)
        let cars = database.collection("cars")
        try database.write { transaction in
            let cars = transaction.collection("cars")
            try cars.insert(["_id": "a", "price": 9500, "seller": ["name": "Ann"], "tags": ["x"]])
            try cars.insert(["_id": 42, "views": 1])
        }
        try cars.update("a") {
            $0["price"] = 9000
            $0["seller"]["name"].unset()
            $0["new"] = true
        }
        try cars.increment("views", id: 42)
        try cars.remove("a")
        try database.collection("owners").insert(["_id": "two words"])
        try cars.upsert(["_id": "a", "price": 1])
        try database.close()
        return store
    }

    private static let commits = [
        """
        1  TIME  local  ACTOR
            cars  a  inserted
            cars  42  inserted

        """,
        """
        2  TIME  local  ACTOR
            cars  a  changed new, price (was 9500), seller.name (was "Ann")

        """,
        """
        3  TIME  local  ACTOR
            cars  42  changed views (counter)

        """,
        """
        4  TIME  local  ACTOR
            cars  a  deleted

        """,
        """
        5  TIME  local  ACTOR
            owners  "two words"  inserted

        """,
        """
        6  TIME  local  ACTOR
            cars  a  written anew: price

        """,
    ]

    struct Choice: Sendable, CustomTestStringConvertible {
        let arguments: [String]
        let commits: [Int]
        var testDescription: String { arguments.joined(separator: " ") }
    }

    @Test(
        "log tells what each commit did to which document, and what stood there before",
        arguments: [
            Choice(arguments: [], commits: [1, 2, 3, 4, 5, 6]),
            Choice(arguments: ["--since", "4"], commits: [5, 6]),
            Choice(arguments: ["--since", "6"], commits: []),
            Choice(arguments: ["--since", "9223372036854775807"], commits: []),
            Choice(arguments: ["--limit", "2"], commits: [1, 2]),
            Choice(arguments: ["--limit", "0"], commits: []),
            Choice(arguments: ["--collection", "owners"], commits: [5]),
            Choice(arguments: ["--collection", "cars", "--since", "3", "--limit", "2"], commits: [4, 6]),
        ])
    func log(_ choice: Choice) throws {
        let store = try Self.store()
        let outcome = InspectedStore.run(["log", store.path] + choice.arguments)
        #expect(outcome.code == 0)
        #expect(outcome.error.isEmpty)
        #expect(masked(outcome.output) == choice.commits.map { Self.commits[$0 - 1] }.joined())
    }

    @Test("log tells times and actors as the API does")
    func timesAndActors() throws {
        let store = try Self.store()
        let database = try Database(at: store.path)
        let record = try #require(try database.log(limit: 1).first)
        try database.close()
        let head = store.run("log", store.path, "--limit", "1").output.prefix { $0 != "\n" }.split(separator: " ")
        #expect(head.last.map(String.init) == record.actors.first?.description)
        let seconds = record.time.nanosecondsSince1970 / 1_000_000_000
        let minute = seconds / 60 % 60
        #expect(head.dropFirst().first?.contains(":\(minute < 10 ? "0" : "")\(minute):") == true)
    }

    @Test("log tells of evictions without the documents' ids")
    func evictions() throws {
        let store = try Self.store()
        let database = try Database(at: store.path)
        try database.collection("cars").evict("a", force: true)
        try database.close()
        let output = masked(store.run("log", store.path).output)
        #expect(
            output.hasPrefix(
                """
                1  TIME  local  ACTOR
                    cars  (evicted)  erased by a later eviction
                    cars  42  inserted
                2  TIME  local  ACTOR
                    cars  (evicted)  erased by a later eviction

                """), "\(output)")
        #expect(output.contains("\n7  TIME  eviction"))
        #expect(output.hasSuffix("\n    cars  (evicted)  evicted\n"))
        #expect(store.run("history", store.path, "cars", "a").code == 1)
    }

    @Test("log says where it begins once its start has been cut")
    func cutLog() throws {
        let store = try InspectedStore()
        var options = Database.Options()
        options.historyByteCount = 1
        let database = try Database(at: store.path, options: options)
        for number in 0..<3000 { try database.collection("cars").upsert(["_id": 1, "n": .int(Int64(number))]) }
        let oldest = try database.statistics().log.oldestSequence
        try database.close()
        #expect(oldest > 1)
        let outcome = store.run("log", store.path, "--limit", "1")
        #expect(outcome.code == 0)
        #expect(outcome.error == "the log begins at commit \(oldest); what came before is not retained\n")
        #expect(outcome.output.hasPrefix("\(oldest)  "))
        #expect(store.run("log", store.path, "--since", "\(oldest - 1)", "--limit", "1").error.isEmpty)
    }

    @Test("history tells a document's versions, newest first")
    func history() throws {
        let store = try Self.store()
        let output = masked(store.run("history", store.path, "cars", "a").output)
        #expect(
            output == """
                {"seq":6,"time":"TIME","kind":"local","actors":["ACTOR"],"paths":["","price"],"document":{"_id":"a","price":1}}
                {"seq":4,"time":"TIME","kind":"local","actors":["ACTOR"],"paths":["new","price","seller.name","tags"],"document":null}
                {"seq":2,"time":"TIME","kind":"local","actors":["ACTOR"],"paths":["new","price","seller.name"],"document":{"_id":"a","new":true,"price":9000,"tags":["x"]}}
                {"seq":1,"time":"TIME","kind":"local","actors":["ACTOR"],"paths":null,"document":{"_id":"a","price":9500,"seller":{"name":"Ann"},"tags":["x"]}}

                """)
        let unknown = store.run("history", store.path, "cars", "zz")
        #expect(unknown.code == 1)
        #expect(unknown.error.contains("has no document with this _id"))
    }

    @Test("on a terminal history reads like the log")
    func historyForPeople() throws {
        let store = try Self.store()
        let terminal = Terminal(outputIsTerminal: true, refusesColour: true)
        let output = masked(store.run("history", store.path, "cars", "42", terminal: terminal).output)
        #expect(
            output == """
                3  TIME  local  ACTOR
                    wrote views
                    {"_id":42,"views":2}
                1  TIME  local  ACTOR
                    inserted
                    {"_id":42,"views":1}

                """)
    }
}
