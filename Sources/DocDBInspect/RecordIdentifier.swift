import DocDBCore

/// Puts the value of a record's own field in front of it as `_id`, for `--id-field`.
///
/// Works on the text, so that numbers and escapes reach the transcoder as the file wrote them. Of two members with one
/// name the last counts, as in the transcoder.
package struct RecordIdentifier: ~Copyable {
    private let field: [UInt8]
    private var text = ByteBuffer(capacity: 1024)
    /// How many bytes more than the record the text last made has.
    private var insertedByteCount = 0
    /// Where in the record the field's value begins that was copied to the front.
    private var valueOffset = 0

    private static let prefix = Array("{\"_id\":".utf8)

    package init(field: String) { self.field = Array(field.utf8) }

    /// The record with its `_id`, valid until the next call.
    ///
    /// - Throws: `RecordError` with a position relative to the record: no such field, or another `_id` in the record.
    package mutating func identified(_ record: UnsafeRawBufferPointer) throws(RecordError) -> UnsafeRawBufferPointer {
        insertedByteCount = 0
        if field.elementsEqual("_id".utf8) { return record }
        var scan = MemberScan(record)
        var found: Range<Int>?
        var own: Range<Int>?
        while let member = scan.next() {
            let name = UnsafeRawBufferPointer(rebasing: record[member.name])
            if matches(name, field) { found = member.value }
            if matches(name, Self.identifierName) { own = member.value }
        }
        guard let found else {
            throw RecordError("the record has no top-level field of the name that --id-field gives", at: .start)
        }
        if let own {
            guard record[own].elementsEqual(record[found]) else {
                let place = TextPosition.start.advanced(
                    over: UnsafeRawBufferPointer(rebasing: record[..<own.lowerBound]))
                throw RecordError("the record has an _id that differs from its field of --id-field", at: place)
            }
            return record
        }
        text.removeAll()
        text.append(Self.prefix)
        text.append(UnsafeRawBufferPointer(rebasing: record[found]))
        text.append(UInt8(ascii: ","))
        insertedByteCount = text.count - 1
        valueOffset = found.lowerBound
        text.append(UnsafeRawBufferPointer(rebasing: record.dropFirst()))
        return text.bytes
    }

    /// Where in the record a byte of the text last made comes from.
    package func recordOffset(_ offset: Int) -> Int {
        if offset >= insertedByteCount { return offset - insertedByteCount }
        return max(valueOffset, valueOffset + offset - Self.prefix.count)
    }

    private static let identifierName = Array("_id".utf8)

    private func matches(_ name: UnsafeRawBufferPointer, _ wanted: [UInt8]) -> Bool {
        guard name.contains(UInt8(ascii: "\\")) else { return name.elementsEqual(wanted) }
        return JSONEscapes.unescaped(name)?.elementsEqual(wanted) ?? false
    }
}

/// Walks over the members of a record at its top level; stops at what is no JSON, which the transcoder then reports.
struct MemberScan {
    struct Member {
        /// The name's bytes between its quotes, escapes not resolved.
        let name: Range<Int>
        let value: Range<Int>
    }

    private let text: UnsafeRawBufferPointer
    private var index = 1

    init(_ text: UnsafeRawBufferPointer) { self.text = text }

    mutating func next() -> Member? {
        skipSpace()
        if index < text.count, text[index] == UInt8(ascii: ",") {
            index += 1
            skipSpace()
        }
        guard index < text.count, text[index] == UInt8(ascii: "\"") else { return nil }
        let nameStart = index + 1
        skipString()
        let name = nameStart..<max(nameStart, index - 1)
        skipSpace()
        guard index < text.count, text[index] == UInt8(ascii: ":") else { return nil }
        index += 1
        skipSpace()
        let valueStart = index
        skipValue()
        return index > valueStart ? Member(name: name, value: valueStart..<index) : nil
    }

    private mutating func skipSpace() {
        while index < text.count, [0x20, 0x0A, 0x0D, 0x09].contains(text[index]) { index += 1 }
    }

    private mutating func skipString() {
        index += 1
        while index < text.count {
            switch text[index] {
            case UInt8(ascii: "\""):
                index += 1
                return
            case UInt8(ascii: "\\"): index += 2
            default: index += 1
            }
        }
        index = text.count
    }

    private mutating func skipValue() {
        var depth = 0
        while index < text.count {
            switch text[index] {
            case UInt8(ascii: "\""): skipString()
            case UInt8(ascii: "{"), UInt8(ascii: "["):
                depth += 1
                index += 1
            case UInt8(ascii: "}"), UInt8(ascii: "]"):
                if depth == 0 { return trimSpace() }
                depth -= 1
                index += 1
            case UInt8(ascii: ",") where depth == 0: return trimSpace()
            default: index += 1
            }
        }
    }

    private mutating func trimSpace() {
        while index > 1, [0x20, 0x0A, 0x0D, 0x09].contains(text[index - 1]) { index -= 1 }
    }
}

/// Resolves the escapes of JSON strings.
enum JSONEscapes {
    /// The UTF-8 bytes of a JSON string's content, or nil where an escape is malformed.
    static func unescaped(_ text: UnsafeRawBufferPointer) -> [UInt8]? {
        var result: [UInt8] = []
        var index = 0
        while index < text.count {
            guard text[index] == UInt8(ascii: "\\") else {
                result.append(text[index])
                index += 1
                continue
            }
            guard index + 1 < text.count else { return nil }
            let kind = text[index + 1]
            index += 2
            if kind == UInt8(ascii: "u") {
                guard let scalar = scalar(text, &index) else { return nil }
                result.append(contentsOf: String(scalar).utf8)
            } else {
                guard let plain = plain[kind] else { return nil }
                result.append(plain)
            }
        }
        return result
    }

    private static let plain: [UInt8: UInt8] = [
        UInt8(ascii: "\""): UInt8(ascii: "\""), UInt8(ascii: "\\"): UInt8(ascii: "\\"),
        UInt8(ascii: "/"): UInt8(ascii: "/"), UInt8(ascii: "b"): 0x08, UInt8(ascii: "f"): 0x0C,
        UInt8(ascii: "n"): 0x0A, UInt8(ascii: "r"): 0x0D, UInt8(ascii: "t"): 0x09,
    ]

    private static func scalar(_ text: UnsafeRawBufferPointer, _ index: inout Int) -> UnicodeScalar? {
        guard let first = unit(text, &index) else { return nil }
        guard (0xD800..<0xDC00).contains(first) else { return UnicodeScalar(first) }
        guard index + 1 < text.count, text[index] == UInt8(ascii: "\\"), text[index + 1] == UInt8(ascii: "u") else {
            return nil
        }
        index += 2
        guard let second = unit(text, &index), (0xDC00..<0xE000).contains(second) else { return nil }
        return UnicodeScalar(0x10000 + (first - 0xD800) << 10 + (second - 0xDC00))
    }

    private static func unit(_ text: UnsafeRawBufferPointer, _ index: inout Int) -> UInt32? {
        guard index + 4 <= text.count else { return nil }
        var value: UInt32 = 0
        for byte in text[index..<index + 4] {
            guard let digit = Character(UnicodeScalar(byte)).hexDigitValue else { return nil }
            value = value << 4 | UInt32(digit)
        }
        index += 4
        return value
    }
}
