import DocDBAuth
import DocDBCore
import DocDBReplication

/// A hub's keys, and the grants that it issues to users of a test.
struct TestHub {
    static let appID = "com.example.cars"
    static let start: Int64 = 1_800_000_000

    let root: PeerKeyPair
    let pair: PeerKeyPair
    let certificate: HubCertificate
    let issuer: GrantIssuer

    init() throws {
        root = try PeerKeyPair.generate()
        pair = try PeerKeyPair.generate()
        certificate = try HubCertificate.issue(
            for: pair.publicKey, appID: Self.appID, validFrom: UnixTime(seconds: Self.start - 86_400),
            expiresAt: UnixTime(seconds: Self.start + 86_400 * 365), root: root)
        issuer = try GrantIssuer(appID: Self.appID, keys: [GrantIssuer.Key(pair: pair, certificate: certificate)])
    }

    /// The authenticator of the hub itself.
    func authenticator() throws -> OnlineAuthenticator {
        let authenticator = OnlineAuthenticator(
            pair: pair, verifier: GrantVerifier(appID: Self.appID, roots: [root.publicKey]))
        try authenticator.present(hub: certificate, now: UnixTime(seconds: Self.start))
        return authenticator
    }

    /// The credentials of a login: permissions are predicates on `cars`, nil for everything.
    func credentials(
        _ user: String, for peer: PeerPublicKey, read: String?, write: String?, epoch: Int64 = 1,
        seconds: Int64 = 3600, now: Int64 = TestHub.start, isRelay: Bool = false
    ) throws -> Credentials {
        func rules(_ predicate: String?) -> Rules {
            predicate.map { .queriesByCollection([ExactString("cars"): [$0]]) } ?? .everything
        }
        let userID = try UserID.make(provider: "test", subject: user)
        let identity = try ProviderIdentity(
            userID: userID, expiresAt: nil, permissions: Permissions(read: rules(read), write: rules(write)))
        let bound = try identity.boundPermissions()
        let time = UnixTime(seconds: now)
        let issued = try issuer.issue(
            GrantIssuer.Request(
                identity: identity, permissions: bound,
                epoch: PermissionEpoch(number: epoch, hash: try bound.hash()), peer: peer,
                isRelay: isRelay, maxGrantSeconds: seconds),
            now: time)
        return try Credentials(
            LoginAnswer.Accepted(
                grant: issued.text, certificates: issuer.certificates(now: time), roots: [root.publicKey], time: time),
            appID: Self.appID, peer: peer, pinnedRoots: [])
    }

    /// The authenticator of a user's device that has logged in.
    func device(
        _ user: String, read: String?, write: String?, seconds: Int64 = 3600, isRelay: Bool = false
    ) throws -> OnlineAuthenticator {
        let pair = try PeerKeyPair.generate()
        let authenticator = OnlineAuthenticator(pair: pair, verifier: GrantVerifier(appID: Self.appID, roots: []))
        try authenticator.present(
            try credentials(user, for: pair.publicKey, read: read, write: write, seconds: seconds, isRelay: isRelay),
            now: UnixTime(seconds: Self.start))
        return authenticator
    }
}
