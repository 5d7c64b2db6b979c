import DocDB
import DocDBInspect
import Testing

@Suite("Commands on documents")
struct DocumentCommandTests {
    static let cars = """
        {"price":9500,"make":"toyota","_id":"a","seller":{"name":"Ann"},"tags":["x","y"]}
        {"_id":42,"make":"ford","price":100}
        {"_id":"42","make":"fiat","price":null}
        {"_id":{"k":1},"make":"opel \\"q\\"","Zed":true}

        """

    static let exported = """
        {"_id":42,"make":"ford","price":100}
        {"_id":"42","make":"fiat","price":null}
        {"_id":"a","make":"toyota","price":9500,"seller":{"name":"Ann"},"tags":["x","y"]}
        {"_id":{"k":1},"Zed":true,"make":"opel \\"q\\""}

        """

    @Test("import creates a store, and export prints its documents by _id, with sorted keys")
    func importAndExport() throws {
        let store = try InspectedStore()
        let outcome = store.run("import", store.path, "cars", "-", input: Self.cars)
        #expect(outcome == .init(code: 0, error: "imported 4 documents, \(Self.cars.utf8.count) B in 0.00 s\n"))
        #expect(store.run("export", store.path, "cars") == .init(code: 0, output: Self.exported))
        let again = store.run("import", store.path, "cars", try store.file("again.jsonl", Self.exported))
        #expect(again.code == 0)
        #expect(store.run("export", store.path, "cars").output == Self.exported)
        #expect(store.run("log", store.path).output.split(separator: "\n").count == 5, "equal documents write nothing")
    }

