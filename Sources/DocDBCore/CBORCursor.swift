/// One CBOR value met by a cursor: its kind, and what its head says.
package enum CBORItem {
    case null
    case bool(Bool)
    case int(Int64)
    case float(Double)
    /// UTF-8 bytes, within the cursor's bytes.
    case text(UnsafeRawBufferPointer)
    case bytes(UnsafeRawBufferPointer)
    /// The number of elements, which follow.
    case array(Int)
    /// The number of members, whose keys and values follow in turn.
    case map(Int)
}

extension ByteCursor {
    /// Reads the head of a CBOR value: its major type, its additional bits and its argument.
    @inline(__always)
    package mutating func readCBORHead() throws(CBORError) -> (major: UInt8, additional: UInt8, argument: UInt64) {
        let byte = try readByte()
        let additional = byte & 0x1F
        if additional < 24 { return (byte >> 5, additional, UInt64(additional)) }
        return (byte >> 5, additional, try readLongArgument(additional))
    }

    @inline(never)
    private mutating func readLongArgument(_ additional: UInt8) throws(CBORError) -> UInt64 {
        switch additional {
        case 24: UInt64(try readByte())
        case 25: UInt64(try readBigEndian(as: UInt16.self))
        case 26: UInt64(try readBigEndian(as: UInt32.self))
        case 27: try readBigEndian(as: UInt64.self)
        default: throw .malformed
        }
    }

    /// Reads one value; of an array or a map only the head.
    package mutating func readCBORItem() throws(CBORError) -> CBORItem {
        let (major, additional, argument) = try readCBORHead()
        switch major {
        case CBOR.Major.unsigned:
            guard argument <= UInt64(Int64.max) else { throw .malformed }
            return .int(Int64(argument))
        case CBOR.Major.negative:
            guard argument <= UInt64(Int64.max) else { throw .malformed }
            return .int(~Int64(argument))
        case CBOR.Major.bytes, CBOR.Major.text:
            guard argument <= UInt64(remaining) else { throw .truncated }
            let bytes = try read(count: Int(argument))
            return major == CBOR.Major.text ? .text(bytes) : .bytes(bytes)
        case CBOR.Major.array:
            guard argument <= UInt64(remaining) else { throw .truncated }
            return .array(Int(argument))
        case CBOR.Major.map:
            guard argument <= UInt64(remaining / 2) else { throw .truncated }
            return .map(Int(argument))
        case CBOR.Major.simple:
            switch additional {
            case 20: return .bool(false)
            case 21: return .bool(true)
            case 22: return .null
            case 25: return .float(HalfFloat.value(UInt16(argument)))
            case 26: return .float(Double(Float(bitPattern: UInt32(argument))))
            case 27: return .float(Double(bitPattern: argument))
            default: throw .malformed
            }
        default: throw .malformed
        }
    }

    /// Moves past one whole value, however deep, without recursion.
    @inline(__always)
    package mutating func skipCBOR() throws(CBORError) {
        var pending = 1
        repeat {
            pending -= 1
            let (major, _, argument) = try readCBORHead()
            switch major {
            case CBOR.Major.unsigned, CBOR.Major.negative, CBOR.Major.simple:
                break
            case CBOR.Major.bytes, CBOR.Major.text:
                guard argument <= UInt64(remaining) else { throw .truncated }
                _ = try read(count: Int(argument))
            case CBOR.Major.array:
                guard argument <= UInt64(remaining) else { throw .truncated }
                pending += Int(argument)
            case CBOR.Major.map:
                guard argument <= UInt64(remaining / 2) else { throw .truncated }
                pending += 2 * Int(argument)
            default:
                throw .malformed
            }
        } while pending > 0
    }

    /// Moves past one whole value and returns its bytes.
    @inline(__always)
    package mutating func readCBORSlice() throws(CBORError) -> UnsafeRawBufferPointer {
        let from = position
        try skipCBOR()
        return UnsafeRawBufferPointer(start: from, count: position - from)
    }
}

extension CBOR {
    /// Checks that `bytes` are exactly one value in deterministic form, within the nesting limit.
    ///
    /// For bytes from outside; what the store wrote itself is only read with bounds checked. Interned keys are allowed
    /// where `internedKeyCount` says how many there are.
    package static func validate(_ bytes: UnsafeRawBufferPointer, internedKeyCount: Int) throws(CBORError) {
        var cursor = ByteCursor(bytes)
        try validate(&cursor, internedKeyCount: internedKeyCount, depth: 0)
        guard cursor.isAtEnd else { throw .malformed }
    }

    private static func validate(
        _ cursor: inout ByteCursor, internedKeyCount: Int, depth: Int
    ) throws(CBORError) {
        guard depth <= Limits.nestingDepth else { throw .tooDeep }
        let start = cursor.position
        var probe = cursor
        let (major, additional, argument) = try probe.readCBORHead()
        if major != Major.simple, probe.position - start != headByteCount(argument) { throw .notCanonical }
        switch try cursor.readCBORItem() {
        case .null, .bool, .int, .bytes: break
        case .text(let text):
            guard UTF8Validation.isValid(text) else { throw .malformed }
        case .float(let value):
            guard value.isFinite else { throw .malformed }
            guard additional == shortestFloatAdditional(value) else { throw .notCanonical }
        case .array(let count):
            guard depth < Limits.nestingDepth else { throw .tooDeep }
            for _ in 0..<count {
                try validate(&cursor, internedKeyCount: internedKeyCount, depth: depth + 1)
            }
        case .map(let count):
            guard depth < Limits.nestingDepth else { throw .tooDeep }
            try validateMembers(count, &cursor, internedKeyCount: internedKeyCount, depth: depth)
        }
    }

