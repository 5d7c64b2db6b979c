import DocDBCore

/// When what was last heard and said, on the monotonic clock.
struct SessionTimers {
    var opened: UInt64 = 0
    var lastReceived: UInt64 = 0
    /// When documents, acknowledgements or interests last went either way.
    var lastFact: UInt64 = 0
    var isAwaitingPong = false
    /// When the rights of either side end, the earlier of the two: on the wall clock and on the monotonic one.
    var expiry: (wall: UInt64, monotonic: UInt64)?
    /// What the runtime was last asked to wake for.
    var scheduled: UInt64?
}

extension Session {
    /// Some time has passed.
    func tick() throws {
        let now = time.monotonicNanoseconds
        if let scheduled = timers.scheduled, scheduled <= now { timers.scheduled = nil }
        switch phase {
        case .new, .ended: return
        case .greeting, .proving:
            guard now < timers.opened &+ SyncLimits.handshakeNanoseconds else {
                throw SessionFailure(
                    CloseCode.timeout, "the handshake was not done in time; check the link and try again")
            }
        case .established:
            if now >= timers.lastReceived &+ SyncLimits.silenceNanoseconds {
                throw SessionFailure(CloseCode.keepaliveTimeout, "nothing was heard from the peer for too long")
            }
            if now >= timers.lastReceived &+ SyncLimits.keepaliveNanoseconds, !timers.isAwaitingPong {
                timers.isAwaitingPong = true
                sendNow(.ping)
            }
            try retryQuarantine()
            try takeUpInterest()
            try stateTotalIfQuiet()
        }
    }

    /// Notes when the first of both sides' rights ends.
    func noteExpiry() {
        let ends = [gate.rights.expiresNanoseconds, ownRights.expiresNanoseconds].compactMap { $0 }
        timers.expiry = ends.min().map { end in
            let now = authenticator.judgedNanoseconds(at: time)
            return (end, time.monotonicNanoseconds &+ (end > now ? end - now : 0))
        }
        timers.scheduled = nil
    }

    /// Ends the session at the moment that the rights of either side end, before anything else is done: no frame is taken
    /// or sent any more. Either clock suffices, so that neither a clock set back nor suspension extends a grant.
    func checkExpiry() throws {
        guard phase == .established, let expiry = timers.expiry,
            time.monotonicNanoseconds >= expiry.monotonic
                || authenticator.judgedNanoseconds(at: time) >= expiry.wall
        else { return }
        let isPeers = gate.rights.expiresNanoseconds.map { $0 <= expiry.wall } ?? false
        throw SessionFailure(
            CloseCode.expired,
            isPeers ? "the peer's grant has expired; a new login renews it" : "the grant has expired; log in again")
    }

    /// Asks the runtime to come back when the next deadline is due, unless it will come earlier anyway.
    func scheduleWake() {
        let deadline: UInt64
        switch phase {
        case .new, .ended: return
        case .greeting, .proving: deadline = timers.opened &+ SyncLimits.handshakeNanoseconds
        case .established:
            var earliest =
                timers.lastReceived
                &+ (timers.isAwaitingPong ? SyncLimits.silenceNanoseconds : SyncLimits.keepaliveNanoseconds)
            if owesTotal { earliest = min(earliest, timers.lastFact &+ SyncLimits.quietNanoseconds) }
            if provider.asked != nil { earliest = min(earliest, provider.pace.nextNanoseconds) }
            if let time = apart.quarantined.values.min() {
                earliest = min(earliest, wake(for: time))
            }
            // What could not be done when it was due is tried again a little later.
            let latest = max(earliest, time.monotonicNanoseconds &+ Self.retryNanoseconds)
            deadline = min(latest, timers.expiry?.monotonic ?? latest)
        }
        if let scheduled = timers.scheduled, scheduled <= deadline { return }
        timers.scheduled = deadline
        effects.append(.wake(atNanoseconds: deadline))
    }

    private static var retryNanoseconds: UInt64 { 100_000_000 }

    /// When a waiting delta of this time is within the clock bound.
    private func wake(for time: HybridTime) -> UInt64 {
        let bound = configuration.clockBoundNanoseconds
        return monotonic(atWall: time.rawValue > bound ? time.rawValue - bound : 0)
    }

    private func monotonic(atWall wall: UInt64) -> UInt64 {
        guard wall > time.wallNanoseconds else { return time.monotonicNanoseconds &+ 1 }
        return time.monotonicNanoseconds &+ (wall - time.wallNanoseconds)
    }
}
