package import DocDBCore

/// Proves this peer to another, and judges the other's proof; each identity has its own.
package protocol SessionAuthenticator: AnyObject, Sendable {
    /// The identity kind, which both sides must share: `playground`, `sharedKey`, `online`.
    var kind: String { get }
    /// The app id, which both sides must share.
    var appID: String { get }
    /// The public key of this peer; empty for identities without keys.
    var peerKey: [UInt8] { get }
    /// The grant of this peer; empty for identities without grants.
    var grant: [UInt8] { get }

    /// What this peer itself may do: the rights of its grant.
    var ownRights: PeerRights { get }

    /// Proves possession over the transcript.
    func prove(_ transcript: HandshakeTranscript, at time: SessionTime) throws -> Proof
    /// Judges the peer's proof.
    ///
    /// - Parameter grant: the peer's grant, where it was asked for and has come.
    /// - Returns: what the peer may do, or nil where its grant is needed first.
    func judge(
        _ proof: Proof, _ transcript: HandshakeTranscript, grant: [UInt8]?, at time: SessionTime
    ) throws -> PeerRights?
    /// Judges a grant that the peer of this hello, which has proven itself, has renewed during a session.
    func judge(renewal grant: [UInt8], of peer: Hello, at time: SessionTime) throws -> PeerRights
    /// The time by which expiry is judged, in nanoseconds since 1970: a clock that was set back extends nothing.
    func judgedNanoseconds(at time: SessionTime) -> UInt64

    /// Whether this peer has what a proof needs, so that it is worth while to connect.
    func isReady(at time: SessionTime) -> Bool

    /// Whether rights that were proven have been revoked since.
    func isRevoked(_ rights: PeerRights) -> Bool
    /// What is said to a peer that has proven itself, so that each side gets the hubs' notices of the other; nil for nothing.
    var noticeGreeting: [UInt8]? { get }
    /// Takes what a peer says of notices.
    ///
    /// - Throws: `protocolError` where the session must end.
    func receive(notices: [UInt8], at time: SessionTime) throws -> NoticeReply

    /// Whether hubs have told of any changes that they have refused.
    var hasVoided: Bool { get }
    /// What hubs have told of a document, by the hash of its name; of each actor the newest.
    func voided(_ document: StateDigest) -> [VoidedRange]
    /// A hub has sent changes that were said to be refused: until a hub says so anew, they are not.
    func overrule(_ range: VoidedRange)
    /// Tells of changes that this hub has refused, or takes after all, in signed notices.
    ///
    /// - Returns: what to say to all peers.
    func void(_ ranges: [VoidedRange], at time: SessionTime) throws -> [[UInt8]]
}

/// Changes of an actor to a document that a hub has refused to their author: those later than `after`, up to `through`.
package struct VoidedRange: Hashable, Sendable {
    /// A hash of collection and id.
    package var document: StateDigest
    package var actor: ActorID
    package var after: HybridTime
    package var through: HybridTime

    package init(document: StateDigest, actor: ActorID, after: HybridTime, through: HybridTime) {
        self.document = document
        self.actor = actor
        self.after = after
        self.through = through
    }

    /// Whether there are none any more: the hub has taken them after all.
    package var isLifted: Bool { after >= through }
}

/// What follows from what a peer said of the hubs' notices: bytes for extra messages.
package struct NoticeReply: Equatable, Sendable {
    /// For the peer.
    package var answers: [[UInt8]] = []
    /// For all others, as it is news.
    package var news: [[UInt8]] = []

    package init() {}
}

extension SessionAuthenticator {
    package func judgedNanoseconds(at time: SessionTime) -> UInt64 { time.wallNanoseconds }
    package func isReady(at time: SessionTime) -> Bool { true }
    package func isRevoked(_ rights: PeerRights) -> Bool { false }
    package var noticeGreeting: [UInt8]? { nil }
    package func receive(notices: [UInt8], at time: SessionTime) throws -> NoticeReply { NoticeReply() }
    package var hasVoided: Bool { false }
    package func voided(_ document: StateDigest) -> [VoidedRange] { [] }
    package func overrule(_ range: VoidedRange) {}
    package func void(_ ranges: [VoidedRange], at time: SessionTime) throws -> [[UInt8]] { [] }
}

/// What both sides prove to have seen.
package struct HandshakeTranscript: Hashable, Sendable {
    /// Whether the side that proves opened the link.
    package var proverIsInitiator: Bool
    package var proverHello: [UInt8]
    package var verifierHello: [UInt8]
    /// Nil on plain links.
    package var channelBinding: [UInt8]?

    package init(
        proverIsInitiator: Bool, proverHello: [UInt8], verifierHello: [UInt8], channelBinding: [UInt8]?
    ) {
        self.proverIsInitiator = proverIsInitiator
        self.proverHello = proverHello
        self.verifierHello = verifierHello
        self.channelBinding = channelBinding
    }
}
