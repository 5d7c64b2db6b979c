import DocDBCore

/// A value met while a predicate is evaluated: what its head says, and where its content lies. Plain bits, no reference.
struct EncodedValue {
    enum Kind: UInt8 {
        case missing, null, bool, int, float, text, bytes, array, map
    }

    var kind: Kind
    /// The truth value, the integer, the float's bits, or the number of elements or members.
    var bits: UInt64
    /// Where the content begins: text, bytes, the first element, the first key.
    var start: UnsafeRawPointer
    /// Where text and bytes end; of arrays and maps the end of all bytes that may be read.
    var end: UnsafeRawPointer

    @inline(__always)
    private init(_ kind: Kind, _ bits: UInt64, _ start: UnsafeRawPointer, _ end: UnsafeRawPointer) {
        self.kind = kind
        self.bits = bits
        self.start = start
        self.end = end
    }

    /// An address for values without content; never read.
    @inline(__always)
    private static var nowhere: UnsafeRawPointer { UnsafeRawPointer(bitPattern: 8).unsafelyUnwrapped }

    @inline(__always)
    private init(_ kind: Kind, _ bits: UInt64) { self.init(kind, bits, Self.nowhere, Self.nowhere) }

    @inline(__always) static var missing: EncodedValue { EncodedValue(.missing, 0) }
    @inline(__always) static var null: EncodedValue { EncodedValue(.null, 0) }
    @inline(__always) init(_ value: Bool) { self.init(.bool, value ? 1 : 0) }
    @inline(__always) init(_ value: Int64) { self.init(.int, UInt64(bitPattern: value)) }
    @inline(__always) init(_ value: Double) { self.init(.float, value.bitPattern) }
    @inline(__always) init(text: UnsafeRawBufferPointer) {
        let start = text.baseAddress ?? Self.nowhere
        self.init(.text, 0, start, start + text.count)
    }

    @inline(__always) var int: Int64 { Int64(bitPattern: bits) }
    @inline(__always) var float: Double { Double(bitPattern: bits) }
    @inline(__always) var count: Int { Int(truncatingIfNeeded: bits) }
    @inline(__always) var isTrue: Bool { kind == .bool && bits == 1 }
    /// The content of text or bytes.
    @inline(__always) var content: UnsafeRawBufferPointer { UnsafeRawBufferPointer(start: start, count: end - start) }

    /// Reads the value at `start`; nil where the bytes are no value.
    @inline(__always)
    static func read(at start: UnsafeRawPointer, end: UnsafeRawPointer) -> EncodedValue? {
        guard start < end else { return nil }
        let byte = start.load(as: UInt8.self)
        if byte < 0x18 { return EncodedValue(Int64(byte)) }
        if byte >= 0x60, byte < 0x78 {
            let content = start + 1
            let count = Int(byte & 0x1F)
            guard count <= end - content else { return nil }
            return EncodedValue(.text, 0, content, content + count)
        }
        return readLong(at: start, end: end)
    }

    @inline(never)
    private static func readLong(at start: UnsafeRawPointer, end: UnsafeRawPointer) -> EncodedValue? {
        var cursor = ByteCursor(UnsafeRawBufferPointer(start: start, count: end - start))
        guard let item = try? cursor.readCBORItem() else { return nil }
        switch item {
        case .null: return .null
        case .bool(let value): return EncodedValue(value)
        case .int(let value): return EncodedValue(value)
        case .float(let value): return value.isFinite ? EncodedValue(value) : nil
        case .text(let text): return EncodedValue(.text, 0, cursor.position - text.count, cursor.position)
        case .bytes(let bytes): return EncodedValue(.bytes, 0, cursor.position - bytes.count, cursor.position)
        case .array(let count): return EncodedValue(.array, UInt64(count), cursor.position, end)
        case .map(let count): return EncodedValue(.map, UInt64(count), cursor.position, end)
        }
    }
}

// Order.
extension EncodedValue {
    /// Compares an integer and a finite float by their exact values: negative, zero or positive.
    static func compare(_ integer: Int64, _ float: Double) -> Int {
        if float >= 0x1p63 { return -1 }
        if float < -0x1p63 { return 1 }
        let whole = Int64(float)
        if integer != whole { return integer < whole ? -1 : 1 }
        let fraction = float - Double(whole)
        return fraction > 0 ? -1 : fraction < 0 ? 1 : 0
    }

    /// Compares two numbers, texts, byte strings or truth values; nil where they have no order.
    @inline(__always)
    static func compare(_ left: EncodedValue, _ right: EncodedValue) -> Int? {
        switch (left.kind, right.kind) {
        case (.int, .int): left.int == right.int ? 0 : left.int < right.int ? -1 : 1
        case (.float, .float): left.float == right.float ? 0 : left.float < right.float ? -1 : 1
        case (.int, .float): compare(left.int, right.float)
        case (.float, .int): -compare(right.int, left.float)
        case (.text, .text), (.bytes, .bytes): CBOR.compare(left.content, right.content)
        case (.bool, .bool): Int(left.bits) - Int(right.bits)
        default: nil
        }
    }

    /// Compares two runs of bytes for equality.
    @inline(__always)
    static func isEqual(_ left: UnsafeRawPointer, _ right: UnsafeRawPointer, count: Int) -> Bool {
        var offset = 0
        while offset + 8 <= count {
            let a = left.loadUnaligned(fromByteOffset: offset, as: UInt64.self)
            let b = right.loadUnaligned(fromByteOffset: offset, as: UInt64.self)
            if a != b { return false }
            offset += 8
        }
        while offset < count {
            if left.load(fromByteOffset: offset, as: UInt8.self) != right.load(fromByteOffset: offset, as: UInt8.self) {
                return false
            }
            offset += 1
        }
        return true
    }
}
