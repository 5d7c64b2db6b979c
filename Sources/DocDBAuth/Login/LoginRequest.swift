package import DocDBCore

/// What a peer sends to `POST /v1/login`: format in `Schemas/grant.md`.
package enum LoginRequest: Sendable {
    /// Asks for a nonce.
    case nonce(appID: String)
    /// Logs in with a provider's token.
    case login(Login)

    /// A login whose proof is still to be verified.
    package struct Login: Sendable {
        package let appID: String
        package let provider: String
        package let token: String
        package let peer: PeerPublicKey
        package let nonce: [UInt8]
        package let signature: [UInt8]

        /// Verifies that the peer holds its key; the nonce is to be redeemed besides.
        ///
        /// - Throws: `proofFailed`, also for another app.
        package func verifyProof(appID: String, channelBinding: [UInt8] = []) throws(DocDBError) {
            guard self.appID.isExactly(appID) else {
                throw DocDBError(.proofFailed, "the login is for another app than the hub serves")
            }
            try LoginProof(
                appID: appID, hubNonce: nonce, peer: peer, provider: provider, token: token,
                channelBinding: channelBinding
            ).verify(signature)
        }
    }

    /// The most bytes of a request: a token with every byte escaped, and the rest.
    package static let byteLimit = 128 * 1024

    /// The request for a nonce.
    package static func nonceRequest(appID: String) throws(DocDBError) -> [UInt8] {
        try StrictJSON.text(["appID": .string(appID)])
    }

    /// The request that logs in, signed with the peer's key.
    ///
    /// - Parameter channelBinding: as in `LoginProof`; over HTTPS without an exporter, empty.
    package static func loginRequest(
        appID: String, provider: String, token: String, nonce: [UInt8], pair: PeerKeyPair, channelBinding: [UInt8] = []
    ) throws(DocDBError) -> [UInt8] {
        guard token.utf8.count <= AuthenticationLimits.tokenByteCount else { throw TokenFailure.tooLarge.error }
        let proof = try LoginProof(
            appID: appID, hubNonce: nonce, peer: pair.publicKey, provider: provider, token: token,
            channelBinding: channelBinding)
        return try StrictJSON.text([
            "appID": .string(appID), "provider": .string(provider), "token": .string(token),
            "peer": pair.publicKey.jsonWebKey, "nonce": .string(Base64URL.encode(nonce)),
            "proof": .string(Base64URL.encode(try proof.sign(with: pair))),
        ])
    }

    /// Reads a request.
    ///
    /// - Throws: `invalidToken` where it is malformed or too large, `invalidKey`.
    package init(_ bytes: [UInt8]) throws(DocDBError) {
        guard bytes.count <= Self.byteLimit else { throw Self.failure("is too large") }
        let members: [String: Value]
        do { members = try StrictJSON.object(bytes) } catch { throw Self.failure("is no JSON object") }
        let appID = try Self.text("appID", members)
        guard members["token"] != nil else {
            self = .nonce(appID: appID)
            return
        }
        let token = try Self.text("token", members)
        guard token.utf8.count <= AuthenticationLimits.tokenByteCount else { throw TokenFailure.tooLarge.error }
        guard let peer = members["peer"] else { throw Self.failure("has no 'peer'") }
        self = .login(
            Login(
                appID: appID, provider: try Self.text("provider", members), token: token,
                peer: try PeerPublicKey(jsonWebKey: peer), nonce: try Self.bytes("nonce", members),
                signature: try Self.bytes("proof", members)))
    }

    private static func text(_ name: String, _ members: [String: Value]) throws(DocDBError) -> String {
        guard let text = members[name]?.stringValue, !text.isEmpty else { throw failure("has no text '\(name)'") }
        return text
    }

    private static func bytes(_ name: String, _ members: [String: Value]) throws(DocDBError) -> [UInt8] {
        guard let bytes = Base64URL.decode(try text(name, members)) else {
            throw failure("has a '\(name)' that is not base64url")
        }
        return bytes
    }

    private static func failure(_ problem: String) -> DocDBError {
        DocDBError(.invalidToken, "the login request \(problem)", context: ["reason": "malformedRequest"])
    }
}
