import DocDBCore

extension RecordSplitter {
    /// Moves the cursor to the next object's brace; false where the input ends before one.
    mutating func advanceToObject() throws -> Bool {
        if place == .beginning { try skipSignature() }
        while true {
            guard let found = try skipSpace() else { return try endOfInput() }
            switch (place, found) {
            case (.beginning, UInt8(ascii: "[")):
                place = .arrayStart
                cursor += 1
            case (.arrayStart, UInt8(ascii: "]")), (.afterElement, UInt8(ascii: "]")):
                place = .afterArray
                cursor += 1
            case (.afterElement, UInt8(ascii: ",")):
                place = .afterComma
                cursor += 1
            case (.beginning, UInt8(ascii: "{")):
                place = .betweenLines
                return true
            case (.betweenLines, UInt8(ascii: "{")), (.arrayStart, UInt8(ascii: "{")),
                (.afterComma, UInt8(ascii: "{")):
                return true
            default: throw unexpected(found)
            }
        }
    }

    private func unexpected(_ found: UInt8) -> RecordError {
        switch place {
        case .beginning:
            return fault(
                "the file is neither a JSON array nor JSON Lines: it begins with \(Self.name(of: found))", at: cursor)
        case .betweenLines where found == UInt8(ascii: ","):
            return fault("a comma between objects; leave it out, or put [ and ] around all objects", at: cursor)
        case .afterElement:
            return fault("expected , or ] after the object, found \(Self.name(of: found))", at: cursor)
        case .afterComma where found == UInt8(ascii: "]"):
            return fault("a comma before the closing ]; remove it", at: cursor)
        case .afterArray:
            return fault("the array has ended, yet there follows \(Self.name(of: found))", at: cursor)
        default:
            return fault("expected an object, found \(Self.name(of: found)); documents are JSON objects", at: cursor)
        }
    }

    private func endOfInput() throws -> Bool {
        switch place {
        case .arrayStart, .afterElement:
            throw fault("the file ends within the array: its closing ] is missing", at: cursor)
        case .afterComma: throw fault("the file ends after a comma of the array", at: cursor)
        default: return false
        }
    }

    /// What a byte begins, never the content itself.
    private static func name(of byte: UInt8) -> String {
        switch byte {
        case UInt8(ascii: "\""): "a string"
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"): "a number"
        case UInt8(ascii: "["): "an array"
        case UInt8(ascii: "{"): "an object"
        case UInt8(ascii: "t"), UInt8(ascii: "f"), UInt8(ascii: "n"): "a word"
        case UInt8(ascii: ","), UInt8(ascii: "]"), UInt8(ascii: "}"), UInt8(ascii: ":"):
            String(UnicodeScalar(byte))
        default: "something that is no JSON"
        }
    }

    /// Skips a UTF-8 byte order mark; refuses what is certainly no UTF-8 text.
    private mutating func skipSignature() throws {
        while filled < 3 { if try !refill(keepingFrom: 0) { break } }
        guard filled >= 2 else { return }
        switch (byte(0), byte(1)) {
        case (0xEF, 0xBB) where filled >= 3 && byte(2) == 0xBF: skipMark(3)
        case (0xFF, 0xFE), (0xFE, 0xFF): throw fault("the file is UTF-16; convert it to UTF-8 first", at: 0)
        case (0x1F, 0x8B): throw fault("the file is compressed with gzip; unpack it first, such as by zcat", at: 0)
        default: break
        }
    }

    /// The next byte that is no white space, left unread; nil at the end.
    private mutating func skipSpace() throws -> UInt8? {
        while true {
            while cursor < filled {
                let next = byte(cursor)
                guard next == 0x20 || next == 0x0A || next == 0x0D || next == 0x09 else { return next }
                cursor += 1
            }
            guard try refill(keepingFrom: cursor) else { return nil }
        }
    }

    /// Moves the cursor from an object's opening brace, at `recordStart`, behind its closing one.
    mutating func scanObject() throws {
        var scan = ObjectScan()
        cursor += 1
        while true {
            let outcome = scan.run(start, from: &cursor, to: filled)
            switch outcome {
            case .closed:
                guard cursor - recordStart <= recordLimit else { throw tooLarge() }
                return
            case .needsMore:
                guard cursor - recordStart <= recordLimit else { throw tooLarge() }
                guard try refill(keepingFrom: recordStart) else {
                    throw fault("the object that begins here is not closed when the file ends", at: recordStart)
                }
            case .fault(let message): throw fault(message, at: cursor)
            }
        }
    }

