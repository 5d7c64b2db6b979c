/// A number of a counter: a signed 64-bit integer or a finite double.
package enum Number: Hashable, Sendable {
    case int(Int64)
    case float(Double)

    /// Tells whether the number can be stored: it is no NaN and not infinite.
    package var isFinite: Bool {
        switch self {
        case .int: true
        case .float(let value): value.isFinite
        }
    }

    /// The sum of two numbers; an integer if both are, nil where it overflows.
    package func adding(_ other: Number) -> Number? {
        if case .int(let left) = self, case .int(let right) = other {
            let (sum, overflow) = left.addingReportingOverflow(right)
            return overflow ? nil : .int(sum)
        }
        let sum = doubleValue + other.doubleValue
        return sum.isFinite ? .float(sum) : nil
    }

    /// Tells whether two numbers have one encoding; zeros of either sign, which are equal, have two.
    package func isIdentical(to other: Number) -> Bool {
        switch (self, other) {
        case (.int(let left), .int(let right)): left == right
        case (.float(let left), .float(let right)): left.bitPattern == right.bitPattern
        case (.int, .float), (.float, .int): false
        }
    }

    package var doubleValue: Double {
        switch self {
        case .int(let value): Double(value)
        case .float(let value): value
        }
    }

    /// The number that `bytes` encode, or nil where they encode something else.
    package init?(cbor bytes: UnsafeRawBufferPointer) {
        guard let first = bytes.first, first < 0x40 || first >= CBOR.halfByte else { return nil }
        var cursor = ByteCursor(bytes)
        guard let item = try? cursor.readCBORItem() else { return nil }
        switch item {
        case .int(let value): self = .int(value)
        case .float(let value) where value.isFinite: self = .float(value)
        default: return nil
        }
    }
}

extension ByteBuffer {
    package mutating func appendCBOR(_ number: Number) {
        switch number {
        case .int(let value): appendCBOR(value)
        case .float(let value): appendCBOR(value)
        }
    }
}

extension ByteCursor {
    /// Reads a number that a counter can hold.
    mutating func readNumber() throws(CBORError) -> Number {
        switch try readCBORItem() {
        case .int(let value): return .int(value)
        case .float(let value) where value.isFinite: return .float(value)
        default: throw .malformed
        }
    }
}

/// A running sum whose result depends on the numbers and the order of the floats only.
///
/// Integers add up exactly; floats are added to that in the order they come. A result that no Int64 holds is a float,
/// one that no finite double holds is the nearest that is.
struct NumberSum {
    private var integers: Int128 = 0
    private var floats: Double?

    mutating func add(_ number: Number) {
        switch number {
        case .int(let value): integers += Int128(value)
        case .float(let value): floats = Self.clamp((floats ?? 0) + value)
        }
    }

    var result: Number {
        if let floats { return .float(Self.clamp(floats + Double(integers))) }
        return Int64(exactly: integers).map { .int($0) } ?? .float(Double(integers))
    }

    private static func clamp(_ value: Double) -> Double {
        max(-Double.greatestFiniteMagnitude, min(.greatestFiniteMagnitude, value))
    }
}
