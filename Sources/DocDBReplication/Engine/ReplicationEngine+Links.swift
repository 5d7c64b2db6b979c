package import DocDBCore
import DocDBSync
import DocDBTransport
import Synchronization

// Links, from opening to closing.
extension ReplicationEngine {
    /// Takes a link that another peer has opened, or refuses it with a reason.
    func accept(_ link: any Link) {
        guard isRunning else {
            guard lifecycle.withLock({ $0.phase }) == .running else { return refuse(link, .goingAway()) }
            // It came between the start of the listener and that of the engine.
            return earlyLinks.append(link)
        }
        let accepted = connections.values.count { $0.dialer == nil }
        guard accepted < configuration.connectionLimit else {
            let limit = configuration.connectionLimit
            noteTrouble(
                DocDBError(
                    .limitReached, "a peer was refused, as \(limit) are connected; raise the limit of connections"))
            return refuse(link, .busy("\(limit) peers are connected, which is the limit; try again later"))
        }
        if let objection = environment.policy.objection(to: link.info) {
            noteTrouble(objection)
            return refuse(link, .refused(objection.message))
        }
        open(link, dialer: nil)
    }

    /// Begins a session on a link.
    @discardableResult
    func open(_ link: any Link, dialer: Dialer?) -> Connection {
        let number = newNumber()
        var hello = Hello()
        hello.name = configuration.name
        hello.operatingSystem = configuration.operatingSystem
        hello.softwareVersion = configuration.softwareVersion
        hello.isKeeper = configuration.isKeeper
        if let versions = environment.protocolVersions {
            hello.lowestVersion = versions.lowerBound
            hello.highestVersion = versions.upperBound
        }
        hello.nonce = environment.randomBytes(16)
        hello.actors = environment.ownActors().suffix(SyncLimits.helloActorCount)
        var options = SessionConfiguration(isInitiator: link.info.isInitiator, hello: hello)
        options.disabledRules = environment.disabledRules
        options.voidsRefused = environment.authenticator.ownRights.isHub
        options.accounts = accounts.withLock { $0 }
        let session = Session(
            configuration: options, replica: replica, authenticator: environment.authenticator)
        let inbox = LinkInbox { [weak self] in self?.enqueue { $0.takeInbox(number) } }
        let connection = Connection(
            number: number, link: link, inbox: inbox, session: session, dialer: dialer,
            openedNanoseconds: executor.monotonicNanoseconds)
        connections[number] = connection
        link.start(inbox)
        return connection
    }

    func takeInbox(_ number: UInt64) {
        guard let connection = connections[number], let byteLimit = turn(of: connection) else { return }
        var hasFrames = false
        let now = executor.monotonicNanoseconds
        let (items, isEmpty) = connection.inbox.take(connection.link, byteLimit: byteLimit)
        for item in items {
            switch item {
            case .opened: tell(connection, .opened(channelBinding: connection.link.info.channelBinding))
            case .frame(let bytes):
                traffic.countReceived(bytes.count)
                connection.account?.countReceived(item.byteCount, at: now)
                tell(connection, .received(bytes))
                hasFrames = true
            case .drained:
                connection.unconfirmedByteCount = 0
                confirm(connection)
            case .closed(let reason):
                if hasFrames { tell(connection, .batchEnded) }
                drain()
                return didClose(connection, reason)
            }
        }
        if hasFrames { tell(connection, .batchEnded) }
        if !isEmpty { waitForTurn(connection) }
    }

    /// Queues a frame on the link. Where the link has kept up, the session hears of that by `drained`, too: a link
    /// only reports that its queue has emptied if it ever was long.
    func send(_ frame: [UInt8], _ connection: Connection) {
        connection.link.send(frame)
        traffic.countSent(frame.count)
        connection.account?.countSent(frame.count, at: executor.monotonicNanoseconds)
        connection.unconfirmedByteCount += frame.count
        if connection.unconfirmedByteCount > configuration.outboxByteCount,
            connection.link.queuedByteCount > configuration.outboxByteCount
        {
            connection.unconfirmedByteCount = 0
            let message = "the peer does not take what it is sent; check its network, or update it"
            return tell(connection, .close(code: CloseCode.limitReached, message: message))
        }
        guard connection.unconfirmedByteCount > Connection.confirmedByteCount,
            connection.link.queuedByteCount <= TransportLimits.lowWaterByteCount
        else { return }
        connection.unconfirmedByteCount = 0
        confirm(connection)
    }

    /// The link has closed; ends what was on it, and has its URL dialed again.
    private func didClose(_ connection: Connection, _ reason: LinkCloseReason) {
        if connection.error == nil, connection.closeCode == nil { connection.error = linkError(reason) }
        let wasEstablished = connection.hasBeenEstablished
        forget(connection)
        redial(after: connection)
        if wasEstablished, !isPeerConnected(connection.peerID) { recall(peer: connection.peerID) }
        if !isRunning { endStop(isForced: false) }
    }

    /// Forgets a connection and all that is known by its number.
    func forget(_ connection: Connection) {
        tell(connection, .closed)
        drain()
        connections[connection.number] = nil
        connection.state = .ending
        executor.cancel(key: connection.number)
        forgetTurns(connection)
        router.forget(session: connection.number)
        guard connection.hasBeenEstablished else {
            if connection.dialer == nil, let error = connection.error { lastError = error }
            isStatusDirty = true
            return
        }
        interests.removeLink(connection.number, now: executor.monotonicNanoseconds)
        presence.removeLink(connection.number)
        if !isPeerConnected(connection.peerID) { peerRights.withLock { $0[connection.peerID] = nil } }
        rememberPeer(of: connection)
        neighboursChanged()
    }

    private func redial(after connection: Connection) {
        guard let dialer = connection.dialer, case .open(connection.number) = dialer.state else { return }
        if connection.hasBeenEstablished, isPeerConnected(connection.peerID) {
            return setAside(dialer, peer: connection.peerID)
        }
        let lasted = executor.monotonicNanoseconds &- connection.openedNanoseconds
        fail(
            dialer, connection.error?.error, afterLasting: Double(lasted) / 1_000_000_000,
            isRefusal: connection.closeCode.map(SessionErrors.isRefusal) ?? false)
    }

    func isPeerConnected(_ peer: [UInt8]) -> Bool {
        connections.values.contains { $0.isEstablished && $0.peerID == peer }
    }

    /// What the closing of a link says where the session said nothing.
    private func linkError(_ reason: LinkCloseReason) -> StatusError? {
        switch reason.code {
        case 1000, 1001: nil
        case 1008, LinkCloseReason.busy("").code:
            statusError(DocDBError(.connectionRejected, "the peer refused the link: \(reason.text)"))
        case 1006: statusError(DocDBError(.connectionFailed, "the link was lost: \(reason.text); it is opened again"))
        default: statusError(DocDBError(.connectionFailed, "the link has closed: \(reason)"))
        }
    }

    /// Takes up what went wrong and was repaired: it shows in the status, from any thread.
    package func report(_ warning: DocDBError) {
        enqueue { engine in
            engine.noteTrouble(warning)
            engine.warningObservers.tell(warning)
        }
    }

    /// Notes trouble that belongs to no URL and no peer.
    func noteTrouble(_ error: DocDBError) {
        lastError = statusError(error)
        isStatusDirty = true
    }
}
