import DocDBCore

// Concrete forms of what is generic in another module, where it would not be specialised.
extension ByteBuffer {
    @inline(__always)
    mutating func append(bigEndian value: UInt64) {
        withUnsafeBytes(of: value.bigEndian) { append($0) }
    }
}

extension ByteCursor {
    @inline(__always)
    mutating func readUInt64() throws(CBORError) -> UInt64 {
        UInt64(bigEndian: try read(count: 8).loadUnaligned(as: UInt64.self))
    }

    @inline(__always)
    mutating func readUInt32() throws(CBORError) -> UInt32 {
        UInt32(bigEndian: try read(count: 4).loadUnaligned(as: UInt32.self))
    }

    @inline(__always)
    mutating func readUInt16() throws(CBORError) -> UInt16 {
        UInt16(bigEndian: try read(count: 2).loadUnaligned(as: UInt16.self))
    }
}

extension ByteCursor {
    /// Reads the head of a value that is no simple one, which must be in its shortest form.
    @inline(__always)
    mutating func readStrictHead() throws(CBORError) -> (major: UInt8, argument: UInt64) {
        let byte = try readByte()
        let additional = byte & 0x1F
        if additional < 24 { return (byte >> 5, UInt64(additional)) }
        return (byte >> 5, try readStrictArgument(additional))
    }

    @inline(never)
    private mutating func readStrictArgument(_ additional: UInt8) throws(CBORError) -> UInt64 {
        let argument: UInt64
        let least: UInt64
        switch additional {
        case 24: (argument, least) = (UInt64(try readByte()), 24)
        case 25: (argument, least) = (UInt64(try readUInt16()), 0x100)
        case 26: (argument, least) = (UInt64(try readUInt32()), 0x1_0000)
        case 27: (argument, least) = (try readUInt64(), 0x1_0000_0000)
        default: throw .malformed
        }
        guard argument >= least else { throw .notCanonical }
        return argument
    }

    /// Reads as many bytes as a head's argument says.
    @inline(__always)
    mutating func read(argument: UInt64) throws(CBORError) -> UnsafeRawBufferPointer {
        guard argument <= UInt64(remaining) else { throw .truncated }
        return try read(count: Int(argument))
    }

    /// Reads the bytes of a simple value behind its first byte: a truth value, null, or a finite float in its shortest form.
    mutating func readStrictSimple(first: UInt8) throws(CBORError) {
        let value: Double
        switch first {
        case CBOR.falseByte, CBOR.trueByte, CBOR.nullByte: return
        case CBOR.halfByte: value = HalfFloat.value(try readUInt16())
        case CBOR.singleByte: value = Double(Float(bitPattern: try readUInt32()))
        case CBOR.doubleByte: value = Double(bitPattern: try readUInt64())
        default: throw .malformed
        }
        guard value.isFinite else { throw .malformed }
        let single = Float(value)
        let isSingle = Double(single).bitPattern == value.bitPattern
        let shortest =
            !isSingle
            ? CBOR.doubleByte : HalfFloat.bits(exactly: single) == nil ? CBOR.singleByte : CBOR.halfByte
        guard first == shortest else { throw .notCanonical }
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
        guard id.count == 38, id[0] == uuidHead.0, id[1] == uuidHead.1 else { return nil }
        var halves: (UInt64, UInt64) = (0, 0)
        var digit = 0
        for index in 2..<38 {
            let byte = id[index]
            if index == 10 || index == 15 || index == 20 || index == 25 {
                guard byte == UInt8(ascii: "-") else { return nil }
                continue
            }
            let nibble: UInt8
            switch byte {
            case UInt8(ascii: "0")...UInt8(ascii: "9"): nibble = byte - UInt8(ascii: "0")
            case UInt8(ascii: "a")...UInt8(ascii: "f"): nibble = byte - UInt8(ascii: "a") + 10
            default: return nil
            }
            if digit < 16 {
                halves.0 = halves.0 << 4 | UInt64(nibble)
            } else {
                halves.1 = halves.1 << 4 | UInt64(nibble)
            }
            digit += 1
        }
        return halves
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
    static func readMarked(_ cursor: inout ByteCursor) throws(CBORError) -> [UInt8] {
        guard !cursor.isAtEnd else { throw .truncated }
        guard cursor.position.load(as: UInt8.self) == contentMark else { return [UInt8](try read(&cursor)) }
        _ = try cursor.readByte()
        let high = try cursor.readUInt64()
        return id(ofUUID: (high, try cursor.readUInt64()))
    }

    /// Reads one whole id in canonical CBOR, which is checked.
    static func read(_ cursor: inout ByteCursor) throws(CBORError) -> UnsafeRawBufferPointer {
        let start = cursor.position
        var probe = cursor
        let (major, argument) = try probe.readStrictHead()
        switch major {
        case CBOR.Major.text:
            guard UTF8Validation.isValid(try probe.read(argument: argument)) else { throw .malformed }
            cursor = probe
        case CBOR.Major.unsigned, CBOR.Major.negative:
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
