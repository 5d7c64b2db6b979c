extension ByteBuffer {
    /// Appends fixed text.
    @inline(__always)
    mutating func append(_ text: StaticString) {
        append(UnsafeRawPointer(text.utf8Start), count: text.utf8CodeUnitCount)
    }

    /// Appends an integer in decimal digits.
    package mutating func append(decimal value: Int64) {
        reserve(20)
        if value < 0 { append(UInt8(ascii: "-")) }
        var rest = value.magnitude
        var digitCount = 1
        var bound: UInt64 = 10
        while digitCount < 19, rest >= bound {
            digitCount += 1
            bound &*= 10
        }
        for place in stride(from: count + digitCount - 1, through: count, by: -1) {
            let (quotient, digit) = rest.quotientAndRemainder(dividingBy: 10)
            start.storeBytes(
                of: UInt8(ascii: "0") + UInt8(truncatingIfNeeded: digit), toByteOffset: place, as: UInt8.self)
            rest = quotient
        }
        setCount(count + digitCount)
    }

    /// Appends a JSON string in quotes, with only the escapes that JSON demands.
    package mutating func append(jsonString text: UnsafeRawBufferPointer) {
        append(UInt8(ascii: "\""))
        var runStart = 0
        var offset = 0
        while offset < text.count {
            if offset + 8 <= text.count {
                let word = UInt64(littleEndian: text.loadUnaligned(fromByteOffset: offset, as: UInt64.self))
                // Bytes beyond ASCII stop only a parser.
                let special = JSONTranscoder.specialBytes(
                    word & 0x7F7F_7F7F_7F7F_7F7F | (word & 0x8080_8080_8080_8080) >> 1)
                if special == 0 { offset += 8; continue }
            }
            let byte = text[offset]
            guard byte < 0x20 || byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") else { offset += 1; continue }
            append(UnsafeRawBufferPointer(rebasing: text[runStart..<offset]))
            appendEscape(byte)
            offset += 1
            runStart = offset
        }
        append(UnsafeRawBufferPointer(rebasing: text[runStart...]))
        append(UInt8(ascii: "\""))
    }

    private mutating func appendEscape(_ byte: UInt8) {
        switch byte {
        case UInt8(ascii: "\""): append("\\\"")
        case UInt8(ascii: "\\"): append("\\\\")
        case 0x08: append("\\b")
        case 0x09: append("\\t")
        case 0x0A: append("\\n")
        case 0x0C: append("\\f")
        case 0x0D: append("\\r")
        default:
            append(byte < 0x10 ? "\\u000" : "\\u001")
            append(byte & 15 < 10 ? UInt8(ascii: "0") + byte & 15 : UInt8(ascii: "a") + byte & 15 - 10)
        }
    }

    /// Appends bytes as a quoted string in base64 with padding (RFC 4648, section 4).
    package mutating func append(base64String bytes: UnsafeRawBufferPointer) {
        append(UInt8(ascii: "\""))
        var offset = 0
        while offset < bytes.count {
            let count = min(3, bytes.count - offset)
            var group: UInt32 = 0
            for index in 0..<3 { group = group << 8 | (index < count ? UInt32(bytes[offset + index]) : 0) }
            for index in 0..<4 {
                let digit = UInt8(truncatingIfNeeded: group >> UInt32(18 - 6 * index)) & 63
                append(index <= count ? Self.base64Digit(digit) : UInt8(ascii: "="))
            }
            offset += 3
        }
        append(UInt8(ascii: "\""))
    }

    private static func base64Digit(_ value: UInt8) -> UInt8 {
        switch value {
        case 0..<26: UInt8(ascii: "A") + value
        case 26..<52: UInt8(ascii: "a") + value - 26
        case 52..<62: UInt8(ascii: "0") + value - 52
        case 62: UInt8(ascii: "+")
        default: UInt8(ascii: "/")
        }
    }
}