    private static func validateMembers(
        _ count: Int, _ cursor: inout ByteCursor, internedKeyCount: Int, depth: Int
    ) throws(CBORError) {
        var previous: UnsafeRawBufferPointer?
        for _ in 0..<count {
            let key = try cursor.readCBORSlice()
            var keyCursor = ByteCursor(key)
            let (major, _, argument) = try keyCursor.readCBORHead()
            if keyCursor.position - key.baseAddress! != headByteCount(argument) { throw .notCanonical }
            switch major {
            case Major.unsigned where argument < UInt64(internedKeyCount): break
            case Major.text:
                guard UTF8Validation.isValid(UnsafeRawBufferPointer(rebasing: key[headByteCount(argument)...])) else {
                    throw .malformed
                }
            default: throw .malformed
            }
            if let previous, compare(previous, key) >= 0 { throw .notCanonical }
            previous = key
            try validate(&cursor, internedKeyCount: internedKeyCount, depth: depth + 1)
        }
    }

    private static func shortestFloatAdditional(_ value: Double) -> UInt8 {
        let single = Float(value)
        guard Double(single).bitPattern == value.bitPattern else { return 27 }
        return HalfFloat.bits(exactly: single) == nil ? 26 : 25
    }

    /// Tells whether the bytes at `left` are those of `right`, of which there are as many there.
    @inline(__always)
    static func areEqual(_ left: UnsafeRawPointer, _ right: UnsafeRawBufferPointer) -> Bool {
        let count = right.count
        guard let right = right.baseAddress else { return true }
        @inline(__always) func differ<T: FixedWidthInteger>(_ type: T.Type, _ offset: Int) -> Bool {
            left.loadUnaligned(fromByteOffset: offset, as: T.self)
                != right.loadUnaligned(fromByteOffset: offset, as: T.self)
        }
        // Whole words, the last of which may overlap the one before it.
        if count >= 8 {
            var offset = 0
            while offset + 8 < count {
                if differ(UInt64.self, offset) { return false }
                offset += 8
            }
            return !differ(UInt64.self, count - 8)
        }
        if count >= 4 { return !differ(UInt32.self, 0) && !differ(UInt32.self, count - 4) }
        for offset in 0..<count where differ(UInt8.self, offset) { return false }
        return true
    }

    /// Compares two runs of bytes in bytewise order: negative, zero or positive.
    @inline(__always)
    package static func compare(_ left: UnsafeRawBufferPointer, _ right: UnsafeRawBufferPointer) -> Int {
        let count = min(left.count, right.count)
        var offset = 0
        while offset + 8 <= count {
            let a = UInt64(bigEndian: left.loadUnaligned(fromByteOffset: offset, as: UInt64.self))
            let b = UInt64(bigEndian: right.loadUnaligned(fromByteOffset: offset, as: UInt64.self))
            if a != b { return a < b ? -1 : 1 }
            offset += 8
        }
        while offset < count {
            let a = left[offset]
            let b = right[offset]
            if a != b { return a < b ? -1 : 1 }
            offset += 1
        }
        return left.count - right.count
    }
}

/// UTF-8 validation of bytes in place.
package enum UTF8Validation {
    /// Tells whether `bytes` are well-formed UTF-8 (RFC 3629: no overlong forms, no surrogates).
    package static func isValid(_ bytes: UnsafeRawBufferPointer) -> Bool {
        var offset = 0
        let count = bytes.count
        while offset < count {
            if offset + 8 <= count,
                bytes.loadUnaligned(fromByteOffset: offset, as: UInt64.self) & 0x8080_8080_8080_8080 == 0
            {
                offset += 8
                continue
            }
            let byte = bytes[offset]
            if byte < 0x80 { offset += 1; continue }
            guard let length = sequenceLength(bytes, at: offset) else { return false }
            offset += length
        }
        return true
    }

    /// The length of the well-formed sequence at `offset`, which is within the bytes and not ASCII; nil where there is none.
    static func sequenceLength(_ bytes: UnsafeRawBufferPointer, at offset: Int) -> Int? {
        let first = bytes[offset]
        let length: Int
        var lowest: UInt8 = 0x80
        var highest: UInt8 = 0xBF
        switch first {
        case 0xC2...0xDF: length = 2
        case 0xE0: length = 3; lowest = 0xA0
        case 0xE1...0xEC, 0xEE...0xEF: length = 3
        case 0xED: length = 3; highest = 0x9F
        case 0xF0: length = 4; lowest = 0x90
        case 0xF1...0xF3: length = 4
        case 0xF4: length = 4; highest = 0x8F
        default: return nil
        }
        guard offset + length <= bytes.count else { return nil }
        guard bytes[offset + 1] >= lowest, bytes[offset + 1] <= highest else { return nil }
        for index in 2..<max(length, 2) where bytes[offset + index] & 0xC0 != 0x80 { return nil }
        return length
    }
}
