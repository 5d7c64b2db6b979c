import DocDBCore
import DocDBQuery
import Testing

/// A matcher and the names of its store.
struct MatcherFixture {
    let names = FieldNames()
    let matcher: QueryMatcher

    init() { matcher = QueryMatcher(names: names) }

    /// Adds a predicate; of the arguments, those that it uses.
    func add(_ predicate: String, _ arguments: [String: Value] = [:], collection: Int64 = 1) throws -> MatcherID {
        let used = arguments.filter { predicate.contains("$\($0.key)") }
        return matcher.add(collection: collection, filter: try Filter.parse(predicate, arguments: used))
    }

    func match(before: TestDocument?, after: TestDocument?, collection: Int64 = 1) -> [QueryMatcher.Match] {
        var matches: [QueryMatcher.Match] = []
        let id = before?.id ?? after?.id ?? [0]
        (before?.body ?? [0]).withUnsafeBytes { beforeBytes in
            (after?.body ?? [0]).withUnsafeBytes { afterBytes in
                id.withUnsafeBytes { id in
                    matcher.match(
                        collection: collection, before: before == nil ? nil : beforeBytes,
                        after: after == nil ? nil : afterBytes, id: id, into: &matches)
                }
            }
        }
        return matches
    }

    func match(
        before: [String: Value]?, after: [String: Value]?, collection: Int64 = 1
    ) throws -> [QueryMatcher.Match] {
        match(
            before: try before.map { try TestDocument($0, names: names) },
            after: try after.map { try TestDocument($0, names: names) }, collection: collection)
    }
}

@Suite("Query matcher")
struct QueryMatcherTests {
    struct Case: Sendable {
        let predicate: String
        let inside: [String: Value]
        let outside: [String: Value]
        /// Whether documents outside are never looked at, and whether those inside are never evaluated.
        var isIndexed = true
        var isDecided = true

        init(
            _ predicate: String, _ inside: [String: Value], _ outside: [String: Value], indexed: Bool = true,
            decided: Bool = true
        ) {
            self.predicate = predicate
            self.inside = inside
            self.outside = outside
            isIndexed = indexed
            isDecided = decided
        }
    }

