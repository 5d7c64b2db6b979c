/// A value of a document: what JSON knows, with integers told from floats, and bytes.
///
/// Integers and floats are kept apart but compare by their exact numeric value. Strings compare by their UTF-8 bytes;
/// nothing is normalised.
///
/// ```swift
/// let car: Value = ["make": "toyota", "price": 9_500, "tags": ["red", "fast"]]
/// ```
public enum Value: Sendable {
    /// The null value, which is not the same as a missing field.
    case null
    /// A truth value.
    case bool(Bool)
    /// A signed 64-bit integer.
    case int(Int64)
    /// A finite double; NaN and infinities are refused on write.
    case float(Double)
    /// A UTF-8 string.
    case string(String)
    /// Raw bytes; JSON output shows them in base64.
    case bytes([UInt8])
    /// An ordered list of values.
    case array([Value])
    /// A map from field names to values; order carries no meaning.
    case object([String: Value])
}

extension Value: Equatable {
    /// Tells whether two values are the same value of the same type: `1` and `1.0` differ, as do `0.0` and `-0.0`.
    ///
    /// Predicates compare numbers by value instead; this is the equality of stored content.
    public static func == (left: Value, right: Value) -> Bool {
        switch (left, right) {
        case (.null, .null): true
        case (.bool(let a), .bool(let b)): a == b
        case (.int(let a), .int(let b)): a == b
        case (.float(let a), .float(let b)): a.bitPattern == b.bitPattern
        case (.string(let a), .string(let b)): a.utf8.elementsEqual(b.utf8)
        case (.bytes(let a), .bytes(let b)): a == b
        case (.array(let a), .array(let b)): a == b
        case (.object(let a), .object(let b)): a == b
        default: false
        }
    }
}

extension Value: Hashable {
    /// Feeds the value into `hasher`, consistently with `==`.
    public func hash(into hasher: inout Hasher) {
        switch self {
        case .null: hasher.combine(0)
        case .bool(let value): hasher.combine(value)
        case .int(let value): hasher.combine(value)
        case .float(let value): hasher.combine(value.bitPattern)
        case .string(let value): for byte in value.utf8 { hasher.combine(byte) }
        case .bytes(let value): hasher.combine(value)
        case .array(let value): hasher.combine(value)
        case .object(let value): hasher.combine(value.count)
        }
    }
}

extension Value: ExpressibleByNilLiteral, ExpressibleByBooleanLiteral, ExpressibleByIntegerLiteral,
    ExpressibleByFloatLiteral, ExpressibleByStringLiteral, ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral
{
    /// Creates the null value.
    public init(nilLiteral: ()) { self = .null }
    /// Creates a truth value.
    public init(booleanLiteral value: Bool) { self = .bool(value) }
    /// Creates an integer.
    public init(integerLiteral value: Int64) { self = .int(value) }
    /// Creates a float.
    public init(floatLiteral value: Double) { self = .float(value) }
    /// Creates a string.
    public init(stringLiteral value: String) { self = .string(value) }
    /// Creates an array.
    public init(arrayLiteral elements: Value...) { self = .array(elements) }
    /// Creates an object; of two members with one name the later one counts.
    public init(dictionaryLiteral elements: (String, Value)...) {
        self = .object(Dictionary(elements, uniquingKeysWith: { _, last in last }))
    }
}

extension Value {
    /// The member with this name, or nil where this is no object or has no such member.
    public subscript(_ name: String) -> Value? {
        guard case .object(let members) = self else { return nil }
        return members[name]
    }

    /// The element at this position, or nil where this is no array or is shorter.
    public subscript(_ index: Int) -> Value? {
        guard case .array(let elements) = self, elements.indices.contains(index) else { return nil }
        return elements[index]
    }

    /// The string, or nil where this is none.
    public var stringValue: String? { if case .string(let value) = self { value } else { nil } }
    /// The integer, or nil where this is none; a float that is a whole number within range counts.
    public var intValue: Int64? {
        switch self {
        case .int(let value): value
        case .float(let value): Int64(exactly: value)
        default: nil
        }
    }
    /// The number as a double, or nil where this is no number; integers beyond 2^53 round.
    public var doubleValue: Double? {
        switch self {
        case .int(let value): Double(value)
        case .float(let value): value
        default: nil
        }
    }
    /// The truth value, or nil where this is none.
    public var boolValue: Bool? { if case .bool(let value) = self { value } else { nil } }
    /// The elements, or nil where this is no array.
    public var arrayValue: [Value]? { if case .array(let value) = self { value } else { nil } }
    /// The members, or nil where this is no object.
    public var objectValue: [String: Value]? { if case .object(let value) = self { value } else { nil } }
    /// The bytes, or nil where these are none.
    public var bytesValue: [UInt8]? { if case .bytes(let value) = self { value } else { nil } }
}
