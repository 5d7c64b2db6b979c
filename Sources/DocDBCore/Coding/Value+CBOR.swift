extension Value {
    /// Appends the body of a document with these members, but for `_id`: deterministic CBOR with interned keys.
    ///
    /// - Parameters:
    ///   - names: the store's field names; nil gives text keys only.
    ///   - interning: whether new names are added to `names`, or only looked up.
    /// - Throws: `invalidValue` for NaN and infinities, `documentTooDeep`, `documentTooLarge`; the buffer is then as before.
    package static func appendBody(
        of members: [String: Value], names: FieldNames?, interning: Bool = true, to buffer: inout ByteBuffer
    ) throws(DocDBError) {
        let start = buffer.count
        var encoder = ValueEncoder(names: names, interning: interning)
        do throws(DocDBError) {
            try encoder.append(members: members, isDocument: true, depth: 0, to: &buffer)
            guard buffer.count - start <= Limits.documentByteCount else { throw DocDBError.documentTooLarge }
        } catch {
            buffer.truncate(to: start)
            throw error
        }
    }

    /// Appends a document in two parts: its body, and the canonical CBOR of its `_id`, which may be absent.
    ///
    /// - Throws: `invalidValue` where the value is no object, `invalidDocumentID`, and what `appendBody` throws.
    package func appendDocument(
        names: FieldNames?, body: inout ByteBuffer, id: inout ByteBuffer
    ) throws(DocDBError) {
        guard case .object(let members) = self else {
            throw DocDBError(.invalidValue, "a document is an object; wrap other values in one")
        }
        let identity: DocumentID? = if let value = members["_id"] { try DocumentID(value) } else { nil }
        try Value.appendBody(of: members, names: names, to: &body)
        identity?.appendCBOR(to: &id)
    }

    /// Appends this value as deterministic CBOR.
    ///
    /// - Parameters:
    ///   - names: the store's field names; nil gives text keys only, the canonical form.
    ///   - interning: whether new names are added to `names`, or only looked up.
    ///   - depth: how many arrays and objects the value stands within.
    /// - Throws: `invalidValue` for NaN and infinities, `documentTooDeep`; the buffer is then as before.
    package func appendCBOR(
        names: FieldNames?, interning: Bool = true, depth: Int = 0, to buffer: inout ByteBuffer
    ) throws(DocDBError) {
        let start = buffer.count
        var encoder = ValueEncoder(names: names, interning: interning)
        do throws(DocDBError) {
            try encoder.append(self, depth: depth, to: &buffer)
        } catch {
            buffer.truncate(to: start)
            throw error
        }
    }

    /// The canonical CBOR of this value, its keys as text.
    package func canonicalCBOR() throws(DocDBError) -> [UInt8] {
        var buffer = ByteBuffer()
        try appendCBOR(names: nil, to: &buffer)
        return buffer.array
    }
}

/// Encodes values, keeping scratch memory over nested maps.
private struct ValueEncoder: ~Copyable {
    let names: FieldNames?
    let interning: Bool
    var order = MemberOrder()

    init(names: FieldNames?, interning: Bool) {
        self.names = names
        self.interning = interning
    }

    mutating func append(_ value: Value, depth: Int, to buffer: inout ByteBuffer) throws(DocDBError) {
        switch value {
        case .null: buffer.appendCBORNull()
        case .bool(let value): buffer.appendCBOR(value)
        case .int(let value): buffer.appendCBOR(value)
        case .float(let value):
            guard value.isFinite else { throw DocDBError.notFinite }
            buffer.appendCBOR(value)
        case .string(let value): buffer.appendCBOR(value)
        case .bytes(let value): buffer.appendCBOR(bytes: value)
        case .array(let elements):
            guard depth < Limits.nestingDepth else { throw DocDBError.documentTooDeep }
            buffer.appendCBORHead(major: CBOR.Major.array, UInt64(elements.count))
            for element in elements { try append(element, depth: depth + 1, to: &buffer) }
        case .object(let members):
            try append(members: members, isDocument: false, depth: depth, to: &buffer)
        }
    }

