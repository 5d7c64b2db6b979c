import DocDBCore

/// A reader over bytes from a peer that checks every bound and never traps.
///
/// What `ByteCursor` is to other modules, in this one: calls into another module are not inlined, and these are many for
/// each document (reading one took 1.4 times as long).
struct WireCursor {
    private(set) var position: UnsafeRawPointer
    let end: UnsafeRawPointer

    /// Creates a cursor over `bytes`, which must outlive it.
    @inline(__always)
    init(_ bytes: UnsafeRawBufferPointer) {
        position = bytes.baseAddress ?? UnsafeRawPointer(bitPattern: 1)!
        end = position + bytes.count
    }

    @inline(__always) var remaining: Int { end - position }
    @inline(__always) var isAtEnd: Bool { position == end }

    /// The next byte, which stays the next one; zero at the end.
    @inline(__always) var next: UInt8 { position < end ? position.load(as: UInt8.self) : 0 }

    @inline(__always)
    mutating func readByte() throws(CBORError) -> UInt8 {
        guard position < end else { throw .truncated }
        let byte = position.load(as: UInt8.self)
        position += 1
        return byte
    }

    @inline(__always)
    mutating func read(count: Int) throws(CBORError) -> UnsafeRawBufferPointer {
        guard count >= 0, count <= remaining else { throw .truncated }
        defer { position += count }
        return UnsafeRawBufferPointer(start: position, count: count)
    }

    /// Reads as many bytes as a head's argument says.
    @inline(__always)
    mutating func read(argument: UInt64) throws(CBORError) -> UnsafeRawBufferPointer {
        guard argument <= UInt64(remaining) else { throw .truncated }
        return try read(count: Int(argument))
    }

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

    /// Reads an unsigned LEB128 number of at most 64 bits.
    @inline(__always)
    mutating func readVarint() throws(CBORError) -> UInt64 {
        let first = try readByte()
        return first < 0x80 ? UInt64(first) : try readLongVarint(first)
    }

    private mutating func readLongVarint(_ first: UInt8) throws(CBORError) -> UInt64 {
        var result = UInt64(first & 0x7F)
        var shift: UInt64 = 7
        while true {
            let byte = try readByte()
            if shift == 63, byte > 1 { throw .malformed }
            result |= UInt64(byte & 0x7F) << shift
            if byte < 0x80 { return result }
            shift += 7
            if shift > 63 { throw .malformed }
        }
    }

    /// Reads a number that counts or measures things: at most `limit`.
    mutating func readCount(atMost limit: Int) throws(CBORError) -> Int {
        let value = try readVarint()
        guard limit >= 0, value <= UInt64(limit) else { throw .malformed }
        return Int(value)
    }

    /// Reads a time that stands as its distance from a reference.
    mutating func readTime(from reference: HybridTime) throws(CBORError) -> HybridTime {
        var cursor = ByteCursor(UnsafeRawBufferPointer(start: position, count: remaining))
        let time = try cursor.readTime(from: reference)
        position += remaining - cursor.remaining
        return time
    }

    // MARK: CBOR

    /// Reads the head of a value that is no simple one, which must be in its shortest form.
    @inline(__always)
    mutating func readStrictHead() throws(CBORError) -> (major: UInt8, argument: UInt64) {
        let byte = try readByte()
        let additional = byte & 0x1F
        if additional < 24 { return (byte >> 5, UInt64(additional)) }
        return (byte >> 5, try readLongArgument(additional, isStrict: true))
    }

    /// Reads the head of a value, in whatever form.
    @inline(__always)
    mutating func readHead() throws(CBORError) -> (major: UInt8, argument: UInt64) {
        let byte = try readByte()
        let additional = byte & 0x1F
        if additional < 24 { return (byte >> 5, UInt64(additional)) }
        return (byte >> 5, try readLongArgument(additional, isStrict: false))
    }

    @inline(never)
    private mutating func readLongArgument(_ additional: UInt8, isStrict: Bool) throws(CBORError) -> UInt64 {
        let argument: UInt64
        let least: UInt64
        switch additional {
        case 24: (argument, least) = (UInt64(try readByte()), 24)
        case 25: (argument, least) = (UInt64(try readUInt16()), 0x100)
        case 26: (argument, least) = (UInt64(try readUInt32()), 0x1_0000)
        case 27: (argument, least) = (try readUInt64(), 0x1_0000_0000)
        default: throw .malformed
        }
        guard !isStrict || argument >= least else { throw .notCanonical }
        return argument
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

    /// Moves past one whole value, however deep, without recursion.
    mutating func skipCBOR() throws(CBORError) {
        var pending = 1
        repeat {
            pending -= 1
            let (major, argument) = try readHead()
            switch major {
            case Major.unsigned, Major.negative, Major.simple: break
            case Major.bytes, Major.text: _ = try read(argument: argument)
            case Major.array:
                guard argument <= UInt64(remaining) else { throw .truncated }
                pending += Int(argument)
            case Major.map:
                guard argument <= UInt64(remaining / 2) else { throw .truncated }
                pending += 2 * Int(argument)
            default: throw .malformed
            }
        } while pending > 0
    }

    /// Moves past one whole value and returns its bytes.
    mutating func readCBORSlice() throws(CBORError) -> UnsafeRawBufferPointer {
        let from = position
        try skipCBOR()
        return UnsafeRawBufferPointer(start: from, count: position - from)
    }
}

/// The major types of CBOR, as constants of this module.
enum Major {
    static let unsigned: UInt8 = 0
    static let negative: UInt8 = 1
    static let bytes: UInt8 = 2
    static let text: UInt8 = 3
    static let array: UInt8 = 4
    static let map: UInt8 = 5
    static let simple: UInt8 = 7
}
