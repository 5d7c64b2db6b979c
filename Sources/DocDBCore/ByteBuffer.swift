/// A growable run of bytes at a stable address until the next append, for hot paths that must not allocate.
///
/// Reuse one buffer over many documents with `removeAll`: capacity is kept. Only its owner may touch it.
package struct ByteBuffer: ~Copyable {
    package private(set) var start: UnsafeMutableRawPointer
    package private(set) var count: Int
    package private(set) var capacity: Int

    package init(capacity: Int = 256) {
        self.capacity = max(capacity, 16)
        start = UnsafeMutableRawPointer.allocate(byteCount: self.capacity, alignment: 8)
        count = 0
    }

    deinit { start.deallocate() }

    /// The bytes written so far; valid until the next append or reserve.
    package var bytes: UnsafeRawBufferPointer { UnsafeRawBufferPointer(start: start, count: count) }

    /// A copy of the bytes written so far.
    package var array: [UInt8] { [UInt8](bytes) }

    package mutating func removeAll() { count = 0 }

    /// Cuts the buffer back to its first `newCount` bytes.
    package mutating func truncate(to newCount: Int) {
        precondition(newCount >= 0 && newCount <= count, "a buffer can only be cut to fewer bytes")
        count = newCount
    }

    /// Declares that the bytes up to `newCount`, within the capacity, have been written through `start`.
    package mutating func setCount(_ newCount: Int) {
        precondition(newCount >= 0 && newCount <= capacity, "a buffer holds no more than its capacity")
        count = newCount
    }

    /// Makes room for `additional` more bytes.
    @inline(__always)
    package mutating func reserve(_ additional: Int) {
        if capacity - count < additional { grow(additional) }
    }

    @inline(never)
    private mutating func grow(_ additional: Int) {
        let newCapacity = max(capacity * 2, count + additional)
        let newStart = UnsafeMutableRawPointer.allocate(byteCount: newCapacity, alignment: 8)
        newStart.copyMemory(from: start, byteCount: count)
        start.deallocate()
        start = newStart
        capacity = newCapacity
    }

    @inline(__always)
    package mutating func append(_ byte: UInt8) {
        reserve(1)
        start.storeBytes(of: byte, toByteOffset: count, as: UInt8.self)
        count += 1
    }

    @inline(__always)
    package mutating func append(_ source: UnsafeRawPointer, count length: Int) {
        reserve(length)
        (start + count).copyMemory(from: source, byteCount: length)
        count += length
    }

    @inline(__always)
    package mutating func append(_ source: UnsafeRawBufferPointer) {
        if let base = source.baseAddress { append(base, count: source.count) }
    }

    package mutating func append(_ source: [UInt8]) {
        source.withUnsafeBytes { append($0) }
    }

    package mutating func append(utf8 text: String) {
        var text = text
        text.withUTF8 { append(UnsafeRawBufferPointer($0)) }
    }

    /// Appends a number in big-endian order.
    @inline(__always)
    package mutating func appendBigEndian<T: FixedWidthInteger>(_ value: T) {
        reserve(MemoryLayout<T>.size)
        start.storeBytes(of: value.bigEndian, toByteOffset: count, as: T.self)
        count += MemoryLayout<T>.size
    }

    /// Appends what `fill` writes into at most `limit` bytes of room; it returns how many it wrote.
    package mutating func appendUninitialized(_ limit: Int, _ fill: (UnsafeMutableRawBufferPointer) -> Int) -> Int {
        reserve(limit)
        let written = fill(UnsafeMutableRawBufferPointer(start: start + count, count: limit))
        precondition(written >= 0 && written <= limit, "more bytes were written than there was room for")
        count += written
        return written
    }

    /// Appends zero bytes.
    @inline(__always)
    package mutating func appendZeros(_ length: Int) {
        guard length > 0 else { return }
        reserve(length)
        (start + count).initializeMemory(as: UInt8.self, repeating: 0, count: length)
        count += length
    }

    /// Opens a gap of `length` bytes at `offset`, moving what lies behind it; the gap's bytes are unspecified.
    package mutating func insertGap(at offset: Int, count length: Int) {
        reserve(length)
        (start + offset + length).copyMemory(from: start + offset, byteCount: count - offset)
        count += length
    }

    package subscript(offset: Int) -> UInt8 {
        get {
            precondition(offset >= 0 && offset < count, "offset outside the buffer")
            return start.load(fromByteOffset: offset, as: UInt8.self)
        }
        set {
            precondition(offset >= 0 && offset < count, "offset outside the buffer")
            start.storeBytes(of: newValue, toByteOffset: offset, as: UInt8.self)
        }
    }
}

extension ByteBuffer {
    /// Appends an unsigned LEB128 number: seven bits a byte, lowest first.
    @inline(__always)
    package mutating func appendVarint(_ value: UInt64) {
        reserve(10)
        var rest = value
        while rest >= 0x80 {
            start.storeBytes(of: UInt8(truncatingIfNeeded: rest) | 0x80, toByteOffset: count, as: UInt8.self)
            count += 1
            rest >>= 7
        }
        start.storeBytes(of: UInt8(truncatingIfNeeded: rest), toByteOffset: count, as: UInt8.self)
        count += 1
    }
}

/// A reader over bytes from disk or network that checks every bound and never traps.
package struct ByteCursor {
    package private(set) var position: UnsafeRawPointer
    package let end: UnsafeRawPointer

    /// Creates a cursor over `bytes`, which must outlive it.
    @inline(__always)
    package init(_ bytes: UnsafeRawBufferPointer) {
        position = bytes.baseAddress ?? UnsafeRawPointer(bitPattern: 1)!
        end = position + bytes.count
    }

    @inline(__always) package var remaining: Int { end - position }
    @inline(__always) package var isAtEnd: Bool { position == end }

    @inline(__always)
    package mutating func readByte() throws(CBORError) -> UInt8 {
        guard position < end else { throw .truncated }
        let byte = position.load(as: UInt8.self)
        position += 1
        return byte
    }

    /// Reads an unsigned LEB128 number of at most 64 bits.
    @inline(__always)
    package mutating func readVarint() throws(CBORError) -> UInt64 {
        var result: UInt64 = 0
        var shift: UInt64 = 0
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
    package mutating func readCount(atMost limit: Int) throws(CBORError) -> Int {
        let value = try readVarint()
        guard value <= UInt64(limit) else { throw .malformed }
        return Int(value)
    }

    @inline(__always)
    package mutating func read(count: Int) throws(CBORError) -> UnsafeRawBufferPointer {
        guard count >= 0, count <= remaining else { throw .truncated }
        defer { position += count }
        return UnsafeRawBufferPointer(start: position, count: count)
    }

    @inline(__always)
    package mutating func readBigEndian<T: FixedWidthInteger>(as type: T.Type) throws(CBORError) -> T {
        guard remaining >= MemoryLayout<T>.size else { throw .truncated }
        defer { position += MemoryLayout<T>.size }
        return T(bigEndian: position.loadUnaligned(as: T.self))
    }
}
