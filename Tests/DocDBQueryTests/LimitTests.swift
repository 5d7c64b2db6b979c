import DocDBCore
import DocDBQuery
import Testing

@Suite("Limits of evaluation")
struct LimitTests {
    private static func run(
        _ members: [String: Value], _ predicate: String, stepCount: Int = QueryLimits.evaluationStepCount
    ) throws -> (holds: Bool, isExhausted: Bool) {
        let names = FieldNames()
        let document = try TestDocument(members, names: names)
        let evaluator = Evaluator(try Filter.parse(predicate), names: names, stepCount: stepCount)
        let holds = document.matches(evaluator)
        #expect(!evaluator.isDamaged)
        return (holds, evaluator.didExhaustLimits)
    }

    @Test(
        "a regular expression that backtracks without end is stopped, and denies outside any negation",
        arguments: ["regex(x, '(a+)+$')", "!regex(x, '(a+)+$')", "regex(x, '(a+)+$') || true", "regex(x, '^(a|aa)+$')"])
    func catastrophicPattern(_ predicate: String) throws {
        let document: [String: Value] = ["x": .string(String(repeating: "a", count: 60) + "!")]
        let result = try Self.run(document, predicate)
        #expect(result == (false, true))
    }

    @Test("a long text is not scanned anew from each of its places without end")
    func quadraticPattern() throws {
        let document: [String: Value] = ["x": .string(String(repeating: "a", count: 400_000))]
        #expect(try Self.run(document, "regex(x, 'a*+c')") == (false, true))
        #expect(try Self.run(document, "regex(x, 'a{60000}b')") == (false, true))
    }

    @Test("ordinary patterns stay far from the limits")
    func ordinaryPattern() throws {
        let text = String(repeating: "The quick brown fox jumps over the lazy dog. ", count: 200)
        #expect(try Self.run(["x": .string(text)], "regex(x, '(?i)LAZY\\\\s+d.g\\\\.')") == (true, false))
        #expect(try Self.run(["x": .string(text)], "regex(x, 'fox.*cat')") == (false, false))
    }

    @Test("nested element filters end at the step bound, also within a negation")
    func nestedFilters() throws {
        let numbers = Value.array((0..<300).map { .int($0) })
        let document: [String: Value] = ["a": [numbers, numbers, numbers], "b": numbers]
        let predicate = "a[? @[*] == 500 || @[*] == 501]"
        #expect(try Self.run(document, "exists(\(predicate))") == (false, false))
        #expect(try Self.run(document, "exists(\(predicate))", stepCount: 1000) == (false, true))
        #expect(try Self.run(document, "!exists(\(predicate))", stepCount: 1000) == (false, true))
        #expect(try Self.run(document, "is_missing(\(predicate))", stepCount: 1000) == (false, true))
        #expect(try Self.run(document, "b[*] == a[0][*]") == (true, false))
        #expect(try Self.run(document, "b[*] == a[*]", stepCount: 800) == (false, true))
    }

    @Test("each condition of an element filter counts, however many there are")
    func manyConditions() throws {
        let document: [String: Value] = ["a": .array(Array(repeating: 7, count: 100))]
        let many = (100..<300).map { "@ == \($0)" }.joined(separator: " || ")
        #expect(try Self.run(document, "exists(a[? \(many)])", stepCount: 30_000) == (false, false))
        #expect(try Self.run(document, "exists(a[? \(many)])", stepCount: 20_000) == (false, true))
    }

    @Test("text searches count their work")
    func textSearch() throws {
        let text = String(repeating: "a", count: 20_000)
        let part = String(repeating: "a", count: 5_000) + "b"
        let document: [String: Value] = ["x": .string(text), "y": .string(part)]
        #expect(try Self.run(document, "contains(x, y)", stepCount: 1_000_000) == (false, true))
        #expect(try Self.run(document, "x like '%\(part.prefix(2000))b%c'", stepCount: 1_000_000) == (false, true))
        #expect(try Self.run(document, "lower(x) == 'a'", stepCount: 100) == (false, true))
    }

