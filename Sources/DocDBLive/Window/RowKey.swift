/// The place of a document in the order of one query: encoded bytes that compare as bytes.
///
/// The last component is the document's id, so that no two documents of a query share a key and the order of the keys
/// is the whole order of the result. The first eight bytes are held beside the rest: most comparisons end there.
package struct RowKey: Sendable {
    /// The order-preserving encoding of the sort values and the id.
    package let bytes: [UInt8]
    /// The first eight bytes as one big-endian number, padded with zeros.
    let prefix: UInt64

    /// Makes a key of the encoded sort values followed by the encoded id.
    package init(_ bytes: [UInt8]) {
        self.bytes = bytes
        var prefix: UInt64 = 0
        for byte in bytes.prefix(8) { prefix = prefix << 8 | UInt64(byte) }
        self.prefix = bytes.count < 8 ? prefix << UInt64(8 * (8 - bytes.count)) : prefix
    }
}

extension RowKey: Comparable {
    package static func == (left: RowKey, right: RowKey) -> Bool {
        left.prefix == right.prefix && left.bytes == right.bytes
    }

    package static func < (left: RowKey, right: RowKey) -> Bool {
        if left.prefix != right.prefix { return left.prefix < right.prefix }
        return left.restPrecedes(right)
    }

    /// Compares what follows the first eight bytes, which are equal.
    private func restPrecedes(_ other: RowKey) -> Bool {
        bytes.withUnsafeBytes { left in
            other.bytes.withUnsafeBytes { right in
                let common = min(left.count, right.count)
                var index = min(8, common)
                while index + 8 <= common {
                    let first = UInt64(bigEndian: left.loadUnaligned(fromByteOffset: index, as: UInt64.self))
                    let second = UInt64(bigEndian: right.loadUnaligned(fromByteOffset: index, as: UInt64.self))
                    if first != second { return first < second }
                    index += 8
                }
                while index < common {
                    if left[index] != right[index] { return left[index] < right[index] }
                    index += 1
                }
                return left.count < right.count
            }
        }
    }
}
