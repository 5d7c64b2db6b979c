import DocDBCore

extension ByteBuffer {
    /// Appends a number in big-endian order: the concrete form of what is generic in another module.
    @inline(__always)
    mutating func append(bigEndian value: UInt64) {
        withUnsafeBytes(of: value.bigEndian) { append($0) }
    }
}

/// Document ids on the wire: canonical CBOR, and UUIDs in canonical lower case as 16 bytes behind a mark.
enum WireID {
    /// The mark in documents' contents: the "break" of CBOR, which begins no value.
    static let contentMark: UInt8 = 0xFF
    /// The mark in messages: tag 37 of CBOR, a UUID as bytes.
    static let messageMark: [UInt8] = [0xD8, 0x25]
    /// The head of a string of 36 bytes.
    private static let uuidHead: (UInt8, UInt8) = (0x78, 36)

    /// The 16 bytes of the UUID that an id is, where it is one as text in lower case.
    static func uuid(_ id: UnsafeRawBufferPointer) -> (UInt64, UInt64)? {
        guard id.count == 38, let start = id.baseAddress else { return nil }
        func has(_ byte: UInt8, _ offset: Int) -> Bool { start.load(fromByteOffset: offset, as: UInt8.self) == byte }
        let dash = UInt8(ascii: "-")
        guard has(uuidHead.0, 0), has(uuidHead.1, 1), has(dash, 10), has(dash, 15), has(dash, 20), has(dash, 25) else {
            return nil
        }
        var isValid = true
        func digits(_ offset: Int, _ count: Int) -> UInt64 {
            var result: UInt64 = 0
            for index in offset..<offset + count {
                let byte = start.load(fromByteOffset: index, as: UInt8.self)
                let digit = byte &- UInt8(ascii: "0")
                let letter = byte &- UInt8(ascii: "a")
                if digit > 9, letter > 5 { isValid = false }
                result = result << 4 | UInt64(digit <= 9 ? digit : letter &+ 10) & 15
            }
            return result
        }
        let high = digits(2, 8) << 32 | digits(11, 4) << 16 | digits(16, 4)
        let low = digits(21, 4) << 48 | digits(26, 12)
        return isValid ? (high, low) : nil
    }

    /// The id that is the text of a UUID.
    static func id(ofUUID halves: (UInt64, UInt64)) -> [UInt8] {
        [UInt8](unsafeUninitializedCapacity: 38) { output, count in
            output[0] = uuidHead.0
            output[1] = uuidHead.1
            var position = 2
            for digit in 0..<32 {
                if digit == 8 || digit == 12 || digit == 16 || digit == 20 {
                    output[position] = UInt8(ascii: "-")
                    position += 1
                }
                let half = digit < 16 ? halves.0 : halves.1
                let nibble = UInt8(truncatingIfNeeded: half >> UInt64(60 - digit % 16 * 4)) & 15
                output[position] = nibble < 10 ? UInt8(ascii: "0") + nibble : UInt8(ascii: "a") + nibble - 10
                position += 1
            }
            count = 38
        }
    }

    /// Appends an id as documents' contents have it: UUIDs as 16 bytes.
    static func append(_ id: UnsafeRawBufferPointer, to output: inout ByteBuffer) {
        guard let uuid = uuid(id) else { return output.append(id) }
        output.append(contentMark)
        output.append(bigEndian: uuid.0)
        output.append(bigEndian: uuid.1)
    }

    /// Reads an id as documents' contents have it.
    static func readMarked(_ cursor: inout WireCursor) throws(CBORError) -> [UInt8] {
        guard !cursor.isAtEnd else { throw .truncated }
        guard cursor.position.load(as: UInt8.self) == contentMark else { return [UInt8](try read(&cursor)) }
        _ = try cursor.readByte()
        let high = try cursor.readUInt64()
        return id(ofUUID: (high, try cursor.readUInt64()))
    }

    /// Reads one whole id in canonical CBOR, which is checked.
    static func read(_ cursor: inout WireCursor) throws(CBORError) -> UnsafeRawBufferPointer {
        let start = cursor.position
        var probe = cursor
        let (major, argument) = try probe.readStrictHead()
        switch major {
        case Major.text:
            guard UTF8Validation.isValid(try probe.read(argument: argument)) else { throw .malformed }
            cursor = probe
        case Major.unsigned, Major.negative:
            guard argument <= UInt64(Int64.max) else { throw .malformed }
            cursor = probe
        default:
            let slice = try cursor.readCBORSlice()
            guard slice[0] != CBOR.nullByte, slice[0] < CBOR.halfByte else { throw .malformed }
            guard slice.count <= Limits.documentIDByteCount else { throw .malformed }
            try CBOR.validate(slice, internedKeyCount: 0)
        }
        let id = UnsafeRawBufferPointer(start: start, count: cursor.position - start)
        guard id.count <= Limits.documentIDByteCount else { throw .malformed }
        return id
    }
}

/// Checks of names that come from peers.
enum WireName {
    static func isCollection(_ name: String) -> Bool {
        var name = name
        return name.withUTF8 { isCollection(UnsafeRawBufferPointer($0)) }
    }

    /// Tells whether bytes can name a collection.
    static func isCollection(_ name: UnsafeRawBufferPointer) -> Bool {
        guard name.count > 0, name.count <= Limits.collectionNameByteCount, UTF8Validation.isValid(name) else {
            return false
        }
        if name.count >= 2, name[0] == UInt8(ascii: "_"), name[1] == UInt8(ascii: "_") { return false }
        return !name.contains(0)
    }
}
