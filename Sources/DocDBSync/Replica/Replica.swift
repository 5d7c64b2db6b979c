package import DocDBCore
package import DocDBStorage

/// The store behind replication sessions: all that a session reads and writes goes through here.
///
/// Sessions hold the rules; a replica only keeps documents, their history, and what is known of peers, so that another
/// engine can stand behind a hub, and a model in tests. Calls are synchronous; one session's calls do not overlap.
package protocol Replica: AnyObject, Sendable {
    /// The 16 bytes that name the store to its peers.
    var storeID: [UInt8] { get }
    /// The 16 bytes that a hello has; where peers have keys, `storeID` is derived from them.
    var announcedID: [UInt8] { get }
    /// The interned field names of the bodies handed out, and of those handed in.
    var names: FieldNames { get }
    /// The interned actors of the states handed out, and of those handed in.
    var actors: ActorTable { get }

    /// Calls `body` with one consistent moment of the replica.
    func read<R>(_ body: (any ReplicaReader) throws -> R) throws -> R

    /// Runs `body` as one commit; where it throws, nothing has changed.
    ///
    /// The commit has one sequence number where documents changed, and none where only facts about peers did.
    func write<R>(_ body: (any ReplicaWriter) throws -> R) throws -> R

    /// Waits until all that is committed is on the disk itself, and returns the newest sequence number of it.
    func synchronize() throws -> Int64
}

extension Replica {
    package var announcedID: [UInt8] { storeID }
}

/// A document of a replica, named for as long as it is stored there; keys are never used again.
package struct DocumentReference: Hashable, Comparable, Sendable, BitwiseCopyable {
    package var collection: Int64
    package var key: Int64

    package init(collection: Int64, key: Int64) {
        self.collection = collection
        self.key = key
    }

    package static func < (left: DocumentReference, right: DocumentReference) -> Bool {
        (left.collection, left.key) < (right.collection, right.key)
    }
}

/// One stored document, deleted ones included; its bytes are valid only within the call that it is handed to.
package struct StoredDocument {
    package var reference: DocumentReference
    /// Canonical CBOR of the id, keys as text.
    package var id: UnsafeRawBufferPointer
    /// The visible document (keys interned in `Replica.names`), or nil where it is deleted.
    package var body: UnsafeRawBufferPointer?
    /// The encoded state, actors interned in `Replica.actors`; zero bytes of padding may follow.
    package var state: UnsafeRawBufferPointer
    /// The commit that changed it last.
    package var lastChange: Int64

    package init(
        reference: DocumentReference, id: UnsafeRawBufferPointer, body: UnsafeRawBufferPointer?,
        state: UnsafeRawBufferPointer, lastChange: Int64
    ) {
        self.reference = reference
        self.id = id
        self.body = body
        self.state = state
        self.lastChange = lastChange
    }
}

/// A document as it stood after some commit.
package enum PastState {
    /// It was stored with this state (names and actors of the replica), dead or alive.
    case stored(DocumentState)
    /// It was not stored.
    case absent
    /// The log does not reach back that far, or its values were erased.
    case unknown
}

