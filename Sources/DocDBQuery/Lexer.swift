import DocDBCore

/// Splits the text of a predicate into tokens, one at a time.
struct Lexer {
    let source: [UInt8]
    private var offset = 0

    init(_ text: String) { source = Array(text.utf8) }

    private func byte(at index: Int) -> UInt8? { index < source.count ? source[index] : nil }

    /// The scalar at an offset, which must lie on a scalar's first byte, and its length in bytes.
    private func scalar(at index: Int) -> (scalar: Unicode.Scalar, length: Int)? {
        guard let first = byte(at: index) else { return nil }
        if first < 0x80 { return (Unicode.Scalar(first), 1) }
        let length = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2
        let bytes = source[index..<min(index + length, source.count)]
        guard let scalar = String(decoding: bytes, as: UTF8.self).unicodeScalars.first else { return nil }
        return (scalar, bytes.count)
    }

    /// Reads the next token; at the end of the text always `end`.
    mutating func next() throws(DocDBError) -> Token {
        while let byte = byte(at: offset), byte == 0x20 || (byte >= 0x09 && byte <= 0x0D) { offset += 1 }
        let start = offset
        guard let (first, length) = scalar(at: offset) else {
            return Token(kind: .end, start: source.count, end: source.count)
        }
        let kind = try readKind(first, length)
        return Token(kind: kind, start: start, end: offset)
    }

    private mutating func readKind(_ first: Unicode.Scalar, _ length: Int) throws(DocDBError) -> Token.Kind {
        switch first {
        case "'", "\"": return .string(try readQuoted(by: UInt8(ascii: first)))
        case "`": return .quotedName(try readQuoted(by: UInt8(ascii: "`")))
        case "0"..."9", "-": return try readNumber()
        case "$": return .argument(try readArgument())
        case "x", "X":
            if byte(at: offset + 1) == UInt8(ascii: "'") { return .bytes(try readBytes()) }
            return .word(readWord())
        default:
            if first.beginsName { return .word(readWord()) }
            if let symbol = readSymbol() { return .symbol(symbol) }
            throw failure(at: offset, "expected a value or an operator, found a character that begins neither")
        }
    }

    private mutating func readWord() -> String {
        let start = offset
        while let (scalar, length) = scalar(at: offset), scalar.continuesName { offset += length }
        return String(decoding: source[start..<offset], as: UTF8.self)
    }

    private static let symbols: [(text: StaticString, symbol: Symbol)] = [
        ("==", .equal), ("!=", .notEqual), ("<>", .notEqual), ("<=", .lessOrEqual), (">=", .greaterOrEqual),
        ("&&", .and), ("||", .or), ("=", .equal), ("<", .less), (">", .greater), ("!", .not),
        ("(", .leftParenthesis), (")", .rightParenthesis), ("[", .leftBracket), ("]", .rightBracket),
        ("{", .leftBrace), ("}", .rightBrace), (",", .comma), (".", .dot), ("*", .star), ("?", .question),
        (":", .colon), ("@", .element),
    ]

    private mutating func readSymbol() -> Symbol? {
        for (text, symbol) in Self.symbols {
            let count = text.utf8CodeUnitCount
            guard offset + count <= source.count else { continue }
            let bytes = UnsafeBufferPointer(start: text.utf8Start, count: count)
            guard source[offset..<offset + count].elementsEqual(bytes) else { continue }
            offset += count
            return symbol
        }
        return nil
    }

    private mutating func readArgument() throws(DocDBError) -> [String] {
        offset += 1
        var names: [String] = []
        while true {
            guard let (scalar, _) = scalar(at: offset), scalar.beginsName else {
                throw failure(at: offset, "expected the name of an argument after '\(names.isEmpty ? "$" : ".")'")
            }
            names.append(readWord())
            guard byte(at: offset) == UInt8(ascii: ".") else { return names }
            offset += 1
        }
    }

    func failure(at offset: Int, _ problem: String) -> DocDBError {
        PredicateFailure.error(problem, at: offset, in: source)
    }
}

// Literals.
extension Lexer {
    private var isAtDigit: Bool { byte(at: offset).map { $0 >= 0x30 && $0 <= 0x39 } ?? false }

    private mutating func skipDigits() throws(DocDBError) {
        guard isAtDigit else { throw failure(at: offset, "expected a digit") }
        while isAtDigit { offset += 1 }
    }

