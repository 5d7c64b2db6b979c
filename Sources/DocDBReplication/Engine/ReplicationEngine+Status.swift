import DocDBCore
import DocDBSync
import DocDBTransport
import Synchronization

// Telling how replication stands.
extension ReplicationEngine {
    /// How replication stands, as last published.
    package var status: ReplicationStatus { published.withLock { $0 } }

    /// Publishes the status if it may be another, at once where there are few links, at most 20 times a second where there
    /// are a thousand.
    func publishIfNeeded() {
        guard isStatusDirty, !isStatusScheduled else { return }
        let now = executor.monotonicNanoseconds
        let earliest = publishedNanoseconds &+ UInt64(connections.count) &* 50_000
        guard earliest > now, connections.count > 32 else { return publish() }
        isStatusScheduled = true
        schedule(key: TimerKey.status, atNanoseconds: earliest) { engine in
            engine.isStatusScheduled = false
            engine.publish()
        }
    }

    func publish() {
        isStatusDirty = false
        publishedNanoseconds = executor.monotonicNanoseconds
        let made = makeStatus()
        let status = published.withLock { published -> ReplicationStatus in
            // Between the start and its work here the place is known there alone.
            let listening = made.phase == .running && !isRunning ? published.listening : made.listening
            published = made
            published.listening = listening
            // Subscriptions come and go on any thread: the newest ones, so that none flickers.
            published.subscriptions = subscriptionStatuses(published)
            return published
        }
        guard status != toldStatus else { return }
        toldStatus = status
        statusObservers.tell(status)
    }

    /// The status of the subscriptions there are now, as published for each; of a new one, what keeps it back by what is
    /// published of others. May be called on any thread, so that it takes nothing that belongs to the executor.
    func subscriptionStatuses(_ published: ReplicationStatus) -> [SubscriptionStatus] {
        subscriptions.map { subscription in
            if let known = published.subscriptions.first(where: { $0.id == subscription.id }) { return known }
            var errors = published.dials.compactMap(\.lastError)
            errors += published.peers.filter { !$0.isConnected }.compactMap(\.lastError)
            if let lastError = published.lastError { errors.append(lastError) }
            return SubscriptionStatus(
                id: subscription.id, collection: subscription.collection, predicate: subscription.predicate,
                policy: subscription.policy, peers: [],
                lastError: errors.max { $0.wallNanoseconds < $1.wallNanoseconds })
        }
    }

    private func makeStatus() -> ReplicationStatus {
        var status = ReplicationStatus()
        switch lifecycle.withLock({ $0.phase }) {
        case .stopped: status.phase = .stopped
        case .running: status.phase = .running
        case .stopping: status.phase = .stopping
        }
        status.listening = listener?.boundAddress
        status.lastError = lastError
        status.dials = dialers.map(dialStatus)
        let connected = connections.values.filter(\.isEstablished).map { peerStatus($0, isConnected: true) }
        let known = Set(connected.map(\.storeID))
        status.peers = (connected + formerPeers.filter { !known.contains($0.storeID) }).sorted {
            $0.storeID.lexicographicallyPrecedes($1.storeID)
        }
        let established = sortedConnections.filter(\.isEstablished)
        status.subscriptions = subscriptions.map { subscriptionStatus($0, established) }
        return status
    }

    private func dialStatus(_ dialer: Dialer) -> DialStatus {
        let state: DialStatus.State
        switch dialer.state {
        case .idle, .connecting: state = .connecting
        case .open(let number):
            let connection = connections[number]
            state = connection?.isEstablished == true ? .connected(peer: connection?.peerID ?? []) : .connecting
        case .waiting(let time): state = .waiting(untilWallNanoseconds: time)
        case .withoutGrant: state = .withoutGrant
        case .redundant(let peer): state = .redundant(peer: peer)
        case .failed: state = .failed
        }
        return DialStatus(url: dialer.url, state: state, lastError: dialer.lastError)
    }

    private func peerStatus(_ connection: Connection, isConnected: Bool) -> PeerStatus {
        PeerStatus(
            storeID: connection.peerID, name: connection.hello.name,
            operatingSystem: connection.hello.operatingSystem, softwareVersion: connection.hello.softwareVersion,
            isKeeper: connection.isKeeper, isConnected: isConnected,
            kind: connection.link.info.kind, remoteAddress: connection.link.info.remoteAddress,
            isInitiator: connection.link.info.isInitiator, sinceWallNanoseconds: connection.sinceWallNanoseconds,
            progress: connection.progress, caughtUpSinceWallNanoseconds: connection.caughtUpSinceWallNanoseconds,
            acknowledgedThrough: connection.acknowledgedThrough, appliedCount: connection.appliedCount,
            lastError: connection.error)
    }

    private func subscriptionStatus(_ subscription: Subscription, _ established: [Connection]) -> SubscriptionStatus {
        let peers = established.map { connection in
            // One that was made just now is not among what the peer was asked for, however far that has come.
            let isAsked = connection.announcedSubscription >= subscription.id
            return SubscriptionStatus.Peer(
                storeID: connection.peerID,
                progress: (isAsked ? connection.progress : nil)
                    ?? PullProgress(phase: .asking, receivedCount: 0, expectedCount: nil),
                caughtUpSinceWallNanoseconds: isAsked ? connection.caughtUpSinceWallNanoseconds : nil)
        }
        return SubscriptionStatus(
            id: subscription.id, collection: subscription.collection, predicate: subscription.predicate,
            policy: subscription.policy, peers: peers, lastError: lastError(of: peers, established))
    }

    /// The newest trouble that keeps a subscription back, or did with a peer that is connected.
    private func lastError(of peers: [SubscriptionStatus.Peer], _ established: [Connection]) -> StatusError? {
        var errors = established.compactMap(\.error)
        if !peers.contains(where: { $0.progress.phase == .current }) {
            errors += dialers.compactMap(\.lastError) + formerPeers.compactMap(\.lastError)
            if let lastError { errors.append(lastError) }
        }
        return errors.max { $0.wallNanoseconds < $1.wallNanoseconds }
    }

    /// Keeps the status of a peer that is connected no more.
    func rememberPeer(of connection: Connection) {
        guard !isPeerConnected(connection.peerID) else { return }
        var status = peerStatus(connection, isConnected: false)
        status.sinceWallNanoseconds = executor.wallNanoseconds
        status.caughtUpSinceWallNanoseconds = nil
        status.progress = nil
        formerPeers.removeAll { $0.storeID == status.storeID }
        formerPeers.append(status)
        if formerPeers.count > ReplicationLimits.rememberedPeerCount { formerPeers.removeFirst() }
        isStatusDirty = true
    }
}
