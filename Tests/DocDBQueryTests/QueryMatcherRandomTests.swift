import DocDBCore
import DocDBQuery
import Testing

@Suite("Query matcher against evaluating every predicate")
struct QueryMatcherRandomTests {
    /// Standing predicates as a list, to be evaluated one by one.
    struct Model {
        var filters: [MatcherID: (collection: Int64, filter: Filter)] = [:]
        var evaluators: [MatcherID: Evaluator] = [:]

        mutating func remove(_ id: MatcherID) {
            filters[id] = nil
            evaluators[id] = nil
        }

        mutating func matches(
            _ before: TestDocument?, _ after: TestDocument?, collection: Int64, names: FieldNames
        ) -> [QueryMatcher.Match] {
            var matches: [QueryMatcher.Match] = []
            for id in filters.keys.sorted() {
                guard let standing = filters[id], standing.collection == collection else { continue }
                var evaluator = evaluators[id] ?? Evaluator(standing.filter, names: names)
                if evaluator.needsRecompile(names) { evaluator = Evaluator(standing.filter, names: names) }
                evaluators[id] = evaluator
                let match = QueryMatcher.Match(
                    id: id, matchedBefore: before?.matches(evaluator) ?? false,
                    matchesAfter: after?.matches(evaluator) ?? false)
                if match.matchedBefore || match.matchesAfter { matches.append(match) }
            }
            return matches
        }
    }

    /// A filter that an index can often answer, or any other.
    private static func filter(_ input: inout RandomInput) -> Filter {
        guard input.chance(75) else { return input.filter() }
        let parts = (0..<(1 + input.next(3))).map { _ in simpleTest(&input) }
        return Filter.all(of: parts)
    }

    private static func simpleTest(_ input: inout RandomInput) -> Filter {
        var path = input.path()
        if input.chance(30) { path = Filter.Path(names: [input.pick(RandomInput.names)]) }
        if input.chance(10) { path = Filter.Path(names: ["_id"]) }
        let value = input.chance(80) ? input.scalar() : input.value()
        switch input.next(8) {
        case 0...2: return .compare(.equal, .path(path), .literal(value))
        case 3:
            let comparisons: [Filter.Comparison] = [.less, .lessOrEqual, .greater, .greaterOrEqual]
            return .compare(input.pick(comparisons), .path(path), .literal(value))
        case 4: return .isIn(.path(path), .literal(.array((0..<input.next(5)).map { _ in input.scalar() })))
        case 5: return .between(.path(path), .literal(.int(Int64(input.next(3) - 1))), .literal(.int(2)))
        case 6: return .startsWith(.path(path), .literal(.string(input.pick(RandomInput.texts))))
        default: return input.chance(50) ? .isMissing(path) : .contains(.path(path), .literal(value))
        }
    }

    @Test("random predicates over random changes, added and removed in between", arguments: 0..<6 as Range<UInt64>)
    func agreement(_ seed: UInt64) throws {
        var input = RandomInput(seed: seed &+ 9000)
        let fixture = MatcherFixture()
        var model = Model()
        var matchCount = 0
        for round in 0..<80 {
            for _ in 0..<(round < 30 ? 6 : input.next(4)) {
                let filter = Self.filter(&input)
                let collection = Int64(input.next(2))
                let id = fixture.matcher.add(collection: collection, filter: filter)
                #expect(model.filters[id] == nil, "seed \(seed) round \(round): a number in use was given out")
                model.filters[id] = (collection, filter)
            }
            for _ in 0..<(round < 30 ? 1 : input.next(5)) where !model.filters.isEmpty {
                let id = input.pick(model.filters.keys.sorted())
                fixture.matcher.remove(id)
                model.remove(id)
            }
            for _ in 0..<6 {
                let first = input.document()
                var second = input.chance(50) ? input.document() : first
                if input.chance(50) { second[input.pick(RandomInput.names)] = input.value() }
                second["_id"] = first["_id"]
                let before = input.chance(80) ? try TestDocument(first, names: fixture.names) : nil
                let after = input.chance(80) ? try TestDocument(second, names: fixture.names) : nil
                let collection = Int64(input.next(2))
                let expected = model.matches(before, after, collection: collection, names: fixture.names)
                let actual = fixture.match(before: before, after: after, collection: collection)
                matchCount += actual.count
                guard actual == expected else {
                    let wrong = Set(actual.map(\.id)).symmetricDifference(expected.map(\.id)).sorted()
                    let filters = wrong.compactMap { model.filters[$0]?.filter.description }
                    Issue.record("seed \(seed) round \(round): \(filters) on \(first) and \(second)")
                    return
                }
            }
        }
        #expect(fixture.matcher.count == model.filters.count)
        #expect(matchCount > 500, "seed \(seed): the predicates match too seldom")
    }

