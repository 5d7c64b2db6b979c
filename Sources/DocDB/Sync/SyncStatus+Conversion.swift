import DocDBCore
import DocDBReplication
import DocDBSync
import DocDBTransport

extension SyncStatus {
    init(_ status: ReplicationStatus) {
        phase =
            switch status.phase {
            case .stopped: .stopped
            case .running: .running
            case .stopping: .stopping
            }
        listening = status.listening?.description
        listeningPort = status.listening?.port
        connections = status.dials.map(Connection.init)
        peers = status.peers.map(Peer.init)
        subscriptions = status.subscriptions.map(Subscription.init)
        lastProblem = status.lastError.map(Problem.init)
    }
}

extension SyncStatus.Problem {
    init(_ error: StatusError) {
        self.error = error.error
        time = HybridTime(nanosecondsSince1970: error.wallNanoseconds)
    }
}

extension SyncStatus.Connection {
    init(_ dial: DialStatus) {
        url = dial.url
        state =
            switch dial.state {
            case .connecting: .connecting
            case .connected(let peer): .connected(PeerID(peer))
            case .waiting(let time): .waiting(until: HybridTime(nanosecondsSince1970: time))
            case .withoutGrant: .loginRequired
            case .redundant(let peer): .redundant(PeerID(peer))
            case .failed: .failed
            }
        lastProblem = dial.lastError.map(SyncStatus.Problem.init)
    }
}

extension SyncStatus.Peer {
    init(_ peer: PeerStatus) {
        id = PeerID(peer.storeID)
        name = peer.name
        operatingSystem = peer.operatingSystem
        softwareVersion = peer.softwareVersion
        isKeeper = peer.isKeeper
        isConnected = peer.isConnected
        kind =
            switch peer.kind {
            case .inMemory: .inMemory
            case .webSocket(let isTLS): isTLS ? .webSocketTLS : .webSocket
            }
        address = peer.remoteAddress
        since = HybridTime(nanosecondsSince1970: peer.sinceWallNanoseconds)
        progress =
            peer.isConnected
            ? peer.progress.map { SyncStatus.Progress($0, caughtUpSince: peer.caughtUpSinceWallNanoseconds) } ?? .asking
            : nil
        acknowledgedThrough = peer.acknowledgedThrough
        appliedCount = peer.appliedCount
        lastProblem = peer.lastError.map(SyncStatus.Problem.init)
    }
}

extension SyncStatus.Subscription {
    init(_ subscription: SubscriptionStatus) {
        id = subscription.id
        collection = subscription.collection
        predicate = subscription.predicate
        peers = subscription.peers.map {
            Peer(
                id: PeerID($0.storeID),
                progress: SyncStatus.Progress($0.progress, caughtUpSince: $0.caughtUpSinceWallNanoseconds))
        }
        lastProblem = subscription.lastError.map(SyncStatus.Problem.init)
    }
}

extension SyncStatus.Progress {
    init(_ progress: PullProgress, caughtUpSince time: UInt64?) {
        self =
            switch progress.phase {
            case .asking: .asking
            case .reconciling: .comparing
            case .receiving:
                .receiving(
                    received: Int(clamping: progress.receivedCount),
                    expected: progress.expectedCount.map(Int.init(clamping:)))
            case .current: .caughtUp(since: HybridTime(nanosecondsSince1970: time ?? 0))
            }
    }
}

extension ConnectionKind {
    init(_ kind: PresenceRecord.LinkKind) {
        self =
            switch kind {
            case .inMemory: .inMemory
            case .webSocket: .webSocket
            case .webSocketTLS: .webSocketTLS
            default: .unknown
            }
    }
}
