package import DocDBCore
package import DocDBQuery

/// What a session is told; `Session.handle` answers with effects.
package enum SessionEvent {
    /// The link is open. The channel binding is the TLS exporter's, nil on plain links.
    case opened(channelBinding: [UInt8]?)
    /// A frame came, whole.
    case received([UInt8])
    /// All frames that had come are handed over: the moment to synchronize once and acknowledge what they brought.
    case batchEnded
    /// What was sent has been handed on: there is room again.
    case drained
    /// What to ask the peer for, from now on.
    case interest([AnnouncedInterest])
    /// What the peer may do, from now on: a grant was renewed or revoked.
    case rights(PeerRights)
    /// Grants may have been revoked: the session ends where one of its own was.
    case revocations
    /// Hubs have told of changes that they have refused, or take after all.
    case voided
    /// This peer's own grant was renewed: the authenticator has the new one, which is sent and asked under.
    case renewed
    /// Commits are reported by the scope that was asked for, from now on: only now may the snapshot be opened that the
    /// pull starts from, or commits between the two would be missed. Answers each `SessionEffect.scope`.
    case scoped
    /// Commits up to `through` have ended, of which these documents concern the session (see `SessionEffect.scope`).
    ///
    /// Hand over what has gathered before any other event, even where it is nothing: what lies between `through` and the
    /// moment that the session reads, it must find in the log.
    case committed([DirtyDocument], through: Int64)
    /// Documents were evicted here, which the session's scope may have held.
    case evicted([DocumentReference])
    /// Documents that were evicted here have come back, or are wanted whole: ask the peer, who had told them.
    case wanted([DocumentReference])
    /// Adopt the peer's version of a document that it refused, in place of the local one.
    case revert(DocumentReference)
    /// Offer a document again that the peer refused.
    case retry(DocumentReference)
    /// Runtime bytes for the peer, such as presence.
    case extra(kind: UInt64, [UInt8])
    /// The time that a `wake` asked for has come, or some time has.
    case tick
    /// End in order: the effects are a `close` message, if there is still somebody to read it, and `close`.
    case close(code: String, message: String)
    /// The link has closed, whoever closed it: what is worth keeping is written now. The last event; no effects follow.
    case closed
}

/// A document that commits changed, as seen by one standing predicate of a session.
package struct DirtyDocument: Hashable, Sendable, BitwiseCopyable {
    package var reference: DocumentReference
    /// The first commit that changed it since it was last told to the session.
    package var first: Int64
    /// Whether it matched before that commit.
    package var matchedBefore: Bool

    package init(reference: DocumentReference, first: Int64, matchedBefore: Bool) {
        self.reference = reference
        self.first = first
        self.matchedBefore = matchedBefore
    }
}

/// What a session wants done.
package enum SessionEffect {
    case send([UInt8])
    /// So many documents go out with a snapshot.
    case told(count: Int)
    /// Call `handle(.tick)` at this monotonic time, in nanoseconds; the latest one counts.
    case wake(atNanoseconds: UInt64)
    /// The handshake is done: the peer is who it says. The runtime answers with `.interest`, or with `.close` where the
    /// two stores have a better link.
    case established(Hello, PeerRights)
    /// Frames may be this long from now on.
    case frameLimit(Int)
    /// The documents that the peer pulls: report commits that touch them, by these filters per collection.
    ///
    /// In place of an earlier scope. The runtime answers with `.scoped` as soon as it does.
    case scope(SessionScope)
    /// A snapshot was applied, or a commit of peer facts made: documents changed here at `sequence`.
    case applied(count: Int, sequence: Int64?)
    /// How far the pull from the peer has come.
    case progress(PullProgress)
    /// The peer has acknowledged everything up to here that concerns it.
    case acknowledged(through: Int64)
    /// A document was not joined, here or there.
    case apart(ApartDocument)
    /// It was joined after all, or settled.
    case settled(DocumentReference, peer: Int64, ApartDocument.Side)
    /// This hub has refused changes to their author, or has taken after all what it had refused: all are to hear of it.
    case voided([VoidedRange])
    /// The peer announced these interests, its own and those it relays.
    case announced([AnnouncedInterest])
    /// A document that was evicted here has come back: the sessions of these peers, who had told it, get `.wanted`.
    case returned(DocumentReference, toldBy: [Int64])
    /// Documents were evicted by the session: tell the other sessions, as for any eviction here.
    case evicted([DocumentReference])
    case extra(kind: UInt64, [UInt8])
    /// Two payloads under one stamp, or an actor's newer stamps known elsewhere: reported, never dropped.
    case warning(DocDBError)
    /// Close the link, after what was sent has gone out. Nothing follows.
    case close(code: String, message: String)
}

/// The standing predicates of the provider side of a session.
package struct SessionScope: Sendable {
    /// Per collection the filter; those not named are out of scope, unless `isEverything`.
    package var filters: [(collection: String, filter: Filter)]
    package var isEverything: Bool

    package init(filters: [(collection: String, filter: Filter)], isEverything: Bool) {
        self.filters = filters
        self.isEverything = isEverything
    }
}

/// How far a pull has come.
package struct PullProgress: Hashable, Sendable {
    package enum Phase: Hashable, Sendable {
        case asking, reconciling, receiving, current
    }
    package var phase: Phase
    /// Documents received since the pull began, and how many there will be, where known.
    package var receivedCount: UInt64
    package var expectedCount: UInt64?

    package init(phase: Phase, receivedCount: UInt64, expectedCount: UInt64?) {
        self.phase = phase
        self.receivedCount = receivedCount
        self.expectedCount = expectedCount
    }
}
