import DocDBAuth
import DocDBCore
import DocDBReplication
import DocDBSync
import Synchronization

// The status as time passes, and when the app is asked for a login.
extension DatabaseAuthentication {
    private enum Notice {
        case required
        case remind(secondsRemaining: Int)
    }

    /// How often the time is written down at most while replication runs under a grant, in nanoseconds: after a crash a clock
    /// that is set back gains no more.
    static let rememberingInterval: UInt64 = 60_000_000_000

    /// The time that grants are judged by, in nanoseconds since 1970.
    func now(_ state: State) -> UInt64 {
        guard let engine = state.engine else { return 0 }
        return authenticator.judgedNanoseconds(
            at: SessionTime(
                monotonicNanoseconds: engine.executor.monotonicNanoseconds,
                wallNanoseconds: engine.executor.wallNanoseconds))
    }

    /// Replication has been started: without a grant, a login is required.
    func syncDidStart() {
        state.withLock { $0.hasRequired = false }
        update()
    }

    /// A peer brought what a hub has certified or revoked: it is kept, as peers may ask for it while the hub is away.
    func noticesCame() {
        saveNotices()
        if authenticator.isOwnGrantRevoked { grantWasRevoked(at: nil) }
    }

    /// Writes the notices down. Where that fails they hold until the app ends; it is reported, and tried again every minute.
    private func saveNotices() {
        // In turn with a login, so that what is older never replaces what is newer.
        remembering.withLock { _ in
            do {
                try StoredNotices.save(authenticator.notices, storage)
                state.withLock { $0.hasUnsavedNotices = false }
            } catch {
                let isNew = state.withLock { state in
                    defer { state.hasUnsavedNotices = true }
                    return !state.hasUnsavedNotices
                }
                guard isNew else { return }
                // Never what the storage says, which may be the app's own: it could name the user.
                state.withLock { $0.engine }?.report(
                    DocDBError(
                        .storageFailed,
                        "what the hub has revoked could not be kept with the credentials, and holds until the app ends; see "
                            + "to it that their storage can be written"))
            }
        }
    }

    /// Tries again what failed.
    func saveNoticesAgain() {
        if state.withLock({ $0.hasUnsavedNotices }) { saveNotices() }
    }

    /// The grant is worth nothing any more.
    ///
    /// - Parameter time: when a session with the hub ended for that reason; nil where the hub's own word is at hand.
    func grantWasRevoked(at time: UInt64?) {
        let isMeant = state.withLock { state in
            // What was revoked may be the grant before.
            guard state.credentials != nil, time ?? .max > state.adoptedTime else { return false }
            state.credentials = nil
            state.schedule = nil
            state.hasRequired = false
            state.status = .unauthenticated(reason: Self.revokedReason)
            return true
        }
        guard isMeant else { return }
        authenticator.presentNothing()
        try? storage.save(Self.credentialsName, nil)
        update(isForced: true)
    }

    /// Works out the status, tells of it where it is another, asks for a login where that is due, and sets the next time.
    func update(isForced: Bool = false) {
        let engine = state.withLock { $0.engine }
        engine?.executor.enqueue { [weak self] in self?.updateOnExecutor(isForced: isForced) }
    }

    private func updateOnExecutor(isForced: Bool) {
        let (engine, status, hasChanged, notice, wake, mustRemember) = state.withLock { state in
            let now = now(state)
            let former = state.status
            let isRunning = state.engine?.isReplicating ?? false
            var notice: Notice?
            var wake: UInt64?
            switch state.schedule?.step(now: now) {
            case .wait(let time): wake = time
            case .remind(let seconds):
                if isRunning, !state.isLoggingIn { notice = .remind(secondsRemaining: seconds) }
                if case .wait(let time)? = state.schedule?.step(now: now) { wake = time }
            case .expire: state.status = .expired
            case nil: break
            }
            if let grant = state.credentials?.grant, wake != nil {
                state.status = AuthenticationStatus(grant)
            }
            if !state.status.isAuthenticated, isRunning, !state.isLoggingIn, !state.hasRequired {
                if now >= state.retryTime {
                    state.hasRequired = true
                    notice = .required
                } else {
                    wake = state.retryTime
                }
            }
            let mustRemember = isRunning && state.isRememberingDue(&wake, now: now)
            return (
                state.engine, state.status, isForced || state.status != former, notice, wake.map { ($0, now) },
                mustRemember
            )
        }
        // Where that fails, it is tried again after the interval, and at the end.
        if mustRemember {
            try? remember()
            saveNoticesAgain()
        }
        if let engine, let (time, now) = wake {
            engine.scheduleAuthentication(afterNanoseconds: time > now ? time - now : 1) { [weak self] in
                self?.updateOnExecutor(isForced: false)
            }
        }
        let delegate = delegate
        if hasChanged {
            observers.tell(status)
            delegate?.authenticationStatusDidChange(authenticator: self)
        }
        switch notice {
        case .required: delegate?.authenticationRequired(authenticator: self)
        case .remind(let seconds):
            delegate?.authenticationExpiringSoon(authenticator: self, secondsRemaining: seconds)
        case nil: break
        }
    }
}

extension DatabaseAuthentication.State {
    /// Whether the time is to be written down now; sees to it that somebody comes back for that.
    fileprivate mutating func isRememberingDue(_ wake: inout UInt64?, now: UInt64) -> Bool {
        guard status.isAuthenticated else { return false }
        let isDue = now >= rememberedTime &+ DatabaseAuthentication.rememberingInterval
        if isDue { rememberedTime = now }
        let next = rememberedTime &+ DatabaseAuthentication.rememberingInterval
        wake = min(wake ?? next, next)
        return isDue
    }
}
