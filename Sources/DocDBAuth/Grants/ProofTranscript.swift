package import DocDBCore

/// What both sides of a session prove to have seen, each with its own key: format in `Schemas/grant.md`.
///
/// A proof made for one side, session, app or TLS connection is worth nothing in another.
package struct ProofTranscript: Sendable {
    /// The two sides of a session, by who opened the link.
    package enum Role: UInt8, Sendable {
        case initiator = 1
        case responder = 2

        package var other: Role { self == .initiator ? .responder : .initiator }
    }

    /// What one side brings.
    package struct Side: Sendable {
        package var key: PeerPublicKey
        /// Fresh random bytes of this session.
        package var nonce: [UInt8]
        /// The hello as it was sent.
        package var hello: [UInt8]
        /// `Grant.hash(of:)` of the grant it presents; empty where it presents none.
        package var grantHash: [UInt8]

        package init(key: PeerPublicKey, nonce: [UInt8], hello: [UInt8], grantHash: [UInt8] = []) {
            self.key = key
            self.nonce = nonce
            self.hello = hello
            self.grantHash = grantHash
        }
    }

    private static let label = "docdb-session-proof-1"

    private let initiator: Side
    private let responder: Side
    private let common: [UInt8]

    /// Puts together what was said.
    ///
    /// - Parameter channelBinding: the TLS exporter's bytes (RFC 9266); empty only where the configuration says `none`.
    /// - Throws: `proofFailed` where a part has an impossible size, or both sides are one and the same.
    package init(
        appID: String, initiator: Side, responder: Side, channelBinding: [UInt8]
    ) throws(DocDBError) {
        let isBounded = [initiator, responder].allSatisfy { side in
            AuthenticationLimits.nonceByteCount.contains(side.nonce.count)
                && side.hello.count <= AuthenticationLimits.helloByteCount
                && (side.grantHash.isEmpty || side.grantHash.count == 32)
        }
        guard isBounded, channelBinding.count <= AuthenticationLimits.helloByteCount else {
            throw DocDBError(.proofFailed, "a nonce, hello, grant hash or channel binding has an impossible size")
        }
        guard initiator.key != responder.key, initiator.nonce != responder.nonce else {
            throw DocDBError(.proofFailed, "both sides of the session have one key or nonce: it is a reflection")
        }
        self.initiator = initiator
        self.responder = responder
        var parts: [[UInt8]] = [[UInt8](appID.utf8)]
        for side in [initiator, responder] { parts += [side.key.bytes, side.nonce, side.hello, side.grantHash] }
        parts.append(channelBinding)
        common = parts.flatMap(Self.framed)
    }

    private func side(_ role: Role) -> Side { role == .initiator ? initiator : responder }

    /// The bytes that a side signs: label, role, then all that both have seen, each part with its length before it.
    package func bytes(_ role: Role) -> [UInt8] { Self.framed([UInt8](Self.label.utf8)) + [role.rawValue] + common }

    /// Signs as one side, whose key this must be: 64 bytes.
    package func sign(as role: Role, with pair: PeerKeyPair) throws(DocDBError) -> [UInt8] {
        guard pair.publicKey == side(role).key else {
            throw DocDBError(.misuse, "a side of a session signs with the key that its hello names")
        }
        return try pair.signature(of: bytes(role))
    }

    /// Verifies the other side's signature.
    ///
    /// - Throws: `proofFailed`.
    package func verify(_ signature: [UInt8], from role: Role) throws(DocDBError) {
        guard side(role).key.isValid(signature, of: bytes(role)) else {
            throw DocDBError(.proofFailed, "the peer did not prove that it holds its key")
        }
    }

    /// A part with its length as four bytes, the highest first.
    static func framed(_ part: [UInt8]) -> [UInt8] {
        let count = UInt32(clamping: part.count)
        return (0..<4).map { UInt8(truncatingIfNeeded: count >> UInt32(24 - 8 * $0)) } + part
    }
}

/// What a peer signs when it logs in, so that the grant is bound to a key that it holds.
package struct LoginProof: Sendable {
    private static let label = "docdb-login-proof-1"

    private let peer: PeerPublicKey
    private let bytes: [UInt8]

    /// - Parameters:
    ///   - hubNonce: fresh random bytes that the hub gave for this login, good for once.
    ///   - channelBinding: the TLS exporter's bytes; empty only where the configuration says `none`.
    package init(
        appID: String, hubNonce: [UInt8], peer: PeerPublicKey, provider: String, token: String,
        channelBinding: [UInt8]
    ) throws(DocDBError) {
        guard AuthenticationLimits.nonceByteCount.contains(hubNonce.count),
            channelBinding.count <= AuthenticationLimits.helloByteCount
        else { throw DocDBError(.proofFailed, "the hub's nonce or the channel binding has an impossible size") }
        self.peer = peer
        let parts: [[UInt8]] = [
            [UInt8](Self.label.utf8), [UInt8](appID.utf8), hubNonce, peer.bytes, [UInt8](provider.utf8),
            Digest.sha256(token), channelBinding,
        ]
        bytes = parts.flatMap(ProofTranscript.framed)
    }

    package func sign(with pair: PeerKeyPair) throws(DocDBError) -> [UInt8] { try pair.signature(of: bytes) }

    /// - Throws: `proofFailed`.
    package func verify(_ signature: [UInt8]) throws(DocDBError) {
        guard peer.isValid(signature, of: bytes) else {
            throw DocDBError(.proofFailed, "the login does not prove that the peer holds its key")
        }
    }
}
