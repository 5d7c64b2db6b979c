import DocDBCore
import DocDBSync
import DocDBTransport
import Synchronization

extension ReplicationEngine {
    // MARK: From outside

    /// Sets what the next start goes by.
    package func configure(_ configuration: ReplicationConfiguration) {
        lifecycle.withLock { $0.configuration = configuration }
    }

    /// What the next start goes by.
    package var nextConfiguration: ReplicationConfiguration { lifecycle.withLock { $0.configuration } }

    /// Begins to listen and to connect; does nothing while it runs.
    ///
    /// - Throws: `.addressInUse`, `.invalidAddress`, `.certificateInvalid`, `.connectionFailed` where it cannot listen;
    ///   `.connectionRejected` where the identity forbids it; `.misuse` while it stops; and then nothing has begun.
    package func start() throws {
        let configuration = try lifecycle.withLock { state throws(DocDBError) -> ReplicationConfiguration? in
            switch state.phase {
            case .running: return nil
            case .stopping:
                throw DocDBError(.misuse, "replication is being stopped; start it when that is done")
            case .stopped:
                state.phase = .running
                return state.configuration
            }
        }
        guard let configuration else { return }
        do {
            try updateWatching()
            let listener = try makeListener(configuration)
            try listener?.start { [weak self] link in
                let link = SendableLink(link)
                self?.enqueue { $0.accept(link.link) }
            }
            // Known as soon as this returns; all else is published as it happens.
            published.withLock { status in
                status.phase = .running
                status.listening = listener?.boundAddress
            }
            enqueue { $0.begin(configuration, listener) }
        } catch {
            lifecycle.withLock { $0.phase = .stopped }
            try? updateWatching()
            throw error
        }
    }

    /// Ends all sessions in order, and calls `completion` on the executor once that is done.
    package func stop(_ completion: @escaping @Sendable () -> Void = {}) {
        let isFirst = lifecycle.withLock { state -> Bool? in
            guard state.phase != .stopped else { return nil }
            state.stopped.append(completion)
            defer { state.phase = .stopping }
            return state.phase == .running
        }
        guard let isFirst else { return executor.enqueue(completion) }
        // Kept alive until all is told: whoever owned the engine may have let it go.
        if isFirst { executor.enqueue { self.beginStop() } }
    }

    /// Tells all observers that nothing will come any more.
    package func endObserving() {
        statusObservers.end()
        presenceObservers.end()
        apartObservers.end()
        warningObservers.end()
        noticeObservers.end()
    }

    /// Tries all URLs again at once: the network has come back, or an app came to the foreground.
    package func nudge() { enqueue { $0.dialWaiting() } }

    private func makeListener(_ configuration: ReplicationConfiguration) throws -> (any Listener)? {
        guard let address = configuration.listen else { return nil }
        if !address.isLoopback {
            guard environment.policy.permitsNetwork else {
                throw DocDBError(
                    .connectionRejected,
                    "an offline playground listens on loopback only; use 127.0.0.1, another identity, or permit the network in so many words"
                )
            }
            guard !environment.policy.requiresTLS || address.certificateFile != nil else {
                throw DocDBError(
                    .connectionRejected,
                    "this identity listens off loopback over TLS only; name a certificate and its key")
            }
        }
        return try environment.makeListener(address)
    }

    // MARK: On the executor

