import DocDBCore

/// The peer's pull from this side.
struct Provider {
    /// The number of the interest that is answered; zero before the first.
    var number: UInt64 = 0
    /// An interest that waits, as the peer has changed it too often of late, and how often it may.
    var asked: InterestMessage?
    var pace = InterestPace()
    /// The union of what the peer announced.
    var interest = Interest.nothing
    /// The interest AND what the peer may read.
    var scope: ScopeFilter?
    /// The interest that waits for the runtime to report commits by its scope.
    var request: InterestMessage?

    /// The commit up to which everything was sent; nil while reconciling.
    var sent: Int64?
    /// The commit up to which `dirty` is complete.
    var covered: Int64 = 0
    /// Documents changed since `sent`.
    var dirty: Set<DocumentReference> = []
    /// Whether the log is to be walked from `sent`, in place of `dirty`: at first, and when that would be too large.
    var mustWalk = false
    /// Documents to be offered though no commit says so: asked for, evicted, or held outdated by the peer (R6).
    var poked: Set<DocumentReference> = []
    /// The vectors that the peer says to hold of documents that it asked for; empty ones of those to be sent whole.
    var bases: [DocumentReference: VersionVector] = [:]
    /// Named documents that have no reference here.
    var unknown: [DocumentName] = []
    /// What the peer holds, of documents received from it since `sent`.
    var known: [DocumentReference: VersionVector] = [:]
    /// The digests of its states.
    var held: [DocumentReference: StateDigest] = [:]
    /// The commits that stored documents of the peer which were not here before.
    var created: [DocumentReference: Int64] = [:]
    /// How many commits have applied snapshots of the peer since `sent`.
    var appliedCount: Int64 = 0
    /// Whether nothing was sent for this interest yet.
    var isFirst = true

    /// Documents in scope that have turned out to be too large to be sent, and those marked so that are so no more.
    var tooLarge: Set<DocumentReference> = []
    var fitting: Set<DocumentReference> = []

    var reconciliation: ProviderReconciliation?
    /// The moment whose scope is reconciled.
    var reconciledSequence: Int64 = 0
    /// The differences found so far, some of them twice, and what the subscriber holds of them.
    var found: [DocumentReference] = []
    var foundNames: [DocumentName] = []
    var listed: [DocumentReference: VersionVector] = [:]

    /// The snapshot that is being sent in several steps.
    var plan: SnapshotPlan?
    /// Counts the snapshots of the session.
    var snapshot: UInt64 = 0
    /// Snapshots not acknowledged yet, by counter.
    var flights: [UInt64: Flight] = [:]
    /// Whether this session has sent and had acknowledged anything.
    var wasSent = false
    let dictionary = SendingDictionary()

    /// The newest position that the peer was given to resume from.
    var statedPosition: Int64 = 0
    /// The scope's total as of `sent`; nil where it must be counted.
    var total: ScopeTotal?
    var wasRecounted = false
    /// Snapshots since the total was last stated.
    var unstatedCount: UInt64 = 0
    /// The newest commit known to be on the disk itself.
    var synchronized: Int64 = 0
}

/// How often a peer's changed interest is taken up: many times at once, and then twice a second.
struct InterestPace {
    private var turns = SyncLimits.interestBurstCount
    private var filled: UInt64 = 0

    /// When there is a turn again.
    var nextNanoseconds: UInt64 { turns > 0 ? 0 : filled &+ SyncLimits.interestPaceNanoseconds }

    /// Takes one turn, if there is one.
    mutating func take(at now: UInt64) -> Bool {
        let gained = now > filled ? (now - filled) / SyncLimits.interestPaceNanoseconds : 0
        if gained >= UInt64(SyncLimits.interestBurstCount - turns) {
            turns = SyncLimits.interestBurstCount
            filled = now
        } else {
            turns += Int(gained)
            filled += gained * SyncLimits.interestPaceNanoseconds
        }
        guard turns > 0 else { return false }
        turns -= 1
        return true
    }
}

/// The documents of a snapshot that is sent from one moment, or in chunks from several.
struct SnapshotPlan {
    /// The commit up to which the peer was told before, or whose scope was reconciled.
    var start: Int64
    /// What the subscriber resumes from once it has all of it.
    var position: Int64
    var isReconciled: Bool
    /// Sorted but for those that were added later.
    private(set) var references: [DocumentReference] = []
    /// The next of the references.
    var next = 0
    var isFirstChunk = true
    /// Those that have changed since `start`; the others are differences that a reconciliation has found.
    private var changed: Set<DocumentReference> = []
    /// Named documents that this store does not hold.
    var names: [DocumentName] = []
    // What was taken from `Provider` for this snapshot.
    var poked: Set<DocumentReference> = []
    var bases: [DocumentReference: VersionVector] = [:]
    var known: [DocumentReference: VersionVector] = [:]
    var held: [DocumentReference: StateDigest] = [:]
    var created: [DocumentReference: Int64] = [:]
    /// Whether nobody but the peer has changed anything since the last snapshot.
    var isUndisturbed = false
    /// Documents that commits since the cursor took from the peer (R6).
    var taken: Set<DocumentReference> = []

    init(start: Int64, isReconciled: Bool, found: [DocumentReference] = []) {
        self.start = start
        position = start
        self.isReconciled = isReconciled
        references.reserveCapacity(found.count)
        for reference in found.sorted() where reference != references.last { references.append(reference) }
    }

    /// Adds documents that have changed, or are to be offered anyway.
    mutating func add(_ added: Set<DocumentReference>) {
        guard !added.isEmpty else { return }
        changed.formUnion(added)
        if next == 0 {
            references = added.union(references).sorted()
        } else {
            references += added.sorted()
        }
    }

    /// The digest of a document that is just as the peer sent it, which need not be read to know that; else nil.
    func echo(of reference: DocumentReference) -> StateDigest? {
        guard isUndisturbed, let commit = created[reference], commit > start, !poked.contains(reference),
            bases[reference] == nil
        else { return nil }
        return held[reference]
    }

    /// Whether the document has changed since `start`, so that the total moves with it.
    func isChanged(_ reference: DocumentReference) -> Bool { changed.contains(reference) }
}

/// A snapshot under way: what its acknowledgement will say.
struct Flight {
    /// The commit up to which the peer then has all that concerns it; nil for a chunk.
    var through: Int64?
    var documents: [FlightDocument] = []
    /// The hash of this store's own interest when it was sent.
    var interestHash: StateDigest
    /// When it was made, on the monotonic clock.
    var madeNanoseconds: UInt64 = 0
}

struct FlightDocument {
    var reference: DocumentReference
    var digest: StateDigest
    /// Whether the state sent is in this store's own scope: then the peer's acknowledgement tells it (R1).
    var isOwn: Bool
    /// Whether it was evicted since.
    var isEvicted = false
}