/// One moment of a replica.
package protocol ReplicaReader: AnyObject {
    /// The newest commit that this moment holds.
    var sequence: Int64 { get }
    /// The actor that the next local write will have; nil where it will take a new one.
    var actor: ActorID? { get }
    /// The actors of the replica's own, oldest first, with what proves that they are; none unless a replica keeps that.
    func ownActors() throws -> [OwnActor]
    /// The first commit that the change log still holds; a cursor at `oldestSequence - 1` is the oldest to resume from.
    var oldestSequence: Int64 { get }
    /// The incarnations of the change log, oldest first; the newest has no last sequence number yet.
    func incarnations() throws -> [(id: [UInt8], lastSequence: Int64?)]

    /// The collections, by number.
    func collections() throws -> [(number: Int64, name: String)]
    /// The number of a collection, nil where there is none.
    func collection(named name: String) throws -> Int64?
    /// The name of a collection, nil where there is none.
    func name(ofCollection number: Int64) throws -> String?

    /// Finds a document by collection and id (canonical CBOR); also one that was evicted, whose reference stays known.
    func reference(collection: Int64, id: UnsafeRawBufferPointer) throws -> DocumentReference?
    /// The id of a document (canonical CBOR), also of one that is evicted or reserved; nil for an unknown reference.
    func id(of reference: DocumentReference) throws -> [UInt8]?
    /// Calls `body` with a stored document, deleted ones included; returns false where it is not stored.
    @discardableResult
    func withDocument(_ reference: DocumentReference, _ body: (StoredDocument) throws -> Void) throws -> Bool
    /// Calls `body` with every stored document of a collection, deleted ones included, by ascending key above `key`,
    /// until it returns false.
    func forEachDocument(
        collection: Int64, after key: Int64, _ body: (StoredDocument) throws -> Bool
    ) throws

    /// The state of a document after a commit, by unwinding the log from the present.
    func state(of reference: DocumentReference, after sequence: Int64) throws -> PastState
    /// Calls `body` for each document changed after a commit, evictions included, with the first commit after `sequence`
    /// that changed it; in the order of these commits. Returns false where the log does not reach back.
    ///
    /// `isTaken` tells whether one of these commits applied a snapshot of `peer`; a document may then come twice, with
    /// true the second time.
    func forEachChange(
        after sequence: Int64, takenFrom peer: Int64,
        _ body: (_ reference: DocumentReference, _ first: Int64, _ isTaken: Bool) throws -> Void
    ) throws -> Bool

    // What is known of peers.

    /// The peer with this store id, nil where it has never been met.
    func peer(storeID: [UInt8]) throws -> PeerRecord?
    /// All peers ever met, by number.
    func peers() throws -> [PeerRecord]
    /// The digest of the peer's state of a document, where the peer has told it as in scope.
    func told(peer: Int64, _ reference: DocumentReference) throws -> StateDigest?
    /// Calls `body` with all that the peer has told, by reference.
    func forEachTold(peer: Int64, _ body: (DocumentReference, StateDigest) throws -> Void) throws
    /// The documents apart: not joined here (`.here`), or not joined by the peer (`.there`), with the reason.
    func apart(peer: Int64, side: ApartDocument.Side) throws -> [ApartDocument]
    func apart(peer: Int64, side: ApartDocument.Side, _ reference: DocumentReference) throws -> ApartDocument?
    /// Deltas that wait because of their times, oldest first.
    func quarantine(peer: Int64?) throws -> [QuarantinedDelta]
    /// Whether a document was evicted here and has not come back.
    func isEvicted(_ reference: DocumentReference) throws -> Bool
    /// Evicted documents that have not come back, with their ids; at most `limit`.
    func evicted(limit: Int) throws -> [(DocumentReference, id: [UInt8])]
    /// Documents to be evicted once their changes are acknowledged.
    func deferredEvictions() throws -> [DocumentReference]
    /// Whether a keeper holds all changes of the document: then it can be evicted.
    func isAcknowledged(_ reference: DocumentReference) throws -> Bool
    /// What a user has brought into the replica's tables; nothing unless a replica keeps that.
    func usage(of user: String) throws -> UserUsage
}

extension ReplicaReader {
    package func ownActors() throws -> [OwnActor] { [] }
    package func usage(of user: String) throws -> UserUsage { UserUsage() }
}

