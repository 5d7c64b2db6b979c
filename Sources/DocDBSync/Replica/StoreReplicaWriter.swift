package import DocDBCore
import DocDBStorage

/// One commit of a store in the making, as replication writes it; valid only within the closure that it is handed to.
package final class StoreReplicaWriter: StoreReplicaReader, ReplicaWriter {
    let transaction: WriteTransaction
    /// What is to be told once the commit stands.
    private(set) var warnings: [DocDBError] = []
    /// Documents about which something was forgotten, so that their keys may be of no more use.
    private var released: Set<DocumentReference> = []

    /// Whether there are voided changes, once that has been looked at.
    var knownHasVoided: Bool?

    init(_ transaction: WriteTransaction) throws {
        self.transaction = transaction
        try super.init(transaction.context)
    }

    /// Writes what was held back; the last call before the transaction ends.
    func finish() throws {
        for reservation in try transaction.persistReservations() {
            released.insert(DocumentReference(collection: reservation.collection, key: reservation.key))
        }
        for reference in released.sorted() where try !isUsed(reference) {
            try transaction.releaseKey(collection: reference.collection, key: reference.key)
        }
    }

    /// Whether something is known of a document that is not stored, so that it must keep its key.
    private func isUsed(_ reference: DocumentReference) throws -> Bool {
        let rows = try statements[.isUsed]
        rows.bind(1, reference)
        defer { rows.reset() }
        return try rows.step()
    }

    override func willReadPeers() throws { try transaction.writeToldTotals() }

    package override var sequence: Int64 { transaction.newestSequence }

    package var now: UInt64 { transaction.now }

    /// The number that this commit gets where it changes a document.
    package var transactionSequence: Int64 { transaction.sequence }

    // MARK: Documents

    package func makeCollection(named name: String) throws -> Int64 { try transaction.makeCollection(named: name) }

    package func makeReference(collection: Int64, id: UnsafeRawBufferPointer) throws -> DocumentReference {
        DocumentReference(collection: collection, key: try transaction.makeKey(collection: collection, id: id))
    }

    /// The key of a document that is not stored, also one that this commit has reserved.
    override func absentKey(collection: Int64, id: UnsafeRawBufferPointer) throws -> Int64? {
        try transaction.reservedKey(collection: collection, id: id)
    }

    package override func id(of reference: DocumentReference) throws -> [UInt8]? {
        if let id = try super.id(of: reference) { return id }
        return transaction.reservedID(collection: reference.collection, key: reference.key)
    }

    package func store(
        _ state: borrowing DocumentState, _ reference: DocumentReference, id: UnsafeRawBufferPointer, from peer: Int64
    ) throws {
        let outcome = try transaction.storeRemote(
            state, collection: reference.collection, key: reference.key, id: id, peer: peer)
        guard outcome == .storedOversized, warnings.count < Self.warningCountLimit else { return }
        warnings.append(
            DocDBError(
                .documentTooLarge,
                "a document has grown over \(Limits.documentByteCount) bytes by a merge and is kept; make it smaller, or no local write to it will be accepted",
                context: ["collection": String(reference.collection), "key": String(reference.key)]))
    }

    /// The most warnings of one commit.
    private static let warningCountLimit = 100

    package func storeFresh(
        body: UnsafeRawBufferPointer, stamp: Stamp, collection: Int64, id: UnsafeRawBufferPointer, from peer: Int64
    ) throws -> DocumentReference? {
        let key = try transaction.storeRemoteFresh(
            body: body, stamp: stamp, collection: collection, id: id, peer: peer)
        return key.map { DocumentReference(collection: collection, key: $0) }
    }

    package func evict(_ reference: DocumentReference, force: Bool) throws -> Bool {
        guard let collection = try context.collection(number: reference.collection), let id = try id(of: reference)
        else { return false }
        if !force, try !isAcknowledged(reference) { return false }
        return try id.withUnsafeBytes { id in
            try transaction.evict(id: id, collection: collection.info.name, force: true)
        }
    }

    package func rotateActor() throws { try transaction.rotateActor() }

    // MARK: What peers have told

    package func setTold(peer: Int64, _ reference: DocumentReference, _ digest: StateDigest?) throws {
        let hasChanged = try transaction.setTold(
            peer: peer, collection: reference.collection, key: reference.key, digest)
        if digest == nil, hasChanged { released.insert(reference) }
    }

    package func removeAllTold(peer: Int64) throws { try transaction.removeAllTold(peer: peer) }

    package func removeTold(_ reference: DocumentReference, except peer: Int64) throws -> [Int64] {
        let peers = try transaction.removeTold(collection: reference.collection, key: reference.key, except: peer)
        if !peers.isEmpty { released.insert(reference) }
        return peers
    }

    /// Notes that something was forgotten of a document.
    func release(_ reference: DocumentReference) { released.insert(reference) }
}