    @Test("the evaluator answers the next document after it was exhausted or met damage")
    func recovery() throws {
        let names = FieldNames()
        let long = try TestDocument(["a": .array(Array(repeating: 1, count: 2000))], names: names)
        let short = try TestDocument(["a": [2]], names: names)
        let evaluator = Evaluator(try Filter.parse("a[*] == 2"), names: names, stepCount: 1000)
        #expect(!long.matches(evaluator))
        #expect(evaluator.didExhaustLimits)
        #expect(short.matches(evaluator))
        #expect(!evaluator.didExhaustLimits)
        let cut = Array(short.body.dropLast())
        #expect(!cut.withUnsafeBytes { evaluator.matches(body: $0, id: UnsafeRawBufferPointer(start: nil, count: 0)) })
        #expect(evaluator.isDamaged)
        #expect(short.matches(evaluator))
        #expect(!evaluator.isDamaged)
    }

    @Test("a name interned after compilation is noticed")
    func recompilation() throws {
        let names = FieldNames()
        let before = try TestDocument(["a": 1], names: names)
        let filter = try Filter.parse("b == 1 || c.d == 1")
        let evaluator = Evaluator(filter, names: names)
        #expect(!before.matches(evaluator))
        #expect(!evaluator.needsRecompile(names))
        _ = try TestDocument(["other": 1], names: names)
        #expect(!evaluator.needsRecompile(names))
        let after = try TestDocument(["c": ["d": 1]], names: names)
        #expect(evaluator.needsRecompile(names))
        #expect(after.matches(Evaluator(filter, names: names)))
    }

    @Test("only filters that name _id use it, and elements may have an _id of their own")
    func idUse() throws {
        let names = FieldNames()
        #expect(Evaluator(try Filter.parse("a == 1 && _id.x == 2"), names: names).usesID)
        #expect(!Evaluator(try Filter.parse("a._id == 1"), names: names).usesID)
        #expect(!Evaluator(try Filter.parse("a[? _id == 1].b == 2"), names: names).usesID)
        #expect(try matches(["a": [["_id": 1, "b": 2]]], "a[? _id == 1].b == 2"))
        #expect(try matches(["_id": ["k": ["z": 1]], "r": ["k": ["z": 1.0]]], "_id == r"))
    }
}

@Suite("Hostile predicates")
struct HostilePredicateTests {
    @Test("random bytes and random words give a filter or an error, never a trap", arguments: 0..<4 as Range<UInt64>)
    func randomText(_ seed: UInt64) throws {
        var input = RandomInput(seed: seed &+ 3000)
        let words = [
            "a", "and", "or", "not", "in", "between", "like", "(", ")", "[", "]", "[?", "[*]", "{", "}", ",", ".", ":",
            "==", "<", "!", "&&", "||", "@", "$x", "'t'", "\"t\"", "`n`", "1", "-2.5", "1e9", "x'00'", "null",
            "missing",
            "true", "length(", "contains(", "regex(", "exists(", "'(a+)+'", "\\", "'", "`", "\u{0}", "é", "\n", "-",
            "$",
        ]
        var parsedCount = 0
        for _ in 0..<3000 {
            let text: String
            if input.chance(30) {
                let bytes = (0..<input.next(60)).map { _ in UInt8(truncatingIfNeeded: input.generator.next()) }
                text = String(decoding: bytes, as: UTF8.self)
            } else {
                text = (0..<input.next(12)).map { _ in input.pick(words) }.joined(separator: input.pick(["", " "]))
            }
            let filter: Filter
            do {
                filter = try Filter.parse(text, arguments: text.contains("$x") ? ["x": [1]] : [:])
            } catch {
                #expect(error.code == .invalidPredicate)
                continue
            }
            parsedCount += 1
            #expect(try Filter.parse(filter.description) == filter, "\(text)")
        }
        #expect(parsedCount > 50)
    }

    @Test(
        "deep nesting of each kind is an error, not an overflow",
        arguments: ["(", "!", "[", "a[? ", "length(", "{'a': ", "a in [", "not ", "a == (", "contains(a, ", "$"])
    func deepNesting(_ opening: String) {
        let text = String(repeating: opening, count: QueryLimits.textByteCount / opening.utf8.count)
        #expect(throws: DocDBError.self) { try Filter.parse(text) }
    }
}
