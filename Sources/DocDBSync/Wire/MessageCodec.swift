package import DocDBCore

/// Messages as the frames of a link, and back.
///
/// A frame is one byte, 0 for a plain message or 1 for a compressed one (then the raw length as a varint and an LZ4 block),
/// and the message: a CBOR array of its number and its fields. A reader passes over fields that follow those it knows, and
/// over messages whose number it does not know: a newer version may add both without raising the version, where ignoring
/// them is right. All else is agreed by the version of the hello.
package enum MessageCodec {
    /// The frame of a message.
    ///
    /// - Parameter compresses: whether the frame may be compressed; not before the peer's proof.
    package static func frame(_ message: Message, compresses: Bool = true) -> [UInt8] { [] }

    /// The message of a frame, or nil for one of a number that only newer versions know: to be ignored.
    ///
    /// - Parameter limit: the most bytes the message may have, compressed or not.
    /// - Parameter decompresses: whether a compressed frame is accepted; not before the peer's proof.
    /// - Throws: `DocDBError.protocolError` where the bytes are no message, `.limitReached` where they are over a limit.
    package static func message(
        _ frame: [UInt8], limit: Int = SyncLimits.frameByteCount, decompresses: Bool = true
    ) throws(DocDBError) -> Message? { nil }
}
