import DocDBCore
import DocDBSync
import DocDBTransport

// Connecting to the URLs of the configuration, again and again.
extension ReplicationEngine {
    /// Begins to connect, or waits for a grant where the identity needs one: nothing is asked of a hub before.
    func dial(_ dialer: Dialer) {
        guard isRunning else { return }
        executor.cancel(key: dialer.timerKey)
        guard environment.authenticator.isReady(at: sessionTime) else {
            dialer.state = .withoutGrant
            isStatusDirty = true
            return
        }
        dialer.attempt += 1
        dialer.grantNumber = grantNumber
        let (number, timerKey) = (dialer.attempt, dialer.timerKey)
        var options = ConnectOptions()
        options.trust = configuration.trust
        let attempt = environment.connector.connect(to: dialer.url, options: options) { [weak self] result in
            self?.enqueue { $0.didDial(timerKey, attempt: number, result) }
        }
        dialer.state = .connecting(attempt)
        isStatusDirty = true
    }

    private func didDial(_ timerKey: UInt64, attempt: Int, _ result: Result<any Link, DocDBError>) {
        guard isRunning, let dialer = dialers.first(where: { $0.timerKey == timerKey }), dialer.attempt == attempt
        else {
            if case .success(let link) = result { refuse(link, .normal("no longer wanted")) }
            return
        }
        switch result {
        case .success(let link):
            if let objection = environment.policy.objection(to: link.info) {
                refuse(link, .refused(objection.message))
                fail(dialer, objection, afterLasting: 0, isRefusal: true)
            } else {
                let connection = open(link, dialer: dialer)
                dialer.state = .open(connection: connection.number)
            }
        case .failure(let error): fail(dialer, error, afterLasting: 0, isRefusal: false)
        }
        isStatusDirty = true
    }

    /// Notes why a URL is not connected, and when to try again.
    ///
    /// - Parameter isRefusal: whether the two peers do not fit together, so that trying soon would not help.
    func fail(_ dialer: Dialer, _ error: DocDBError?, afterLasting seconds: Double, isRefusal: Bool) {
        isStatusDirty = true
        // A refusal of a former grant, such as that it is revoked, says nothing of the present one, which is tried at once.
        let isOfFormerGrant = isRefusal && dialer.grantNumber != grantNumber
        dialer.lastError = isOfFormerGrant ? nil : error.map(statusError)
        guard isRunning else { return dialer.state = .idle }
        if error?.code == .invalidAddress { return dialer.state = .failed }
        let isReady = environment.authenticator.isReady(at: sessionTime)
        guard isReady, !isOfFormerGrant else { return dial(dialer) }
        var wait = dialer.backoff.failed(afterLasting: seconds, random: random())
        if isRefusal { wait = max(wait, ReplicationLimits.refusalSeconds) }
        let nanoseconds = UInt64(wait * 1_000_000_000)
        dialer.state = .waiting(untilWallNanoseconds: executor.wallNanoseconds &+ nanoseconds)
        let timerKey = dialer.timerKey
        schedule(key: timerKey, atNanoseconds: executor.monotonicNanoseconds &+ nanoseconds) { engine in
            guard let dialer = engine.dialers.first(where: { $0.timerKey == timerKey }),
                case .waiting = dialer.state
            else { return }
            engine.dial(dialer)
        }
    }

    /// Tries the URLs that wait at once: somebody can be reached again.
    func dialWaiting() {
        for dialer in dialers {
            switch dialer.state {
            case .waiting, .withoutGrant:
                dialer.backoff.nudge()
                dial(dialer)
            case .idle, .connecting, .open, .redundant, .failed: break
            }
        }
    }

    /// Sets aside the dialer of a link whose peer is connected by another one.
    func setAside(_ dialer: Dialer, peer: [UInt8]) {
        executor.cancel(key: dialer.timerKey)
        dialer.state = .redundant(peer: peer)
        dialer.lastError = nil
        isStatusDirty = true
    }

    /// Wakes the dialers that were set aside for a peer, once it is connected no more.
    func recall(peer: [UInt8]) {
        for dialer in dialers {
            guard case .redundant(peer) = dialer.state else { continue }
            fail(dialer, nil, afterLasting: 0, isRefusal: false)
        }
    }

    /// Closes a link on which there is no session.
    func refuse(_ link: any Link, _ reason: LinkCloseReason) {
        link.start(DeafLinkHandler())
        link.close(reason)
    }
}
