/// Turns JSON texts (RFC 8259) into encoded bodies in one pass, without a tree in between.
///
/// Members are written straight to the output; their order is noted on the way, and only maps whose keys did not come
/// in ascending order are sorted afterwards. A key is looked up by hash only where it is not the one after the key
/// before it, as documents of one collection mostly have their fields in one order. Keep one transcoder for many
/// texts: it keeps its scratch memory.
package struct JSONTranscoder: ~Copyable {
    // The text, and how far it has been read.
    var start: UnsafeRawPointer
    var position: UnsafeRawPointer
    var end: UnsafeRawPointer
    // Where the next byte of output goes; `prepare` made room for all that the text can become.
    var output: UnsafeMutableRawPointer
    private var outputStart: UnsafeMutableRawPointer

    private var order = MemberOrder()
    /// Text whose escapes have been replaced.
    var unescaped = ByteBuffer()
    /// The canonical CBOR of the document's `_id`.
    private var identity = ByteBuffer()
    /// The number of the interned key that was met last.
    private var lastKeyNumber = -1

    package init() {
        output = unescaped.start
        outputStart = unescaped.start
        start = UnsafeRawPointer(unescaped.start)
        position = start
        end = start
    }

    /// Appends the body of one document, without its `_id`, and the canonical CBOR of the `_id`, nothing where it is absent.
    ///
    /// Both buffers are as before where this throws, though new names may have been interned.
    ///
    /// - Throws: `invalidJSON` with `line`, `column` (in characters, from 1) and `offset` (in bytes, from 0) in the
    ///   context; `invalidDocumentID`, `documentTooDeep`, `documentTooLarge`.
    /// - Complexity: O(n), and O(m log m) for objects of m members that are not in key order.
    package mutating func transcode(
        _ json: UnsafeRawBufferPointer, names: FieldNames, body: inout ByteBuffer, id: inout ByteBuffer
    ) throws(DocDBError) {
        try prepare(json, &body)
        do throws(JSONFailure) {
            skipSpace()
            guard position < end, position.load(as: UInt8.self) == UInt8(ascii: "{") else { throw JSONFailure.noObject }
            try object(.passUnretained(names), depth: 0, isDocument: true)
            try expectEnd()
        } catch {
            throw self.error(error)
        }
        guard output - outputStart <= Limits.documentByteCount else { throw DocDBError.documentTooLarge }
        body.setCount(body.count + (output - outputStart))
        id.append(identity.bytes)
    }

    /// Appends any one JSON value.
    ///
    /// - Parameter names: the names to intern keys in; nil gives text keys only.
    /// - Throws: as `transcode`.
    package mutating func transcodeValue(
        _ json: UnsafeRawBufferPointer, names: FieldNames?, to buffer: inout ByteBuffer
    ) throws(DocDBError) {
        try prepare(json, &buffer)
        do throws(JSONFailure) {
            skipSpace()
            try value(names.map(Unmanaged.passUnretained), depth: 0)
            try expectEnd()
        } catch {
            throw self.error(error)
        }
        buffer.setCount(buffer.count + (output - outputStart))
    }

    private mutating func prepare(_ json: UnsafeRawBufferPointer, _ buffer: inout ByteBuffer) throws(DocDBError) {
        guard json.count <= Limits.jsonDocumentByteCount else {
            throw DocDBError(
                .documentTooLarge,
                "the JSON text is longer than \(Limits.jsonDocumentByteCount) bytes; split it into several documents")
        }
        // The worst case is an array of short fractions: nine bytes for `,1.1`; copies write up to seven bytes too many.
        buffer.reserve(3 * json.count + 64)
        outputStart = buffer.start + buffer.count
        output = outputStart
        start = json.baseAddress ?? UnsafeRawPointer(outputStart)
        position = start
        end = start + json.count
        order.truncate(to: 0)
        identity.removeAll()
        lastKeyNumber = -1
    }

    private mutating func expectEnd() throws(JSONFailure) {
        skipSpace()
        guard position == end else { throw .trailingText }
    }

    private func error(_ failure: JSONFailure) -> DocDBError {
        failure.error(in: UnsafeRawBufferPointer(start: start, count: end - start), at: position - start)
    }
}

extension JSONTranscoder {
    /// The store's field names, which the caller keeps alive: counting references to them took a third of the time.
    private typealias Names = Unmanaged<FieldNames>

    @inline(__always)
    mutating func skipSpace() {
        while position < end {
            let byte = position.load(as: UInt8.self)
            if byte > 0x20 { return }
            guard byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09 else { return }
            position += 1
        }
    }

    @inline(__always)
    private mutating func put(_ byte: UInt8) {
        output.storeBytes(of: byte, as: UInt8.self)
        output += 1
    }

    @inline(__always)
    mutating func putHead(major: UInt8, _ argument: UInt64) {
        CBOR.storeHead(at: output, major: major, argument)
        output += argument < 24 ? 1 : CBOR.headByteCount(argument)
    }

    private mutating func value(_ names: Names?, depth: Int) throws(JSONFailure) {
        guard position < end else { throw .noValue }
        switch position.load(as: UInt8.self) {
        case UInt8(ascii: "\""): putText(try string())
        case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"): try number()
        case UInt8(ascii: "{"): try object(names, depth: depth, isDocument: false)
        case UInt8(ascii: "["): try array(names, depth: depth)
        case UInt8(ascii: "t"): try literal("true", CBOR.trueByte)
        case UInt8(ascii: "f"): try literal("false", CBOR.falseByte)
        case UInt8(ascii: "n"): try literal("null", CBOR.nullByte)
        default: throw .noValue
        }
    }

