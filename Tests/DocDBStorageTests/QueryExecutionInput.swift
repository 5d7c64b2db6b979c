import DocDBCore
import DocDBQuery
import DocDBStorage

/// Random documents, predicates, orders and index sets over few fields, so that they often meet.
struct QueryInput {
    var random: SeededGenerator

    init(seed: UInt64) { random = SeededGenerator(seed: seed) }

    mutating func next(_ count: Int) -> Int { Int.random(in: 0..<count, using: &random) }
    mutating func chance(_ percent: Int) -> Bool { next(100) < percent }
    mutating func pick<T>(_ elements: [T]) -> T { elements[next(elements.count)] }

    static let scalars: [(value: Value, text: String)] = [
        (.null, "null"), (true, "true"), (false, "false"), (0, "0"), (1, "1"), (1.0, "1.0"), (2, "2"), (2.5, "2.5"),
        (-3, "-3"), (-0.0, "-0.0"), (9_007_199_254_740_992, "9007199254740992"),
        (9_007_199_254_740_993, "9007199254740993"), (9_007_199_254_740_992.0, "9007199254740992.0"),
        (.int(.max), "9223372036854775807"), (1e300, "1e300"), ("", "''"), ("a", "'a'"), ("ab", "'ab'"),
        ("a\0", "'a\\u0000'"), ("a\0b", "'a\\u0000b'"), ("b", "'b'"), ("é", "'é'"), (.bytes([]), "x''"),
        (.bytes([1, 0]), "x'0100'"),
    ]

    mutating func scalar() -> Value { pick(Self.scalars).value }

    mutating func array() -> Value { .array((0..<next(4)).map { _ in chance(85) ? scalar() : ["x": scalar()] }) }

    mutating func members() -> [String: Value] {
        var members: [String: Value] = [:]
        if chance(80) { members["a"] = chance(90) ? scalar() : array() }
        if chance(80) { members["b"] = .int(Int64(next(4))) }
        if chance(80) { members["c"] = chance(75) ? array() : scalar() }
        if chance(70) {
            var inner: [String: Value] = [:]
            if chance(80) { inner["x"] = scalar() }
            if chance(50) { inner["y"] = array() }
            members["d"] = chance(90) ? .object(inner) : scalar()
        }
        return members
    }

    mutating func id(_ number: Int, plain: Bool) -> Value {
        switch next(plain ? 2 : 5) {
        case 0: .string("id-\(number)")
        case 1: .int(Int64(number) - 20)
        case 2: .object(["n": .int(Int64(number)), "s": "x"])
        case 3: .array([.int(Int64(number))])
        default: .bytes([UInt8(truncatingIfNeeded: number), UInt8(truncatingIfNeeded: number >> 8)])
        }
    }

    // MARK: Queries

    mutating func literal() -> String {
        switch next(12) {
        case 0: "missing"
        case 1: "[\(pick(Self.scalars).text), \(pick(Self.scalars).text)]"
        case 2: "{'x': \(pick(Self.scalars).text)}"
        default: pick(Self.scalars).text
        }
    }

    mutating func condition() -> String {
        let path = pick(["a", "a", "b", "b", "c", "d.x", "c[*]", "c[*]", "c[*].x", "d.y[*]", "_id", "c[0]", "d"])
        let operators = ["==", "==", "==", "!=", "<", "<=", ">", ">="]
        switch next(14) {
        case 0...5: return "\(path) \(pick(operators)) \(literal())"
        case 6: return "b \(pick(operators)) \(next(4))"
        case 7: return "\(path) in [\(pick(Self.scalars).text), \(pick(Self.scalars).text), \(next(4))]"
        case 8: return "\(path) between \(pick(Self.scalars).text) and \(pick(Self.scalars).text)"
        case 9:
            return pick(["starts_with(\(path), 'a')", "\(path) like 'a%'", "\(path) like 'ab'", "\(path) like '%b'"])
        case 10: return pick(["exists(\(path))", "is_missing(\(path))", "\(path) == null"])
        case 11: return "contains(c, \(pick(Self.scalars).text))"
        case 12: return "\(pick(Self.scalars).text) in c"
        default:
            return pick([
                "_id == 'id-\(next(60))'", "_id > 'id-2'", "_id <= \(next(30))",
                "_id in [1, 'id-3', {'n': 4, 's': 'x'}]", "_id.n < 20",
            ])
        }
    }

    mutating func predicate() -> String {
        switch next(10) {
        case 0: return ""
        case 1...3: return condition()
        case 4...7: return "\(condition()) && \(condition())"
        case 8: return "\(condition()) && (\(condition()) || \(condition()))"
        default: return "!(\(condition())) && \(condition())"
        }
    }

    mutating func sort() throws -> [SortKey] {
        let paths = ["a", "a", "b", "b", "c", "d.x", "_id", "c[0]", "_id.n"]
        return try (0..<pick([0, 1, 1, 1, 2, 2, 3])).map { _ in try SortKey(pick(paths), descending: chance(40)) }
    }

