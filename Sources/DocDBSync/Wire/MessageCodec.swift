import CLZ4
package import DocDBCore

/// Messages as the frames of a link, and back; `Schemas/sync-protocol.cddl` has the bytes.
///
/// A frame is one byte, 0 for a plain message or 1 for a compressed one (then the raw length as a varint and an LZ4 block),
/// and the message: a CBOR array of its number and its fields. A reader passes over fields that follow those it knows, and
/// over messages whose number it does not know: a newer version may add both without raising the version, where ignoring
/// them is right. All else is agreed by the version of the hello.
package enum MessageCodec {
    private static let plain: UInt8 = 0
    private static let compressed: UInt8 = 1
    /// Shorter messages are not worth compressing.
    private static let compressionThreshold = 512
    /// LZ4 never shortens by more than this factor, so a longer raw length is a lie.
    private static let maximalRatio = 256

    /// The frame of a message.
    ///
    /// - Parameter compresses: whether the frame may be compressed; not before the peer's proof.
    package static func frame(_ message: Message, compresses: Bool = true) -> [UInt8] {
        var buffer = ByteBuffer(capacity: 512)
        buffer.append(plain)
        message.append(to: &buffer)
        guard compresses, buffer.count > compressionThreshold, let packed = pack(buffer.bytes) else {
            return buffer.array
        }
        return packed
    }

    /// Whether a frame says that it is compressed.
    static func isCompressed(_ frame: [UInt8]) -> Bool { frame.first == compressed }

    /// The message of a frame, or nil for one of a number that only newer versions know: to be ignored.
    ///
    /// - Parameter limit: the most bytes the message may have, compressed or not.
    /// - Parameter decompresses: whether a compressed frame is accepted; not before the peer's proof.
    /// - Throws: `DocDBError.protocolError` where the bytes are no message, `.limitReached` where they are over the limit.
    package static func message(
        _ frame: [UInt8], limit: Int = SyncLimits.frameByteCount, decompresses: Bool = true
    ) throws(DocDBError) -> Message? {
        guard frame.count <= limit else { throw tooLong(limit) }
        let result: Result<Message?, DocDBError> = frame.withUnsafeBytes { bytes in
            do {
                guard let first = bytes.first else { throw CBORError.truncated }
                let payload = UnsafeRawBufferPointer(rebasing: bytes[1...])
                if first == plain { return .success(try Message.read(payload)) }
                guard first == compressed, decompresses else { throw CBORError.malformed }
                let raw = try unpack(payload, limit: limit)
                return .success(try Message.read(raw.bytes))
            } catch let error as DocDBError {
                return .failure(error)
            } catch {
                return .failure(malformed(error))
            }
        }
        return try result.get()
    }

    private static func malformed(_ error: any Error) -> DocDBError {
        DocDBError(
            .protocolError,
            "a peer sent a frame that is not what the protocol says (\(error)); update the older of the two sides")
    }

    private static func tooLong(_ limit: Int) -> DocDBError {
        DocDBError(
            .limitReached,
            "a peer sent a frame of more than \(limit) bytes; send less at a time, or prove who it is first")
    }

    /// A plain frame compressed, or nil where that does not pay.
    private static func pack(_ frame: UnsafeRawBufferPointer) -> [UInt8]? {
        let raw = UnsafeRawBufferPointer(rebasing: frame[1...])
        guard raw.count <= Int(Int32.max) else { return nil }
        let bound = Int(LZ4_compressBound(Int32(raw.count)))
        guard bound > 0 else { return nil }
        var output = ByteBuffer(capacity: bound + 8)
        output.append(compressed)
        output.appendVarint(UInt64(raw.count))
        _ = output.appendUninitialized(bound) { destination in
            Int(
                LZ4_compress_default(
                    raw.baseAddress?.assumingMemoryBound(to: CChar.self),
                    destination.baseAddress?.assumingMemoryBound(to: CChar.self), Int32(raw.count), Int32(bound)))
        }
        // It pays where a sixteenth is saved.
        return output.count < frame.count - frame.count / 16 ? output.array : nil
    }

    private static func unpack(_ payload: UnsafeRawBufferPointer, limit: Int) throws -> ByteBuffer {
        var cursor = WireCursor(payload)
        let length = try cursor.readVarint()
        guard length <= UInt64(limit) else { throw tooLong(limit) }
        let block = try cursor.read(count: cursor.remaining)
        guard length > 0, Int(length) <= block.count * maximalRatio else { throw CBORError.malformed }
        var raw = ByteBuffer(capacity: Int(length))
        let count = raw.appendUninitialized(Int(length)) { destination in
            max(
                0,
                Int(
                    LZ4_decompress_safe(
                        block.baseAddress?.assumingMemoryBound(to: CChar.self),
                        destination.baseAddress?.assumingMemoryBound(to: CChar.self), Int32(block.count),
                        Int32(length))))
        }
        guard count == Int(length) else { throw CBORError.malformed }
        return raw
    }
}

extension Message {
    /// The numbers of messages: below 24, so that each is one byte.
    enum Number {
        static let hello: UInt64 = 0
        static let proof: UInt64 = 1
        static let grant: UInt64 = 2
        static let grantRequest: UInt64 = 3
        static let close: UInt64 = 4
        static let actors: UInt64 = 5
        static let interest: UInt64 = 8
        static let reconcile: UInt64 = 9
        static let ranges: UInt64 = 10
        static let begin: UInt64 = 11
        static let documents: UInt64 = 12
        static let end: UInt64 = 13
        static let commit: UInt64 = 14
        static let acknowledge: UInt64 = 15
        static let sum: UInt64 = 16
        static let credit: UInt64 = 20
        static let extra: UInt64 = 21
        static let ping: UInt64 = 22
        static let pong: UInt64 = 23
    }
}