    @Test("import merges into documents that exist")
    func merges() throws {
        let store = try InspectedStore(cars: Self.cars)
        #expect(
            store.run("import", store.path, "cars", "-", input: "[{\"_id\":42,\"price\":90,\"new\":1.5}]").code == 0)
        #expect(
            store.run("get", store.path, "cars", "42").output
                == "{\"_id\":42,\"make\":\"ford\",\"new\":1.5,\"price\":90}\n")
    }

    @Test("import takes the id from a field, and commits in batches")
    func identifierField() throws {
        let store = try InspectedStore()
        let input = "[{\"vin\":\"b\",\"n\":1},{\"vin\":\"a\",\"n\":2},{\"vin\":7,\"n\":3}]"
        let outcome = store.run("import", store.path, "cars", "-", "--id-field", "vin", "--batch", "2", input: input)
        #expect(outcome.code == 0)
        #expect(
            store.run("export", store.path, "cars").output == """
                {"_id":7,"n":3,"vin":7}
                {"_id":"a","n":2,"vin":"a"}
                {"_id":"b","n":1,"vin":"b"}

                """)
        #expect(
            masked(store.run("log", store.path).output) == """
                1  TIME  local  ACTOR
                    cars  b  inserted
                    cars  a  inserted
                2  TIME  local  ACTOR
                    cars  7  inserted

                """)
    }

    struct Find: Sendable, CustomTestStringConvertible {
        let arguments: [String]
        let output: String
        var testDescription: String { arguments.joined(separator: " ") }
    }

    static let finds = [
        Find(arguments: ["make == 'ford'"], output: "{\"_id\":42,\"make\":\"ford\",\"price\":100}\n"),
        Find(
            arguments: ["make == $make && price >= $args.low", "--arg", "make=\"ford\"", "--arg", "low=100"],
            output: "{\"_id\":42,\"make\":\"ford\",\"price\":100}\n"),
        Find(arguments: ["price > 0", "--count"], output: "2\n"),
        Find(arguments: ["--count"], output: "4\n"),
        Find(arguments: ["--count", "--offset", "1", "--limit", "2"], output: "2\n"),
        Find(arguments: ["", "--count"], output: "4\n"),
        Find(arguments: ["make == 'none'"], output: ""),
        Find(arguments: ["--limit", "0"], output: ""),
        Find(
            arguments: ["--offset", "9223372036854775807", "--limit", "9223372036854775807"], output: ""),
        Find(
            arguments: ["price > 0", "--sort", "price", "--format", "json"],
            output: """
                [
                {"_id":42,"make":"ford","price":100},
                {"_id":"a","make":"toyota","price":9500,"seller":{"name":"Ann"},"tags":["x","y"]}
                ]

                """),
        Find(
            arguments: ["price > 0", "--sort", "price:desc", "--format", "table"],
            output: """
                _id  make    price  seller          tags
                a    toyota   9500  {"name":"Ann"}  ["x","y"]
                42   ford      100

                """),
        Find(
            arguments: ["--sort", "make:desc", "--limit", "2", "--offset", "1", "--format", "csv"],
            output: "_id,Zed,make,price\r\n\"{\"\"k\"\":1}\",true,\"opel \"\"q\"\"\",\r\n42,,ford,100\r\n"),
        Find(
            arguments: ["price == 100", "--explain"],
            output: "scan by _id; tests the rest on each document; in order, no sort\n"),
        Find(arguments: ["_id == 'a'", "--explain"], output: "lookup by _id; at most one result\n"),
    ]

    @Test("find filters, sorts, limits, counts and explains", arguments: finds)
    func find(_ find: Find) throws {
        let store = try InspectedStore(cars: Self.cars)
        #expect(
            InspectedStore.run(["find", store.path, "cars"] + find.arguments)
                == .init(code: 0, output: find.output))
    }

    @Test("find points at the fault of a predicate or a path")
    func faultyPredicate() throws {
        let store = try InspectedStore(cars: Self.cars)
        let predicate = store.run("find", store.path, "cars", "a == 1)")
        #expect(predicate.code == 1)
        #expect(predicate.output.isEmpty)
        #expect(predicate.error.hasPrefix("docdb-inspect: the predicate does not parse at line 1, column 7: "))
        #expect(predicate.error.hasSuffix("\na == 1)\n      ^\n"))
        let sort = store.run("find", store.path, "cars", "--sort", "a..b")
        #expect(sort.code == 1)
        #expect(sort.error.hasPrefix("docdb-inspect: the path of --sort does not parse at line 1, column 3: "))
        let argument = store.run("find", store.path, "cars", "a == $b")
        #expect(argument.code == 1)
        #expect(argument.error.contains("there is no argument $b"))
    }

    @Test(
        "get reads an id as JSON first, then as text",
        arguments: [
            ("42", 0), ("\"42\"", 1), ("a", 2), ("\"a\"", 2), ("{\"k\":1}", 3), ("{ \"k\" : 1 }", 3),
        ])
    func get(text: String, line: Int) throws {
        let store = try InspectedStore(cars: Self.cars)
        let expected = String(Self.exported.split(separator: "\n")[line]) + "\n"
        #expect(store.run("get", store.path, "cars", text) == .init(code: 0, output: expected))
    }

    @Test("get of a document that is not there fails")
    func getNothing() throws {
        let store = try InspectedStore(cars: Self.cars)
        let outcome = store.run("get", store.path, "cars", "b")
        #expect(outcome.code == 1)
        #expect(outcome.output.isEmpty)
        #expect(outcome.error.hasPrefix("docdb-inspect: collection cars has no document with this _id"))
    }

    @Test("on a terminal, find prints a table with a bold header and get an indented document")
    func terminal() throws {
        let store = try InspectedStore(cars: "{\"_id\":1,\"name\":\"\\u001b[31m\"}")
        let terminal = Terminal(outputIsTerminal: true, errorIsTerminal: true, width: 40)
        let found = store.run("find", store.path, "cars", terminal: terminal)
        #expect(found.output == "\u{1B}[1m_id  name\u{1B}[0m\n  1  \\u001b[31m\n")
        let got = store.run("get", store.path, "cars", "1", terminal: terminal)
        #expect(got.output.split(separator: "\n").count == 4)
        #expect(!got.output.contains("\u{1B}"))
    }

    @Test("a reader that goes away ends the output quietly", arguments: ["export", "find"])
    func closedOutput(command: String) throws {
        let lines = (0..<5000).map { "{\"_id\":\($0),\"filler\":\"\(String(repeating: "f", count: 50))\"}" }
        let store = try InspectedStore(cars: lines.joined(separator: "\n"))
        let console = TestConsole()
        console.output.capacity = 100_000
        #expect(console.run([command, store.path, "cars"]) == 0)
        #expect(console.error.text.isEmpty)
        #expect(!console.output.bytes.isEmpty)
    }
}
