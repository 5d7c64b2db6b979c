import DocDBCore
import DocDBSync
import DocDBTransport
import Synchronization

// Doing what sessions want done.
extension ReplicationEngine {
    func perform(_ effects: [SessionEffect], _ connection: Connection) {
        for effect in effects { perform(effect, connection) }
    }

    private func perform(_ effect: SessionEffect, _ connection: Connection) {
        switch effect {
        case .send(let frame): send(frame, connection)
        case .told(let count): traffic.countSentDocuments(count)
        case .wake(let time):
            let number = connection.number
            schedule(key: number, atNanoseconds: time) { engine in
                if let connection = engine.connections[number] { engine.tell(connection, .tick) }
            }
        case .established(let hello, let rights): didEstablish(connection, hello, rights)
        case .frameLimit(let limit): connection.link.frameByteLimit = limit
        case .scope(let scope):
            // A renewal may have changed them.
            if let rights = connection.session.peerRights { note(rights, connection) }
            router.watch(scope, session: connection.number)
            tell(connection, .scoped)
        case .applied(let count, _): didApply(count, from: connection)
        case .progress(let progress): didProgress(connection, progress)
        case .acknowledged(let sequence):
            connection.acknowledgedThrough = max(connection.acknowledgedThrough, sequence)
            isStatusDirty = true
            // Only keepers' acknowledgements permit evictions. Sessions defer evictions themselves, too.
            if connection.isKeeper { retryDeferredEvictions() }
        case .apart(let document):
            apartObservers.tell(ApartNews(document: document, isSettled: false))
        case .settled(let reference, let peer, let side):
            let document = ApartDocument(
                peer: peer, side: side, reference: reference, code: .denied, epoch: 0, reason: "")
            apartObservers.tell(ApartNews(document: document, isSettled: true))
        case .announced(let announced):
            let now = executor.monotonicNanoseconds
            if interests.receive(announced, from: connection.peerID, link: connection.number, now: now) {
                announceToAll()
            }
        case .voided(let ranges): tellVoided(ranges)
        case .returned(let reference, let peers): askAgain(reference, toldBy: peers)
        // The commit itself tells the router.
        case .evicted: break
        case .extra(let kind, let bytes): receiveExtra(kind, bytes, connection)
        case .warning(let error):
            connection.error = statusError(error)
            isStatusDirty = true
            warningObservers.tell(error)
        case .close(let code, let message): didEnd(connection, code: code, message: message)
        }
    }

    /// The session has ended, by this side's decision or the peer's: the link closes once what was sent has gone out.
    private func didEnd(_ connection: Connection, code: String, message: String) {
        connection.state = .ending
        connection.closeCode = code
        // What the store said of its failure says more than the code that the peer is told.
        if code != CloseCode.storageFailed || connection.error == nil {
            connection.error = SessionErrors.error(code: code, message: message).map(statusError)
        }
        router.forget(session: connection.number)
        executor.cancel(key: connection.number)
        endTurns(connection)
        connection.link.close(code == CloseCode.closing ? .goingAway(message) : .normal(message))
        if connection.hasBeenEstablished {
            // At once, so that the status is never without the peer while the link is closing.
            rememberPeer(of: connection)
            neighboursChanged()
        }
        isStatusDirty = true
    }

    /// The handshake is done.
    private func didEstablish(_ connection: Connection, _ hello: Hello, _ rights: PeerRights) {
        connection.hello = hello
        note(rights, connection)
        connection.account = connection.session.account
        connection.isKeeper = rights.isHub || environment.authenticator.grant.isEmpty && hello.isKeeper
        connection.state = .established
        connection.sinceWallNanoseconds = executor.wallNanoseconds
        do {
            connection.peerNumber = try replica.read { try $0.peer(storeID: hello.storeID)?.number ?? 0 }
        } catch {
            noteTrouble(error as? DocDBError ?? DocDBError(.storageFailed, "reading what is known of a peer failed"))
        }
        isStatusDirty = true
        if let other = sortedConnections.first(where: { isDuplicate($0, of: connection) }) {
            let loser = isBetter(connection, than: other) ? other : connection
            let message = "the two stores are connected by another link"
            if let dialer = loser.dialer { setAside(dialer, peer: hello.storeID) }
            tell(loser, .close(code: SessionErrors.duplicate, message: message))
            guard loser !== connection else { return }
        }
        connection.dialer?.lastError = nil
        formerPeers.removeAll { $0.storeID == hello.storeID }
        if let greeting = environment.authenticator.noticeGreeting {
            tell(connection, .extra(kind: ExtraKind.notices, greeting))
        }
        announce(to: connection)
        meet(connection)
        neighboursChanged()
        // Somebody can be reached: perhaps the others can be, too.
        if connection.dialer != nil { dialWaiting() }
    }

    /// Notes what a peer may do.
    private func note(_ rights: PeerRights, _ connection: Connection) {
        connection.rights = rights
        peerRights.withLock { $0[connection.peerID] = rights }
    }

    private func isDuplicate(_ other: Connection, of connection: Connection) -> Bool {
        other !== connection && other.isEstablished && other.peerID == connection.peerID
    }

    /// Which of two links between the same stores is kept. Both sides come to the same answer: the one that was opened by
    /// the store with the smaller id; of two that one side opened, the newer one, as the older may be dead.
    private func isBetter(_ new: Connection, than old: Connection) -> Bool {
        guard new.link.info.isInitiator != old.link.info.isInitiator else { return true }
        return new.link.info.isInitiator == ownID.lexicographicallyPrecedes(new.peerID)
    }

    private func didApply(_ count: Int, from connection: Connection) {
        connection.appliedCount += UInt64(max(count, 0))
        isStatusDirty = true
    }

    private func didProgress(_ connection: Connection, _ progress: PullProgress) {
        guard connection.progress != progress else { return }
        connection.progress = progress
        if progress.phase == .current {
            if connection.caughtUpSinceWallNanoseconds == nil {
                connection.caughtUpSinceWallNanoseconds = executor.wallNanoseconds
            }
        } else {
            connection.caughtUpSinceWallNanoseconds = nil
        }
        isStatusDirty = true
    }

    /// A document that was evicted is here again: all who had told it are asked for what they told.
    func askAgain(_ reference: DocumentReference, toldBy peers: [Int64]) {
        for connection in sortedConnections where connection.isEstablished && peers.contains(connection.peerNumber) {
            tell(connection, .wanted([reference]))
        }
    }
}