/// One commit of a replica in the making. Sees its own changes.
package protocol ReplicaWriter: ReplicaReader {
    /// The wall clock, in nanoseconds since 1970.
    var now: UInt64 { get }
    /// The number of a collection, which is created where there is none.
    func makeCollection(named name: String) throws -> Int64
    /// The reference of a document, which is reserved where there is none; one that was evicted gets its old one.
    func makeReference(collection: Int64, id: UnsafeRawBufferPointer) throws -> DocumentReference

    /// Stores a joined state (names and actors of the replica) in place of what is stored, which may be nothing.
    ///
    /// The commit's log record says `remote` and names `peer`. The clock advances to the state's newest time. An evicted
    /// document has thereby come back. Indexes, undo entries and observers are served as for local writes.
    func store(
        _ state: borrowing DocumentState, _ reference: DocumentReference, id: UnsafeRawBufferPointer, from peer: Int64)
        throws

    /// Stores a document that is not stored yet, whose every leaf has one stamp: `body` has the replica's names.
    ///
    /// The fast path of a first sync. Returns nil, with nothing done, where a document with this id is stored, or was
    /// evicted: then others may have told more of it.
    func storeFresh(
        body: UnsafeRawBufferPointer, stamp: Stamp, collection: Int64, id: UnsafeRawBufferPointer, from peer: Int64
    ) throws -> DocumentReference?

    /// Evicts a document; returns false where it is not stored, or its changes are not acknowledged and `force` is not given.
    func evict(_ reference: DocumentReference, force: Bool) throws -> Bool
    /// Makes the next local write take a new actor id.
    func rotateActor() throws

    // What is known of peers.

    /// Adds a peer, or updates what is known of it but for `currentCount` and `currentSum`; returns it as it is then.
    func setPeer(_ peer: PeerRecord) throws -> PeerRecord
    /// Sets or, with nil, removes what the peer has told of a document, and moves the peer's current count and sum.
    func setTold(peer: Int64, _ reference: DocumentReference, _ digest: StateDigest?) throws
    func removeAllTold(peer: Int64) throws
    /// Removes what all other peers have told of a document that was evicted and comes back; returns these peers.
    ///
    /// The local copy may lack what they told, so each of their sessions must be asked (`SessionEvent.wanted`). A local
    /// write to an evicted document does the same.
    func removeTold(_ reference: DocumentReference, except peer: Int64) throws -> [Int64]
    func setApart(_ document: ApartDocument) throws
    func removeApart(peer: Int64, side: ApartDocument.Side, _ reference: DocumentReference) throws
    /// Puts a delta aside, in place of an older one of this peer and document.
    ///
    /// Returns one that had to go because the table is full.
    func setQuarantined(_ delta: QuarantinedDelta) throws -> QuarantinedDelta?
    func removeQuarantined(peer: Int64, _ reference: DocumentReference) throws
    func setDeferredEviction(_ reference: DocumentReference, _ isDeferred: Bool) throws

    // What a hub has refused.

    /// Whether any change is known to be voided.
    var hasVoided: Bool { get throws }
    func voided(_ document: StateDigest) throws -> [VoidedChange]
    /// Notes a voided change, in place of an older one of its actor and document; the oldest goes where there are too many.
    func setVoided(_ change: VoidedChange) throws
    func removeVoided(document: StateDigest, actor: ActorID) throws

    // What a user has brought; replicas that do not keep it do nothing here.

    func setUsage(_ usage: UserUsage, of user: String) throws
    func setUser(_ user: String, ofPeer peer: Int64) throws
    /// The deltas of all peers of a user that wait because of their times.
    func quarantineTotal(user: String) throws -> (count: Int, byteCount: Int)
}

extension ReplicaWriter {
    package func setUsage(_ usage: UserUsage, of user: String) throws {}
    package func setUser(_ user: String, ofPeer peer: Int64) throws {}
    package func quarantineTotal(user: String) throws -> (count: Int, byteCount: Int) { (0, 0) }
}

/// The newest change of an actor to a document that was refused.
package struct VoidedChange: Hashable, Sendable {
    /// A hash of collection and id.
    package var document: StateDigest
    package var actor: ActorID
    package var time: HybridTime

    package init(document: StateDigest, actor: ActorID, time: HybridTime) {
        self.document = document
        self.actor = actor
        self.time = time
    }
}
