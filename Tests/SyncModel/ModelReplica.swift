package import DocDBCore
import DocDBQuery
package import DocDBSync

/// A replica in memory: the reference of what sessions expect of a store.
///
/// All that is kept is one value, so that power cuts, backups and copies are assignments. The log keeps whole states.
package final class ModelReplica: Replica, @unchecked Sendable {
    // Unchecked: one thread at a time.

    package struct Document {
        package var id: [UInt8]
        package var body: [UInt8]?
        package var state: DocumentState
        package var encoded: [UInt8]
        package var lastChange: Int64
        /// The newest commit of it that was no keeper's snapshot.
        package var lastPending: Int64
    }

    package enum Change {
        case wrote(before: DocumentState?)
        /// Evicted now, or later: the values are gone.
        case erased
    }

    package struct Record {
        package var sequence: Int64
        package var peer: Int64?
        package var changes: [DocumentReference: Change]
    }

    package struct Storage {
        package var documents: [DocumentReference: Document] = [:]
        package var ids: [DocumentReference: [UInt8]] = [:]
        package var references: [Int64: [[UInt8]: DocumentReference]] = [:]
        package var collections: [String] = []
        package var log: [Record] = []
        package var oldestSequence: Int64 = 1
        package var sequence: Int64 = 0
        package var incarnation: [UInt8]
        package var earlier: [(id: [UInt8], lastSequence: Int64)] = []
        package var peers: [PeerRecord] = []
        package var told: [Int64: [DocumentReference: StateDigest]] = [:]
        package var apart: [Int64: [ApartDocument.Side: [DocumentReference: ApartDocument]]] = [:]
        package var quarantine: [Int64: [DocumentReference: QuarantinedDelta]] = [:]
        package var evicted: Set<DocumentReference> = []
        package var deferred: Set<DocumentReference> = []
        /// Changes refused to their authors.
        package var voided: [VoidedChange] = []
        package var actor: ActorID
        package var mustRotate = false
    }

    package let storeID: [UInt8]
    package let names = FieldNames()
    package let actors = ActorTable()
    package var storage: Storage
    /// States since the last synchronization, that one first: what a power cut may leave.
    package var survivors: [Storage] = []
    /// Survives power cuts, as the store reserves times ahead.
    package var clock: UInt64 = 0
    package var wall: UInt64 = 0
    package var forgets = true
    package var disabledRules: Set<SyncRule> = []
    /// Makes ids that nobody has had.
    package var makeFreshID: () -> [UInt8]
    /// Told of each commit that changed documents: what stood there, and what stands there now.
    package var onCommit: ([(reference: DocumentReference, before: [UInt8]??, after: [UInt8]??)], Int64) -> Void = {
        _, _ in
    }
    package var synchronizationCount = 0
    package var writeCount = 0

    package init(makeFreshID: @escaping () -> [UInt8]) {
        self.makeFreshID = makeFreshID
        storeID = makeFreshID()
        let actor = makeFreshID()
        storage = Storage(incarnation: makeFreshID(), actor: ActorID(bytes: actor) ?? ActorID(high: 1, low: 1))
        survivors = [storage]
    }

    package func read<R>(_ body: (any ReplicaReader) throws -> R) throws -> R { try body(ModelReader(self)) }

    package func write<R>(_ body: (any ReplicaWriter) throws -> R) throws -> R {
        let writer = ModelWriter(self)
        let result = try body(writer)
        finish(writer)
        return result
    }

    package func finish(_ writer: ModelWriter) {
        writeCount += 1
        let sequence = writer.finish()
        let before = storage
        storage = writer.storage
        survivors.append(storage)
        if survivors.count > 6 { survivors.remove(at: 1) }
        guard let sequence else { return }
        let changes = writer.changes.keys.sorted().map { reference in
            (
                reference: reference, before: before.documents[reference].map { .some($0.body) } ?? nil,
                after: storage.documents[reference].map { .some($0.body) } ?? nil
            ) as (reference: DocumentReference, before: [UInt8]??, after: [UInt8]??)
        }
        onCommit(changes, sequence)
    }

    package func synchronize() throws -> Int64 {
        synchronizationCount += 1
        survivors = [storage]
        return storage.sequence
    }

    // Faults.

    /// Loses what was committed since the last synchronization, or some of it.
    package func cutPower(keeping index: Int) {
        storage = survivors[index % survivors.count]
        survivors = [storage]
    }

    package func backup() -> Storage {
        survivors = [storage]
        return storage
    }

    package func restore(_ backup: Storage) {
        storage = backup
        storage.earlier.append((storage.incarnation, storage.sequence))
        storage.incarnation = makeFreshID()
        storage.mustRotate = true
        survivors = [storage]
    }

    package func cutLog(before sequence: Int64) {
        storage.log.removeAll { $0.sequence < sequence }
        storage.oldestSequence = max(storage.oldestSequence, sequence)
        survivors = [storage]
    }
}
