extension JSONTranscoder {
    /// Reads a string and returns its UTF-8 bytes, in the text itself or, after escapes, in scratch memory.
    ///
    /// The position is at the opening quote, and afterwards behind the closing one.
    @inline(__always)
    mutating func string() throws(JSONFailure) -> UnsafeRawBufferPointer {
        let begin = position + 1
        position = begin
        try scanRun()
        if position.load(as: UInt8.self) == UInt8(ascii: "\"") {
            let text = UnsafeRawBufferPointer(start: begin, count: position - begin)
            position += 1
            return text
        }
        return try unescape(from: begin)
    }

    /// Moves to the next quote or backslash, checking that all before it may stand in a string.
    @inline(__always)
    private mutating func scanRun() throws(JSONFailure) {
        var next = position
        while true {
            while end - next >= 8 {
                let special = Self.specialBytes(UInt64(littleEndian: next.loadUnaligned(as: UInt64.self)))
                if special != 0 {
                    next += special.trailingZeroBitCount >> 3
                    break
                }
                next += 8
            }
            guard next < end else { position = end; throw .unterminatedString }
            let byte = next.load(as: UInt8.self)
            if byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") { position = next; return }
            if byte >= 0x80 {
                let rest = UnsafeRawBufferPointer(start: next, count: end - next)
                guard let length = UTF8Validation.sequenceLength(rest, at: 0) else {
                    position = next; throw .invalidUTF8
                }
                next += length
            } else if byte < 0x20 {
                position = next
                throw .controlCharacter
            } else {
                next += 1
            }
        }
    }

    /// Marks, of eight bytes, those a string scan stops at; of the marks only the lowest is exact.
    ///
    /// A byte is zero after exclusive or with the one sought; `(x - 1) & ~x` has its high bit set where a byte is zero
    /// (or follows a zero one).
    @inline(__always)
    static func specialBytes(_ word: UInt64) -> UInt64 {
        let ones: UInt64 = 0x0101_0101_0101_0101
        let quotes = word ^ (ones &* 0x22)
        let backslashes = word ^ (ones &* 0x5C)
        let isQuote = (quotes &- ones) & ~quotes
        let isBackslash = (backslashes &- ones) & ~backslashes
        let isControl = (word &- ones &* 0x20) & ~word
        return (isQuote | isBackslash | isControl | word) & 0x8080_8080_8080_8080
    }

    /// Appends a text string to the output.
    @inline(__always)
    mutating func putText(_ text: UnsafeRawBufferPointer) {
        let count = text.count
        putHead(major: CBOR.Major.text, UInt64(count))
        guard count > 0, let from = text.baseAddress else { return }
        // Whole words at a time, where the bytes after the text can be read too; what is written too much is overwritten.
        if count <= 64, from >= start, end - from >= count + 8 {
            var offset = 0
            while offset < count {
                output.storeBytes(
                    of: from.loadUnaligned(fromByteOffset: offset, as: UInt64.self), toByteOffset: offset,
                    as: UInt64.self)
                offset += 8
            }
        } else {
            output.copyMemory(from: from, byteCount: count)
        }
        output += count
    }

    /// Reads the rest of a string with escapes; the position is at the first backslash.
    @inline(never)
    private mutating func unescape(from begin: UnsafeRawPointer) throws(JSONFailure) -> UnsafeRawBufferPointer {
        unescaped.removeAll()
        var runStart = begin
        while true {
            unescaped.append(runStart, count: position - runStart)
            if position.load(as: UInt8.self) == UInt8(ascii: "\"") {
                position += 1
                return unescaped.bytes
            }
            try readEscape()
            runStart = position
            try scanRun()
        }
    }

    private mutating func readEscape() throws(JSONFailure) {
        guard position + 1 < end else { position = end; throw .unterminatedString }
        switch position.load(fromByteOffset: 1, as: UInt8.self) {
        case UInt8(ascii: "\""): unescaped.append(0x22)
        case UInt8(ascii: "\\"): unescaped.append(0x5C)
        case UInt8(ascii: "/"): unescaped.append(0x2F)
        case UInt8(ascii: "b"): unescaped.append(0x08)
        case UInt8(ascii: "f"): unescaped.append(0x0C)
        case UInt8(ascii: "n"): unescaped.append(0x0A)
        case UInt8(ascii: "r"): unescaped.append(0x0D)
        case UInt8(ascii: "t"): unescaped.append(0x09)
        case UInt8(ascii: "u"): return try readScalarEscape()
        default: throw .unknownEscape
        }
        position += 2
    }

    /// Reads `\uXXXX`, or two of them that form a surrogate pair.
    private mutating func readScalarEscape() throws(JSONFailure) {
        let escape = position
        var code = try readUnit()
        if code & 0xFC00 == 0xD800 {
            guard end - position >= 2, position.load(as: UInt8.self) == UInt8(ascii: "\\"),
                position.load(fromByteOffset: 1, as: UInt8.self) == UInt8(ascii: "u")
            else { position = escape; throw .loneSurrogate }
            let low = try readUnit()
            guard low & 0xFC00 == 0xDC00 else { position = escape; throw .loneSurrogate }
            code = 0x10000 + (code & 0x3FF) << 10 + low & 0x3FF
        }
        guard let scalar = Unicode.Scalar(code) else { position = escape; throw .loneSurrogate }
        for unit in UTF8.encode(scalar).unsafelyUnwrapped { unescaped.append(unit) }
    }

    /// Reads `\uXXXX`, of which the first two characters are known to be there.
    private mutating func readUnit() throws(JSONFailure) -> UInt32 {
        guard end - position >= 6 else { throw .invalidHexadecimal }
        var value: UInt32 = 0
        for index in 2..<6 {
            guard let digit = HexadecimalDigit.value(position.load(fromByteOffset: index, as: UInt8.self)) else {
                throw .invalidHexadecimal
            }
            value = value << 4 | UInt32(digit)
        }
        position += 6
        return value
    }
}
