import DocDBCore
import DocDBSync
import Synchronization

// Who is connected to whom.
extension ReplicationEngine {
    /// What the extra bytes of a session are.
    enum ExtraKind {
        static let presence: UInt64 = 1
        /// What hubs have certified and revoked.
        static let notices: UInt64 = 2
    }

    /// This peer and all that are connected to it, directly or by others, as last published.
    package var reachablePeers: [PresenceRecord] { publishedPresence.withLock { $0 } }

    func receiveExtra(_ kind: UInt64, _ bytes: [UInt8], _ connection: Connection) {
        switch kind {
        case ExtraKind.presence: receivePresence(bytes, connection)
        case ExtraKind.notices: receiveNotices(bytes, connection)
        // Kinds that only newer versions know are passed over.
        default: break
        }
    }

    private func receivePresence(_ bytes: [UInt8], _ connection: Connection) {
        guard var records = try? PresenceCoding.decode(bytes, from: connection.peerID, to: ownID) else {
            return tell(
                connection, .close(code: CloseCode.protocolError, message: "news of presence do not decode; update"))
        }
        for index in records.indices where records[index].peer == connection.peerID {
            records[index].fillIn(from: connection.hello)
        }
        let now = executor.monotonicNanoseconds
        let heard = presence.receive(records, link: connection.number, now: now)
        for peer in heard { interests.hear(peer, now: now) }
        guard !heard.isEmpty else { return }
        presenceChanged()
        schedulePresence()
    }

    /// Has the peer of a new link in the graph at once, as its hello tells of it; its own news come a little later.
    func meet(_ connection: Connection) {
        var record = PresenceRecord(peer: connection.peerID, sequence: 0)
        record.fillIn(from: connection.hello)
        record.isKeeper = connection.isKeeper
        record.neighbours = [
            PresenceRecord.Neighbour(
                peer: ownID, kind: connection.presenceKind, sinceNanoseconds: connection.sinceWallNanoseconds)
        ]
        presence.meet(record, link: connection.number, now: executor.monotonicNanoseconds)
    }

    /// This peer's own links are others than before.
    func neighboursChanged() {
        let established = connections.values.filter(\.isEstablished)
        let neighbours = established.map {
            PresenceRecord.Neighbour(
                peer: $0.peerID, kind: $0.presenceKind, sinceNanoseconds: $0.sinceWallNanoseconds)
        }
        if presence.setNeighbours(neighbours, wallNanoseconds: executor.wallNanoseconds) { presenceChanged() }
        schedulePresence()
    }

    /// Publishes the graph where it is another than before.
    func presenceChanged() {
        let reachable = isRunning ? presence.reachable() : []
        let isNew = publishedPresence.withLock { published -> Bool in
            guard published != reachable else { return false }
            published = reachable
            return true
        }
        if isNew { presenceObservers.tell(reachable) }
    }

    /// Has news told to neighbours a little later, so that they gather.
    func schedulePresence() {
        guard isRunning, !isPresenceScheduled else { return }
        isPresenceScheduled = true
        let delay = ReplicationLimits.presenceDelayNanoseconds &+ UInt64(connections.count) &* 20_000_000
        schedule(key: TimerKey.presence, atNanoseconds: executor.monotonicNanoseconds &+ delay) { engine in
            engine.isPresenceScheduled = false
            engine.tellPresence()
        }
    }

    private func tellPresence() {
        guard isRunning else { return }
        let established = sortedConnections.filter(\.isEstablished)
        for connection in established {
            var news = presence.takeNews(
                link: connection.number, peer: connection.peerID, linkCount: established.count)
            for index in news.indices where news[index].peer == ownID { news[index].leaveOutHello() }
            guard !news.isEmpty else { continue }
            let bytes = PresenceCoding.encode(news, from: ownID, to: connection.peerID)
            tell(connection, .extra(kind: ExtraKind.presence, bytes))
        }
    }
}

extension PresenceRecord {
    /// Leaves out what a hello has told the peer who gets the record.
    fileprivate mutating func leaveOutHello() {
        name = ""
        operatingSystem = ""
        softwareVersion = ""
    }

    fileprivate mutating func fillIn(from hello: Hello) {
        let limit = ReplicationLimits.nameByteCount
        if name.isEmpty { name = hello.name.cut(toByteCount: limit) }
        if operatingSystem.isEmpty { operatingSystem = hello.operatingSystem.cut(toByteCount: limit) }
        if softwareVersion.isEmpty { softwareVersion = hello.softwareVersion.cut(toByteCount: limit) }
    }
}
