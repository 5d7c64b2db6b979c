package import DocDBCore

/// What a hub lets one user do on one peer, until when: the content of a verified grant.
///
/// Format: `Schemas/grant.md`.
package struct Grant: Equatable, Sendable {
    /// The `typ` of a grant's header, in lower case.
    static let type = "docdb-grant+jwt"
    static let issuer = "docdb-hub"

    /// The grant's own id.
    package let id: String
    package let appID: String
    /// `provider|subject`.
    package let userID: String
    /// The key of the only peer that may present the grant.
    package let peer: PeerPublicKey
    package let permissions: BoundPermissions
    /// How often the user's permissions have changed.
    package let epoch: Int64
    /// What the provider tells the client about the user.
    package let clientInfo: Value
    /// Whether the peer may pass on other peers' changes: full trust.
    package let isRelay: Bool
    package let issuedAt: UnixTime
    /// The first second in which the grant is no longer valid.
    package let expiresAt: UnixTime

    package init(
        id: String, appID: String, userID: String, peer: PeerPublicKey, permissions: BoundPermissions, epoch: Int64,
        clientInfo: Value = .null, isRelay: Bool = false, issuedAt: UnixTime, expiresAt: UnixTime
    ) {
        self.id = id
        self.appID = appID
        self.userID = userID
        self.peer = peer
        self.permissions = permissions
        self.epoch = epoch
        self.clientInfo = clientInfo
        self.isRelay = isRelay
        self.issuedAt = issuedAt
        self.expiresAt = expiresAt
    }

    /// Tells whether the grant has expired, without leeway.
    package func isExpired(at now: UnixTime) -> Bool { now >= expiresAt }

    /// The hash by which a hello names a grant: SHA-256 of its text.
    package static func hash(of text: String) -> [UInt8] { Digest.sha256(text) }

    /// The claims of the grant's token.
    var claims: [String: Value] {
        var claims: [String: Value] = [
            "iss": .string(Self.issuer), "jti": .string(id), "aud": .string(appID), "sub": .string(userID),
            "cnf": ["jwk": peer.jsonWebKey], "permissions": permissions.value, "epoch": .int(epoch),
            "iat": .int(issuedAt.seconds), "exp": .int(expiresAt.seconds),
        ]
        if clientInfo != .null { claims["client"] = clientInfo }
        if isRelay { claims["relay"] = true }
        return claims
    }

    /// Reads the claims of a grant whose signature has been verified.
    init(claims: [String: Value]) throws(DocDBError) {
        let reader = ClaimReader(claims)
        guard try reader.text("iss") == Self.issuer else { throw ClaimReader.failure("iss") }
        let userID = try reader.text("sub")
        guard UserID.isValid(userID) else { throw ClaimReader.failure("sub") }
        let epoch = try reader.number("epoch")
        guard let key = claims["cnf"]?["jwk"], let permissions = claims["permissions"] else {
            throw ClaimReader.failure("cnf or permissions")
        }
        let isRelay: Bool
        switch claims["relay"] {
        case nil, .bool(false): isRelay = false
        case .bool(true): isRelay = true
        default: throw ClaimReader.failure("relay")
        }
        self.init(
            id: try reader.text("jti"), appID: try reader.text("aud"), userID: userID,
            peer: try PeerPublicKey(jsonWebKey: key), permissions: try BoundPermissions(permissions), epoch: epoch,
            clientInfo: claims["client"] ?? .null, isRelay: isRelay, issuedAt: try reader.time("iat"),
            expiresAt: try reader.time("exp"))
        guard issuedAt < expiresAt else { throw ClaimReader.failure("exp") }
    }
}

/// Reads the claims of DocDB's own tokens, each of which must be there and of its type.
struct ClaimReader {
    let claims: [String: Value]

    init(_ claims: [String: Value]) { self.claims = claims }

    func text(_ name: String) throws(DocDBError) -> String {
        guard let text = claims[name]?.stringValue, !text.isEmpty else { throw Self.failure(name) }
        return text
    }

    /// A whole number that is not negative.
    func number(_ name: String) throws(DocDBError) -> Int64 {
        guard case .int(let number) = claims[name], number >= 0 else { throw Self.failure(name) }
        return number
    }

    func time(_ name: String) throws(DocDBError) -> UnixTime { UnixTime(seconds: try number(name)) }

    static func failure(_ name: String) -> DocDBError {
        DocDBError(
            .invalidGrant, "the claim '\(name)' of a grant, certificate or revocation is not what it must be",
            context: ["reason": TokenFailure.invalidClaim.rawValue, "claim": name])
    }
}