    private func tooLarge() -> RecordError {
        fault("the object that begins here is longer than \(recordLimit) bytes", at: recordStart)
    }
}

/// The state of a scan through one object, which survives the end of a chunk.
struct ObjectScan {
    enum Outcome: Equatable {
        case closed
        case needsMore
        case fault(String)
    }

    private enum Region { case structure, string, escape }

    private var region = Region.structure
    private var depth = 1
    /// One bit a level, the innermost lowest: 1 in an object, 0 in an array.
    private var kinds: UInt64 = 1

    private static let ones: UInt64 = 0x0101_0101_0101_0101
    private static let highs: UInt64 = 0x8080_8080_8080_8080

    /// Scans bytes up to `end`. The cursor ends behind the closing brace, at a fault, or at `end`.
    ///
    /// All bytes of the object so far lie before the cursor, from its opening brace on.
    mutating func run(_ start: UnsafeMutableRawPointer, from cursor: inout Int, to end: Int) -> Outcome {
        var index = cursor
        defer { cursor = index }
        while index < end {
            switch region {
            case .structure:
                let byte = start.load(fromByteOffset: index, as: UInt8.self)
                // The five bytes that matter here are all above the digits or the quote itself.
                if byte == UInt8(ascii: "\"") {
                    region = .string
                } else if byte >= UInt8(ascii: "[") {
                    switch byte {
                    case UInt8(ascii: "{"), UInt8(ascii: "["):
                        if let fault = open(byte, start, index) { return .fault(fault) }
                    case UInt8(ascii: "}"), UInt8(ascii: "]"):
                        if let fault = close(byte) { return .fault(fault) }
                        if depth == 0 {
                            index += 1
                            return .closed
                        }
                    default: break
                    }
                }
                index += 1
            case .string:
                index = Self.skipPlain(start, index, end)
                guard index < end else { return .needsMore }
                let byte = start.load(fromByteOffset: index, as: UInt8.self)
                if byte == UInt8(ascii: "\"") {
                    region = .structure
                } else if byte == UInt8(ascii: "\\") {
                    region = .escape
                } else {
                    return .fault(
                        byte == UInt8(ascii: "\n")
                            ? "a string is not closed when its line ends" : "a control character in a string; escape it"
                    )
                }
                index += 1
            case .escape:
                region = .string
                index += 1
            }
        }
        return .needsMore
    }

    /// The first byte from `index` on that is a quote, a backslash or a control character, or `end`.
    @inline(__always)
    private static func skipPlain(_ start: UnsafeMutableRawPointer, _ index: Int, _ end: Int) -> Int {
        var index = index
        while index &+ 8 <= end {
            let word = UInt64(littleEndian: start.loadUnaligned(fromByteOffset: index, as: UInt64.self))
            let quote = word ^ (ones &* UInt64(UInt8(ascii: "\"")))
            let backslash = word ^ (ones &* UInt64(UInt8(ascii: "\\")))
            let found =
                ((quote &- ones) & ~quote | (backslash &- ones) & ~backslash | (word &- ones &* 0x20) & ~word) & highs
            // Borrows may raise false marks above the first true one, never below it.
            if found != 0 { return index &+ found.trailingZeroBitCount / 8 }
            index &+= 8
        }
        while index < end {
            let byte = start.load(fromByteOffset: index, as: UInt8.self)
            if byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") || byte < 0x20 { break }
            index &+= 1
        }
        return index
    }

    private mutating func open(_ byte: UInt8, _ start: UnsafeMutableRawPointer, _ index: Int) -> String? {
        // What precedes a nested value tells a record that was not closed before the next one begins.
        var before = index - 1
        while before > 0, Self.isSpace(start.load(fromByteOffset: before, as: UInt8.self)) { before -= 1 }
        switch start.load(fromByteOffset: before, as: UInt8.self) {
        case UInt8(ascii: ":"), UInt8(ascii: ","), UInt8(ascii: "["): break
        default:
            return "a value begins where , or the end of the \(kinds & 1 == 1 ? "object" : "array") was expected"
        }
        guard depth < Limits.nestingDepth else { return "the document is nested deeper than \(Limits.nestingDepth)" }
        depth += 1
        kinds = kinds << 1 | (byte == UInt8(ascii: "{") ? 1 : 0)
        return nil
    }

    private mutating func close(_ byte: UInt8) -> String? {
        let closesObject = byte == UInt8(ascii: "}")
        guard closesObject == (kinds & 1 == 1) else {
            return closesObject ? "expected ] but found }" : "expected } but found ]"
        }
        depth -= 1
        kinds >>= 1
        return nil
    }

    @inline(__always)
    private static func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09 }
}
