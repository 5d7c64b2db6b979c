import DocDBCore
import DocDBSync
import DocDBTransport

/// One link with the session on it, as the engine keeps it; touched on the executor only.
final class Connection {
    enum State: Equatable {
        /// The handshake is under way.
        case opening
        case established
        /// `close` was sent; the link has yet to report that it closed.
        case ending
    }

    /// Counts the links of an engine; also the key of the session's timer.
    let number: UInt64
    let link: any Link
    let inbox: LinkInbox
    let session: Session
    /// The dialer that opened the link; nil where the other side did.
    let dialer: Dialer?
    let openedNanoseconds: UInt64

    var state = State.opening
    var hello = Hello()
    var rights = PeerRights()
    /// The peer's number in the replica.
    var peerNumber: Int64 = 0
    /// Documents of the peer's that were applied.
    var appliedCount: UInt64 = 0
    /// When the session was established, in nanoseconds since 1970.
    var sinceWallNanoseconds: UInt64 = 0
    /// The sequence number of the last commit that the session knows of.
    var committedThrough: Int64 = 0
    /// What the peer was asked for last, and what it asks for.
    var sentInterest: [AnnouncedInterest] = []
    /// The newest subscription that the interest includes.
    var announcedSubscription: UInt64 = 0
    var progress: PullProgress?
    /// The newest own commit up to which the peer has acknowledged all that concerns it, in this session.
    var acknowledgedThrough: Int64 = 0
    var caughtUpSinceWallNanoseconds: UInt64?
    /// What the peer's user takes; nil where there are no limits for the peer.
    var account: UserAccount?
    /// When what has come may be taken in; nil where nothing waits for that.
    var turnNanoseconds: UInt64?
    /// The timers of what waits because of its user's rate, received and sent; nil until there is a first one.
    var turnKeys: (receiving: UInt64, sending: UInt64)?
    /// Whether the session waits for its turn to send documents.
    var isSendingHeld = false
    /// Bytes sent since the session last heard that the link keeps up.
    var unconfirmedByteCount = 0
    /// The bytes after which a session is told so.
    static let confirmedByteCount = 256 * 1024
    /// Why the session has ended, as its `close` said.
    var closeCode: String?
    var error: StatusError?

    init(
        number: UInt64, link: any Link, inbox: LinkInbox, session: Session, dialer: Dialer?, openedNanoseconds: UInt64
    ) {
        self.number = number
        self.link = link
        self.inbox = inbox
        self.session = session
        self.dialer = dialer
        self.openedNanoseconds = openedNanoseconds
    }

    var isEstablished: Bool { state == .established }
    /// Whether the handshake was done, also where the session has ended since.
    var hasBeenEstablished: Bool { !hello.storeID.isEmpty }
    var peerID: [UInt8] { hello.storeID }

    /// Whether the peer's acknowledgements permit evictions: a hub's, or where identities have no grants, also those of a
    /// peer that says so.
    var isKeeper = false

    /// How the frames travel, as presence tells it.
    var presenceKind: PresenceRecord.LinkKind {
        switch link.info.kind {
        case .inMemory: .inMemory
        case .webSocket(let isTLS): isTLS ? .webSocketTLS : .webSocket
        }
    }
}

/// Keeps one URL connected; touched on the executor only.
final class Dialer {
    enum State {
        case idle
        case connecting(any ConnectionAttempt)
        /// A link is open.
        case open(connection: UInt64)
        case waiting(untilWallNanoseconds: UInt64)
        /// This peer has no grant, and connects as soon as it has one.
        case withoutGrant
        /// The peer is connected by another link, until that ends.
        case redundant(peer: [UInt8])
        case failed
    }

    let url: String
    /// The key of its timer.
    let timerKey: UInt64
    var state = State.idle
    var backoff: ReconnectBackoff
    /// Tells the completion of the present attempt from those of earlier ones.
    var attempt = 0
    /// Which of this peer's grants the present attempt was made with.
    var grantNumber = 0
    var lastError: StatusError?

    init(url: String, timerKey: UInt64, longestWaitSeconds: Double) {
        self.url = url
        self.timerKey = timerKey
        backoff = ReconnectBackoff(longestSeconds: longestWaitSeconds)
    }
}
