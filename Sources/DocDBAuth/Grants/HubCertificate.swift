package import DocDBCore

/// What makes a key a hub's: signed by the app's root key, which stays offline.
package struct HubCertificate: Equatable, Sendable {
    static let type = "docdb-hub-certificate+jwt"

    /// What a hub's key may do.
    package enum Use: String, Sendable, CaseIterable {
        /// Sign grants and revocations.
        case sign
        /// Be the hub in a session: a keeper, whose acknowledgements and refusals count.
        case peer
    }

    package let appID: String
    package let key: PeerPublicKey
    package let uses: Set<Use>
    package let validFrom: UnixTime
    /// The first second in which the certificate is no longer valid.
    package let expiresAt: UnixTime
    /// The certificate itself, as it is handed to peers.
    package let text: String

    /// Tells whether the key may be used so at a moment, without leeway.
    package func permits(_ use: Use, at now: UnixTime) -> Bool {
        uses.contains(use) && validFrom <= now && now < expiresAt
    }

    /// Certifies a hub's key with the app's root key.
    ///
    /// Let it begin a day before it is made, since peers whose clocks are behind give it no leeway. Keys overlap where
    /// the next one's certificate begins before this one's ends by at least the longest grant.
    package static func issue(
        for key: PeerPublicKey, appID: String, uses: Set<Use> = [.sign, .peer], validFrom: UnixTime,
        expiresAt: UnixTime, root: PeerKeyPair
    ) throws(DocDBError) -> HubCertificate {
        guard validFrom < expiresAt, !uses.isEmpty, !appID.isEmpty else {
            throw DocDBError(.misuse, "a hub's certificate is for an app, has a use, and ends after it begins")
        }
        let claims: [String: Value] = [
            "aud": .string(appID), "cnf": ["jwk": key.jsonWebKey], "iat": .int(validFrom.seconds),
            "nbf": .int(validFrom.seconds), "exp": .int(expiresAt.seconds),
            "uses": .array(Use.allCases.filter { uses.contains($0) }.map { .string($0.rawValue) }),
        ]
        let text = try JSONWebSignature.sign(claims, type: type, with: root)
        return HubCertificate(
            appID: appID, key: key, uses: uses, validFrom: validFrom, expiresAt: expiresAt, text: text)
    }

    /// Verifies a certificate against the app's root keys; its time is checked where it is used.
    package static func verify(
        _ text: String, appID: String, roots: [PeerPublicKey]
    ) throws(DocDBError) -> HubCertificate {
        let token = try OwnToken(text, type: type, limit: AuthenticationLimits.certificateByteCount)
        let root = roots.first { root in token.signature.keyID.map { root.thumbprint.isExactly($0) } ?? false }
        let claims = try token.claims(signedBy: root)
        let reader = ClaimReader(claims)
        guard try reader.text("aud").isExactly(appID) else { throw TokenFailure.wrongAudience.error(.invalidGrant) }
        guard let key = claims["cnf"]?["jwk"], case .array(let names) = claims["uses"] else {
            throw ClaimReader.failure("cnf or uses")
        }
        return HubCertificate(
            appID: appID, key: try PeerPublicKey(jsonWebKey: key),
            uses: Set(names.compactMap { $0.stringValue.flatMap(Use.init(rawValue:)) }),
            validFrom: try reader.time("nbf"), expiresAt: try reader.time("exp"), text: text)
    }
}

/// A token that DocDB itself issues: EdDSA, one exact `typ`, so that none of them passes for another.
struct OwnToken {
    let signature: JSONWebSignature

    init(_ text: String, type: String, limit: Int) throws(DocDBError) {
        do throws(TokenFailure) { signature = try JSONWebSignature(text, limit: limit) } catch {
            throw error.error(.invalidGrant)
        }
        guard let actual = signature.type, actual.isExactly(type) else {
            throw TokenFailure.wrongType.error(.invalidGrant)
        }
        guard signature.algorithm == .edDSA else { throw TokenFailure.algorithmNotPermitted.error(.invalidGrant) }
    }

    /// The claims, once the signature has been verified with a key; nil is a key that is not known.
    func claims(signedBy key: PeerPublicKey?) throws(DocDBError) -> [String: Value] {
        guard let key else { throw TokenFailure.unknownKey.error(.invalidGrant) }
        guard key.isValid(signature.signature, of: signature.signingInput) else {
            throw TokenFailure.invalidSignature.error(.invalidGrant)
        }
        do throws(TokenFailure) { return try signature.claims() } catch { throw error.error(.invalidGrant) }
    }
}