    @Test(
        "a change into, within, out of and beside a predicate",
        arguments: [
            Case("a == 1", ["a": 1], ["a": 2]), Case("a == 1", ["a": 1.0], ["a": "1"]),
            Case("a == 1.0", ["a": 1], ["a": 1.5]), Case("a == -0.0", ["a": 0], ["a": true]),
            Case("a == 9007199254740993", ["a": 9_007_199_254_740_993], ["a": .float(0x1p53)]),
            Case("a == 9223372036854775807", ["a": .int(.max)], ["a": .float(0x1p63)]),
            Case("a == 'x'", ["a": "x"], ["a": "xx"]), Case("a == ''", ["a": ""], ["b": ""]),
            Case("a == x'0001'", ["a": .bytes([0, 1])], ["a": "\u{0}\u{1}"]), Case("a", ["a": true], ["a": 1]),
            Case("a == null", ["a": .null], ["a": 0]), Case("a == null", ["b": 1], ["a": ""]),
            Case("a == missing", ["b": 1], ["a": .null]), Case("is_missing(a.b)", ["a": 1], ["a": ["b": .null]]),
            Case("a in [1, 'x', null]", ["a": "x"], ["a": 2]), Case("a in [1, 'x', null]", ["b": 1], ["a": true]),
            Case("a == 1 || a == 2", ["a": 2], ["a": 3]), Case("a == $list", ["a": [1, "y"]], ["a": ["y", 1]]),
            Case("a == $object", ["a": ["k": 1, "l": [2]]], ["a": ["k": 1, "l": 2]]),
            Case("a < 5", ["a": 4.9], ["a": 5]), Case("a <= 5", ["a": 5.0], ["a": 5.1]),
            Case("a > 5", ["a": 6], ["a": "6"]), Case("a >= 5", ["a": 5], ["a": 4]),
            Case("a >= 2 && a < 8", ["a": 2], ["a": 8]), Case("a between 2 and 8", ["a": 8], ["a": 8.5]),
            Case("a < 'm'", ["a": ""], ["a": "m"]), Case("a > false", ["a": true], ["a": false]),
            Case("starts_with(a, 'ab')", ["a": "ab"], ["a": "a"]), Case("a like 'ab%'", ["a": "abz"], ["a": "ac"]),
            Case("starts_with(a, '')", ["a": ""], ["a": 1]),
            Case("a like 'ab%z'", ["a": "abz"], ["a": "ac"], decided: false),
            Case("a.b.c == 1", ["a": ["b": ["c": 1]]], ["a": ["b": ["d": 1]]]),
            Case("a[0] == 1", ["a": [1, 2]], ["a": [2, 1]]), Case("a[-1].b == 1", ["a": [2, ["b": 1]]], ["a": [1]]),
            Case("tags[*] == 'x'", ["tags": ["y", "x", "x"]], ["tags": ["y"]]),
            Case("tags[*] == 'x'", ["tags": ["x"]], ["tags": "x"]),
            Case("'x' in tags", ["tags": ["x"]], ["tags": []]), Case("contains(tags, 5)", ["tags": [5.0]], ["tags": 5]),
            Case("null in tags", ["tags": [1, .null]], ["a": 1]),
            Case("items[*].n > 5", ["items": [["n": 1], ["n": 6]]], ["items": [["n": 1], ["m": 6]]]),
            Case("a[*][*] == 1", ["a": [[2], [3, 1]]], ["a": [1]]),
            Case("items[? k == 1].n == 2", ["items": [["k": 1, "n": 2]]], ["items": [["k": 1]]], decided: false),
            Case("a == 1 && b != 2", ["a": 1, "b": 1], ["a": 2, "b": 1], decided: false),
            Case("a > 1 && contains(b, 'x')", ["a": 2, "b": "x"], ["a": 1, "b": "x"], decided: false),
            Case("a == 1 && b == 2", ["a": 1, "b": 2], ["b": 3], decided: false),
            Case("a != 1", ["a": 2], ["a": 1], indexed: false, decided: false),
            Case("a == 1 || b == 2", ["b": 2], ["a": 2], indexed: false, decided: false),
            Case("tags[*] == null", ["tags": []], ["tags": [1]], indexed: false, decided: false),
            Case("lower(a) == 'x'", ["a": "X"], ["a": "Y"], indexed: false, decided: false),
            Case("`odd key` == 1", ["odd key": 1], ["a": 1]),
        ])
    func kinds(_ example: Case) throws {
        let fixture = MatcherFixture()
        let id = try fixture.add(example.predicate, ["list": [1, "y"], "object": ["k": 1, "l": [2]]])
        func expect(
            _ before: [String: Value]?, _ after: [String: Value]?, _ matchedBefore: Bool, _ matchesAfter: Bool
        ) throws {
            let matches = try fixture.match(before: before, after: after)
            let expected = QueryMatcher.Match(id: id, matchedBefore: matchedBefore, matchesAfter: matchesAfter)
            #expect(matches == (matchedBefore || matchesAfter ? [expected] : []), "\(example.predicate)")
        }
        let (inside, outside) = (example.inside, example.outside)
        try expect(nil, outside, false, false)
        try expect(outside, outside, false, false)
        try expect(outside, nil, false, false)
        #expect((fixture.matcher.candidateCount == 0) == example.isIndexed)
        try expect(nil, inside, false, true)
        try expect(outside, inside, false, true)
        try expect(inside, inside, true, true)
        try expect(inside, outside, true, false)
        try expect(inside, nil, true, false)
        try expect(nil, nil, false, false)
        #expect((fixture.matcher.evaluationCount == 0) == example.isDecided)
    }