    private func begin(_ configuration: ReplicationConfiguration, _ listener: (any Listener)?) {
        guard lifecycle.withLock({ $0.phase }) == .running else {
            // It was stopped before it had begun.
            listener?.stop()
            return
        }
        self.configuration = configuration
        self.listener = listener
        accounts.withLock { $0 = UserAccounts(configuration.userLimits) }
        isRunning = true
        lastError = nil
        let wall = executor.wallNanoseconds
        var own = PresenceRecord(peer: ownID, sequence: wall)
        let limit = ReplicationLimits.nameByteCount
        own.name = configuration.name.cut(toByteCount: limit)
        own.operatingSystem = configuration.operatingSystem.cut(toByteCount: limit)
        own.softwareVersion = configuration.softwareVersion.cut(toByteCount: limit)
        own.isKeeper = configuration.isKeeper
        presence = PresenceTable(own: own)
        interests = InterestTable(ownID: ownID, relayLimit: configuration.relayLimit, wallNanoseconds: wall)
        updateOwnInterest()
        dialers = configuration.urls.map {
            Dialer(url: $0, timerKey: newNumber(), longestWaitSeconds: configuration.longestWaitSeconds)
        }
        for dialer in dialers { dial(dialer) }
        for link in earlyLinks { accept(link) }
        earlyLinks = []
        scheduleHeartbeat()
        retryDeferredEvictions()
        presenceChanged()
        isStatusDirty = true
    }

    private func beginStop() {
        isRunning = false
        for link in earlyLinks { refuse(link, .goingAway()) }
        earlyLinks = []
        listener?.stop()
        listener = nil
        for dialer in dialers {
            executor.cancel(key: dialer.timerKey)
            dialer.attempt += 1
            if case .connecting(let attempt) = dialer.state { attempt.cancel() }
            dialer.state = .idle
        }
        for key in [TimerKey.heartbeat, TimerKey.presence] { executor.cancel(key: key) }
        isPresenceScheduled = false
        for connection in sortedConnections {
            tell(connection, .close(code: CloseCode.closing, message: "the peer stops replicating"))
        }
        drain()
        // A link that does not close in time is given up.
        executor.schedule(
            key: TimerKey.stop, atNanoseconds: executor.monotonicNanoseconds &+ ReplicationLimits.stopNanoseconds
        ) { self.endStop(isForced: true) }
        endStop(isForced: false)
    }

    /// Ends the stop once all links have closed.
    func endStop(isForced: Bool) {
        guard !isRunning, lifecycle.withLock({ $0.phase }) == .stopping else { return }
        if isForced {
            for connection in sortedConnections { forget(connection) }
        }
        guard connections.isEmpty else { return }
        executor.cancel(key: TimerKey.stop)
        executor.cancel(key: TimerKey.status)
        isStatusScheduled = false
        dialers = []
        formerPeers = []
        presenceChanged()
        let completions = lifecycle.withLock { state -> [@Sendable () -> Void] in
            state.phase = .stopped
            defer { state.stopped = [] }
            return state.stopped
        }
        try? updateWatching()
        publish()
        for completion in completions { completion() }
    }

    /// Watches commits, or no longer does, as is wanted now.
    func updateWatching() throws {
        try isWatching.withLock { isWatching in
            let isWanted = lifecycle.withLock { $0.phase != .stopped || $0.hasEvictingSubscription }
            guard isWanted != isWatching else { return }
            let sequence = try environment.watchCommits(router, isWanted)
            isWatching = isWanted
            if isWanted { router.begin(at: sequence) }
        }
    }

    private func scheduleHeartbeat() {
        let time = executor.monotonicNanoseconds &+ ReplicationLimits.heartbeatNanoseconds
        schedule(key: TimerKey.heartbeat, atNanoseconds: time) { engine in
            guard engine.isRunning else { return }
            engine.presence.beat(wallNanoseconds: engine.executor.wallNanoseconds)
            let now = engine.executor.monotonicNanoseconds
            if engine.presence.expire(now: now) { engine.presenceChanged() }
            if engine.interests.expire(now: now) { engine.announceToAll() }
            engine.schedulePresence()
            engine.scheduleHeartbeat()
        }
    }

    /// The connections in the order in which they were opened.
    var sortedConnections: [Connection] { connections.sorted { $0.key < $1.key }.map(\.value) }
}

/// Carries a link into a closure; links may be used from any thread.
private struct SendableLink: Sendable {
    let link: any Link
    init(_ link: any Link) { self.link = link }
}
