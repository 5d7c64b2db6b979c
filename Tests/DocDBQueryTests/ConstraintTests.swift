import DocDBCore
import DocDBQuery
import Testing

@Suite("Index constraints")
struct ConstraintTests {
    private static func path(_ text: String) throws -> Filter.Path { try Filter.Path.parse(text) }

    /// Predicates, with the path and the values that they demand, and whether exactly.
    ///
    /// One call a case: the type checker takes minutes over them as one array literal.
    private static let singles: [(String, String, ValueSet, Bool)] = {
        var cases: [(String, String, ValueSet, Bool)] = []
        func add(_ predicate: String, _ path: String, _ values: ValueSet, _ isExact: Bool) {
            cases.append((predicate, path, values, isExact))
        }
        add("a == 1", "a", .points([1]), true)
        add("1 == a", "a", .points([1]), true)
        add("a", "a", .points([true]), true)
        add("a == null", "a", .points([nil, .null]), true)
        add("a <= null", "a", .points([nil, .null]), true)
        add("a == missing", "a", .points([nil]), true)
        add("is_missing(a)", "a", .points([nil]), true)
        add("a in [3, 'x', 1, 1.0]", "a", .points([1, 3, "x"]), true)
        add("a in [1, null]", "a", .points([nil, .null, 1]), true)
        add("a == [1]", "a", .points([[1]]), true)
        add("a == 1 || a == 'x' || a in [2]", "a", .points([1, 2, "x"]), true)
        add("a < 5", "a", .range(.number, lower: nil, upper: .exclusive(5)), true)
        add("5 < a", "a", .range(.number, lower: .exclusive(5), upper: nil), true)
        add("a >= 'x'", "a", .range(.string, lower: .inclusive("x"), upper: nil), true)
        add("a <= true", "a", .range(.bool, lower: nil, upper: .inclusive(true)), true)
        add("a.b > x'00'", "a.b", .range(.bytes, lower: .exclusive(.bytes([0])), upper: nil), true)
        add("a between 1 and 2.5", "a", .range(.number, lower: .inclusive(1), upper: .inclusive(2.5)), true)
        add("starts_with(a, 'ab')", "a", .range(.string, lower: .inclusive("ab"), upper: .prefix("ab")), true)
        add("a like 'ab%'", "a", .range(.string, lower: .inclusive("ab"), upper: .prefix("ab")), true)
        add("a like 'ab%c'", "a", .range(.string, lower: .inclusive("ab"), upper: .prefix("ab")), false)
        add("a like 'ab_'", "a", .range(.string, lower: .inclusive("ab"), upper: .prefix("ab")), false)
        add("a like 'ab'", "a", .points(["ab"]), true)
        add("a like 'a\\%'", "a", .points(["a%"]), true)
        add("a like '%'", "a", .range(.string, lower: .inclusive(""), upper: .prefix("")), true)
        add("tags[*] == 'x'", "tags[*]", .points(["x"]), true)
        add("'x' in tags", "tags[*]", .points(["x"]), true)
        add("contains(tags, 5)", "tags[*]", .points([5]), true)
        add("null in tags", "tags[*]", .points([.null]), true)
        add("contains(tags[*], 'x')", "tags[*]", .points(["x"]), true)
        add("items[*].sku in ['x']", "items[*].sku", .points(["x"]), true)
        add("items[? quantity > 1].sku == 'x'", "items[*].sku", .points(["x"]), false)
        add("a[-1].b == 1", "a[-1].b", .points([1]), true)
        add("_id == 'car-1'", "_id", .points(["car-1"]), true)
        add("_id.storeID == 7", "_id.storeID", .points([7]), true)
        return cases
    }()