    private mutating func readNumber() throws(DocDBError) -> Token.Kind {
        let start = offset
        var isFloat = false
        if byte(at: offset) == UInt8(ascii: "-") { offset += 1 }
        try skipDigits()
        if byte(at: offset) == UInt8(ascii: ".") {
            isFloat = true
            offset += 1
            try skipDigits()
        }
        if let byte = byte(at: offset), byte | 0x20 == UInt8(ascii: "e") {
            isFloat = true
            offset += 1
            if let sign = self.byte(at: offset), sign == UInt8(ascii: "+") || sign == UInt8(ascii: "-") { offset += 1 }
            try skipDigits()
        }
        if let (scalar, _) = scalar(at: offset), scalar.continuesName {
            throw failure(at: offset, "expected a space or an operator after the number")
        }
        let text = String(decoding: source[start..<offset], as: UTF8.self)
        if isFloat {
            guard let value = Double(text), value.isFinite else {
                throw failure(at: start, "expected a number that a double can hold")
            }
            return .float(value)
        }
        guard let value = Int64(text) else {
            throw failure(at: start, "expected an integer of at most 64 bits; write it with '.0' to mean a float")
        }
        return .int(value)
    }

    private mutating func readBytes() throws(DocDBError) -> [UInt8] {
        offset += 2
        var bytes: [UInt8] = []
        while byte(at: offset) != UInt8(ascii: "'") {
            guard let high = hexadecimalDigit(at: offset), let low = hexadecimalDigit(at: offset + 1) else {
                throw failure(at: offset, "expected two hexadecimal digits for each byte, then \"'\"")
            }
            bytes.append(UInt8(high << 4 | low))
            offset += 2
        }
        offset += 1
        return bytes
    }

    private func hexadecimalDigit(at index: Int) -> UInt32? {
        guard let byte = byte(at: index) else { return nil }
        switch byte {
        case 0x30...0x39: return UInt32(byte - 0x30)
        case 0x41...0x46, 0x61...0x66: return UInt32((byte | 0x20) - 0x61 + 10)
        default: return nil
        }
    }

    private mutating func readQuoted(by quote: UInt8) throws(DocDBError) -> String {
        let start = offset
        offset += 1
        var bytes: [UInt8] = []
        while let byte = byte(at: offset) {
            offset += 1
            if byte == quote { return String(decoding: bytes, as: UTF8.self) }
            if byte == UInt8(ascii: "\\") { try readEscape(into: &bytes) } else { bytes.append(byte) }
        }
        let sign = quote == UInt8(ascii: "'") ? "\"'\"" : "'\(Unicode.Scalar(quote))'"
        throw failure(at: start, "expected \(sign) at the end of what begins here")
    }

    /// Reads what follows a backslash. `\%` and `\_` keep theirs: they are for `like`.
    private mutating func readEscape(into bytes: inout [UInt8]) throws(DocDBError) {
        let start = offset - 1
        let escape = byte(at: offset)
        offset += 1
        switch escape.map({ Unicode.Scalar($0) }) {
        case "'", "\"", "\\", "`": bytes.append(source[offset - 1])
        case "n": bytes.append(0x0A)
        case "r": bytes.append(0x0D)
        case "t": bytes.append(0x09)
        case "%", "_": bytes += [UInt8(ascii: "\\"), source[offset - 1]]
        case "u":
            guard let scalar = readEscapedScalar() else {
                throw failure(at: start, "expected four hexadecimal digits that make a Unicode scalar after '\\u'")
            }
            bytes += Array(String(Character(scalar)).utf8)
        default:
            throw failure(
                at: start, "expected one of \\' \\\" \\\\ \\` \\n \\r \\t \\uXXXX; write \\\\ for a backslash itself")
        }
    }

    /// Reads the digits after `\u`, and the second half of a surrogate pair.
    private mutating func readEscapedScalar() -> Unicode.Scalar? {
        guard let first = readFourDigits() else { return nil }
        guard first & 0xFC00 == 0xD800 else { return Unicode.Scalar(first) }
        guard byte(at: offset) == UInt8(ascii: "\\"), byte(at: offset + 1) == UInt8(ascii: "u") else { return nil }
        offset += 2
        guard let second = readFourDigits(), second & 0xFC00 == 0xDC00 else { return nil }
        return Unicode.Scalar(0x10000 + (first & 0x3FF) << 10 + (second & 0x3FF))
    }

    private mutating func readFourDigits() -> UInt32? {
        var value: UInt32 = 0
        for index in offset..<offset + 4 {
            guard let digit = hexadecimalDigit(at: index) else { return nil }
            value = value << 4 | digit
        }
        offset += 4
        return value
    }
}
