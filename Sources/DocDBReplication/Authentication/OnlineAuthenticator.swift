package import DocDBAuth
package import DocDBCore
package import DocDBSync
import Synchronization

/// The identity by grants of a hub: each side proves to hold its key, and a grant or certificate says what that key may do.
///
/// What a side presents is text: its grant, or a hub's certificate, and on further lines the certificates of hubs, so that
/// peers on a network without the hub can judge it. It is sent only where the other side does not know it by its hash.
package final class OnlineAuthenticator: SessionAuthenticator {
    /// What is known of others, and what this peer presents.
    struct State {
        var verifier: GrantVerifier
        var presented: Presented?
        var revocations = RevocationList()
        var voided = VoidedList()
        /// Signs notices, at a hub.
        var issuer: GrantIssuer?
        /// The sums of all notices; nil where they have changed since.
        var noticeDigest: NoticeDigest?
        /// The highest permission epoch seen of each user.
        var epochs: [ExactString: Int64]
        var clock: JudgedClock
        /// What peers have presented, by hash.
        var known: [[UInt8]: String] = [:]
    }

    struct Presented {
        var text: String
        var hash: [UInt8]
        var rights: PeerRights
    }

    package let kind = "online"
    package let appID: String
    package let pair: PeerKeyPair
    /// Whether proofs name the TLS session that they travel in; not behind a proxy that ends TLS.
    private let bindsChannel: Bool
    let state: Lock<State>

    /// The most texts of peers that are remembered.
    fileprivate static let knownCount = 1024
    /// The most bytes that are presented, so that they fit a frame before the proof.
    private static let presentedByteCount = SyncLimits.frameByteCountBeforeProof - 256

    /// - Parameters:
    ///   - verifier: knows the app's root keys, and the hubs' certificates as far as they are at hand.
    ///   - epochs: the highest permission epochs seen so far, by user id.
    ///   - floor: the latest time known.
    package init(
        pair: PeerKeyPair, verifier: GrantVerifier, epochs: [ExactString: Int64] = [:], floor: TimeFloor = TimeFloor(),
        bindsChannel: Bool = true
    ) {
        appID = verifier.appID
        self.pair = pair
        self.bindsChannel = bindsChannel
        state = Lock(State(verifier: verifier, epochs: epochs, clock: JudgedClock(floor)))
    }

    package var peerKey: [UInt8] { pair.publicKey.bytes }
    package var grant: [UInt8] { Array((state.withLock { $0.presented?.text } ?? "").utf8) }

    /// Without a grant, nothing.
    package var ownRights: PeerRights {
        state.withLock { $0.presented?.rights } ?? PeerRights(read: .nothing, write: .nothing, mayRelay: false)
    }

    // MARK: What this peer presents

    /// Presents the grant of a login from now on, and learns what it taught.
    ///
    /// - Throws: `invalidGrant` where a certificate is none.
    package func present(_ credentials: Credentials, now: UnixTime) throws(DocDBError) {
        let verifier = try credentials.verifier(now: now)
        let text = Self.text(credentials.grantText, credentials.certificates)
        state.withLock { state in
            let known = state.verifier.certificateTexts
            state.verifier = verifier
            // What peers have taught stays, as far as the root keys of the login certify it.
            for certificate in known { _ = try? state.verifier.learn(certificate: certificate, now: now) }
            state.noticeDigest = nil
            state.presented = Presented(
                text: text, hash: Grant.hash(of: text), rights: PeerRights(.user(credentials.grant)))
            state.note(epoch: credentials.grant.epoch, of: credentials.grant.userID)
        }
    }

    /// Presents a hub's certificate from now on.
    package func present(hub certificate: HubCertificate, now: UnixTime) throws(DocDBError) {
        let result = state.withLock { state in
            Result { () throws(DocDBError) in
                try state.verifier.learn(certificate: certificate.text, now: now)
                state.noticeDigest = nil
                state.presented = Presented(
                    text: certificate.text, hash: Grant.hash(of: certificate.text),
                    rights: PeerRights(.hub(certificate)))
            }
        }
        try result.get()
    }

    /// Presents nothing any more: no session begins until there is a new grant.
    package func presentNothing() { state.withLock { $0.presented = nil } }

    private static func text(_ first: String, _ certificates: [String]) -> String {
        var text = first
        for certificate in certificates where text.utf8.count + certificate.utf8.count < presentedByteCount {
            text += "\n" + certificate
        }
        return text
    }

    // MARK: What is known

    /// Notes the permission epoch of a user: grants of lower ones are refused from now on.
    package func note(epoch: Int64, of userID: String) {
        state.withLock { $0.note(epoch: epoch, of: userID) }
    }

    /// The highest permission epochs seen, by user id, and the latest time: what is to be kept.
    package var memory: (epochs: [ExactString: Int64], latest: UnixTime) {
        state.withLock { ($0.epochs, $0.clock.latest) }
    }

    /// Takes the time of a hub whose login answer has been verified.
    package func resetTime(to hubTime: UnixTime) { state.withLock { $0.clock.reset(to: hubTime) } }

    // MARK: Sessions

    package func judgedNanoseconds(at time: SessionTime) -> UInt64 { state.withLock { $0.clock.advance(to: time) } }

    func now(_ time: SessionTime) -> UnixTime { UnixTime(nanoseconds: judgedNanoseconds(at: time)) }

    package func isReady(at time: SessionTime) -> Bool {
        guard let presented = state.withLock({ $0.presented }), !isRevoked(presented.rights) else { return false }
        return presented.rights.expiresNanoseconds.map { judgedNanoseconds(at: time) < $0 } ?? true
    }

    package func prove(_ transcript: HandshakeTranscript, at time: SessionTime) throws -> Proof {
        guard let presented = state.withLock({ $0.presented }) else {
            throw DocDBError(.invalidGrant, "there is no grant; log in first", context: ["reason": "noGrant"])
        }
        if let end = presented.rights.expiresNanoseconds, judgedNanoseconds(at: time) >= end {
            throw DocDBError(.grantExpired, "the grant has expired; log in again")
        }
        guard !isRevoked(presented.rights) else {
            throw DocDBError(.grantRevoked, "the grant has been revoked; log in again")
        }
        let (signed, role, _) = try signed(transcript, grantHash: presented.hash)
        return Proof(bytes: try signed.sign(as: role, with: pair), grantHash: presented.hash)
    }

    package func judge(
        _ proof: Proof, _ transcript: HandshakeTranscript, grant: [UInt8]?, at time: SessionTime
    ) throws -> PeerRights? {
        guard proof.grantHash.count == 32 else {
            throw DocDBError(
                .invalidGrant, "the peer presents no grant; it must log in first", context: ["reason": "noGrant"])
        }
        let (signed, role, peer) = try signed(transcript, grantHash: proof.grantHash)
        try signed.verify(proof.bytes, from: role)
        guard let grant else {
            guard let text = state.withLock({ $0.known[proof.grantHash] }) else { return nil }
            return try rights(text, of: peer, at: time)
        }
        let text = try Self.text(grant)
        guard Grant.hash(of: text) == proof.grantHash else {
            throw DocDBError(.proofFailed, "the peer sent another grant than it proved to have")
        }
        return try rights(text, of: peer, at: time)
    }

    package func judge(renewal grant: [UInt8], of peer: Hello, at time: SessionTime) throws -> PeerRights {
        try rights(try Self.text(grant), of: try PeerPublicKey(bytes: peer.peerKey), at: time)
    }

    private static func text(_ grant: [UInt8]) throws(DocDBError) -> String {
        guard grant.count <= presentedByteCount, let text = String(validating: grant, as: UTF8.self) else {
            throw DocDBError(.invalidGrant, "what the peer presents is no grant; it must log in again")
        }
        return text
    }

    /// What was proven, as the side with this grant signs it; the other side's grant is bound by its own proof.
    private func signed(
        _ transcript: HandshakeTranscript, grantHash: [UInt8]
    ) throws -> (ProofTranscript, ProofTranscript.Role, prover: PeerPublicKey) {
        let prover = try Self.side(transcript.proverHello, grantHash: grantHash)
        let verifier = try Self.side(transcript.verifierHello, grantHash: [])
        let role: ProofTranscript.Role = transcript.proverIsInitiator ? .initiator : .responder
        let signed = try ProofTranscript(
            appID: appID, initiator: transcript.proverIsInitiator ? prover : verifier,
            responder: transcript.proverIsInitiator ? verifier : prover,
            channelBinding: bindsChannel ? transcript.channelBinding ?? [] : [])
        return (signed, role, prover.key)
    }

    private static func side(_ frame: [UInt8], grantHash: [UInt8]) throws -> ProofTranscript.Side {
        let limit = SyncLimits.frameByteCountBeforeProof
        guard case .hello(let hello) = try MessageCodec.message(frame, limit: limit, decompresses: false) else {
            throw DocDBError(.protocolError, "the first frame of a session is no hello")
        }
        return ProofTranscript.Side(
            key: try PeerPublicKey(bytes: hello.peerKey), nonce: hello.nonce, hello: frame, grantHash: grantHash)
    }

    /// What a peer may do by what it presents, which is verified anew each time.
    private func rights(_ text: String, of peer: PeerPublicKey, at time: SessionTime) throws -> PeerRights {
        let now = now(time)
        let result = state.withLock { state in
            Result { () throws(DocDBError) in try state.authority(of: peer, presenting: text, now: now) }
        }
        return PeerRights(try result.get())
    }
}

extension OnlineAuthenticator.State {
    fileprivate mutating func note(epoch: Int64, of userID: String) {
        epochs[ExactString(userID), default: 0] = max(epochs[ExactString(userID)] ?? 0, epoch)
    }

    fileprivate mutating func authority(
        of peer: PeerPublicKey, presenting text: String, now: UnixTime
    ) throws(DocDBError) -> PeerAuthority {
        let lines = text.split(separator: "\n", maxSplits: AuthenticationLimits.certificateCount).map(String.init)
        for line in lines.dropFirst() where try verifier.isNews(certificate: line, now: now) { noticeDigest = nil }
        // A certificate in the first place is a hub's own; everything else must be a grant.
        var grant = lines.first
        if let first = lines.first, let isNews = try? verifier.isNews(certificate: first, now: now) {
            grant = nil
            if isNews { noticeDigest = nil }
        }
        let authority = try verifier.authority(
            of: peer, presenting: grant, now: now, revocations: revocations, highestEpoch: { epochs[ExactString($0)] })
        if let userID = authority.userID { note(epoch: authority.epoch, of: userID) }
        if known.count >= OnlineAuthenticator.knownCount { known = [:] }
        known[Grant.hash(of: text)] = text
        return authority
    }
}