    @Test("random ranges of one path, counted by hand", arguments: 0..<4 as Range<UInt64>)
    func ranges(_ seed: UInt64) throws {
        var input = RandomInput(seed: seed &+ 9500)
        let fixture = MatcherFixture()
        var standing: [MatcherID: Range<Int>] = [:]
        for round in 0..<200 {
            for _ in 0..<(round < 100 ? 8 : 3) {
                let lower = input.next(2000) - 1000
                let range = lower..<(lower + 1 + input.next(input.chance(5) ? 1500 : 30))
                let text = "n >= \(range.lowerBound) && n < \(range.upperBound)"
                standing[try fixture.add(text)] = range
            }
            for _ in 0..<(round < 100 ? 1 : 4) where !standing.isEmpty {
                let id = input.pick(standing.keys.sorted())
                fixture.matcher.remove(id)
                standing[id] = nil
            }
            let (before, after) = (input.next(2200) - 1100, input.next(2200) - 1100)
            let candidateCount = fixture.matcher.candidateCount
            let matches = try fixture.match(
                before: ["n": .int(Int64(before))], after: ["n": .float(Double(after))])
            let expected = standing.keys.sorted().compactMap { id -> QueryMatcher.Match? in
                guard let range = standing[id], range.contains(before) || range.contains(after) else { return nil }
                return .init(
                    id: id, matchedBefore: range.contains(before), matchesAfter: range.contains(after))
            }
            #expect(matches == expected, "seed \(seed) round \(round)")
            #expect(fixture.matcher.candidateCount - candidateCount == expected.count, "seed \(seed) round \(round)")
        }
        #expect(fixture.matcher.evaluationCount == 0)
    }

    @Test("damaged bodies and ids match what evaluating says, and never trap", arguments: 0..<4 as Range<UInt64>)
    func damage(_ seed: UInt64) throws {
        var input = RandomInput(seed: seed &+ 9700)
        let fixture = MatcherFixture()
        var model = Model()
        for _ in 0..<30 {
            let filter = Self.filter(&input)
            model.filters[fixture.matcher.add(collection: 1, filter: filter)] = (1, filter)
        }
        for round in 0..<60 {
            let intact = try TestDocument(input.document(), names: fixture.names)
            var body = intact.body
            var id = intact.id
            switch input.next(4) {
            case 0: body.removeLast(1 + input.next(body.count))
            case 1: body[input.next(body.count)] = UInt8(truncatingIfNeeded: input.generator.next())
            case 2: id[input.next(id.count)] = UInt8(truncatingIfNeeded: input.generator.next())
            default: body = (0..<input.next(40)).map { _ in UInt8(truncatingIfNeeded: input.generator.next()) }
            }
            let damaged = TestDocument(body: body, id: id)
            let before = TestDocument(body: intact.body, id: id)
            let actual = fixture.match(before: before, after: damaged)
            let expected = model.matches(before, damaged, collection: 1, names: fixture.names)
            #expect(actual == expected, "seed \(seed) round \(round)")
        }
    }
}

extension TestDocument {
    /// A document of these bytes, whatever they are.
    fileprivate init(body: [UInt8], id: [UInt8]) {
        self.body = body
        self.id = id
    }
}
