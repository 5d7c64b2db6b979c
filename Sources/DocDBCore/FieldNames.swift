import Synchronization

/// The interned field names of one store: small numbers for names, and names for numbers.
///
/// Append-only: a name's number never changes while the process lives, also where the transaction that first used it
/// was rolled back (the store then writes it with a later one). Names are added under the store's write lock, one at a
/// time; readers on any thread look up without a lock.
package final class FieldNames: @unchecked Sendable {
    // Unchecked: the tables are raw memory that only `intern` writes, under `writer`; a number is published through
    // `publishedCount` or a slot, with release order, after the bytes of its name are in place.
    private let names: UnsafeMutableRawPointer
    private let lengths: UnsafeMutablePointer<UInt8>
    private let slots: UnsafeMutablePointer<Atomic<UInt16>>
    private let publishedCount = Atomic<Int>(0)
    private let writer = Lock<Void>(())

    private static let stride = Limits.internedFieldNameByteCount
    private static let slotCount = 2 * Limits.internedFieldNameCount

    package init() {
        let capacity = Limits.internedFieldNameCount
        names = .allocate(byteCount: capacity * Self.stride, alignment: 8)
        names.initializeMemory(as: UInt8.self, repeating: 0, count: capacity * Self.stride)
        lengths = .allocate(capacity: capacity)
        lengths.initialize(repeating: 0, count: capacity)
        slots = .allocate(capacity: Self.slotCount)
        for index in 0..<Self.slotCount { (slots + index).initialize(to: Atomic(0)) }
    }

    deinit {
        names.deallocate()
        lengths.deallocate()
        slots.deinitialize(count: Self.slotCount)
        slots.deallocate()
    }

    /// The number of names; their numbers are below it.
    package var count: Int { publishedCount.load(ordering: .acquiring) }

    /// The UTF-8 bytes of a name, which stay valid as long as this object, or nil where there is no such number.
    @inline(__always)
    package func name(_ number: Int) -> UnsafeRawBufferPointer? {
        guard number >= 0, number < count else { return nil }
        return UnsafeRawBufferPointer(start: names + number * Self.stride, count: Int(lengths[number]))
    }

    /// The name with this number as a string, or nil where there is none.
    package func string(_ number: Int) -> String? { name(number).map { String(decoding: $0, as: UTF8.self) } }

    /// The number of a name, or nil where it is not interned.
    @inline(__always)
    package func number(of name: UnsafeRawBufferPointer) -> Int? {
        guard name.count <= Self.stride else { return nil }
        var slot = Self.hash(name) & (Self.slotCount - 1)
        while true {
            let entry = slots[slot].load(ordering: .acquiring)
            if entry == 0 { return nil }
            if isEqual(Int(entry) - 1, name) { return Int(entry) - 1 }
            slot = (slot + 1) & (Self.slotCount - 1)
        }
    }

    /// The number of a name, or nil where it is not interned.
    package func number(of name: String) -> Int? {
        var name = name
        return name.withUTF8 { number(of: UnsafeRawBufferPointer($0)) }
    }

    /// Tells whether name `number`, which must exist, has just these bytes.
    @inline(__always)
    private func isEqual(_ number: Int, _ name: UnsafeRawBufferPointer) -> Bool {
        guard Int(lengths[number]) == name.count else { return false }
        return CBOR.areEqual(UnsafeRawPointer(names + number * Self.stride), name)
    }

    /// Tells whether there is a name `number` with just these bytes.
    @inline(__always)
    package func matches(_ number: Int, _ name: UnsafeRawBufferPointer) -> Bool {
        number < count && isEqual(number, name)
    }

    /// The number of a name, which is added where it is new; nil where it is not to be interned or the table is full.
    package func intern(_ name: UnsafeRawBufferPointer) -> Int? {
        if let known = number(of: name) { return known }
        guard Self.isInternable(name) else { return nil }
        return writer.withLock { _ in
            if let known = number(of: name) { return known }
            let number = publishedCount.load(ordering: .relaxed)
            guard number < Limits.internedFieldNameCount else { return nil }
            (names + number * Self.stride).copyMemory(from: name.baseAddress!, byteCount: name.count)
            lengths[number] = UInt8(name.count)
            publishedCount.store(number + 1, ordering: .releasing)
            var slot = Self.hash(name) & (Self.slotCount - 1)
            while slots[slot].load(ordering: .relaxed) != 0 { slot = (slot + 1) & (Self.slotCount - 1) }
            slots[slot].store(UInt16(number + 1), ordering: .releasing)
            return number
        }
    }

    /// Tells whether a name looks like an identifier and is short enough, so that a table keyed by ids is not filled.
    package static func isInternable(_ name: UnsafeRawBufferPointer) -> Bool {
        guard name.count > 0, name.count <= stride else { return false }
        for (index, byte) in name.enumerated() {
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "_"):
                continue
            case UInt8(ascii: "0")...UInt8(ascii: "9") where index > 0: continue
            default: return false
            }
        }
        return true
    }

    @inline(__always)
    private static func hash(_ name: UnsafeRawBufferPointer) -> Int {
        var state: UInt64 = 0x9E37_79B9_7F4A_7C15 ^ UInt64(name.count)
        var offset = 0
        while offset + 8 <= name.count {
            state = mix(state ^ name.loadUnaligned(fromByteOffset: offset, as: UInt64.self))
            offset += 8
        }
        var tail: UInt64 = 0
        while offset < name.count {
            tail = tail << 8 | UInt64(name[offset])
            offset += 1
        }
        return Int(truncatingIfNeeded: mix(state ^ tail) >> 20)
    }

    @inline(__always)
    private static func mix(_ value: UInt64) -> UInt64 {
        let product = value.multipliedFullWidth(by: 0xD6E8_FEB8_6659_FD93)
        return product.high ^ product.low
    }
}
