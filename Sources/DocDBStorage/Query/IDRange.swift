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
    /// The canonical CBOR of the ids that a constraint on `_id` names, each once; nil where ids that equal these values
    /// can be written in more ways than one.
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
            case .int?, .string?, .bool?, .bytes?, .array?, .object?:
                guard let value, !containsNestedNumber(value), let id = try? value.canonicalCBOR() else { return nil }
                ids.append(id)
            }
        }
        return ids
    }

    /// Tells whether a value has numbers within it, which may be stored as integers or as floats.
    private static func containsNestedNumber(_ value: Value) -> Bool {
        func containsNumber(_ value: Value) -> Bool {
            switch value {
            case .int, .float: true
            case .null, .bool, .string, .bytes: false
            case .array(let elements): elements.contains(where: containsNumber)
            case .object(let members): members.values.contains(where: containsNumber)
            }
        }
        switch value {
        case .array(let elements): return elements.contains(where: containsNumber)
        case .object(let members): return members.values.contains(where: containsNumber)
        default: return false
        }
    }
}
