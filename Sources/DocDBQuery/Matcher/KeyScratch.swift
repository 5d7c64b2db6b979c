import DocDBCore

/// Buffers in which values are order-encoded, one after another.
struct KeyScratch: ~Copyable {
    /// The value last encoded.
    private(set) var key = ByteBuffer(capacity: 64)
    private var cbor = ByteBuffer(capacity: 64)

    init() {}

    /// Encodes a literal; nil stands for a missing value.
    mutating func encode(_ value: Value?) throws(DocDBError) {
        key.removeAll()
        guard let value else { return OrderEncoding.appendMissing(descending: false, to: &key) }
        cbor.removeAll()
        try value.appendCBOR(names: nil, to: &cbor)
        var cursor = ByteCursor(cbor.bytes)
        do {
            try OrderEncoding.append(cborValue: &cursor, names: nil, descending: false, to: &key)
        } catch {
            throw DocDBError(.invalidValue, "the value could not be encoded for an index; please report this")
        }
    }

    mutating func encodeMissing() {
        key.removeAll()
        OrderEncoding.appendMissing(descending: false, to: &key)
    }

    /// Encodes the value at `start` of a document; false where its bytes are damaged.
    @inline(__always)
    mutating func encode(_ start: UnsafeRawPointer, _ end: UnsafeRawPointer, names: FieldNames?) -> Bool {
        key.removeAll()
        var cursor = ByteCursor(UnsafeRawBufferPointer(start: start, count: end - start))
        do throws(CBORError) {
            try OrderEncoding.append(cborValue: &cursor, names: names, descending: false, to: &key)
            return true
        } catch {
            return false
        }
    }
}