    mutating func append(
        members: [String: Value], isDocument: Bool, depth: Int, to buffer: inout ByteBuffer
    ) throws(DocDBError) {
        guard depth < Limits.nestingDepth else { throw DocDBError.documentTooDeep }
        let head = buffer.count
        buffer.append(0)
        let first = order.count
        // Names are interned in the order of their bytes, so that their numbers do not depend on a dictionary's order.
        let sorted = members.sorted { $0.key.utf8.lexicographicallyPrecedes($1.key.utf8) }
        for member in sorted where !isDocument || member.key != "_id" {
            order.push(buffer.count)
            var name = member.key
            name.withUTF8 { buffer.appendCBORKey(UnsafeRawBufferPointer($0), names: names, interning: interning) }
            try append(member.value, depth: depth + 1, to: &buffer)
        }
        let isSorted = order.sort(from: first, base: buffer.start, end: buffer.count)
        assert(isSorted, "names of a dictionary are distinct")
        let count = order.count - first
        order.truncate(to: first)
        buffer.fillReservedHead(at: head, major: CBOR.Major.map, count: count)
    }
}

extension Value {
    /// Reads one value.
    ///
    /// Names that differ only in Unicode normalisation are one key of a Swift dictionary: of such members the last counts.
    ///
    /// - Parameter names: the names that interned keys stand for; nil where there are only text keys.
    package static func decode(_ cursor: inout ByteCursor, names: FieldNames?) throws(CBORError) -> Value {
        try decode(&cursor, names: names, depth: 0)
    }

    /// Reads one value that fills `bytes`.
    package static func decode(_ bytes: UnsafeRawBufferPointer, names: FieldNames?) throws(CBORError) -> Value {
        var cursor = ByteCursor(bytes)
        let value = try decode(&cursor, names: names)
        guard cursor.isAtEnd else { throw .malformed }
        return value
    }

    /// A document as one object with its `_id`.
    package static func document(
        body: UnsafeRawBufferPointer, id: UnsafeRawBufferPointer, names: FieldNames?
    ) throws(CBORError) -> Value {
        guard case .object(var members) = try decode(body, names: names) else { throw .malformed }
        members["_id"] = try decode(id, names: nil)
        return .object(members)
    }

    private static func decode(
        _ cursor: inout ByteCursor, names: FieldNames?, depth: Int
    ) throws(CBORError) -> Value {
        switch try cursor.readCBORItem() {
        case .null: return .null
        case .bool(let value): return .bool(value)
        case .int(let value): return .int(value)
        case .float(let value):
            guard value.isFinite else { throw .malformed }
            return .float(value)
        case .text(let text): return .string(try string(text))
        case .bytes(let bytes): return .bytes([UInt8](bytes))
        case .array(let count):
            guard depth < Limits.nestingDepth else { throw .tooDeep }
            var elements: [Value] = []
            elements.reserveCapacity(min(count, 1024))
            for _ in 0..<count { elements.append(try decode(&cursor, names: names, depth: depth + 1)) }
            return .array(elements)
        case .map(let count):
            guard depth < Limits.nestingDepth else { throw .tooDeep }
            var members: [String: Value] = [:]
            members.reserveCapacity(min(count, 1024))
            for _ in 0..<count {
                let name = try string(try cursor.readCBORKey(names: names))
                members[name] = try decode(&cursor, names: names, depth: depth + 1)
            }
            return .object(members)
        }
    }

    private static func string(_ text: UnsafeRawBufferPointer) throws(CBORError) -> String {
        guard UTF8Validation.isValid(text) else { throw .malformed }
        return String(decoding: text, as: UTF8.self)
    }
}

extension ByteCursor {
    /// Reads a map key and returns its name's UTF-8 bytes, which stay valid as long as the cursor's bytes and `names`.
    @inline(__always)
    package mutating func readCBORKey(names: FieldNames?) throws(CBORError) -> UnsafeRawBufferPointer {
        let (major, _, argument) = try readCBORHead()
        switch major {
        case CBOR.Major.unsigned:
            guard argument < UInt64(Limits.internedFieldNameCount), let name = names?.name(Int(argument)) else {
                throw .malformed
            }
            return name
        case CBOR.Major.text:
            guard argument <= UInt64(remaining) else { throw .truncated }
            return try read(count: Int(argument))
        default: throw .malformed
        }
    }
}

extension DocDBError {
    package static var documentTooLarge: DocDBError {
        DocDBError(
            .documentTooLarge,
            "the document is larger than \(Limits.documentByteCount) bytes encoded; split it into several documents")
    }

    package static var documentTooDeep: DocDBError {
        DocDBError(
            .documentTooDeep,
            "the document is nested deeper than \(Limits.nestingDepth) levels; flatten it or keep the deep part as a string"
        )
    }

    static var notFinite: DocDBError {
        DocDBError(.invalidValue, "NaN and infinities cannot be stored; leave the field out, or write null or a string")
    }
}
