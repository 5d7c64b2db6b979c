package import DocDBCore

/// Verifies grants, hub certificates and revocations offline, from the app's root keys down.
package struct GrantVerifier: Sendable {
    package let appID: String
    package let roots: [PeerPublicKey]
    /// Verified certificates by the thumbprint of their keys.
    private var certificates: [String: HubCertificate] = [:]

    /// - Parameter roots: the app's root keys: those it pins, or those it learnt when it logged in over TLS.
    package init(appID: String, roots: [PeerPublicKey]) {
        self.appID = appID
        self.roots = roots
    }

    /// Verifies a certificate and keeps it; the one that ends later replaces another of the same key.
    ///
    /// - Throws: `invalidGrant` where no root key has signed it for this app.
    @discardableResult
    package mutating func learn(certificate text: String, now: UnixTime) throws(DocDBError) -> HubCertificate {
        let certificate = try HubCertificate.verify(text, appID: appID, roots: roots)
        let name = certificate.key.thumbprint
        if let known = certificates[name], known.expiresAt >= certificate.expiresAt { return certificate }
        if certificates.count >= AuthenticationLimits.certificateCount {
            certificates = certificates.filter { now < $0.value.expiresAt }
        }
        guard certificates.count < AuthenticationLimits.certificateCount else {
            throw DocDBError(.limitReached, "too many hub certificates are valid at once; let old ones expire")
        }
        certificates[name] = certificate
        return certificate
    }

    /// The certificates that are known, in the order of their bytes.
    package var certificateTexts: [String] { certificates.values.map { ExactString($0.text) }.sorted().map(\.text) }

    /// Learns a certificate from whoever has it; tells whether it is news.
    package mutating func isNews(certificate text: String, now: UnixTime) throws(DocDBError) -> Bool {
        guard !certificates.values.contains(where: { $0.text.isExactly(text) }) else { return false }
        let certificate = try learn(certificate: text, now: now)
        return now < certificate.expiresAt && certificates[certificate.key.thumbprint]?.text.isExactly(text) == true
    }

    /// The certificate that makes a peer a hub now, or nil where it is none: a grant never does.
    package func hubCertificate(of peer: PeerPublicKey, now: UnixTime) -> HubCertificate? {
        certificates[peer.thumbprint].flatMap { $0.permits(.peer, at: now) ? $0 : nil }
    }

    /// Verifies a grant that a peer presents.
    ///
    /// - Parameters:
    ///   - peer: the key that the peer has proved to hold.
    ///   - highestEpoch: the highest epoch seen of a user id; the caller keeps the grant's afterwards.
    /// - Throws: `invalidGrant`, `grantExpired`, `grantRevoked`, `grantSuperseded`; the context's `reason` says more.
    package func verify(
        _ text: String, presentedBy peer: PeerPublicKey, now: UnixTime, revocations: RevocationList,
        highestEpoch: (String) -> Int64?
    ) throws(DocDBError) -> Grant {
        let token = try OwnToken(text, type: Grant.type, limit: AuthenticationLimits.grantByteCount)
        let signer = try signer(of: token, at: now)
        let claims = try token.claims(signedBy: signer.key)
        let grant = try Grant(claims: claims)
        guard grant.appID.isExactly(appID) else { throw TokenFailure.wrongAudience.error(.invalidGrant) }
        guard grant.peer == peer else {
            throw DocDBError(
                .invalidGrant, "the grant belongs to another peer; log in from this one",
                context: ["reason": "anotherPeer"])
        }
        if let start = try ClaimsPolicy.time("nbf", claims), now < start {
            throw TokenFailure.notYetValid.error(.invalidGrant)
        }
        guard grant.issuedAt <= now.adding(AuthenticationLimits.clockBound) else {
            throw TokenFailure.issuedInFuture.error(.invalidGrant)
        }
        guard !grant.isExpired(at: now) else { throw TokenFailure.expired.error(.grantExpired) }
        guard grant.expiresAt <= signer.expiresAt else { throw ClaimReader.failure("exp") }
        guard !revocations.isRevoked(grant) else {
            throw DocDBError(.grantRevoked, "the grant has been revoked; log in again")
        }
        if let highest = highestEpoch(grant.userID), grant.epoch < highest {
            throw DocDBError(
                .grantSuperseded, "the grant is from before a change of the user's permissions; log in again")
        }
        return grant
    }

    /// What a notice is about, as it claims.
    package enum NoticeKind: Sendable {
        case certificate, revocation, voided
    }

    /// Tells what a text claims to be.
    ///
    /// - Throws: `invalidGrant` where it is no notice.
    package static func kind(ofNotice text: String) throws(DocDBError) -> NoticeKind {
        let types: [(String, NoticeKind)] = [(VoidedNotice.type, .voided), (Revocation.type, .revocation)]
        for (type, kind) in types {
            do throws(DocDBError) {
                _ = try OwnToken(text, type: type, limit: AuthenticationLimits.certificateByteCount)
                return kind
            } catch {
                guard error.context["reason"] == TokenFailure.wrongType.rawValue else { throw error }
            }
        }
        _ = try OwnToken(text, type: HubCertificate.type, limit: AuthenticationLimits.certificateByteCount)
        return .certificate
    }

    /// Verifies a revocation; its key must have been valid when it was made.
    package func verify(revocation text: String) throws(DocDBError) -> Revocation {
        let revocation = try Revocation(claims: try claims(ofNotice: text, type: Revocation.type), text: text)
        guard revocation.appID.isExactly(appID) else { throw TokenFailure.wrongAudience.error(.invalidGrant) }
        return revocation
    }

    /// Verifies a hub's notice of changes that it has refused; its key must have been valid when it was made.
    package func verify(voided text: String) throws(DocDBError) -> VoidedNotice {
        let notice = try VoidedNotice(claims: try claims(ofNotice: text, type: VoidedNotice.type), text: text)
        guard notice.appID.isExactly(appID) else { throw TokenFailure.wrongAudience.error(.invalidGrant) }
        return notice
    }

    private func claims(ofNotice text: String, type: String) throws(DocDBError) -> [String: Value] {
        let token = try OwnToken(text, type: type, limit: AuthenticationLimits.certificateByteCount)
        guard let id = token.signature.keyID, let certificate = certificates[id] else {
            throw TokenFailure.unknownKey.error(.invalidGrant)
        }
        let claims = try token.claims(signedBy: certificate.key)
        let madeAt = try ClaimReader(claims).time("iat")
        guard certificate.permits(.sign, at: madeAt) else { throw TokenFailure.expired.error(.invalidGrant) }
        return claims
    }

    private func signer(of token: OwnToken, at now: UnixTime) throws(DocDBError) -> HubCertificate {
        guard let id = token.signature.keyID, let certificate = certificates[id] else {
            throw TokenFailure.unknownKey.error(.invalidGrant)
        }
        guard certificate.permits(.sign, at: now) else {
            throw DocDBError(
                .invalidGrant, "the certificate of the key that signed the grant is not valid now; log in again",
                context: ["reason": "certificateExpired"])
        }
        return certificate
    }
}
