import CCrypto
package import DocDBCore

/// The identity by a secret that all peers of an app share: both sides prove that they have it, neither sends it.
///
/// A proof is HMAC-SHA256 (RFC 2104) over a label, the role of the side that proves, both hellos, which hold fresh nonces,
/// and the link's channel binding. The role and the order of the hellos make a proof sent back worthless.
package final class SharedKeyAuthenticator: SessionAuthenticator {
    package let kind = "sharedKey"
    package let appID: String
    package let peerKey: [UInt8] = []
    package let grant: [UInt8] = []
    package let ownRights = PeerRights()
    private let key: [UInt8]

    /// The fewest bytes of a key.
    package static let keyByteCount = 32

    /// - Parameter key: at least 32 random bytes.
    /// - Throws: `DocDBError.invalidValue` where the key is shorter.
    package init(appID: String, key: [UInt8]) throws(DocDBError) {
        guard key.count >= Self.keyByteCount else {
            throw DocDBError(
                .invalidValue, "the shared key has fewer than \(Self.keyByteCount) bytes; use that many random ones")
        }
        self.appID = appID
        self.key = key
    }

    package func prove(_ transcript: HandshakeTranscript, at time: SessionTime) throws -> Proof {
        Proof(bytes: try code(transcript), grantHash: [])
    }

    package func judge(
        _ proof: Proof, _ transcript: HandshakeTranscript, grant: [UInt8]?, at time: SessionTime
    ) throws -> PeerRights? {
        guard grant == nil, proof.grantHash.isEmpty, Self.areEqual(proof.bytes, try code(transcript)) else {
            throw DocDBError(
                .protocolError, "the peer does not prove the shared key; give both stores the same key")
        }
        return PeerRights()
    }

    package func judge(renewal grant: [UInt8], of peer: Hello, at time: SessionTime) throws -> PeerRights {
        throw DocDBError(.protocolError, "a peer with a shared key sent a grant; give both stores the same identity")
    }

    /// The message authentication code of a transcript.
    private func code(_ transcript: HandshakeTranscript) throws -> [UInt8] {
        var input = ByteBuffer(capacity: 1024)
        input.append(utf8: "docdb shared key proof 1")
        input.append(transcript.proverIsInitiator ? 1 : 0)
        for part in [Array(appID.utf8), transcript.proverHello, transcript.verifierHello] {
            input.appendBigEndian(UInt64(part.count))
            input.append(part)
        }
        input.append(transcript.channelBinding == nil ? 0 : 1)
        input.append(transcript.channelBinding ?? [])
        var code = [UInt8](repeating: 0, count: 32)
        var count: UInt32 = 32
        let bytes = input.bytes
        let result = HMAC(
            EVP_sha256(), key, Int32(clamping: key.count), bytes.baseAddress?.assumingMemoryBound(to: UInt8.self),
            bytes.count, &code, &count)
        guard result != nil, count == 32 else {
            throw DocDBError(.storageFailed, "OpenSSL could not compute HMAC-SHA256; check the installed libcrypto")
        }
        return code
    }

    /// Compares without telling by time where two runs of bytes differ.
    private static func areEqual(_ left: [UInt8], _ right: [UInt8]) -> Bool {
        guard left.count == right.count else { return false }
        var difference: UInt8 = 0
        for index in left.indices { difference |= left[index] ^ right[index] }
        return difference == 0
    }
}
