import DocDBCore
import DocDBQuery
import Testing

/// Regular expressions come from peers too: whatever they are, a match ends at a limit, and the document is denied.
@Suite("Limits of regular expressions")
struct RegexLimitTests {
    /// What a pattern says of a text: whether it matches, and whether a limit ended the search.
    private static func search(
        _ pattern: String, _ text: String, stepCount: Int = QueryLimits.evaluationStepCount
    ) throws -> (holds: Bool, isExhausted: Bool) {
        let names = FieldNames()
        let document = try TestDocument(["x": .string(text)], names: names)
        let filter = try Filter.parse("regex(x, $p)", arguments: ["p": .string(pattern)])
        let evaluator = Evaluator(filter, names: names, stepCount: stepCount)
        let holds = document.matches(evaluator)
        #expect(!evaluator.isDamaged)
        return (holds, evaluator.didExhaustLimits)
    }

    @Test(
        "patterns that backtrack without end are given up",
        arguments: [
            "(a*)*$", "(?:a|a)+$", "(a|a?)+$", "(?:a+a+)+[bc]", "(.*)(.*)(.*)(.*)(.*)(.*)(.*)(.*)[bc]", "((a+)+)+$",
            "^(?:a?){60}a{60}a[bc]", "(\\w+\\s?)+[bc]", "(?=(a+))(a+)+[bc]", "(a(?1)?)+[bc]",
            "(?:(?:a{0,30}){0,30}){0,30}[bc]", "(?<!b)(a+)+\\z", "(a+)\\1*(a+)\\2*(a+)\\3*[bc]", "(?i)(A|a)+[bc]",
            "(?s)(?:.|a)*(?:.|a)*(?:.|a)*[bc]",
        ], [40, 5_000])
    func backtracking(_ pattern: String, _ length: Int) throws {
        let result = try Self.search(pattern, String(repeating: "a", count: length) + "!")
        // None of them can match. The shorter text may be searched to its end.
        #expect(!result.holds)
        #expect(result.isExhausted || length == 40)
    }

    @Test("a pattern that nests once for each character ends at the depth or the memory of a match")
    func depth() throws {
        #expect(try Self.search("(?:(a)|b)*[yz]", String(repeating: "a", count: 150_000)) == (false, true))
        #expect(try Self.search("(a(?R)?)[yz]", String(repeating: "a", count: 150_000)) == (false, true))
    }

    @Test("all patterns and elements of one document share its steps")
    func sharedSteps() throws {
        let names = FieldNames()
        let text = Value.string(String(repeating: "a", count: 24) + "!")
        let document = try TestDocument(["x": .array(Array(repeating: text, count: 1000))], names: names)
        // One element takes tens of thousands of steps, far below the limit of one match.
        let filter = try Filter.parse("regex(x[*], '(a|b|ab)*?(a|c)*?(a|d)*?[yz]')")
        let evaluator = Evaluator(filter, names: names, stepCount: 2_000_000)
        #expect(!document.matches(evaluator))
        #expect(evaluator.didExhaustLimits)
    }

    @Test("a pattern cannot raise the limits that it is matched under")
    func raising() throws {
        let text = String(repeating: "a", count: 60) + "!"
        for option in [
            "(*LIMIT_MATCH=4000000000)", "(*LIMIT_DEPTH=4000000000)", "(*LIMIT_HEAP=4000000000)", "(*NO_JIT)",
        ] {
            #expect(try Self.search(option + "(a+)+$", text) == (false, true), "\(option)")
        }
    }

    @Test("a pattern is at most 4 KiB, to the byte, and what would be huge when compiled is refused")
    func size() throws {
        func parse(_ pattern: String) throws {
            _ = try Filter.parse("regex(x, $p)", arguments: ["p": .string(pattern)])
        }
        try parse(String(repeating: "a", count: QueryLimits.patternByteCount))
        #expect(throws: DocDBError.self) { try parse(String(repeating: "a", count: QueryLimits.patternByteCount + 1)) }
        for pattern in [
            "(((a{200}){200}){200}){200}", String(repeating: "(", count: 2000) + String(repeating: ")", count: 2000),
            "(?:a{65535}){65535}", "\\C",
        ] {
            let error = #expect(throws: DocDBError.self, "\(pattern.prefix(20))") { try parse(pattern) }
            #expect(error?.code == .invalidPredicate)
        }
    }

    @Test("a predicate full of patterns parses in bounded work")
    func manyPatterns() throws {
        let one = "regex(x,'(a|b)*c{1,9}')"
        let count = QueryLimits.textByteCount / (one.utf8.count + 2)
        let text = Array(repeating: one, count: count).joined(separator: "||")
        #expect(text.utf8.count <= QueryLimits.textByteCount)
        _ = try? Filter.parse(text)
        #expect(throws: DocDBError.self) {
            try Filter.parse(text + String(repeating: " ", count: QueryLimits.textByteCount))
        }
    }
}
