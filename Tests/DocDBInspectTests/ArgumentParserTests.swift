import DocDBInspect
import Testing

@Suite("ArgumentParser")
struct ArgumentParserTests {
    struct Line: Sendable, CustomTestStringConvertible {
        let arguments: [String]
        let command: CommandName
        let operands: [String]
        let options: [String: [String]]
        var testDescription: String { arguments.joined(separator: " ") }

        init(_ text: String, _ command: CommandName, _ operands: [String], _ options: [String: [String]] = [:]) {
            arguments = text.split(separator: " ").map(String.init)
            self.command = command
            self.operands = operands
            self.options = options
        }
    }

    static let lines = [
        Line("import s c f", .import, ["s", "c", "f"]),
        Line("import s c -", .import, ["s", "c", "-"]),
        Line(
            "import --id-field vin s c f --batch 10", .import, ["s", "c", "f"], ["id-field": ["vin"], "batch": ["10"]]),
        Line("import --id-field=a=b s c f", .import, ["s", "c", "f"], ["id-field": ["a=b"]]),
        Line("export s c", .export, ["s", "c"]),
        Line("find s c", .find, ["s", "c"]),
        Line(
            "find s c a==1 --sort x --sort=y:desc --limit 0 --offset 7", .find, ["s", "c", "a==1"],
            ["sort": ["x", "y:desc"], "limit": ["0"], "offset": ["7"]]),
        Line(
            "find s c --arg a=1 --arg b=\"x\" --count", .find, ["s", "c"], ["arg": ["a=1", "b=\"x\""], "count": []]),
        Line("find s c --explain --format csv", .find, ["s", "c"], ["explain": [], "format": ["csv"]]),
        Line("find --count -- s c --count", .find, ["s", "c", "--count"], ["count": []]),
        Line("get s c id", .get, ["s", "c", "id"]),
        Line("get s c -5", .get, ["s", "c", "-5"]),
        Line("get s c -- --id", .get, ["s", "c", "--id"]),
        Line("collections s", .collections, ["s"]),
        Line("stat s", .stat, ["s"]),
        Line(
            "log s --since 5 --collection c --limit 3", .log, ["s"],
            ["since": ["5"], "collection": ["c"], "limit": ["3"]]),
        Line("history s c 7", .history, ["s", "c", "7"]),
        Line("index create s c a b:desc", .indexCreate, ["s", "c", "a", "b:desc"]),
        Line("index drop s c a", .indexDrop, ["s", "c", "a"]),
        Line("index list s c", .indexList, ["s", "c"]),
        Line("verify s", .verify, ["s"]),
        Line("compact s", .compact, ["s"]),
        Line("peers s", .peers, ["s"]),
    ]

    @Test("a command line that fits gives its operands and options", arguments: lines)
    func fits(line: Line) throws {
        guard case .run(let parsed) = try ArgumentParser.parse(line.arguments) else {
            Issue.record("no command")
            return
        }
        #expect(parsed.name == line.command)
        #expect(parsed.operands == line.operands)
        #expect(parsed.options == line.options)
    }

    static let faults: [(String, String)] = [
        ("", "no command given"),
        ("fnd s c", "unknown command fnd; did you mean find?"),
        ("nonsense", "unknown command nonsense"),
        ("--count find s c", "the command comes first, then its options; found --count"),
        ("import s c", "import needs FILE"),
        ("export", "export needs STORE"),
        ("export s c x", "one argument too many: x"),
        ("find s c p q", "one argument too many: q"),
        ("find s c --limt 3", "find has no option --limt; did you mean --limit?"),
        ("find s c --wrong", "find has no option --wrong"),
        ("find s c -n 3", "options begin with two dashes; found -n"),
        ("find s c --limit", "--limit needs a value: --limit N"),
        ("find s c --limit x", "--limit needs a whole number of at least 0, not x"),
        ("find s c --limit=-1", "--limit needs a whole number of at least 0, not -1"),
        ("find s c --limit=", "--limit needs a whole number of at least 0, not "),
        ("find s c --limit 1 --limit 2", "--limit is given twice"),
        ("find s c --count=yes", "--count takes no value"),
        ("find s c --count --count", "--count is given twice"),
        ("find s c --format xml", "--format is one of jsonl, json, table, csv, not xml"),
        ("find s c --arg=", "--arg needs a value"),
        ("import s c f --batch 0", "--batch needs a whole number from 1 to 1000000, not 0"),
        ("index", "index needs one of create, drop or list"),
        ("index make s c a", "index needs one of create, drop or list, not make"),
        ("index create s c", "index create needs PATH[:desc]"),
        ("index list s c a", "one argument too many: a"),
        ("log s --since 99999999999999999999", "--since needs a whole number of at least 0, not 99999999999999999999"),
    ]

