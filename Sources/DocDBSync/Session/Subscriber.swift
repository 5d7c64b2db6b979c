import DocDBCore

/// This side's pull from the peer.
struct Subscriber {
    /// What was announced: this store's own interest and those that it relays.
    var announced: [AnnouncedInterest] = []
    /// Whether anything was announced yet.
    var isWanting = false
    /// The union of what was announced, and its hash.
    var interest = Interest.nothing
    var interestHash = Interest.nothing.hash
    /// The interest AND what this peer itself may read, compiled when first needed.
    var scope: ScopeFilter?
    /// Numbers the interests.
    var number: UInt64 = 0
    /// Whether a new interest is to be sent, and whether without a cursor.
    var mustAsk = false
    var asksFresh = false
    /// Where this session can still go on while the store has no cursor, as a later one could not.
    var place: Place?
    /// Documents asked for since a snapshot was last applied.
    var outstanding: Set<DocumentReference> = []

    /// The snapshot that is coming in.
    var buffer: SnapshotBuffer?
    /// The incarnation of the provider's log, as of the last `end`.
    var incarnation: [UInt8]?
    /// The counter of the snapshot last applied.
    var appliedSnapshot: UInt64 = 0
    /// Acknowledgements that wait for the batch to end.
    var acknowledgements: [Acknowledge] = []
    /// Whether something was written since the replica was last synchronized.
    var isUnsynchronized = false

    var reconciliation: SubscriberReconciliation?
    /// What was listed in the reconciliation, by reference; nil where there is none.
    var listed: [ListedDocument]?
    /// What was evicted since it was listed, and what the peer has acknowledged since.
    var evictedSinceListed: Set<DocumentReference> = []
    var acknowledgedSinceListed: [DocumentReference: StateDigest?] = [:]

    /// Documents received since the pull began.
    var receivedCount: UInt64 = 0
    var expectedCount: UInt64?
    /// How often the totals differed at once after a reconciliation.
    var mismatchCount = 0
    /// Whether the last snapshot applied ended a reconciliation.
    var hasJustReconciled = false
}

extension Subscriber {
    /// A cursor, and the total of what was told when it was handed out.
    struct Place {
        var cursor: Cursor
        var total: ScopeTotal
    }
}

struct ListedDocument {
    var reference: DocumentReference
    var digest: StateDigest
}

/// The frames of a snapshot until its end.
struct SnapshotBuffer {
    var begin: Begin
    var contents: [[UInt8]] = []
    var byteCount = 0
}
