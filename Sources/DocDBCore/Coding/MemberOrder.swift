/// Puts the members of encoded maps into key order, once they have all been written, and finds names that occur twice.
///
/// Writers append members as they come and push each one's offset; most maps turn out to be in order already. Maps nest:
/// the offsets form a stack, of which each open map owns the part above the count it saw when it began.
package struct MemberOrder: ~Copyable {
    /// One member: its key and value, as bytes from a common base.
    private struct Slice {
        var offset: Int
        var end: Int
        var keyCount: Int
    }

    private var offsets: UnsafeMutablePointer<Int>
    package private(set) var count = 0
    private var capacity = 64
    private var scratch = ByteBuffer()
    private var slices: [Slice] = []

    package init() { offsets = .allocate(capacity: 64) }

    deinit { offsets.deallocate() }

    /// Notes that a member begins at `offset`.
    @inline(__always)
    package mutating func push(_ offset: Int) {
        if count == capacity { grow() }
        offsets[count] = offset
        count += 1
    }

    @inline(never)
    private mutating func grow() {
        let larger = UnsafeMutablePointer<Int>.allocate(capacity: capacity * 2)
        larger.update(from: offsets, count: count)
        offsets.deallocate()
        offsets = larger
        capacity *= 2
    }

    /// Forgets the offsets above the first `newCount`.
    @inline(__always)
    package mutating func truncate(to newCount: Int) { count = newCount }

    /// Sorts the members pushed since `first`, which fill `base` up to `end` without gaps.
    ///
    /// - Returns: false where two keys are equal, and then the bytes are unspecified.
    /// - Complexity: O(n log n) in the number of members, plus one copy of their bytes.
    package mutating func sort(from first: Int, base: UnsafeMutableRawPointer, end: Int) -> Bool {
        guard count - first > 1 else { return true }
        slices.removeAll(keepingCapacity: true)
        var isSorted = true
        for index in first..<count {
            let offset = offsets[index]
            let next = index + 1 < count ? offsets[index + 1] : end
            let slice = Slice(offset: offset, end: next, keyCount: Self.keyByteCount(at: base + offset))
            if index > first, Self.compare(slices[index - first - 1], slice, base) >= 0 { isSorted = false }
            slices.append(slice)
        }
        if isSorted { return true }
        slices.sort { Self.compare($0, $1, base) < 0 }
        for index in 1..<slices.count where Self.compare(slices[index - 1], slices[index], base) == 0 { return false }
        let start = offsets[first]
        scratch.removeAll()
        for slice in slices { scratch.append(base + slice.offset, count: slice.end - slice.offset) }
        (base + start).copyMemory(from: scratch.start, byteCount: scratch.count)
        return true
    }

    private static func compare(_ left: Slice, _ right: Slice, _ base: UnsafeMutableRawPointer) -> Int {
        CBOR.compare(
            UnsafeRawBufferPointer(start: base + left.offset, count: left.keyCount),
            UnsafeRawBufferPointer(start: base + right.offset, count: right.keyCount))
    }

    /// The number of bytes of a key that this process has written.
    private static func keyByteCount(at key: UnsafeMutableRawPointer) -> Int {
        let first = key.load(as: UInt8.self)
        let argument: Int
        let head: Int
        switch first & 0x1F {
        case 24: (head, argument) = (2, Int(key.load(fromByteOffset: 1, as: UInt8.self)))
        case 25: (head, argument) = (3, Int(UInt16(bigEndian: key.loadUnaligned(fromByteOffset: 1, as: UInt16.self))))
        case 26: (head, argument) = (5, Int(UInt32(bigEndian: key.loadUnaligned(fromByteOffset: 1, as: UInt32.self))))
        case 27: (head, argument) = (9, Int(UInt64(bigEndian: key.loadUnaligned(fromByteOffset: 1, as: UInt64.self))))
        default: (head, argument) = (1, Int(first & 0x1F))
        }
        return first >> 5 == CBOR.Major.text ? head + argument : head
    }
}

extension ByteBuffer {
    /// Appends a map key: the interned number of the name where it has one, else the name as text.
    ///
    /// - Parameters:
    ///   - names: the store's field names; nil gives text keys only.
    ///   - interning: whether a new name that may be interned is added to `names`, or only looked up.
    package mutating func appendCBORKey(_ name: UnsafeRawBufferPointer, names: FieldNames?, interning: Bool) {
        if let number = interning ? names?.intern(name) : names?.number(of: name) {
            appendCBORHead(major: CBOR.Major.unsigned, UInt64(number))
        } else {
            appendCBOR(text: name)
        }
    }

    /// Writes the head of an array or map, of which one byte was reserved at `offset`, wider where the count needs it.
    package mutating func fillReservedHead(at offset: Int, major: UInt8, count elementCount: Int) {
        let width = CBOR.headByteCount(UInt64(elementCount))
        if width > 1 { insertGap(at: offset, count: width - 1) }
        CBOR.storeHead(at: start + offset, major: major, UInt64(elementCount))
    }
}

extension CBOR {
    /// Stores a head in its shortest form; there must be room.
    @inline(__always)
    static func storeHead(at pointer: UnsafeMutableRawPointer, major: UInt8, _ argument: UInt64) {
        if argument < 24 {
            pointer.storeBytes(of: major << 5 | UInt8(truncatingIfNeeded: argument), as: UInt8.self)
        } else {
            storeLongHead(at: pointer, major: major, argument)
        }
    }

    @inline(never)
    private static func storeLongHead(at pointer: UnsafeMutableRawPointer, major: UInt8, _ argument: UInt64) {
        func store(_ additional: UInt8) { pointer.storeBytes(of: major << 5 | additional, as: UInt8.self) }
        switch headByteCount(argument) {
        case 2:
            store(24)
            pointer.storeBytes(of: UInt8(truncatingIfNeeded: argument), toByteOffset: 1, as: UInt8.self)
        case 3:
            store(25)
            pointer.storeBytes(
                of: UInt16(truncatingIfNeeded: argument).bigEndian, toByteOffset: 1, as: UInt16.self)
        case 5:
            store(26)
            pointer.storeBytes(
                of: UInt32(truncatingIfNeeded: argument).bigEndian, toByteOffset: 1, as: UInt32.self)
        default:
            store(27)
            pointer.storeBytes(of: argument.bigEndian, toByteOffset: 1, as: UInt64.self)
        }
    }
}
