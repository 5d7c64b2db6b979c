package import DocDBCore

/// Issues grants and revocations with a hub's keys.
package struct GrantIssuer: Sendable {
    /// A hub's key and the certificate that makes it one.
    package struct Key: Sendable {
        package let pair: PeerKeyPair
        package let certificate: HubCertificate

        package init(pair: PeerKeyPair, certificate: HubCertificate) throws(DocDBError) {
            guard certificate.key == pair.publicKey else {
                throw DocDBError(.invalidConfiguration, "the hub's certificate is for another key than the hub has")
            }
            self.pair = pair
            self.certificate = certificate
        }
    }

    /// A user who logs in from a peer, as the hub's provider and its own records say.
    package struct Request: Sendable {
        package var identity: ProviderIdentity
        package var permissions: BoundPermissions
        package var epoch: PermissionEpoch
        package var peer: PeerPublicKey
        package var isRelay: Bool
        /// The most seconds the grant may last, of the provider's configuration.
        package var maxGrantSeconds: Int64

        package init(
            identity: ProviderIdentity, permissions: BoundPermissions, epoch: PermissionEpoch, peer: PeerPublicKey,
            isRelay: Bool = false, maxGrantSeconds: Int64 = AuthenticationLimits.grantSeconds
        ) {
            self.identity = identity
            self.permissions = permissions
            self.epoch = epoch
            self.peer = peer
            self.isRelay = isRelay
            self.maxGrantSeconds = maxGrantSeconds
        }
    }

    /// A grant, its text, and the certificate of the key it is signed with.
    package struct Issued: Sendable {
        package let grant: Grant
        package let text: String
        package let certificate: String
    }

    package let appID: String
    private let keys: [Key]

    /// Takes the hub's keys, of which the one whose certificate ends last and is valid signs.
    package init(appID: String, keys: [Key]) throws(DocDBError) {
        guard (1...AuthenticationLimits.appIDByteCount).contains(appID.utf8.count) else {
            throw DocDBError(
                .invalidConfiguration, "an app id has 1 to \(AuthenticationLimits.appIDByteCount) bytes")
        }
        guard keys.allSatisfy({ $0.certificate.appID.isExactly(appID) }) else {
            throw DocDBError(.invalidConfiguration, "a certificate of the hub is for another app")
        }
        self.appID = appID
        self.keys = keys
    }

    /// The certificates of keys that sign now, or will, or have signed grants that are still valid.
    package func certificates(now: UnixTime) -> [String] {
        keys.map(\.certificate).filter { now < $0.expiresAt }.map(\.text)
    }

    /// Issues a grant, valid for the least of what the provider, its token, the configuration and the key allow.
    ///
    /// - Throws: `authenticationFailed` where no second is left, `limitReached` where the grant would be too large,
    ///   `invalidConfiguration` where no key of the hub is valid.
    package func issue(
        _ request: Request, now: UnixTime, revocations: RevocationList = RevocationList()
    ) throws(DocDBError) -> Issued {
        let key = try signingKey(now: now)
        let issuedAt = max(now, revocations.earliestIssue(for: request.identity.userID) ?? now)
        let longest = min(max(request.maxGrantSeconds, 1), AuthenticationLimits.greatestGrantSeconds)
        let bounds = [
            issuedAt.adding(longest), request.identity.expiresAt ?? issuedAt.adding(longest),
            key.certificate.expiresAt,
        ]
        let expiresAt = bounds.min() ?? now
        guard issuedAt < expiresAt else { throw TokenFailure.expired.error(.authenticationFailed) }
        let grant = Grant(
            id: Base64URL.encode(Digest.randomBytes(16)), appID: appID, userID: request.identity.userID,
            peer: request.peer, permissions: request.permissions, epoch: request.epoch.number,
            clientInfo: request.identity.clientInfo, isRelay: request.isRelay, issuedAt: issuedAt,
            expiresAt: expiresAt)
        let text = try JSONWebSignature.sign(grant.claims, type: Grant.type, with: key.pair)
        guard text.utf8.count <= AuthenticationLimits.grantByteCount else {
            throw DocDBError(
                .limitReached,
                "the user's permissions and client info make a grant of more than \(AuthenticationLimits.grantByteCount) bytes; shorten them"
            )
        }
        return Issued(grant: grant, text: text, certificate: key.certificate.text)
    }

    /// Revokes every grant of a user, or one grant, that was issued up to this second.
    ///
    /// - Parameter sequence: one more than the hub's last.
    package func revoke(
        _ subject: Revocation.Subject, sequence: Int64, now: UnixTime
    ) throws(DocDBError) -> Revocation {
        let key = try signingKey(now: now)
        let issuedBefore = now.adding(1)
        return try Revocation.issue(
            subject, appID: appID, issuedBefore: issuedBefore, sequence: sequence, now: now,
            forgetAfter: issuedBefore.adding(AuthenticationLimits.greatestGrantSeconds), key: key.pair)
    }

    /// Says that changes of an actor to a document are refused, or, where `after` and `through` are equal, are so no more.
    ///
    /// - Parameter sequence: greater than that of any earlier notice of the subject.
    package func void(
        _ subject: VoidedNotice.Subject, after: HybridTime, through: HybridTime, sequence: Int64, now: UnixTime
    ) throws(DocDBError) -> VoidedNotice {
        try VoidedNotice.issue(
            subject, after: after, through: through, appID: appID, sequence: sequence, now: now,
            key: try signingKey(now: now).pair)
    }

    private func signingKey(now: UnixTime) throws(DocDBError) -> Key {
        let valid = keys.filter { $0.certificate.permits(.sign, at: now) }
        guard let key = valid.max(by: { $0.certificate.expiresAt < $1.certificate.expiresAt }) else {
            throw DocDBError(
                .invalidConfiguration, "no key of the hub is valid now; make one with 'docdb-hub keys rotate'")
        }
        return key
    }
}
