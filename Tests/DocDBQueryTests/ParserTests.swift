import DocDBCore
import DocDBQuery
import Testing

@Suite("Parser")
struct ParserTests {
    private static func path(_ names: String...) -> Filter.Operand { .path(Filter.Path(names: names)) }
    private static let a = path("a")
    private static let b = path("b")
    private static let c = path("c")

    @Test("precedence: ! binds tighter than &&, && tighter than ||")
    func precedence() throws {
        let expected = Filter.or([
            .isTrue(Self.a), .and([.isTrue(Self.b), .not(.isTrue(Self.c))]),
        ])
        for text in ["a || b && !c", "a or b and not c", "(a) OR ((b) AND (NOT c))", "a||b&&!c"] {
            #expect(try Filter.parse(text) == expected, "\(text)")
        }
        #expect(
            try Filter.parse("(a || b) && c")
                == .and([.or([.isTrue(Self.a), .isTrue(Self.b)]), .isTrue(Self.c)]))
        #expect(
            try Filter.parse("!a < 1") == .not(.compare(.less, Self.a, .literal(1))))
    }

    @Test("an empty text holds for every document", arguments: ["", "  ", "\n\t", "true", "(TRUE)"])
    func emptyText(_ text: String) throws {
        #expect(try Filter.parse(text) == .everything)
    }

    @Test(
        "spellings of one meaning have one canonical text",
        arguments: [
            ("a=1", "a == 1"), ("a<>1", "a != 1"), ("!(a == 1)", "a != 1"), ("not a != 1", "a == 1"),
            ("!!a", "a"), ("a  AND(b)", "a && b"), ("(a and b) && c", "a && b && c"), ("a or (b or c)", "a || b || c"),
            ("a || (b && c)", "a || b && c"), ("(a || b) && c", "(a || b) && c"), ("\"x\" == a", "'x' == a"),
            ("a == \"it's\"", "a == 'it\\'s'"), ("a == 'x\\u0041\\n'", "a == 'xA\\n'"),
            ("a == '\\uD83D\\uDE00'", "a == '\u{1F600}'"), ("a == 1e3", "a == 1000.0"), ("a == -0.0", "a == -0.0"),
            ("a == -9223372036854775808", "a == -9223372036854775808"), ("a == X'00fF'", "a == x'00ff'"),
            ("a in [1,'x',NULL,True]", "a in [1, 'x', null, true]"), ("a not in []", "a not in []"),
            ("not (a in b)", "a not in b"), ("!(a like '%x')", "a not like '%x'"),
            ("a like '50\\%'", "a like '50\\\\%'"),
            ("a between 1 and 2 and b", "a between 1 and 2 && b"), ("a NOT BETWEEN 1 AND 2", "a not between 1 and 2"),
            ("beginsWith(a, 'x')", "starts_with(a, 'x')"), ("a beginsWith 'x'", "starts_with(a, 'x')"),
            ("ENDSWITH(a,'x')", "ends_with(a, 'x')"), ("a contains 1", "contains(a, 1)"),
            ("Length(a) > 1", "length(a) > 1"), ("type == type(type)", "type == type(type)"),
            ("a[].b", "a[*].b"), ("a [ * ] . b", "a[*].b"), ("a['x y'].z == 1", "a.`x y`.z == 1"), ("a['b']", "a.b"),
            ("`in`.in == 1", "`in`.in == 1"), ("`a`", "a"), ("`odd key`.b", "`odd key`.b"), ("a[-1]", "a[-1]"),
            ("a[?b==1 && @.c[0]].d == 1", "a[? b == 1 && c[0]].d == 1"), ("a[? @ > 1]", "a[? @ > 1]"),
            ("a[? @[0] == 1]", "a[? @[0] == 1]"), ("(a == 1) == true", "(a == 1) == true"),
            ("exists(a) == true", "exists(a) == true"), ("!exists(a.b)", "!exists(a.b)"),
            ("a == missing", "a == missing"),
            ("(a) == (b)", "a == b"), ("!a < 1", "!(a < 1)"), ("!(a || b)", "!(a || b)"), ("größe == 1", "größe == 1"),
            ("a == {b: 1, 'a': [null]}", "a == {'a': [null], 'b': 1}"), ("regex(a,'^x')", "regex(a, '^x')"),
            ("a == ''", "a == ''"), ("`` == 1", "`` == 1"), ("a.`` == 1", "a.`` == 1"),
        ])
    func canonicalText(_ text: String, _ canonical: String) throws {
        let filter = try Filter.parse(text)
        #expect(filter.description == canonical)
        #expect(try Filter.parse(canonical) == filter)
    }

    @Test("arguments stand for literals")
    func arguments() throws {
        func text(_ predicate: String, _ arguments: [String: Value]) throws -> String {
            try Filter.parse(predicate, arguments: arguments).description
        }
        #expect(try text("a == $x", ["x": "it's"]) == "a == 'it\\'s'")
        #expect(try text("a == $args.x || b == $x", ["x": 1]) == "a == 1 || b == 1")
        #expect(try text("a in $list", ["list": [1, 2.5, nil]]) == "a in [1, 2.5, null]")
        #expect(try text("a in [$x, 2]", ["x": .bytes([1])]) == "a in [x'01', 2]")
        #expect(try text("a == $user.id", ["user": ["id": "u1"]]) == "a == 'u1'")
        #expect(try text("a == $user.id", ["user.id": "u1"]) == "a == 'u1'")
        #expect(try text("a like $p", ["p": "x%"]) == "a like 'x%'")
        #expect(try text("a == $args", ["args": 3]) == "a == 3")
    }

    @Test("text equality in filters is by bytes, without normalisation")
    func exactText() throws {
        #expect(try Filter.parse("a.`\u{E9}` == 1") != Filter.parse("a.`e\u{301}` == 1"))
        #expect(try Filter.parse("a == '\u{E9}'") != Filter.parse("a == 'e\u{301}'"))
        #expect(try Filter.parse("a like '\u{E9}'") != Filter.parse("a like 'e\u{301}'"))
        #expect(try Filter.parse("a == 1") != Filter.parse("a == 1.0"))
    }
}
