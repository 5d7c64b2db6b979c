import DocDBCore

/// When what was last heard and said, on the monotonic clock.
struct SessionTimers {
    var opened: UInt64 = 0
    var lastReceived: UInt64 = 0
    /// When documents, acknowledgements or interests last went either way.
    var lastFact: UInt64 = 0
    var isAwaitingPong = false
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
            try stateTotalIfQuiet()
        }
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
            if let time = apart.quarantined.values.min() {
                earliest = min(earliest, wake(for: time))
            }
            for case let expiry? in [gate.rights.expiresNanoseconds, ownRights.expiresNanoseconds] {
                earliest = min(earliest, monotonic(atWall: expiry))
            }
            // What could not be done when it was due is tried again a little later.
            deadline = max(earliest, time.monotonicNanoseconds &+ Self.retryNanoseconds)
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
