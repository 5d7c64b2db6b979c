import DocDBCore

/// The name of a peer's database: 16 random bytes that it was created with.
public struct PeerID: Hashable, Comparable, Sendable, CustomStringConvertible {
    /// The 16 bytes.
    public let bytes: [UInt8]

    init(_ bytes: [UInt8]) { self.bytes = bytes }

    /// The bytes in hexadecimal.
    public var description: String {
        let digits = Array("0123456789abcdef".utf8)
        return String(decoding: bytes.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }, as: UTF8.self)
    }

    /// Orders ids by their bytes.
    public static func < (left: PeerID, right: PeerID) -> Bool { left.bytes.lexicographicallyPrecedes(right.bytes) }
}

/// How replication stands at one moment: from ``DatabaseSync/status``, its updates, or an ``ObservedSyncStatus``.
public struct SyncStatus: Equatable, Sendable {
    /// Whether replication runs.
    public enum Phase: Equatable, Sendable {
        /// It was not started, or has been stopped.
        case stopped
        /// It was started: it connects, listens and replicates.
        case running
        /// It ends its sessions.
        case stopping
    }

    /// How far the pull from a peer has come.
    public enum Progress: Equatable, Sendable {
        /// The peer was asked, and has not answered yet.
        case asking
        /// The two compare what they have.
        case comparing
        /// Documents come: how many have, and how many there will be, where that is known.
        case receiving(received: Int, expected: Int?)
        /// All that the peer told has been applied, since this time.
        case caughtUp(since: HybridTime)

        /// Whether all that the peer told has been applied.
        public var isCaughtUp: Bool {
            if case .caughtUp = self { true } else { false }
        }

        /// How many documents are still to come, where that is known; zero once caught up.
        public var remaining: Int? {
            switch self {
            case .asking, .comparing: nil
            case .receiving(let received, let expected): expected.map { max(0, $0 - received) }
            case .caughtUp: 0
            }
        }
    }

    /// What went wrong, and when.
    public struct Problem: Equatable, Sendable {
        /// The error, whose message says the remedy.
        public let error: DocDBError
        /// When it happened.
        public let time: HybridTime

        /// Compares the codes, the messages and the times.
        public static func == (left: Problem, right: Problem) -> Bool {
            left.error.code == right.error.code && left.error.message == right.error.message && left.time == right.time
        }
    }

    /// How the connection to one URL of the configuration stands.
    public struct Connection: Equatable, Sendable {
        /// What the connection does.
        public enum State: Equatable, Sendable {
            /// It is being opened, or the peers prove who they are.
            case connecting
            /// It is open.
            case connected(PeerID)
            /// It failed, and will be tried again at this time.
            case waiting(until: HybridTime)
            /// There is no valid grant: it is opened at the next login, and nothing is tried before.
            case loginRequired
            /// It is not needed, as the same peer is connected another way.
            case redundant(PeerID)
            /// It will not be tried again, as the URL is wrong.
            case failed
        }

        /// The URL.
        public let url: String
        /// What the connection does.
        public let state: State
        /// What went wrong last; nil once it is open.
        public let lastProblem: Problem?
    }

    /// How replication with one peer stands.
    public struct Peer: Equatable, Sendable {
        /// The peer's database.
        public let id: PeerID
        /// What the peer calls itself.
        public let name: String
        /// The operating system of the peer.
        public let operatingSystem: String
        /// The software of the peer, with its version.
        public let softwareVersion: String
        /// Whether what the peer has acknowledged may be evicted here.
        public let isKeeper: Bool
        /// Whether the two are connected now.
        public let isConnected: Bool
        /// How they are, or last were, connected.
        public let kind: ConnectionKind
        /// The peer's address.
        public let address: String
        /// Since when they are connected, or no longer are.
        public let since: HybridTime
        /// How far the pull from the peer has come; nil where they are not connected.
        public let progress: Progress?
        /// The newest commit of this database up to which the peer has acknowledged all that concerns it since the two are
        /// connected; zero before the first acknowledgement.
        public let acknowledgedThrough: Int64
        /// How many documents were changed here by what the peer sent since the two are connected.
        public let appliedCount: UInt64
        /// What went wrong last with this peer, if anything.
        public let lastProblem: Problem?
    }

    /// How one subscription stands.
    public struct Subscription: Equatable, Sendable {
        /// How a subscription stands at one connected peer.
        public struct Peer: Equatable, Sendable {
            /// The peer.
            public let id: PeerID
            /// How far the pull has come, of which the subscription is part.
            public let progress: Progress
        }

        /// The number of the subscription in this database.
        public let id: UInt64
        /// The collection.
        public let collection: String
        /// The predicate, in its canonical form.
        public let predicate: String
        /// The connected peers that are asked for it.
        public let peers: [Peer]
        /// What went wrong last with one of these peers, or, while it is caught up with none, with any connection; nil where
        /// nothing has.
        public let lastProblem: Problem?

        /// Whether all that at least one connected peer told has been applied.
        public var isCaughtUp: Bool { peers.contains { $0.progress.isCaughtUp } }
    }

    /// Whether replication runs.
    public let phase: Phase
    /// Where others can connect, such as `127.0.0.1:4430`; nil where this database does not listen.
    public let listening: String?
    /// The port that others can connect to; nil where this database does not listen.
    public let listeningPort: UInt16?
    /// One for each URL of the configuration, in their order.
    public let connections: [Connection]
    /// The peers that are connected, or were since the start.
    public let peers: [Peer]
    /// The subscriptions, in the order in which they were made.
    public let subscriptions: [Subscription]
    /// What went wrong last that belongs to no URL and no peer, such as a peer that was refused; nil where nothing has.
    public let lastProblem: Problem?

    /// Whether a peer is connected.
    public var isConnected: Bool { peers.contains(where: \.isConnected) }
}

/// How two databases are connected.
public enum ConnectionKind: Hashable, Sendable {
    /// Within one process.
    case inMemory
    /// Over a plain WebSocket.
    case webSocket
    /// Over a WebSocket inside TLS.
    case webSocketTLS
    /// In a way that only newer versions know.
    case unknown
}