    @Test(
        "one condition demands a set of values, exactly or not",
        arguments: singles)
    func single(_ predicate: String, _ path: String, _ values: ValueSet, _ isExact: Bool) throws {
        let analysis = FilterConstraints(try Filter.parse(predicate))
        let constraint = try #require(analysis.constraints.first)
        #expect(analysis.constraints.count == 1)
        #expect(constraint.path == (try Self.path(path)))
        #expect(constraint.values == values)
        #expect(constraint.conjuncts == [0])
        #expect(constraint.exactConjuncts == (isExact ? [0] : []))
        #expect(!analysis.isProvablyEmpty)
        #expect(analysis.residual(after: [constraint]) == (isExact ? .everything : try Filter.parse(predicate)))
    }

    @Test(
        "conditions that no index answers demand nothing",
        arguments: [
            "a != 1", "!(a < 1)", "a == b", "lower(a) == 'x'", "a like '%x'", "contains(a, 'x')", "regex(a, '^x')",
            "ends_with(a, 'x')", "a == 1 || b == 1", "a == 1 || a > 2", "a not in [1]", "exists(a)",
            "tags[*] == null", "is_missing(tags[*])", "", "true", "type(a) == 'int'",
        ])
    func none(_ predicate: String) throws {
        let filter = try Filter.parse(predicate)
        let analysis = FilterConstraints(filter)
        #expect(analysis.constraints.isEmpty)
        #expect(!analysis.isProvablyEmpty)
        #expect(analysis.residual(after: []) == filter)
    }

