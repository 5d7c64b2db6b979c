package import DocDBCore

/// The algorithms of signatures that are supported (RFC 7518, RFC 8037).
package enum SignatureAlgorithm: String, Sendable, CaseIterable {
    case rs256 = "RS256"
    case ps256 = "PS256"
    case es256 = "ES256"
    case edDSA = "EdDSA"
    case hs256 = "HS256"
}

/// A token in JWS compact form (RFC 7515, section 7.1), taken apart but not yet verified.
///
/// Of the header only `alg`, `kid` and `typ` count: keys that a header brings or points to (`jwk`, `jku`, `x5*`) are
/// never looked at. `crit` and `b64` are refused, since nothing that they can demand is supported.
package struct JSONWebSignature: Sendable {
    package let algorithm: SignatureAlgorithm
    package let keyID: String?
    /// The header's `typ` in lower case, without `application/`.
    package let type: String?
    package let payload: [UInt8]
    let signature: [UInt8]
    /// What is signed: the first two parts of the token with the point between them.
    let signingInput: [UInt8]

    /// Takes a token apart.
    ///
    /// - Throws: a `TokenFailure` about its form or its header.
    /// - Complexity: O(n), where more than `limit` bytes are refused unread.
    package init(_ token: String, limit: Int = AuthenticationLimits.tokenByteCount) throws(TokenFailure) {
        guard token.utf8.count <= limit else { throw .tooLarge }
        let bytes = [UInt8](token.utf8)
        let points = bytes.indices.filter { bytes[$0] == UInt8(ascii: ".") }
        guard points.count == 2, let first = points.first, let last = points.last, first > 0 else { throw .notCompact }
        guard let header = Base64URL.decode(bytes[..<first]), let payload = Base64URL.decode(bytes[(first + 1)..<last]),
            let signature = Base64URL.decode(bytes[(last + 1)...])
        else { throw .invalidBase64 }
        self.payload = payload
        self.signature = signature
        signingInput = [UInt8](bytes[..<last])
        guard let members = try? StrictJSON.object(header) else { throw .invalidHeader }
        if members["crit"] != nil { throw .criticalExtension }
        if let isEncoded = members["b64"], isEncoded != .bool(true) { throw .detachedPayload }
        guard let name = members["alg"]?.stringValue else { throw .invalidHeader }
        guard let algorithm = SignatureAlgorithm.allCases.first(where: { $0.rawValue.isExactly(name) }) else {
            throw .unsupportedAlgorithm
        }
        self.algorithm = algorithm
        keyID = try Self.text("kid", in: members)
        type = try Self.text("typ", in: members).map { name in
            let name = name.asciiLowercased
            return name.hasPrefix("application/") ? String(name.dropFirst("application/".count)) : name
        }
    }

    private static func text(_ name: String, in members: [String: Value]) throws(TokenFailure) -> String? {
        guard let value = members[name] else { return nil }
        guard case .string(let text) = value else { throw .invalidHeader }
        return text
    }

    /// The payload as the claims of a JWT (RFC 7519), each name once.
    package func claims() throws(TokenFailure) -> [String: Value] {
        guard let members = try? StrictJSON.object(payload) else { throw .invalidPayload }
        return members
    }

    /// Checks the signature with a key, whose type must be that of the algorithm.
    package func verify(with key: VerificationKey) throws(TokenFailure) {
        guard key.permits(algorithm) else { throw .wrongKeyType }
        guard key.isValid(signature, of: signingInput, algorithm: algorithm) else { throw .invalidSignature }
    }

    /// Makes a token signed with an Ed25519 key.
    ///
    /// - Throws: what writing the claims as JSON throws.
    static func sign(
        _ claims: [String: Value], type: String, with key: PeerKeyPair
    ) throws(DocDBError) -> String {
        let header = try StrictJSON.text([
            "alg": .string(SignatureAlgorithm.edDSA.rawValue), "typ": .string(type),
            "kid": .string(key.publicKey.thumbprint),
        ])
        let input = Base64URL.encode(header) + "." + Base64URL.encode(try StrictJSON.text(claims))
        return input + "." + Base64URL.encode(try key.signature(of: [UInt8](input.utf8)))
    }
}
