package import DocDBCore
package import DocDBSync
package import DocDBTransport

/// How replication stands: a value, of one moment.
package struct ReplicationStatus: Equatable, Sendable {
    package enum Phase: Equatable, Sendable {
        case stopped, running, stopping
    }

    package var phase = Phase.stopped
    /// Where others can connect; nil where this peer does not listen.
    package var listening: SocketAddress?
    /// One for each URL, in their order.
    package var dials: [DialStatus] = []
    /// Peers that are or were connected since the start, by store id.
    package var peers: [PeerStatus] = []
    /// In the order in which they were made.
    package var subscriptions: [SubscriptionStatus] = []
    /// The newest trouble that belongs to no URL and no peer: a link that was refused, a store that fails.
    package var lastError: StatusError?

    package init() {}
}

/// An error in a status, compared by what it says.
package struct StatusError: Equatable, Sendable {
    package var error: DocDBError
    /// When it happened, in nanoseconds since 1970.
    package var wallNanoseconds: UInt64

    package init(_ error: DocDBError, wallNanoseconds: UInt64) {
        self.error = error
        self.wallNanoseconds = wallNanoseconds
    }

    package static func == (left: StatusError, right: StatusError) -> Bool {
        left.error.code == right.error.code && left.error.message == right.error.message
            && left.wallNanoseconds == right.wallNanoseconds
    }
}

/// How the connection to one URL stands.
package struct DialStatus: Equatable, Sendable {
    package enum State: Equatable, Sendable {
        /// A link is being opened, or its handshake is under way.
        case connecting
        /// Connected to the peer with this store id.
        case connected(peer: [UInt8])
        /// It will be tried again at this time, in nanoseconds since 1970.
        case waiting(untilWallNanoseconds: UInt64)
        /// This peer has no valid grant, and connects as soon as it has one.
        case withoutGrant
        /// The same peer is connected by another link.
        case redundant(peer: [UInt8])
        /// It will not be tried again: the URL itself is wrong.
        case failed
    }

    package var url: String
    package var state: State
    /// What went wrong last; nil once connected.
    package var lastError: StatusError?
}

/// How replication with one peer stands.
package struct PeerStatus: Equatable, Sendable {
    package var storeID: [UInt8]
    package var name: String
    package var operatingSystem: String
    package var softwareVersion: String
    package var isKeeper: Bool
    package var isConnected: Bool
    package var kind: LinkInfo.Kind
    package var remoteAddress: String
    package var isInitiator: Bool
    /// When the link was established, or closed, in nanoseconds since 1970.
    package var sinceWallNanoseconds: UInt64
    /// How far the pull from the peer has come; nil where nothing is asked for.
    package var progress: PullProgress?
    /// Since when all that the peer has told has been applied, in nanoseconds since 1970; nil while it has not.
    package var caughtUpSinceWallNanoseconds: UInt64?
    /// The newest commit of this store up to which the peer has acknowledged all that concerns it, in this session.
    package var acknowledgedThrough: Int64
    /// Changes of the peer's that were applied in this session.
    package var appliedCount: UInt64
    package var lastError: StatusError?
}

/// How one subscription stands.
package struct SubscriptionStatus: Equatable, Sendable {
    package var id: UInt64
    package var collection: String
    /// The canonical predicate.
    package var predicate: String
    package var policy: LeavingPolicy
    /// The connected peers that are asked for it.
    package var peers: [Peer]
    /// What went wrong last with one of these peers, or, while all that any has told is not here, with a connection.
    package var lastError: StatusError?

    package struct Peer: Equatable, Sendable {
        package var storeID: [UInt8]
        package var progress: PullProgress
        package var caughtUpSinceWallNanoseconds: UInt64?
    }
}

/// What becomes of a document here that no subscription matches any more.
package enum LeavingPolicy: Hashable, Sendable {
    case keep
    /// It is evicted once a keeper holds its changes.
    case evict
}
