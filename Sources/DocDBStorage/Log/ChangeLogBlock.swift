import CLZ4
package import DocDBCore

/// Packing and unpacking of log rows: blocks of records in LZ4, checked by a checksum and a raw length.
package enum ChangeLogBlock {
    /// LZ4 never shortens by more than this factor, so a longer raw length is a lie.
    private static let maximalRatio = 256

    /// Compresses `raw` into `output`; the codec says whether that made it shorter or it was stored as it is.
    package static func pack(_ raw: UnsafeRawBufferPointer, into output: inout ByteBuffer) -> ChangeLogFormat.Codec {
        output.removeAll()
        let bound = Int(LZ4_compressBound(Int32(raw.count)))
        guard bound > 0 else {
            output.append(raw)
            return .rawBlock
        }
        let count = output.appendUninitialized(bound) { destination in
            Int(
                LZ4_compress_default(
                    raw.baseAddress?.assumingMemoryBound(to: CChar.self),
                    destination.baseAddress?.assumingMemoryBound(to: CChar.self), Int32(raw.count), Int32(bound)))
        }
        if count > 0, count < raw.count { return .lz4Block }
        output.removeAll()
        output.append(raw)
        return .rawBlock
    }

    /// Checks a row's bytes and unpacks them into `output`.
    package static func unpack(
        _ data: UnsafeRawBufferPointer, codec: ChangeLogFormat.Codec, rawLength: Int64, checksum: Int64,
        into output: inout ByteBuffer
    ) throws(CBORError) {
        guard ContentHash.checksum(data) == UInt64(bitPattern: checksum) else { throw .malformed }
        guard rawLength >= 0, rawLength <= Int64(ChangeLogFormat.blockByteLimit) else { throw .malformed }
        let length = Int(rawLength)
        output.removeAll()
        switch codec {
        case .record, .rawBlock:
            guard data.count == length else { throw .malformed }
            output.append(data)
        case .lz4Block:
            // A failure to decompress must not pass for no bytes.
            guard length > 0, length <= data.count * maximalRatio, data.count <= Int(Int32.max) else {
                throw .malformed
            }
            let count = output.appendUninitialized(length) { destination in
                max(
                    0,
                    Int(
                        LZ4_decompress_safe(
                            data.baseAddress?.assumingMemoryBound(to: CChar.self),
                            destination.baseAddress?.assumingMemoryBound(to: CChar.self), Int32(data.count),
                            Int32(length))))
            }
            guard count == length else { throw .malformed }
        }
    }

    /// Calls `body` with each record of an unpacked row, in order.
    package static func forEachRecord(
        _ raw: UnsafeRawBufferPointer, codec: ChangeLogFormat.Codec, first: Int64, last: Int64,
        _ body: (Int64, UnsafeRawBufferPointer) throws(DocDBError) -> Void
    ) throws(DocDBError) {
        guard codec != .record else {
            try body(first, raw)
            return
        }
        var cursor = ByteCursor(raw)
        var sequence = first
        while !cursor.isAtEnd {
            guard sequence <= last else { throw ChangeLog.damaged(sequence, "it holds more records than it should") }
            let record: UnsafeRawBufferPointer
            do {
                record = try cursor.read(count: try cursor.readCount(atMost: cursor.remaining))
            } catch {
                throw ChangeLog.damaged(sequence, "a record is cut short")
            }
            try body(sequence, record)
            sequence += 1
        }
        guard sequence == last + 1 else { throw ChangeLog.damaged(sequence, "it holds fewer records than it should") }
    }
}
