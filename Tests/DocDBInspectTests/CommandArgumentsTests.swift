import DocDBCore
import DocDBInspect
import Testing

@Suite("CommandArguments")
struct CommandArgumentsTests {
    private func parse(_ arguments: [String]) throws -> ParsedCommand {
        guard case .run(let command) = try ArgumentParser.parse(["find", "s", "c"] + arguments) else {
            throw UsageError("no command")
        }
        return command
    }

    @Test("--arg gives values by name, with or without the dollar sign")
    func predicateArguments() throws {
        let command = try parse([
            "--arg", "make=\"toyota\"", "--arg=$top=9500", "--arg", "list= [1, 2.5, null]", "--arg", "x=\"a=b\"",
        ])
        #expect(
            try CommandArguments.predicateArguments(command) == [
                "make": "toyota", "top": 9500, "list": [1, 2.5, nil], "x": "a=b",
            ])
    }

    static let faults: [(String, String)] = [
        ("top", "--arg needs name=json"), ("=1", "needs a name"), ("a b=1", "needs a name"), ("9a=1", "needs a name"),
        ("make=toyota", "the value of --arg make is no JSON; a string needs double quotes"), ("make=", "is no JSON"),
        ("make=1 2", "is no JSON"),
    ]

    @Test("a faulty --arg is wrong usage, and the message does not repeat its value", arguments: faults)
    func refuses(text: String, phrase: String) throws {
        let command = try parse(["--arg", text])
        let error = #expect(throws: UsageError.self) { try CommandArguments.predicateArguments(command) }
        #expect(error?.message.contains(phrase) == true)
        #expect(error?.message.contains("toyota") == false)
    }

    @Test("an argument given twice is wrong usage")
    func twice() throws {
        let command = try parse(["--arg", "a=1", "--arg", "$a=2"])
        #expect(throws: UsageError("--arg a is given twice", command: .find)) {
            try CommandArguments.predicateArguments(command)
        }
    }

    @Test("--sort takes a direction behind the last colon")
    func sortTerms() throws {
        let command = try parse(["--sort", "a.b", "--sort", "price:desc", "--sort", "x:asc", "--sort", "`a:b`"])
        #expect(
            try CommandArguments.sortTerms(command) == [
                SortTerm(path: "a.b", isDescending: false), SortTerm(path: "price", isDescending: true),
                SortTerm(path: "x", isDescending: false), SortTerm(path: "`a:b`", isDescending: false),
            ])
        let faulty = try parse(["--sort", ":desc"])
        #expect(throws: UsageError.self) { try CommandArguments.sortTerms(faulty) }
    }

    static let identifiers: [(String, [Value])] = [
        ("car-1", ["car-1"]), ("42", [42, "42"]), ("\"42\"", ["42"]), ("1.5", ["1.5"]), ("null", ["null"]),
        ("true", [true, "true"]), ("[1,\"a\"]", [[1, "a"], "[1,\"a\"]"]), ("{\"a\":1}", [["a": 1], "{\"a\":1}"]),
        ("-7", [-7, "-7"]), ("{bad", ["{bad"]),
    ]

    @Test("a typed ID is read as JSON first, then as text", arguments: identifiers)
    func documentIDs(text: String, values: [Value]) throws {
        #expect(try CommandArguments.documentIDs(text) == values.map { try DocumentID($0) })
    }

    @Test("an ID that is too long is refused")
    func longIdentifier() {
        let error = #expect(throws: DocDBError.self) {
            try CommandArguments.documentIDs(String(repeating: "x", count: 300))
        }
        #expect(error?.code == .invalidDocumentID)
    }
}
