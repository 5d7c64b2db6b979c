import DocDBCore
import DocDBQuery
import Testing

@Suite("Parser errors")
struct ParserErrorTests {
    private static func failure(_ text: String, _ arguments: [String: Value] = [:]) -> DocDBError? {
        do {
            _ = try Filter.parse(text, arguments: arguments)
            return nil
        } catch {
            return error
        }
    }

    @Test(
        "an error names line, column and what was expected",
        arguments: [
            ("a ==", 1, 5, "expected a value, found the end"),
            ("a == = 1", 1, 6, "expected a value, found '=='"),
            ("a == 1 b", 1, 8, "expected an operator"),
            ("a &&", 1, 5, "expected a value"),
            ("a and and b", 1, 7, "found 'and'"),
            ("(a", 1, 3, "expected ')'"),
            ("a == 'x", 1, 6, "at the end of what begins here"),
            ("a == 'x\\q'", 1, 8, "\\uXXXX"),
            ("a == '\\uD800'", 1, 7, "Unicode scalar"),
            ("a == 12abc", 1, 8, "after the number"),
            ("a == 1.", 1, 8, "expected a digit"),
            ("a == 99999999999999999999", 1, 6, "64 bits"),
            ("a == 1e999", 1, 6, "double"),
            ("a ~ 1", 1, 3, "operator"),
            ("a & b", 1, 3, "operator"),
            ("\n  a ==\n  ]", 3, 3, "found ']'"),
            ("a in 5", 1, 6, "expected a list"),
            ("a in [1, b]", 1, 10, "expected a literal"),
            ("a in [1 2]", 1, 9, "',' or ']'"),
            ("a in [missing]", 1, 7, "is_missing"),
            ("a not 1", 1, 7, "'in', 'between' or 'like'"),
            ("a between 1, 2", 1, 12, "'and'"),
            ("a like 5", 1, 8, "a pattern"),
            ("nope(a)", 1, 1, "no function 'nope'"),
            ("length(a, b)", 1, 9, "')'"),
            ("contains(a)", 1, 11, "','"),
            ("exists(1)", 1, 8, "a path"),
            ("exists(in)", 1, 8, "backticks"),
            ("@ == 1", 1, 1, "[? ...]"),
            ("a.[0]", 1, 3, "a name after '.'"),
            ("a[x]", 1, 3, "a position"),
            ("a[? b", 1, 6, "']'"),
            ("regex(a, '(')", 1, 10, "at byte 1"),
            ("regex(a, b)", 1, 10, "a pattern"),
            ("a == $", 1, 7, "name of an argument"),
            ("a == $x", 1, 6, "no argument $x"),
            ("a == {b 1}", 1, 9, "':'"),
            ("a == {b: 1, b: 2}", 1, 13, "once"),
            ("a == x'0'", 1, 8, "hexadecimal"),
            ("ä == 'ü' €", 1, 10, "begins neither"),
            ("a == 1 == 2", 1, 8, "expected an operator, '&&', '||' or the end, found '=='"),
        ])
    func position(_ text: String, _ line: Int, _ column: Int, _ expectation: String) throws {
        let error = try #require(Self.failure(text))
        #expect(error.code == .invalidPredicate)
        #expect(error.context["line"] == "\(line)")
        #expect(error.context["column"] == "\(column)")
        #expect(error.message.contains("line \(line), column \(column)"))
        #expect(error.message.contains(expectation), "\(error.message)")
    }

    @Test("the caret stands below the place, and literals stay out of the message")
    func caret() throws {
        let error = try #require(Self.failure("state == 'secret' price"))
        #expect(error.context["source"] == "state == 'secret' price\n                  ^")
        #expect(!error.message.contains("secret"))
        let long = try #require(Self.failure(String(repeating: "a && ", count: 100) + ")"))
        let lines = try #require(long.context["source"]).split(separator: "\n")
        #expect(lines.count == 2)
        #expect(lines[0].count <= 100)
        #expect(lines[1].count == lines[0].count)
    }

    @Test("arguments that are absent, unused or not finite are named")
    func arguments() throws {
        #expect(try #require(Self.failure("a == $x", ["y": 1])).message.contains("$x"))
        #expect(try #require(Self.failure("a == $user.name", ["user": ["id": 1]])).message.contains("$user.name"))
        let unused = try #require(Self.failure("a == $x", ["x": 1, "z": 2, "y": 3]))
        #expect(unused.message.contains("'y'"))
        #expect(unused.context["arguments"] == "y, z")
        #expect(try #require(Self.failure("a == $x", ["x": .float(.nan)])).message.contains("finite"))
        #expect(try #require(Self.failure("a in $x", ["x": 5])).message.contains("list"))
        #expect(try #require(Self.failure("a like $x", ["x": 5])).message.contains("text"))
    }

    @Test("depth, length and number of parts are bounded, and the bounds are exact")
    func limits() throws {
        func nested(_ depth: Int) -> String {
            String(repeating: "(", count: depth) + "a" + String(repeating: ")", count: depth)
        }
        #expect(Self.failure(nested(QueryLimits.nestingDepth)) == nil)
        #expect(try #require(Self.failure(nested(QueryLimits.nestingDepth + 1))).message.contains("nested deeper"))
        #expect(Self.failure(String(repeating: "!", count: 1000) + "a") == nil)
        #expect(Self.failure("a == 1" + String(repeating: " ", count: QueryLimits.textByteCount - 6)) == nil)
        let long = Self.failure("a == 1" + String(repeating: " ", count: QueryLimits.textByteCount - 5))
        #expect(try #require(long).message.contains("longer than"))
        let many = Self.failure("a" + String(repeating: "&&a", count: QueryLimits.nodeCount))
        #expect(try #require(many).message.contains("parts"))
        var deep: Value = 1
        for _ in 0..<QueryLimits.literalDepth { deep = [deep] }
        #expect(Self.failure("a == $x", ["x": deep]) == nil)
        #expect(try #require(Self.failure("a == $x", ["x": [deep]])).message.contains("nested deeper"))
        let elements = Value.array(Array(repeating: 1, count: QueryLimits.literalValueCount))
        #expect(try #require(Self.failure("a in $x", ["x": elements])).message.contains("values"))
    }
}
