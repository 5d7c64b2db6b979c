package import DocDBCore

/// What two peers say to each other of the hubs' notices, so that each ends up with those of both.
///
/// Notices are signed texts, certificates of hubs' keys and revocations, so whoever passes them on needs no trust. Both
/// sides begin with a summary; where the two differ, each tells its buckets, and gets the notices of those that differ.
/// The bytes are in `Schemas/grant.md`.
package enum NoticeMessage: Equatable, Sendable {
    /// A hash of all notices that the sender has.
    case summary([UInt8])
    /// The sender's notices, bucket by bucket.
    case buckets([UInt64])
    case notices([String])

    private enum Kind {
        static let summary: Int64 = 0
        static let buckets: Int64 = 1
        static let notices: Int64 = 2
    }

    package var encoded: [UInt8] {
        var buffer = ByteBuffer(capacity: 64)
        buffer.appendCBORHead(major: CBOR.Major.array, 2)
        switch self {
        case .summary(let hash):
            buffer.appendCBOR(Kind.summary)
            buffer.appendCBOR(bytes: hash)
        case .buckets(let buckets):
            buffer.appendCBOR(Kind.buckets)
            buffer.appendCBOR(
                bytes: buckets.flatMap { bucket in (0..<8).map { UInt8(truncatingIfNeeded: bucket >> (56 - 8 * $0)) } })
        case .notices(let texts):
            buffer.appendCBOR(Kind.notices)
            buffer.appendCBORHead(major: CBOR.Major.array, UInt64(texts.count))
            for text in texts { buffer.appendCBOR(text) }
        }
        return buffer.array
    }

    /// Reads a message; every bound is checked.
    ///
    /// - Throws: `protocolError`.
    package init(_ bytes: [UInt8]) throws(DocDBError) {
        guard let message = try? bytes.withUnsafeBytes({ try Self.read($0) }) else {
            throw DocDBError(.protocolError, "notices of the hub do not decode; update both peers to the same version")
        }
        self = message
    }

    private static func read(_ bytes: UnsafeRawBufferPointer) throws -> NoticeMessage {
        var cursor = ByteCursor(bytes)
        guard case .array(2) = try cursor.readCBORItem(), case .int(let kind) = try cursor.readCBORItem() else {
            throw CBORError.malformed
        }
        let message: NoticeMessage
        switch (kind, try cursor.readCBORItem()) {
        case (Kind.summary, .bytes(let hash)) where hash.count == NoticeDigest.summaryByteCount:
            message = .summary([UInt8](hash))
        case (Kind.buckets, .bytes(let bytes)) where bytes.count == NoticeDigest.bucketCount * 8:
            message = .buckets(
                (0..<NoticeDigest.bucketCount).map { NoticeDigest.number(bytes[($0 * 8)..<($0 * 8 + 8)]) })
        case (Kind.notices, .array(let count)) where count <= AuthenticationLimits.noticeCountOfMessage:
            message = .notices(try (0..<count).map { _ in try text(&cursor) })
        default: throw CBORError.malformed
        }
        guard cursor.remaining == 0 else { throw CBORError.malformed }
        return message
    }

    private static func text(_ cursor: inout ByteCursor) throws -> String {
        guard case .text(let bytes) = try cursor.readCBORItem(),
            bytes.count <= AuthenticationLimits.certificateByteCount,
            let text = String(validating: bytes, as: UTF8.self)
        else { throw CBORError.malformed }
        return text
    }

    /// The messages that carry notices, each of few enough.
    package static func messages(_ texts: [String]) -> [[UInt8]] {
        stride(from: 0, to: texts.count, by: AuthenticationLimits.noticeCountOfMessage).map { start in
            let end = min(start + AuthenticationLimits.noticeCountOfMessage, texts.count)
            return NoticeMessage.notices(Array(texts[start..<end])).encoded
        }
    }
}

/// Sums of notices by which two peers find what either lacks.
package struct NoticeDigest: Equatable, Sendable {
    package static let bucketCount = 64
    package static let summaryByteCount = 16

    package private(set) var buckets = [UInt64](repeating: 0, count: bucketCount)

    package init(_ texts: [String]) {
        for text in texts {
            let hash = Digest.sha256(text)
            buckets[Self.bucket(hash)] ^= Self.number(hash[8..<16])
        }
    }

    /// A hash of all buckets; nil where there are no notices.
    package var summary: [UInt8]? {
        guard buckets.contains(where: { $0 != 0 }) else { return nil }
        let bytes = buckets.flatMap { bucket in (0..<8).map { UInt8(truncatingIfNeeded: bucket >> (56 - 8 * $0)) } }
        return Array(Digest.sha256(bytes).prefix(Self.summaryByteCount))
    }

    /// Whether a text belongs to a bucket that two sides have differently.
    package static func isMissing(_ text: String, in theirs: [UInt64], of own: [UInt64]) -> Bool {
        let bucket = bucket(Digest.sha256(text))
        return theirs[bucket] != own[bucket]
    }

    private static func bucket(_ hash: [UInt8]) -> Int { Int(hash[0]) % bucketCount }

    /// Eight bytes as a number, the highest first.
    fileprivate static func number(_ bytes: some Sequence<UInt8>) -> UInt64 { bytes.reduce(0) { $0 << 8 | UInt64($1) } }
}
