/// An encoding of values whose bytewise order is the total order of values, exact across integers and floats.
///
/// Encodings delimit themselves, so that composites are concatenations; a descending component has all its bytes
/// inverted. Two values have one encoding where they are equal in that order: `1` and `1.0`. The byte table is
/// `Schemas/order-encoding.md`.
package enum OrderEncoding {
    /// The first byte of each kind, in order; all lie between the end mark 0x01 and the escape 0xFF, also inverted.
    enum Tag {
        static let missing: UInt8 = 0x10
        static let null: UInt8 = 0x20
        static let `false`: UInt8 = 0x30
        static let `true`: UInt8 = 0x31
        static let number: UInt8 = 0x40
        static let string: UInt8 = 0x50
        static let bytes: UInt8 = 0x60
        static let array: UInt8 = 0x70
        static let object: UInt8 = 0x80
    }

    static let endMark: UInt8 = 0x01
    static let escape: UInt8 = 0xFF

    /// Integers and floats of at least this magnitude need a second part, as doubles skip integers there.
    static let residualThreshold = 0x1p53
    static let residualBias = 0x8000

    /// Appends the encoding of a field that is not there.
    package static func appendMissing(descending: Bool, to buffer: inout ByteBuffer) {
        buffer.append(descending ? ~Tag.missing : Tag.missing)
    }

    /// Appends the encoding of the CBOR value at the cursor, and moves past it.
    ///
    /// Nothing is allocated for values other than objects.
    ///
    /// - Throws: where the bytes are no value; the buffer is then as before.
    package static func append(
        cborValue cursor: inout ByteCursor, names: FieldNames?, descending: Bool, to buffer: inout ByteBuffer
    ) throws(CBORError) {
        let start = buffer.count
        do {
            try append(&cursor, names, depth: 0, isOutermost: true, descending, to: &buffer)
        } catch {
            buffer.truncate(to: start)
            throw error
        }
        if descending { invert(from: start, in: &buffer) }
    }

    /// Appends the encoding of a value.
    ///
    /// - Throws: `invalidValue` for NaN and infinities, `documentTooDeep`.
    package static func append(_ value: Value, descending: Bool, to buffer: inout ByteBuffer) throws(DocDBError) {
        var encoded = ByteBuffer()
        try value.appendCBOR(names: nil, to: &encoded)
        var cursor = ByteCursor(encoded.bytes)
        do {
            try append(cborValue: &cursor, names: nil, descending: descending, to: &buffer)
        } catch {
            throw DocDBError(.invalidValue, "the value could not be encoded for an index; please report this")
        }
    }

    private static func invert(from start: Int, in buffer: inout ByteBuffer) {
        for offset in start..<buffer.count {
            let place = buffer.start + offset
            place.storeBytes(of: ~place.load(as: UInt8.self), as: UInt8.self)
        }
    }

    private static func append(
        _ cursor: inout ByteCursor, _ names: FieldNames?, depth: Int, isOutermost: Bool, _ descending: Bool,
        to buffer: inout ByteBuffer
    ) throws(CBORError) {
        switch try cursor.readCBORItem() {
        case .null: buffer.append(Tag.null)
        case .bool(let value): buffer.append(value ? Tag.true : Tag.false)
        case .int(let value): append(value, to: &buffer)
        case .float(let value):
            guard value.isFinite else { throw .malformed }
            append(value, to: &buffer)
        case .text(let text):
            append(text, tag: Tag.string, isOutermost && descending, to: &buffer)
        case .bytes(let bytes):
            append(bytes, tag: Tag.bytes, isOutermost && descending, to: &buffer)
        case .array(let count):
            guard depth < Limits.nestingDepth else { throw .tooDeep }
            buffer.append(Tag.array)
            for _ in 0..<count {
                try append(&cursor, names, depth: depth + 1, isOutermost: false, descending, to: &buffer)
            }
            buffer.append(endMark)
        case .map(let count):
            guard depth < Limits.nestingDepth else { throw .tooDeep }
            try append(members: count, &cursor, names, depth: depth, descending, to: &buffer)
        }
    }

    private static func append(
        members count: Int, _ cursor: inout ByteCursor, _ names: FieldNames?, depth: Int, _ descending: Bool,
        to buffer: inout ByteBuffer
    ) throws(CBORError) {
        var members: [(name: UnsafeRawBufferPointer, value: UnsafeRawBufferPointer)] = []
        for _ in 0..<count {
            members.append((try cursor.readCBORKey(names: names), try cursor.readCBORSlice()))
        }
        members.sort { CBOR.compare($0.name, $1.name) < 0 }
        buffer.append(Tag.object)
        for member in members {
            append(member.name, tag: Tag.string, false, to: &buffer)
            var value = ByteCursor(member.value)
            try append(&value, names, depth: depth + 1, isOutermost: false, descending, to: &buffer)
        }
        buffer.append(endMark)
    }

    private static func append(_ value: Int64, to buffer: inout ByteBuffer) {
        let nearest = Double(value)
        guard nearest.magnitude >= residualThreshold else { return append(nearest, to: &buffer) }
        // The nearest double of the largest integers is 2^63, which is no Int64: the difference wraps around.
        let rounded = nearest == 0x1p63 ? Int64.min : Int64(nearest)
        append(nearest, residual: Int(value &- rounded), to: &buffer)
    }

    private static func append(_ value: Double, to buffer: inout ByteBuffer) {
        append(value, residual: 0, to: &buffer)
    }

    private static func append(_ value: Double, residual: Int, to buffer: inout ByteBuffer) {
        let bits = value == 0 ? 0 : value.bitPattern
        buffer.append(Tag.number)
        buffer.appendBigEndian(bits >> 63 == 0 ? bits | 1 << 63 : ~bits)
        if value.magnitude >= residualThreshold {
            buffer.appendBigEndian(UInt16(truncatingIfNeeded: residual + residualBias))
        }
    }

    /// Appends text or bytes: each zero as 00 FF, and a zero at the end, two of them where `hasLongEnd`.
    ///
    /// One zero is less than an escaped one by what follows it. At the end of a descending key nothing may follow, and
    /// a key that is the beginning of another would come first where it is to come last: hence the second zero there.
    private static func append(
        _ content: UnsafeRawBufferPointer, tag: UInt8, _ hasLongEnd: Bool, to buffer: inout ByteBuffer
    ) {
        buffer.append(tag)
        var runStart = 0
        for offset in 0..<content.count where content[offset] == 0 {
            buffer.append(UnsafeRawBufferPointer(rebasing: content[runStart...offset]))
            buffer.append(escape)
            runStart = offset + 1
        }
        buffer.append(UnsafeRawBufferPointer(rebasing: content[runStart...]))
        buffer.append(0)
        if hasLongEnd { buffer.append(0) }
    }
}
