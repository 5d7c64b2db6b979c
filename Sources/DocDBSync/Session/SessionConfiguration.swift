/// The time at which a session is told something; sessions read no clock.
package struct SessionTime: Hashable, Sendable {
    /// A clock that never goes back; its origin does not matter.
    package var monotonicNanoseconds: UInt64
    /// Nanoseconds since 1970.
    package var wallNanoseconds: UInt64

    package init(monotonicNanoseconds: UInt64, wallNanoseconds: UInt64) {
        self.monotonicNanoseconds = monotonicNanoseconds
        self.wallNanoseconds = wallNanoseconds
    }
}

/// What a session is created with.
package struct SessionConfiguration: Sendable {
    /// Whether this side opened the link.
    package var isInitiator: Bool
    /// What to say of this peer. The session fills in store id, app id, identity, key and time; the nonce must be 16 fresh
    /// random bytes.
    package var hello: Hello
    /// How far ahead of the wall clock a received time may lie.
    package var clockBoundNanoseconds = SyncLimits.clockBoundNanoseconds
    /// Whether dead documents drop their entries: the same as the store's own setting.
    package var forgetsDeleted = true
    /// Whether changes that are refused to their authors are refused from whoever brings them: at a hub.
    package var voidsRefused = false
    /// The accounts of peers' users, which bound what these take; nil for no bounds.
    package var accounts: UserAccounts?
    /// Rules of the protocol that are left out: for tests, which show that each rule is needed.
    package var disabledRules: Set<SyncRule> = []

    package init(isInitiator: Bool, hello: Hello) {
        self.isInitiator = isInitiator
        self.hello = hello
    }
}

/// The rules of the protocol that can be left out in tests; DESIGN section 8 has their numbers.
package enum SyncRule: String, CaseIterable, Sendable {
    /// R1: totals are of what was told, not of what is stored and matches.
    case told
    /// R2: a snapshot with a missing base is not applied in any part.
    case need
    /// R2: what was needed since the last snapshot is asked for together.
    case accumulation
    /// R3: frames of another interest's number are dropped whole.
    case number
    /// R4: entering and leaving are told even where nothing lies beyond what the peer holds.
    case transition
    /// R5: echo is stopped by vectors alone, never by where a commit came from.
    case vector
    /// R6: what came from the peer counts as matched before.
    case stale
    /// R7: content goes with `left` only where it may be read.
    case leftRead
    /// R8: dead documents match unconditional interests.
    case deadInScope
    /// R9: what was not joined is excepted from the acknowledgement.
    case exceptions
    /// R10: a cursor acknowledges, and brings what was not joined.
    case cursorAcknowledges
    /// R11: a cursor names the incarnation of the log.
    case incarnation
    /// R12: a resume ends in `end`, also where nothing changed.
    case resumeEnd
    /// R13: evictions are told to the peers whose scope held the document.
    case evictionNotice
    /// R14: an evicted document that returns is asked for at all who had told it.
    case evictionReturn
    /// R15: acknowledgements follow a synchronization.
    case acknowledgeDurable
    /// R15: only what is synchronized is sent.
    case sendDurable
    /// R15: only a keeper's acknowledgement counts, and what came from no keeper is pending here as well.
    case custody
    /// R16: evictions wait for acknowledgements.
    case deferral
    /// R17: after a revert a store writes under a new actor.
    case revertRotation
    /// R18: new rights offer refused documents again.
    case retry
    /// R19: a refusal leaves the document untouched.
    case refuseWhole
    /// DESIGN 8.6: what a peer is known to have seen is not sent to it again.
    case bases
    /// Documents that are too large to be sent stand apart.
    case sizes
    /// What vectors say to be seen is compared with the entries that are there.
    case claims
    /// R20: a waiting delta that does not fit is told no longer.
    case quarantineNeed
}