    @Test("constraints of one path are intersected; those of an array path are not")
    func conjunction() throws {
        let filter = try Filter.parse("a > 1 && b == 'x' && a <= 9 && c != 2 && t[*] > 1 && t[*] < 0")
        let analysis = FilterConstraints(filter)
        #expect(analysis.conjuncts.count == 6)
        try #require(analysis.constraints.count == 4)
        let constraints = analysis.constraints
        #expect(constraints[0].values == .range(.number, lower: .exclusive(1), upper: .inclusive(9)))
        #expect(constraints[0].conjuncts == [0, 2])
        #expect(constraints[0].exactConjuncts == [0, 2])
        #expect(constraints[1].values == .points(["x"]))
        #expect(constraints[2].values == .range(.number, lower: .exclusive(1), upper: nil))
        #expect(constraints[3].values == .range(.number, lower: nil, upper: .exclusive(0)))
        #expect(!analysis.isProvablyEmpty)
        #expect(
            analysis.residual(after: [constraints[0], constraints[1]]).description == "c != 2 && t[*] > 1 && t[*] < 0")
        let narrowed = FilterConstraints(
            try Filter.parse("a in [1, 5, 'x'] && a >= 5 && starts_with(b, 'ab') && b < 'abc'"))
        #expect(narrowed.constraints[0].values == .points([5]))
        #expect(narrowed.constraints[1].values == .range(.string, lower: .inclusive("ab"), upper: .exclusive("abc")))
    }

    @Test(
        "contradictions are found",
        arguments: [
            "a == 1 && a == 2", "a > 5 && a < 5", "a > 5 && a <= 5", "a > 5 && a < 'x'", "a in []", "false", "a < null",
            "a > [1]", "a == 1 && is_missing(a)", "a between 2 and 1", "a between 1 and 'x'", "b == 1 && a in []", "5",
            "starts_with(a, 'b') && a < 'b'", "starts_with(a, 5)", "a in [1, 2] && a in [3]", "a < missing",
        ])
    func contradictions(_ predicate: String) throws {
        #expect(FilterConstraints(try Filter.parse(predicate)).isProvablyEmpty, "\(predicate)")
    }

    @Test(
        "consistent conditions are not taken for contradictions",
        arguments: [
            "a == 1 && a == 1.0", "a >= 5 && a <= 5", "a == null && is_missing(a)", "a == null && a == missing",
            "t[*] == 1 && t[*] == 2", "starts_with(a, 'b') && a <= 'b'", "a between 1 and 1", "a == 1 || false",
        ])
    func consistent(_ predicate: String) throws {
        #expect(!FilterConstraints(try Filter.parse(predicate)).isProvablyEmpty)
    }

    @Test("long lists are intersected in one walk over each")
    func longLists() throws {
        let even = Value.array((0..<30_000).map { .int($0 * 2) })
        let thirds = Value.array((0..<30_000).map { .int($0 * 3) })
        let filter = try Filter.parse("a in $x && a in $y", arguments: ["x": even, "y": thirds])
        let analysis = FilterConstraints(filter)
        #expect(analysis.constraints.first?.values == .points((0..<10_000).map { .int($0 * 6) }))
    }

    /// The values a document has at a path of names and `[*]`; a nil where it has none.
    private static func values(_ document: Value, _ path: Filter.Path) -> [Value?] {
        var values: [Value] = [document]
        for step in path.steps {
            values = values.flatMap { value -> [Value] in
                switch step {
                case .name(let name): value[name.string].map { [$0] } ?? []
                case .index(let index):
                    value[Int(index) + (index < 0 ? value.arrayValue?.count ?? 0 : 0)].map { [$0] } ?? []
                case .all, .filter: value.arrayValue ?? []
                }
            }
        }
        return values.isEmpty ? [Value?.none] : values.map(Optional.some)
    }

    private static func isWithin(_ set: ValueSet, _ value: Value?, descending: Bool, suffix: Value) throws -> Bool {
        var buffer = ByteBuffer()
        if let value {
            try OrderEncoding.append(value, descending: descending, to: &buffer)
        } else {
            OrderEncoding.appendMissing(descending: descending, to: &buffer)
        }
        let alone = buffer.array
        try OrderEncoding.append(suffix, descending: !descending, to: &buffer)
        let composite = buffer.array
        let ranges = try set.keyRanges(descending: descending)
        func contains(_ key: [UInt8]) -> Bool {
            ranges.contains { !key.lexicographicallyPrecedes($0.lower) && key.lexicographicallyPrecedes($0.upper) }
        }
        for (left, right) in zip(ranges, ranges.dropFirst()) {
            #expect(!right.lower.lexicographicallyPrecedes(left.upper), "ranges overlap")
        }
        #expect(contains(alone) == contains(composite), "a further component changes the answer")
        return contains(alone)
    }

    @Test(
        "documents that match satisfy every constraint, and exact ones decide", arguments: 0..<6 as Range<UInt64>)
    func soundness(_ seed: UInt64) throws {
        var input = RandomInput(seed: seed &+ 5000)
        var exactCount = 0
        for _ in 0..<600 {
            let filter = input.chance(50) ? input.filter() : Filter.all(of: [input.filter(), input.filter()])
            let analysis = FilterConstraints(filter)
            guard analysis.isProvablyEmpty || !analysis.constraints.isEmpty else { continue }
            for _ in 0..<12 {
                let members = input.document()
                let document = Value.object(members)
                let reference = ReferenceEvaluator(root: document)
                let holds = reference.holds(filter)
                #expect(!(holds && analysis.isProvablyEmpty), "seed \(seed): \(filter)")
                guard !analysis.isProvablyEmpty else { continue }
                var isSatisfied = true
                for constraint in analysis.constraints {
                    let found = try Self.values(document, constraint.path).contains { value in
                        let suffix = input.scalar()
                        let ascending = try Self.isWithin(constraint.values, value, descending: false, suffix: suffix)
                        let descending = try Self.isWithin(constraint.values, value, descending: true, suffix: suffix)
                        #expect(ascending == descending)
                        return ascending
                    }
                    isSatisfied = isSatisfied && found
                    #expect(found || !holds, "seed \(seed): \(filter) at \(constraint.path) on \(members)")
                    if constraint.exactConjuncts == constraint.conjuncts {
                        exactCount += 1
                        let exact = constraint.conjuncts.allSatisfy { reference.holds(analysis.conjuncts[$0]) }
                        #expect(exact == found, "seed \(seed): \(filter) at \(constraint.path) on \(members)")
                    }
                }
                let residual = analysis.residual(after: analysis.constraints)
                #expect((isSatisfied && reference.holds(residual)) == holds, "seed \(seed): \(filter)")
            }
        }
        #expect(exactCount > 500, "seed \(seed)")
    }
}
