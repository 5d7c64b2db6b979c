/// Deterministic CBOR (RFC 8949, section 4.2.1): shortest heads and floats, definite lengths, map keys in bytewise order.
///
/// A body's map keys are unsigned integers (interned field names) or text; ids and canonical forms have text keys only.
package enum CBOR {
    package enum Major {
        package static let unsigned: UInt8 = 0
        package static let negative: UInt8 = 1
        package static let bytes: UInt8 = 2
        package static let text: UInt8 = 3
        package static let array: UInt8 = 4
        package static let map: UInt8 = 5
        package static let simple: UInt8 = 7
    }

    package static let falseByte: UInt8 = 0xF4
    package static let trueByte: UInt8 = 0xF5
    package static let nullByte: UInt8 = 0xF6
    package static let halfByte: UInt8 = 0xF9
    package static let singleByte: UInt8 = 0xFA
    package static let doubleByte: UInt8 = 0xFB
    package static let emptyMapByte: UInt8 = 0xA0
    package static let emptyArrayByte: UInt8 = 0x80

    /// The number of bytes of a head with this argument.
    package static func headByteCount(_ argument: UInt64) -> Int {
        switch argument {
        case 0..<24: 1
        case 24..<0x100: 2
        case 0x100..<0x1_0000: 3
        case 0x1_0000..<0x1_0000_0000: 5
        default: 9
        }
    }
}

/// Why bytes are not what they should be.
package enum CBORError: Error {
    /// The bytes end within a value.
    case truncated
    /// The bytes are not a value of the format.
    case malformed
    /// The value is valid CBOR but not in its one deterministic form.
    case notCanonical
    /// The value is nested deeper than the limit.
    case tooDeep
}

extension ByteBuffer {
    /// Appends a CBOR head in its shortest form.
    @inline(__always)
    package mutating func appendCBORHead(major: UInt8, _ argument: UInt64) {
        if argument < 24 {
            append(major << 5 | UInt8(truncatingIfNeeded: argument))
        } else {
            appendLongCBORHead(major: major, argument)
        }
    }

    @inline(never)
    private mutating func appendLongCBORHead(major: UInt8, _ argument: UInt64) {
        switch CBOR.headByteCount(argument) {
        case 2:
            append(major << 5 | 24)
            append(UInt8(truncatingIfNeeded: argument))
        case 3:
            append(major << 5 | 25)
            appendBigEndian(UInt16(truncatingIfNeeded: argument))
        case 5:
            append(major << 5 | 26)
            appendBigEndian(UInt32(truncatingIfNeeded: argument))
        default:
            append(major << 5 | 27)
            appendBigEndian(argument)
        }
    }

    @inline(__always)
    package mutating func appendCBOR(_ value: Int64) {
        if value >= 0 {
            appendCBORHead(major: CBOR.Major.unsigned, UInt64(value))
        } else {
            appendCBORHead(major: CBOR.Major.negative, UInt64(bitPattern: ~value))
        }
    }

    /// Appends a finite double in the shortest of the three float forms that keeps its value.
    package mutating func appendCBOR(_ value: Double) {
        let single = Float(value)
        guard Double(single).bitPattern == value.bitPattern else {
            append(CBOR.doubleByte)
            appendBigEndian(value.bitPattern)
            return
        }
        if let half = HalfFloat.bits(exactly: single) {
            append(CBOR.halfByte)
            appendBigEndian(half)
        } else {
            append(CBOR.singleByte)
            appendBigEndian(single.bitPattern)
        }
    }

    package mutating func appendCBOR(_ value: Bool) { append(value ? CBOR.trueByte : CBOR.falseByte) }
    package mutating func appendCBORNull() { append(CBOR.nullByte) }

    package mutating func appendCBOR(text: UnsafeRawBufferPointer) {
        appendCBORHead(major: CBOR.Major.text, UInt64(text.count))
        append(text)
    }

    package mutating func appendCBOR(_ text: String) {
        var text = text
        text.withUTF8 { appendCBOR(text: UnsafeRawBufferPointer($0)) }
    }

    package mutating func appendCBOR(bytes: [UInt8]) {
        appendCBORHead(major: CBOR.Major.bytes, UInt64(bytes.count))
        append(bytes)
    }
}

/// IEEE 754 binary16, which not every platform has as a type.
package enum HalfFloat {
    /// The half-precision bits that have exactly this value, or nil where none do.
    package static func bits(exactly value: Float) -> UInt16? {
        let bits = value.bitPattern
        let sign = UInt16(truncatingIfNeeded: bits >> 16) & 0x8000
        let magnitude = bits & 0x7FFF_FFFF
        if magnitude == 0 { return sign }
        let exponent = Int(magnitude >> 23) - 127
        let mantissa = magnitude & 0x7F_FFFF
        if exponent > 15 || exponent < -24 { return nil }
        if exponent >= -14 {
            guard mantissa & 0x1FFF == 0 else { return nil }
            return sign | UInt16(exponent + 15) << 10 | UInt16(mantissa >> 13)
        }
        // Subnormal: the value is a multiple of 2^-24.
        let full = mantissa | 0x80_0000
        let shift = UInt32(-exponent - 1)  // 14...23
        guard full & ((1 << shift) - 1) == 0 else { return nil }
        return sign | UInt16(full >> shift)
    }

    /// The value of half-precision bits.
    package static func value(_ bits: UInt16) -> Double {
        let sign: Double = bits & 0x8000 == 0 ? 1 : -1
        let exponent = Int(bits >> 10 & 0x1F)
        let mantissa = Double(bits & 0x3FF)
        switch exponent {
        case 0: return sign * mantissa * 0x1p-24
        case 31: return mantissa == 0 ? sign * .infinity : .nan
        default: return sign * (1 + mantissa * 0x1p-10) * Double(sign: .plus, exponent: exponent - 15, significand: 1)
        }
    }
}