    static let indexes = [
        ["a"], ["a:desc"], ["b"], ["b:desc"], ["a", "b"], ["b", "a:desc"], ["b:desc", "a:desc"], ["c[*]"],
        ["c[*]:desc"],
        ["b", "c[*]"], ["c[*]", "b"], ["c[*].x", "b:desc"], ["d.x", "a"], ["d.y[*]", "a:desc"], ["a", "_id:desc"],
        ["c[0]"], ["c"], ["_id.n"], ["b", "d.x", "a"], ["d"],
    ]
}

/// What a query must give, worked out from all documents one by one, without plans, indexes and sort keys.
struct ReferenceQuery {
    struct Row {
        var id: DocumentID
        var value: Value
        /// Its encodings with text keys only, so that nothing is shared with the names of the store.
        var bodyBytes: [UInt8]
        var idBytes: [UInt8]
    }

    var rows: [Row]
    private let names = FieldNames()

    /// The documents of a collection in storage order.
    init(_ context: ReadContext, collection: String) throws {
        rows = []
        guard let info = context.catalog[collection] else { return }
        let statement = try context.connection.prepareOnce(
            "SELECT id, body FROM documents_\(info.number) WHERE body IS NOT NULL ORDER BY key")
        var id = ByteBuffer()
        while try statement.step() {
            id.removeAll()
            statement.appendID(0, to: &id)
            let value = try Value.document(body: statement.blob(1), id: id.bytes, names: context.names)
            let body = try Value.decode(statement.blob(1), names: context.names).canonicalCBOR()
            rows.append(
                Row(id: try DocumentID(canonicalCBOR: id.bytes), value: value, bodyBytes: body, idBytes: id.array))
        }
    }

    func results(_ query: QueryDefinition) throws -> [DocumentID] {
        let evaluator = Evaluator(query.filter, names: names)
        var found = rows.filter { row in
            row.bodyBytes.withUnsafeBytes { body in
                row.idBytes.withUnsafeBytes { id in evaluator.matches(body: body, id: id) }
            }
        }
        if !query.sort.isEmpty {
            try found.sort { left, right in
                for key in query.sort {
                    let order = try compare(value(left.value, key.path), value(right.value, key.path))
                    if order != 0 { return (order < 0) != key.isDescending }
                }
                let order = try compare(left.id.value, right.id.value)
                return (order < 0) != (query.sort.last?.isDescending ?? false)
            }
        }
        let rest = found.dropFirst(query.offset)
        return (query.limit.map { rest.prefix($0) } ?? rest).map(\.id)
    }

    private func value(_ document: Value, _ path: Filter.Path) -> Value? {
        path.steps.reduce(document) { (value: Value?, step) in
            switch (step, value) {
            case (.name(let name), .object(let members)?): return members[name.string]
            case (.index(let index), .array(let elements)?):
                let place = index < 0 ? Int(index) + elements.count : Int(index)
                return elements.indices.contains(place) ? elements[place] : Value?.none
            default: return Value?.none
            }
        }
    }

    /// The total order of values; arrays and objects are compared by their order-preserving encoding.
    private func compare(_ left: Value?, _ right: Value?) throws -> Int {
        let leftRank = rank(left)
        let rightRank = rank(right)
        guard leftRank == rightRank else { return leftRank - rightRank }
        switch (left, right) {
        case (.int(let a)?, .int(let b)?): return a == b ? 0 : a < b ? -1 : 1
        case (.float(let a)?, .float(let b)?): return a == b ? 0 : a < b ? -1 : 1
        case (.int(let a)?, .float(let b)?): return compare(a, b)
        case (.float(let a)?, .int(let b)?): return -compare(b, a)
        case (.string(let a)?, .string(let b)?): return compare(Array(a.utf8), Array(b.utf8))
        case (.bytes(let a)?, .bytes(let b)?): return compare(a, b)
        case (let a?, let b?):
            var leftKey = ByteBuffer()
            var rightKey = ByteBuffer()
            try OrderEncoding.append(a, descending: false, to: &leftKey)
            try OrderEncoding.append(b, descending: false, to: &rightKey)
            return CBOR.compare(leftKey.bytes, rightKey.bytes)
        default: return 0
        }
    }

    private func compare(_ left: Int64, _ right: Double) -> Int {
        if right >= 0x1p63 { return -1 }
        if right < -0x1p63 { return 1 }
        let whole = Int64(right.rounded(.down))
        if left != whole { return left < whole ? -1 : 1 }
        return Double(whole) < right ? -1 : 0
    }

    private func compare(_ left: [UInt8], _ right: [UInt8]) -> Int {
        left == right ? 0 : left.lexicographicallyPrecedes(right) ? -1 : 1
    }

    private func rank(_ value: Value?) -> Int {
        switch value {
        case nil: 0
        case .null?: 1
        case .bool(false)?: 2
        case .bool(true)?: 3
        case .int?, .float?: 4
        case .string?: 5
        case .bytes?: 6
        case .array?: 7
        case .object?: 8
        }
    }
}
