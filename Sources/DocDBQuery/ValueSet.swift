package import DocDBCore

/// The values that an index constraint allows at a path: single ones, or a range within one type.
package enum ValueSet: Equatable, Sendable {
    /// Single values, in ascending order, none twice; nil stands for a missing one.
    case points([Value?])
    /// The values of one type between two bounds; an absent bound is the type's own.
    case range(ValueType, lower: Bound?, upper: Bound?)

    /// The types within which values have an order.
    package enum ValueType: Sendable {
        case bool, number, string, bytes

        /// The type of a value that has an order, or nil.
        package init?(of value: Value) {
            switch value {
            case .bool: self = .bool
            case .int, .float: self = .number
            case .string: self = .string
            case .bytes: self = .bytes
            case .null, .array, .object: return nil
            }
        }
    }

    package enum Bound: Equatable, Sendable {
        case inclusive(Value)
        case exclusive(Value)
        /// As an upper bound: the texts that begin with this one are included, all greater ones are not.
        case prefix(String)
    }
}

/// A half-open range of the bytes that `OrderEncoding` gives: `lower <= key < upper`.
///
/// It also holds for keys that go on with further components: put the bytes of the components before it in front of both.
package struct KeyByteRange: Equatable, Sendable {
    package var lower: [UInt8]
    package var upper: [UInt8]

    package init(lower: [UInt8], upper: [UInt8]) {
        self.lower = lower
        self.upper = upper
    }

    package var isEmpty: Bool { !lower.lexicographicallyPrecedes(upper) }
}

extension ValueSet {
    /// The set as ranges of index keys, in the order of the index, none of which overlap.
    ///
    /// - Parameter descending: The direction of the index component.
    /// - Throws: `DocDBError.invalidValue` where a literal cannot be encoded.
    package func keyRanges(descending: Bool) throws(DocDBError) -> [KeyByteRange] {
        switch self {
        case .points(let values):
            var ranges: [KeyByteRange] = []
            for value in descending ? values.reversed() : values {
                let key = try Self.key(value, descending: descending)
                ranges.append(KeyByteRange(lower: key, upper: key + [Self.afterAll]))
            }
            return ranges
        case .range(let type, let lower, let upper):
            let range = try Self.range(type, lower, upper, descending: descending)
            return range.isEmpty ? [] : [range]
        }
    }

    /// Greater than every byte that begins a component, and less than what an escaped zero goes on with.
    private static let afterAll: UInt8 = 0xFF

    private static func range(
        _ type: ValueType, _ lower: Bound?, _ upper: Bound?, descending: Bool
    ) throws(DocDBError) -> KeyByteRange {
        let whole = try wholeRange(of: type, descending: descending)
        // What is first in the index: the greatest values in a descending one.
        let (first, last) = descending ? (upper, lower) : (lower, upper)
        return KeyByteRange(
            lower: try first.map { bound throws(DocDBError) in try edge(bound, isStart: true, descending) }
                ?? whole.lower,
            upper: try last.map { bound throws(DocDBError) in try edge(bound, isStart: false, descending) }
                ?? whole.upper)
    }

    /// Where a bound cuts the keys, as the first or the last end of a range of them.
    private static func edge(_ bound: Bound, isStart: Bool, _ descending: Bool) throws(DocDBError) -> [UInt8] {
        switch bound {
        case .inclusive(let value):
            let key = try key(value, descending: descending)
            return isStart ? key : key + [afterAll]
        case .exclusive(let value):
            let key = try key(value, descending: descending)
            return isStart ? key + [afterAll] : key
        case .prefix(let text):
            // Without the end of the text: one zero byte, in descending keys two of them, inverted.
            let key = try key(.string(text), descending: descending).dropLast(descending ? 2 : 1)
            return isStart ? Array(key) : key + [afterAll]
        }
    }

    private static func wholeRange(of type: ValueType, descending: Bool) throws(DocDBError) -> KeyByteRange {
        let sample: Value =
            switch type {
            case .bool: false
            case .number: 0
            case .string: ""
            case .bytes: .bytes([])
            }
        if type == .bool {
            let (low, high) = (try key(false, descending: descending), try key(true, descending: descending))
            return KeyByteRange(lower: descending ? high : low, upper: (descending ? low : high) + [afterAll])
        }
        let tag = try key(sample, descending: descending)[0]
        return KeyByteRange(lower: [tag], upper: [tag + 1])
    }

    static func key(_ value: Value?, descending: Bool) throws(DocDBError) -> [UInt8] {
        var buffer = ByteBuffer()
        if let value {
            try OrderEncoding.append(value, descending: descending, to: &buffer)
        } else {
            OrderEncoding.appendMissing(descending: descending, to: &buffer)
        }
        return buffer.array
    }
}

// Set operations; nil stands for a literal that cannot be encoded, of which nothing is known.
extension ValueSet {
    /// Single values in order, none twice.
    static func points(sorting values: [Value?]) throws(DocDBError) -> ValueSet {
        var keyed: [(key: [UInt8], value: Value?)] = []
        for value in values { keyed.append((try key(value, descending: false), value)) }
        keyed.sort { $0.key.lexicographicallyPrecedes($1.key) }
        var points: [Value?] = []
        for (index, element) in keyed.enumerated() where index == 0 || keyed[index - 1].key != element.key {
            points.append(element.value)
        }
        return .points(points)
    }

    var isEmpty: Bool {
        switch self {
        case .points(let values): values.isEmpty
        case .range: (try? keyRanges(descending: false).isEmpty) ?? false
        }
    }

    /// The values in both sets.
    func intersection(_ other: ValueSet) throws(DocDBError) -> ValueSet {
        switch (self, other) {
        case (.points(let values), _): return try Self.restrict(values, to: other)
        case (_, .points(let values)): return try Self.restrict(values, to: self)
        case (.range(let type, let lower, let upper), .range(let otherType, let otherLower, let otherUpper)):
            guard type == otherType else { return .points([]) }
            let narrowed = ValueSet.range(
                type, lower: try Self.tighter(lower, otherLower, isLower: true),
                upper: try Self.tighter(upper, otherUpper, isLower: false))
            return narrowed.isEmpty ? .points([]) : narrowed
        }
    }

    /// The values that lie in another set. Both are in ascending order, so that one walk over each suffices.
    private static func restrict(_ values: [Value?], to other: ValueSet) throws(DocDBError) -> ValueSet {
        let ranges = try other.keyRanges(descending: false)
        var range = 0
        var kept: [Value?] = []
        for value in values {
            let key = try key(value, descending: false)
            while range < ranges.count, !key.lexicographicallyPrecedes(ranges[range].upper) { range += 1 }
            guard range < ranges.count else { break }
            if !key.lexicographicallyPrecedes(ranges[range].lower) { kept.append(value) }
        }
        return .points(kept)
    }

    private static func tighter(_ left: Bound?, _ right: Bound?, isLower: Bool) throws(DocDBError) -> Bound? {
        guard let left, let right else { return left ?? right }
        let leftEdge = try edge(left, isStart: isLower, false)
        let rightEdge = try edge(right, isStart: isLower, false)
        return leftEdge.lexicographicallyPrecedes(rightEdge) == isLower ? right : left
    }
}
