import DocDBCore
import DocDBQuery

/// A part of the index on `_id`, within one of SQLite's types: integers come before texts, texts before blobs.
struct IDRange {
    enum Edge {
        case int(Int64)
        case real(Double)
        case text([UInt8])
        /// Before all blobs, after all texts.
        case blob
    }

    struct Bound {
        var edge: Edge
        var isInclusive: Bool
    }

    /// An absent bound is open.
    var lower: Bound?
    var upper: Bound?
    /// The constraint that it expresses, or nil for all ids.
    var constraint: PathConstraint?

    /// All ids.
    static let all = IDRange()

    /// Tells whether blobs lie within it, which SQLite does not order as the order of values does.
    var includesBlobs: Bool { upper == nil }

    private init() {}

    /// The part that a constraint on `_id` allows, or nil where it is no range of texts or numbers.
    init?(_ constraint: PathConstraint) {
        guard case .range(let type, let lower, let upper) = constraint.values else { return nil }
        switch type {
        case .number: self.upper = Bound(edge: .text([]), isInclusive: false)
        case .string:
            self.lower = Bound(edge: .text([]), isInclusive: true)
            self.upper = Bound(edge: .blob, isInclusive: false)
        case .bool, .bytes: return nil
        }
        if let lower {
            guard let bound = Bound(lower) else { return nil }
            self.lower = bound
        }
        if let upper {
            guard let bound = Bound(upper) else { return nil }
            self.upper = bound
        }
        self.constraint = constraint
    }

    /// The condition in SQL; its parameters are numbered in the order lower, upper.
    var condition: String {
        let parts = [
            lower.map { "id \($0.isInclusive ? ">=" : ">") ?1" }, upper.map { "id \($0.isInclusive ? "<=" : "<") ?2" },
        ].compactMap { $0 }
        return parts.isEmpty ? "1" : parts.joined(separator: " AND ")
    }

    /// Binds the condition's parameters.
    func bind(to statement: SQLiteStatement) {
        if let lower { lower.bind(to: statement, 1) }
        if let upper { upper.bind(to: statement, 2) }
    }
}

extension IDRange.Bound {
    init?(_ bound: ValueSet.Bound) {
        switch bound {
        case .inclusive(let value), .exclusive(let value):
            switch value {
            case .int(let number): edge = .int(number)
            case .float(let number): edge = .real(number)
            case .string(let text): edge = .text(Array(text.utf8))
            default: return nil
            }
            isInclusive = if case .inclusive = bound { true } else { false }
        case .prefix(let text):
            // Greater than every text that begins so, as 0xFF is in none.
            edge = .text(Array(text.utf8) + [0xFF])
            isInclusive = false
        }
    }

    fileprivate func bind(to statement: SQLiteStatement, _ parameter: Int32) {
        switch edge {
        case .int(let value): statement.bind(parameter, value)
        case .real(let value): statement.bind(parameter, real: value)
        case .text(let bytes): statement.bind(parameter, copyingText: bytes)
        case .blob: statement.bind(parameter, copying: [])
        }
    }
}

/// The ids that equal values of a predicate.
enum IDLookup {
    /// The most spellings of one id that are looked up.
    private static let spellingCountLimit = 64

    /// The canonical CBOR of the ids that a constraint on `_id` names, each once; nil where there are too many.
    ///
    /// Numbers within an id may be stored as integers or as floats that equal them: each spelling is an id of its own.
    static func ids(_ constraint: PathConstraint) -> [[UInt8]]? {
        guard case .points(let values) = constraint.values else { return nil }
        var ids: [[UInt8]] = []
        for value in values {
            switch value {
            // No id is missing, null or a float.
            case nil, .null?: continue
            case .float(let number)?:
                guard let whole = Int64(exactly: number) else { continue }
                guard let id = try? Value.int(whole).canonicalCBOR() else { return nil }
                ids.append(id)
            case .int?, .string?, .bool?, .bytes?:
                guard let id = try? value?.canonicalCBOR() else { return nil }
                ids.append(id)
            case .array?, .object?:
                guard let value, let spellings = spellings(of: value) else { return nil }
                for spelling in spellings {
                    guard let id = try? spelling.canonicalCBOR() else { return nil }
                    ids.append(id)
                }
            }
        }
        return ids
    }

    /// All values that equal this one, or nil where there are too many.
    private static func spellings(of value: Value) -> [Value]? {
        switch value {
        case .null, .bool, .string, .bytes: return [value]
        case .int(0), .float(0): return [0, 0.0, -0.0]
        case .int(let number): return [value] + (Double(exactly: number).map { [.float($0)] } ?? [])
        case .float(let number): return [value] + (Int64(exactly: number).map { [.int($0)] } ?? [])
        case .array(let elements):
            return combinations(of: elements)?.map { .array($0) }
        case .object(let members):
            let names = members.keys.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
            return combinations(of: names.compactMap { members[$0] })?.map { values in
                .object(Dictionary(zip(names, values), uniquingKeysWith: { first, _ in first }))
            }
        }
    }

    private static func combinations(of values: [Value]) -> [[Value]]? {
        var combinations: [[Value]] = [[]]
        for value in values {
            guard let spellings = spellings(of: value),
                combinations.count * spellings.count <= spellingCountLimit
            else { return nil }
            combinations = combinations.flatMap { beginning in spellings.map { beginning + [$0] } }
        }
        return combinations
    }
}
