import DocDBCore

/// A snapshot on its way into the replica, and what came of it.
struct SnapshotApplication {
    var begin: Begin
    var position: End.Position?
    /// The total that the provider states with it.
    var total: ScopeTotal?
    var documents: [IncomingDocument] = []

    /// Documents whose delta has a base that is not held here: then nothing was applied (R2).
    var needs: [DocumentReference] = []
    /// What was not joined, for the acknowledgement (R9).
    var except: [DocumentOutcome] = []
    /// What was joined or known already: what the peer holds.
    var heard: [HeardDocument] = []
    /// Listed, evicted, and written anew: to be asked for again (R14).
    var again: [DocumentReference] = []
    /// Documents of which the peer says to have seen more than it holds, or than this store has written: to be offered whole.
    var claimed: [DocumentReference] = []
    /// Evicted because they may be read no more.
    var evicted: [DocumentReference] = []
    var effects: [SessionEffect] = []
    var changedCount = 0
    /// The commit that applied it, where documents changed.
    var sequence: Int64?
    /// The collection that was last looked up.
    var collection: (name: String, number: Int64)?
    /// Whether this snapshot has shown that the actor of this store is in use elsewhere.
    var hasRotated = false

    /// The actor that this store writes with, as the commit found it.
    var ownActor: ActorID?

    init(begin: Begin, position: End.Position?, total: ScopeTotal? = nil) {
        self.begin = begin
        self.position = position
        self.total = total
    }
}

/// What the peer holds of a document that it has sent.
struct HeardDocument {
    var reference: DocumentReference
    var seen: VersionVector
    var digest: StateDigest
    /// Whether this store now holds just the same.
    var isSame: Bool
    /// Whether it was not stored here before.
    var isNew = false
}

extension IncomingDocument {
    var hasContent: Bool { if case .none = content { false } else { true } }
}
