package import DocDBCore

/// What a peer keeps of a login, outside its store: enough to work offline and to accept other peers' grants.
package struct Credentials: Equatable, Sendable {
    package let appID: String
    /// The grant as it is presented, and its content.
    package let grantText: String
    package let grant: Grant
    package let certificates: [String]
    /// The app's root keys: pinned, or learnt at the login.
    package let roots: [PeerPublicKey]

    /// Checks what a login gave before any of it is used.
    ///
    /// - Parameters:
    ///   - peer: this peer's own key.
    ///   - pinnedRoots: the root keys that the app was built with; where it has none, those of the answer are taken, which
    ///     TLS vouches for.
    /// - Throws: what `GrantVerifier` throws.
    package init(
        _ answer: LoginAnswer.Accepted, appID: String, peer: PeerPublicKey, pinnedRoots: [PeerPublicKey],
        highestEpoch: (String) -> Int64? = { _ in nil }
    ) throws(DocDBError) {
        try self.init(
            appID: appID, grantText: answer.grant, certificates: answer.certificates,
            roots: pinnedRoots.isEmpty ? answer.roots : pinnedRoots, peer: peer, now: answer.time,
            highestEpoch: highestEpoch)
    }

    private init(
        appID: String, grantText: String, certificates: [String], roots: [PeerPublicKey], peer: PeerPublicKey,
        now: UnixTime, highestEpoch: (String) -> Int64?
    ) throws(DocDBError) {
        var verifier = GrantVerifier(appID: appID, roots: roots)
        for certificate in certificates { try verifier.learn(certificate: certificate, now: now) }
        grant = try verifier.verify(
            grantText, presentedBy: peer, now: now, revocations: RevocationList(), highestEpoch: highestEpoch)
        self.appID = appID
        self.grantText = grantText
        self.certificates = certificates
        self.roots = roots
    }

    /// A verifier of other peers' grants that knows what the login taught.
    package func verifier(now: UnixTime) throws(DocDBError) -> GrantVerifier {
        var verifier = GrantVerifier(appID: appID, roots: roots)
        for certificate in certificates { try verifier.learn(certificate: certificate, now: now) }
        return verifier
    }

    /// The credentials as JSON, to be stored with mode 0600 or in a keychain.
    package func storedForm() throws(DocDBError) -> [UInt8] {
        try StrictJSON.text([
            "appID": .string(appID), "grant": .string(grantText),
            "certificates": .array(certificates.map { .string($0) }), "roots": .array(roots.map(\.jsonWebKey)),
        ])
    }

    /// Reads what `storedForm` gave and verifies it again, but for its time: an expired grant still says who logged in.
    ///
    /// - Parameter pinnedRoots: as at the login: an app that pins other keys now trusts these.
    /// - Throws: `invalidGrant` where it is damaged, or belongs to another app or peer.
    package init(
        storedForm bytes: [UInt8], appID: String, peer: PeerPublicKey, pinnedRoots: [PeerPublicKey]
    ) throws(DocDBError) {
        guard bytes.count <= LoginAnswer.byteLimit, let members = try? StrictJSON.object(bytes),
            let grant = members["grant"]?.stringValue, case .array(let certificates) = members["certificates"],
            case .array(let roots) = members["roots"], let token = try? JSONWebSignature(grant),
            let issued = (try? token.claims())?["iat"].flatMap(UnixTime.init(numericDate:))
        else {
            throw DocDBError(.invalidGrant, "the stored credentials are damaged; log in again")
        }
        var keys: [PeerPublicKey] = []
        for root in roots { keys.append(try PeerPublicKey(jsonWebKey: root)) }
        try self.init(
            appID: appID, grantText: grant, certificates: certificates.compactMap(\.stringValue),
            roots: pinnedRoots.isEmpty ? keys : pinnedRoots,
            peer: peer, now: issued, highestEpoch: { _ in nil })
    }
}

/// Time that never goes back: what expiry is judged by, so that a clock that is set back extends no grant.
///
/// The owner persists `latest`. A login sets it anew from the hub's clock, or a clock once set far ahead would make
/// every later grant seem expired.
package struct TimeFloor: Equatable, Sendable {
    package private(set) var latest: UnixTime

    package init(latest: UnixTime = UnixTime(seconds: 0)) { self.latest = latest }

    /// The time to judge by, given what the wall clock says.
    package mutating func advance(to wallClock: UnixTime) -> UnixTime {
        latest = max(latest, wallClock)
        return latest
    }

    /// Takes the time of a hub whose login answer has been verified.
    package mutating func reset(to hubTime: UnixTime) { latest = hubTime }
}
