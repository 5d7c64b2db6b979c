/// Reads the text of a field path: names joined by dots, or in brackets and quotes.
struct FieldPathParser {
    private let bytes: [UInt8]
    private var offset = 0

    init(_ text: String) { bytes = Array(text.utf8.prefix(Self.textByteCount + 1)) }

    /// The longest text that is looked at: each byte of a name as the longest escape, and its quotes.
    private static let textByteCount = Limits.fieldPathByteCount * 6 + Limits.nestingDepth * 4

    /// Tells whether a byte may stand in a name without quotes; bytes beyond ASCII are for `description` to quote.
    static func isPlain(_ byte: UInt8, isFirst: Bool) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "_"): true
        case UInt8(ascii: "0")...UInt8(ascii: "9"): !isFirst
        default: false
        }
    }

    mutating func parse() throws(DocDBError) -> [String] {
        guard bytes.count <= Self.textByteCount else {
            throw failure("is too long; at most \(Limits.fieldPathByteCount) bytes of names fit")
        }
        var names = [try name()]
        while offset < bytes.count {
            switch bytes[offset] {
            case UInt8(ascii: "."):
                offset += 1
                names.append(try name())
            case UInt8(ascii: "["):
                offset += 1
                names.append(try bracketed())
            default: throw failure("has something other than '.' or '[' after a name; put odd names in backticks")
            }
        }
        return names
    }

    private mutating func name() throws(DocDBError) -> String {
        guard offset < bytes.count else { throw failure("ends where a name is expected") }
        if bytes[offset] == UInt8(ascii: "`") { return try quoted() }
        let start = offset
        while offset < bytes.count, bytes[offset] >= 0x80 || Self.isPlain(bytes[offset], isFirst: offset == start) {
            offset += 1
        }
        guard offset > start else { throw failure("has no name where one is expected; put odd names in backticks") }
        return String(decoding: bytes[start..<offset], as: UTF8.self)
    }

    /// Reads a quoted name and the bracket that closes it; the opening one has been read.
    private mutating func bracketed() throws(DocDBError) -> String {
        guard offset < bytes.count, bytes[offset] == UInt8(ascii: "'") || bytes[offset] == UInt8(ascii: "\"") else {
            throw failure("has no quoted name after '['; positions of arrays are for predicates only")
        }
        let name = try quoted()
        guard offset < bytes.count, bytes[offset] == UInt8(ascii: "]") else { throw failure("lacks a ']'") }
        offset += 1
        return name
    }

    /// Reads a name in quotes of the kind that stands at the offset.
    private mutating func quoted() throws(DocDBError) -> String {
        let quote = bytes[offset]
        offset += 1
        var name: [UInt8] = []
        while offset < bytes.count {
            let byte = bytes[offset]
            if byte == quote {
                offset += 1
                return String(decoding: name, as: UTF8.self)
            }
            if byte == UInt8(ascii: "\\") { try unescape(into: &name) } else { name.append(byte); offset += 1 }
        }
        throw failure("lacks the quote that closes a name")
    }

    private mutating func unescape(into name: inout [UInt8]) throws(DocDBError) {
        guard offset + 1 < bytes.count else { throw failure("ends within an escape") }
        let byte = bytes[offset + 1]
        switch byte {
        case UInt8(ascii: "'"), UInt8(ascii: "\""), UInt8(ascii: "`"), UInt8(ascii: "\\"): name.append(byte)
        case UInt8(ascii: "n"): name.append(0x0A)
        case UInt8(ascii: "r"): name.append(0x0D)
        case UInt8(ascii: "t"): name.append(0x09)
        case UInt8(ascii: "u"):
            try unescapeScalar(into: &name)
            return
        default: throw failure("has an unknown escape; known are \\' \\\" \\` \\\\ \\n \\r \\t \\uXXXX")
        }
        offset += 2
    }

    /// Reads `\uXXXX`, or two of them that form a surrogate pair.
    private mutating func unescapeScalar(into name: inout [UInt8]) throws(DocDBError) {
        var code = UInt32(try unit())
        if code & 0xFC00 == 0xD800 {
            guard offset + 1 < bytes.count, bytes[offset] == UInt8(ascii: "\\"), bytes[offset + 1] == UInt8(ascii: "u")
            else { throw failure("has half of a surrogate pair") }
            let low = UInt32(try unit())
            guard low & 0xFC00 == 0xDC00 else { throw failure("has half of a surrogate pair") }
            code = 0x10000 + (code & 0x3FF) << 10 + low & 0x3FF
        }
        guard let scalar = Unicode.Scalar(code) else { throw failure("has half of a surrogate pair") }
        name.append(contentsOf: UTF8.encode(scalar).map(Array.init) ?? [])
    }

    private mutating func unit() throws(DocDBError) -> UInt16 {
        guard offset + 6 <= bytes.count else { throw failure("ends within an escape") }
        var value: UInt16 = 0
        for byte in bytes[(offset + 2)..<(offset + 6)] {
            guard let digit = HexadecimalDigit.value(byte) else {
                throw failure("has no four hexadecimal digits after \\u")
            }
            value = value << 4 | UInt16(digit)
        }
        offset += 6
        return value
    }

    private func failure(_ what: String) -> DocDBError {
        DocDBError(.invalidPath, "the field path \(what) (at byte \(offset))", context: ["offset": String(offset)])
    }
}

/// Hexadecimal digits in ASCII.
enum HexadecimalDigit {
    /// The value of a digit, or nil where it is none.
    @inline(__always)
    static func value(_ byte: UInt8) -> UInt8? {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): byte - UInt8(ascii: "a") + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): byte - UInt8(ascii: "A") + 10
        default: nil
        }
    }
}
