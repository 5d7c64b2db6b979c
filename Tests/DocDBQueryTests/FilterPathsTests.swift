import DocDBCore
import DocDBQuery
import Testing

@Suite("Paths and arguments of filters")
struct FilterPathsTests {
    @Test(
        "a filter names each field it tests, without those below others, and arrays as wholes",
        arguments: [
            ("", []), ("true", []), ("a == 1", ["a"]), ("a == 1 && b.c < 2 || a > 3", ["a", "b.c"]),
            ("a.b == 1 && a == 2", ["a"]), ("a == 1 && a.b.c == 2", ["a"]), ("a.b == 1 && a.bc == 2", ["a.b", "a.bc"]),
            ("!(x == y)", ["x", "y"]), ("a[0].b == 1", ["a"]), ("a[*].b == c.d[*]", ["a", "c.d"]),
            ("exists(a.b[? c == 1 && @.d == 2].e)", ["a.b"]), ("is_missing(`odd key`.b)", ["`odd key`.b"]),
            ("lower(a.b) like 'x%' || regex(c, 'x')", ["a.b", "c"]), ("a between b and length(c)", ["a", "b", "c"]),
            ("x in [1, 2] || 3 in y", ["x", "y"]),
            ("contains(a, b) || starts_with(c, d) || ends_with(e, 'f')", ["a", "b", "c", "d", "e"]),
            ("_id == 'x' && (b == 1) == c", ["_id", "b", "c"]), ("_id.store == 1", ["_id.store"]), ("a", ["a"]),
        ] as [(String, [String])])
    func paths(_ text: String, _ expected: [String]) throws {
        #expect(try Filter.parse(text).paths.map(\.description) == expected)
    }

    @Test("a text names its arguments in order, those in texts and names not counted")
    func arguments() throws {
        let text = "a == $user.id && b in $claims.x.y || c == '$no' || `$no` == $args.z || d == $args"
        #expect(try Filter.argumentNames(in: text) == [["user", "id"], ["claims", "x", "y"], ["z"], ["args"]])
        #expect(throws: DocDBError.self) { try Filter.argumentNames(in: "a == 'open") }
    }
}