    private mutating func literal(_ text: StaticString, _ encoded: UInt8) throws(JSONFailure) {
        for index in 0..<text.utf8CodeUnitCount {
            guard position + index < end, position.load(fromByteOffset: index, as: UInt8.self) == text.utf8Start[index]
            else { throw .noValue }
        }
        position += text.utf8CodeUnitCount
        put(encoded)
    }

    private mutating func array(_ names: Names?, depth: Int) throws(JSONFailure) {
        guard depth < Limits.nestingDepth else { throw .tooDeep }
        position += 1
        let head = output
        output += 1
        skipSpace()
        if position < end, position.load(as: UInt8.self) == UInt8(ascii: "]") {
            position += 1
            head.storeBytes(of: CBOR.emptyArrayByte, as: UInt8.self)
            return
        }
        var count = 0
        while true {
            try value(names, depth: depth + 1)
            count += 1
            skipSpace()
            guard position < end else { throw .noCommaOrBracket }
            let byte = position.load(as: UInt8.self)
            guard byte == UInt8(ascii: ",") || byte == UInt8(ascii: "]") else { throw .noCommaOrBracket }
            position += 1
            if byte == UInt8(ascii: "]") { break }
            skipSpace()
        }
        fillHead(head, major: CBOR.Major.array, count)
    }

    /// Writes a head of which one byte was reserved, moving what follows it where it needs more.
    @inline(__always)
    private mutating func fillHead(_ head: UnsafeMutableRawPointer, major: UInt8, _ count: Int) {
        if count >= 24 {
            let gap = CBOR.headByteCount(UInt64(count)) - 1
            (head + 1 + gap).copyMemory(from: head + 1, byteCount: output - head - 1)
            output += gap
        }
        CBOR.storeHead(at: head, major: major, UInt64(count))
    }

    /// Reads an object; the position is at its brace.
    private mutating func object(
        _ names: Names?, depth: Int, isDocument: Bool
    ) throws(JSONFailure) {
        guard depth < Limits.nestingDepth else { throw .tooDeep }
        position += 1
        let head = output
        output += 1
        skipSpace()
        if position < end, position.load(as: UInt8.self) == UInt8(ascii: "}") {
            position += 1
            head.storeBytes(of: CBOR.emptyMapByte, as: UInt8.self)
            return
        }
        let first = order.count
        var keys = KeyOrder()
        while true {
            guard position < end, position.load(as: UInt8.self) == UInt8(ascii: "\"") else { throw .noName }
            let name = try string()
            skipSpace()
            guard position < end, position.load(as: UInt8.self) == UInt8(ascii: ":") else { throw .noColon }
            position += 1
            skipSpace()
            if isDocument, name.count == 3, Self.isIdentity(name) {
                try readIdentity(depth: depth + 1)
            } else {
                order.push(output - outputStart)
                putKey(name, names, &keys)
                try value(names, depth: depth + 1)
            }
            skipSpace()
            guard position < end else { throw .noCommaOrBrace }
            let byte = position.load(as: UInt8.self)
            guard byte == UInt8(ascii: ",") || byte == UInt8(ascii: "}") else { throw .noCommaOrBrace }
            position += 1
            if byte == UInt8(ascii: "}") { break }
            skipSpace()
        }
        if !keys.areAscending {
            let isSorted = order.sort(from: first, base: outputStart, end: output - outputStart)
            if !isSorted { position -= 1; throw .duplicateName }
        }
        let count = order.count - first
        order.truncate(to: first)
        fillHead(head, major: CBOR.Major.map, count)
    }

    /// Whether the keys of one object came in ascending order so far, which excludes equal ones.
    private struct KeyOrder {
        var areAscending = true
        var lastNumber = -1
        /// The last key where it was text: where it begins in the output, and its bytes.
        var lastText = UnsafeRawBufferPointer(start: nil, count: 0)
    }

    @inline(__always)
    private mutating func putKey(
        _ name: UnsafeRawBufferPointer, _ names: Names?, _ keys: inout KeyOrder
    ) {
        var number = lastKeyNumber + 1
        if let names {
            number = names._withUnsafeGuaranteedRef { $0.matches(number, name) ? number : $0.intern(name) ?? -1 }
        } else {
            number = -1
        }
        guard number >= 0 else { return putTextKey(name, &keys) }
        lastKeyNumber = number
        if number <= keys.lastNumber || keys.lastText.baseAddress != nil { keys.areAscending = false }
        keys.lastNumber = number
        putHead(major: CBOR.Major.unsigned, UInt64(number))
    }

    private mutating func putTextKey(_ name: UnsafeRawBufferPointer, _ keys: inout KeyOrder) {
        let key = output
        putText(name)
        let text = UnsafeRawBufferPointer(start: key, count: output - key)
        if keys.lastText.baseAddress != nil, CBOR.compare(keys.lastText, text) >= 0 { keys.areAscending = false }
        keys.lastText = text
    }

    @inline(__always)
    private static func isIdentity(_ name: UnsafeRawBufferPointer) -> Bool {
        name[0] == UInt8(ascii: "_") && name[1] == UInt8(ascii: "i") && name[2] == UInt8(ascii: "d")
    }

    /// Reads the value of the document's `_id`, with text keys, into `identity`.
    private mutating func readIdentity(depth: Int) throws(JSONFailure) {
        guard identity.count == 0 else { throw .duplicateName }
        let from = output
        let textStart = position
        try value(nil, depth: depth)
        let count = output - from
        let first = from.load(as: UInt8.self)
        output = from
        guard count <= Limits.documentIDByteCount else { position = textStart; throw .identityTooLong }
        guard first != CBOR.nullByte, first < CBOR.halfByte else { position = textStart; throw .unsuitableIdentity }
        identity.append(from, count: count)
    }
}