    @Test("a command line that does not fit is answered with its fault", arguments: faults)
    func refuses(text: String, message: String) {
        let error = #expect(throws: UsageError.self) {
            try ArgumentParser.parse(text.split(separator: " ").map(String.init))
        }
        #expect(error?.message == message)
    }

    @Test("an empty operand is a fault, an empty predicate is not")
    func emptyOperands() throws {
        #expect(throws: UsageError("STORE is empty", command: .stat)) { try ArgumentParser.parse(["stat", ""]) }
        #expect(throws: UsageError("ID is empty", command: .get)) { try ArgumentParser.parse(["get", "s", "c", ""]) }
        _ = try ArgumentParser.parse(["find", "s", "c", ""])
    }

    @Test("wrong usage goes to standard error with the right usage, and ends with 2")
    func wrongUsage() {
        let console = TestConsole()
        #expect(console.run(["get", "s", "c"]) == 2)
        #expect(console.output.text.isEmpty)
        #expect(
            console.error.text == """
                docdb-inspect: get needs ID
                usage: docdb-inspect get STORE COLLECTION ID
                Run 'docdb-inspect get --help' for more.

                """)
    }

    @Test("no arguments at all show the commands on standard error, and end with 2")
    func noArguments() {
        let console = TestConsole()
        #expect(console.run([]) == 2)
        #expect(console.error.text.contains("no command given"))
        let names = "import|export|find|get|watch|collections|stat|log|history|index|peers|verify|salvage|compact"
        #expect(console.error.text.contains(names))
    }
}

@Suite("HelpText")
struct HelpTextTests {
    @Test("every command has help with its usage, its options and an example", arguments: CommandName.allCases)
    func commandHelp(name: CommandName) throws {
        let console = TestConsole()
        #expect(console.run(name.words + ["--help"]) == 0)
        let text = console.output.text
        let rule = CommandRule.rule(for: name)
        #expect(console.error.text.isEmpty)
        #expect(text.contains("usage: docdb-inspect \(name.rawValue) STORE"))
        for option in rule.options { #expect(text.contains("--\(option.name)")) }
        for operand in rule.operands { #expect(text.contains(operand.placeholder)) }
        let example = try #require(rule.examples.first)
        #expect(text.contains(example.commandLine))
        #expect(!rule.summary.isEmpty && text.hasPrefix(rule.summary))
        #expect(text.split(separator: "\n").allSatisfy { $0.count <= 100 })
    }

    @Test("examples are command lines that parse", arguments: CommandName.allCases)
    func examples(name: CommandName) throws {
        for example in CommandRule.rule(for: name).examples {
            let words = shellWords(example.commandLine)
            guard case .run(let parsed) = try ArgumentParser.parse(Array(words.dropFirst())) else {
                Issue.record("the example runs nothing")
                return
            }
            #expect(words.first == "docdb-inspect")
            #expect(parsed.name == name)
        }
    }

    @Test("the tool's help names every command", arguments: [["--help"], ["-h"]])
    func toolHelp(arguments: [String]) {
        let console = TestConsole()
        #expect(console.run(arguments) == 0)
        for name in CommandName.allCases { #expect(console.output.text.contains("  \(name.rawValue)  ")) }
    }

    @Test("--help wins over missing operands and unknown options, but not behind --")
    func precedence() throws {
        #expect(try ArgumentParser.parse(["find", "--wrong", "--help"]) == .help([.find]))
        #expect(try ArgumentParser.parse(["index", "--help"]) == .help([.indexCreate, .indexDrop, .indexList]))
        guard case .run = try ArgumentParser.parse(["get", "s", "c", "--", "--help"]) else {
            Issue.record("taken as a wish for help")
            return
        }
    }

    @Test("help goes quietly where nobody reads it")
    func closedPipe() {
        let console = TestConsole()
        console.output.capacity = 10
        #expect(console.run(["--help"]) == 0)
        #expect(console.error.text.isEmpty)
    }

    /// Words as a shell splits them, for the quotes and redirections that examples use.
    private func shellWords(_ line: String) -> [String] {
        var words: [String] = []
        var word = ""
        var quote: Character?
        for character in line + " " {
            if let open = quote {
                if character == open { quote = nil } else { word.append(character) }
            } else if character == "'" || character == "\"" {
                quote = character
            } else if character == ">" {
                break
            } else if character == " " {
                if !word.isEmpty { words.append(word) }
                word = ""
            } else {
                word.append(character)
            }
        }
        return words
    }
}