    @Test(
        "predicates on the id",
        arguments: [
            ("_id == 'car-1'", "car-1", "car-2"), ("_id in [1, 2]", 2, 3), ("_id > 5", 6, 5),
            ("starts_with(_id, 'car-')", "car-", "ca"), ("_id.storeID == 7", ["storeID": 7], ["storeID": 8]),
            ("_id == $id", ["a": 1, "zz": "x"], ["a": 1]),
        ] as [(String, Value, Value)])
    func ids(_ predicate: String, _ inside: Value, _ outside: Value) throws {
        let fixture = MatcherFixture()
        let id = try fixture.add(predicate, ["id": ["a": 1, "zz": "x"]])
        #expect(try fixture.match(before: ["_id": outside, "v": 1], after: ["_id": outside, "v": 2]).isEmpty)
        #expect(fixture.matcher.candidateCount == 0)
        #expect(
            try fixture.match(before: ["_id": inside, "v": 1], after: ["_id": inside, "v": 2])
                == [.init(id: id, matchedBefore: true, matchesAfter: true)])
        #expect(
            try fixture.match(before: nil, after: ["_id": inside])
                == [.init(id: id, matchedBefore: false, matchesAfter: true)])
        #expect(fixture.matcher.evaluationCount == 0)
    }

    @Test("a predicate that nothing can match is never looked at")
    func empty() throws {
        let fixture = MatcherFixture()
        for predicate in ["false", "a == 1 && a == 2", "a in []", "a > 5 && a < 5"] { _ = try fixture.add(predicate) }
        #expect(try fixture.match(before: ["a": 1], after: ["a": 5]).isEmpty)
        #expect(fixture.matcher.candidateCount == 0)
        #expect(fixture.matcher.count == 4)
    }

    @Test("a predicate that everything matches is never evaluated")
    func everything() throws {
        let fixture = MatcherFixture()
        let id = try fixture.add("")
        #expect(
            try fixture.match(before: nil, after: ["a": 1])
                == [.init(id: id, matchedBefore: false, matchesAfter: true)])
        #expect(fixture.matcher.evaluationCount == 0)
    }

    @Test("collections are apart, and one without predicates has none")
    func collections() throws {
        let fixture = MatcherFixture()
        let first = try fixture.add("a == 1", collection: 1)
        let second = try fixture.add("a == 1", collection: 2)
        #expect(try fixture.match(before: nil, after: ["a": 1], collection: 1).map(\.id) == [first])
        #expect(try fixture.match(before: nil, after: ["a": 1], collection: 2).map(\.id) == [second])
        #expect(try fixture.match(before: nil, after: ["a": 1], collection: 3).isEmpty)
        #expect(fixture.matcher.hasPredicates(collection: 2) && !fixture.matcher.hasPredicates(collection: 3))
        fixture.matcher.remove(second)
        #expect(try fixture.match(before: nil, after: ["a": 1], collection: 2).isEmpty)
        #expect(!fixture.matcher.hasPredicates(collection: 2))
    }

    @Test("numbers of removed predicates are given out again")
    func reuse() throws {
        let fixture = MatcherFixture()
        let first = try fixture.add("a == 1")
        let second = try fixture.add("a != 1")
        fixture.matcher.remove(first)
        let third = try fixture.add("a == 2")
        #expect(third == first && fixture.matcher.count == 2)
        #expect(try fixture.match(before: ["a": 1], after: ["a": 2]).map(\.id) == [third, second])
        #expect(try fixture.match(before: nil, after: ["a": 1]).isEmpty)
    }

    @Test("matches come in ascending order of their numbers", arguments: [3, 32, 33, 200])
    func order(_ count: Int) throws {
        let fixture = MatcherFixture()
        let predicates = ["a == 1", "a != 2", "b > 1", "tags[*] == 'x'", "", "_id == 7", "a == 2"]
        var ids: [MatcherID] = []
        for number in 0..<count { ids.append(try fixture.add(predicates[number % predicates.count])) }
        let expected = ids.enumerated().filter { predicates[$0.offset % predicates.count] != "a == 2" }.map(\.element)
        for _ in 0..<2 {
            let document: [String: Value] = ["_id": 7, "a": 1, "b": 2, "tags": ["x", "x"]]
            #expect(try fixture.match(before: nil, after: document).map(\.id) == expected)
        }
    }

    @Test("of ten thousand queries for one id each, a change looks at one")
    func manyIDs() throws {
        let fixture = MatcherFixture()
        for number in 0..<10_000 {
            let tail = number % 2 == 0 ? "" : " && v > 3"
            _ = try fixture.add("_id == \(number)\(tail)")
        }
        #expect(try fixture.match(before: ["_id": 4000, "v": 1], after: ["_id": 4000, "v": 2]).count == 1)
        #expect(fixture.matcher.candidateCount == 1 && fixture.matcher.evaluationCount == 0)
        #expect(try fixture.match(before: ["_id": 4001, "v": 1], after: ["_id": 4001, "v": 5]).count == 1)
        #expect(fixture.matcher.candidateCount == 2 && fixture.matcher.evaluationCount == 2)
        #expect(try fixture.match(before: nil, after: ["_id": 10_000, "v": 5]).isEmpty)
        #expect(fixture.matcher.candidateCount == 2 && fixture.matcher.evaluationCount == 2)
    }

    @Test("predicates that share one condition are found by what sets them apart")
    func crowding() throws {
        let fixture = MatcherFixture()
        for number in 0..<500 { _ = try fixture.add("state == 'for sale' && owner == \(number)") }
        for number in 0..<500 {
            _ = try fixture.add("state == 'sold' && price >= \(number * 10) && price < \(number * 10 + 10)")
        }
        #expect(try fixture.match(before: nil, after: ["state": "for sale", "owner": 77, "price": -1]).count == 1)
        #expect(fixture.matcher.candidateCount < 12)
        #expect(try fixture.match(before: nil, after: ["state": "sold", "owner": 1000, "price": 4005]).count == 1)
        #expect(fixture.matcher.candidateCount < 36)
    }

    @Test("a name that is first used after its predicate was added is found")
    func laterNames() throws {
        let fixture = MatcherFixture()
        let ids = [
            try fixture.add("late == 1"), try fixture.add("late > 0"), try fixture.add("a.late == 1"),
            try fixture.add("late != 2 && late != 3"), try fixture.add("list[*].late == 1"),
        ]
        #expect(try fixture.match(before: nil, after: ["a": 1]).map(\.id) == [ids[3]])
        let document: [String: Value] = ["late": 1, "a": ["late": 1], "list": [["late": 1]]]
        #expect(try fixture.match(before: nil, after: document).map(\.id) == ids)
        #expect(fixture.names.number(of: "late") != nil)
    }
}
