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

package class ModelReader: ReplicaReader {
    package let replica: ModelReplica
    package var storage: ModelReplica.Storage

    package init(_ replica: ModelReplica) {
        self.replica = replica
        storage = replica.storage
    }

    package var sequence: Int64 { storage.sequence }
    package var actor: ActorID? { storage.mustRotate ? nil : storage.actor }
    package var oldestSequence: Int64 { storage.oldestSequence }

    package func incarnations() throws -> [(id: [UInt8], lastSequence: Int64?)] {
        storage.earlier.map { ($0.id, $0.lastSequence) } + [(storage.incarnation, nil)]
    }

    package func collections() throws -> [(number: Int64, name: String)] {
        storage.collections.enumerated().map { (Int64($0.offset) + 1, $0.element) }
    }

    package func collection(named name: String) throws -> Int64? {
        storage.collections.firstIndex(of: name).map { Int64($0) + 1 }
    }

    package func name(ofCollection number: Int64) throws -> String? {
        let index = Int(number) - 1
        return storage.collections.indices.contains(index) ? storage.collections[index] : nil
    }

    package func reference(collection: Int64, id: UnsafeRawBufferPointer) throws -> DocumentReference? {
        storage.references[collection]?[[UInt8](id)]
    }

    package func id(of reference: DocumentReference) throws -> [UInt8]? { storage.ids[reference] }

    package func withDocument(_ reference: DocumentReference, _ body: (StoredDocument) throws -> Void) throws -> Bool {
        guard let document = storage.documents[reference] else { return false }
        try Self.withStored(document, reference, body)
        return true
    }

    private static func withStored(
        _ document: ModelReplica.Document, _ reference: DocumentReference, _ body: (StoredDocument) throws -> Void
    ) throws {
        try document.id.withUnsafeBytes { id in
            try document.encoded.withUnsafeBytes { state in
                guard let bytes = document.body else {
                    return try body(
                        StoredDocument(
                            reference: reference, id: id, body: nil, state: state, lastChange: document.lastChange))
                }
                try bytes.withUnsafeBytes {
                    try body(
                        StoredDocument(
                            reference: reference, id: id, body: $0, state: state, lastChange: document.lastChange))
                }
            }
        }
    }

    package func forEachDocument(
        collection: Int64, after key: Int64, _ body: (StoredDocument) throws -> Bool
    ) throws {
        for reference in storage.documents.keys.sorted() where reference.collection == collection && reference.key > key
        {
            guard let document = storage.documents[reference] else { continue }
            var goesOn = true
            try Self.withStored(document, reference) { goesOn = try body($0) }
            if !goesOn { return }
        }
    }

    package func state(of reference: DocumentReference, after sequence: Int64) throws -> PastState {
        if sequence < storage.oldestSequence - 1 { return .unknown }
        for record in storage.log where record.sequence > sequence {
            switch record.changes[reference] {
            case nil: continue
            case .erased: return .unknown
            case .wrote(let before): return before.map { .stored($0) } ?? .absent
            }
        }
        return storage.documents[reference].map { .stored($0.state) } ?? .absent
    }

    package func forEachChange(
        after sequence: Int64, takenFrom peer: Int64,
        _ body: (_ reference: DocumentReference, _ first: Int64, _ isTaken: Bool) throws -> Void
    ) throws -> Bool {
        guard sequence >= storage.oldestSequence - 1 else { return false }
        var first: [DocumentReference: Int64] = [:]
        for record in storage.log where record.sequence > sequence {
            for reference in record.changes.keys.sorted() {
                if first[reference] == nil {
                    first[reference] = record.sequence
                } else if record.peer != peer {
                    continue
                }
                try body(reference, first[reference] ?? 0, record.peer == peer)
            }
        }
        return true
    }

    package func peer(storeID: [UInt8]) throws -> PeerRecord? { storage.peers.first { $0.storeID == storeID } }
    package func peers() throws -> [PeerRecord] { storage.peers }
    package func told(peer: Int64, _ reference: DocumentReference) throws -> StateDigest? {
        storage.told[peer]?[reference]
    }

    package func forEachTold(peer: Int64, _ body: (DocumentReference, StateDigest) throws -> Void) throws {
        for (reference, digest) in (storage.told[peer] ?? [:]).sorted(by: { $0.key < $1.key }) {
            try body(reference, digest)
        }
    }

    package func apart(peer: Int64, side: ApartDocument.Side) throws -> [ApartDocument] {
        (storage.apart[peer]?[side] ?? [:]).values.sorted { $0.reference < $1.reference }
    }

    package func apart(peer: Int64, side: ApartDocument.Side, _ reference: DocumentReference) throws -> ApartDocument? {
        storage.apart[peer]?[side]?[reference]
    }

    package func quarantine(peer: Int64?) throws -> [QuarantinedDelta] {
        storage.quarantine.filter { peer == nil || $0.key == peer }.flatMap(\.value.values)
            .sorted { ($0.newestTime, $0.reference) < ($1.newestTime, $1.reference) }
    }

    package func isEvicted(_ reference: DocumentReference) throws -> Bool { storage.evicted.contains(reference) }

    package func evicted(limit: Int) throws -> [(DocumentReference, id: [UInt8])] {
        storage.evicted.sorted().prefix(limit).map { ($0, id: storage.ids[$0] ?? []) }
    }

    package func deferredEvictions() throws -> [DocumentReference] { storage.deferred.sorted() }

    package func isAcknowledged(_ reference: DocumentReference) throws -> Bool {
        guard let document = storage.documents[reference] else { return false }
        if document.lastPending == 0 { return true }
        for peer in storage.peers where peer.isKeeper {
            guard let interest = peer.interest, document.lastPending <= peer.acknowledgedSequence,
                storage.apart[peer.number]?[.there]?[reference] == nil
            else { continue }
            let scope = try ScopeFilter(interest, permitted: .everything, names: replica.names)
            let name = try name(ofCollection: reference.collection) ?? ""
            let isCovered = document.id.withUnsafeBytes { id in
                guard let body = document.body else {
                    return scope.matches(body: nil, id: id, collection: reference.collection, name)
                }
                return body.withUnsafeBytes {
                    scope.matches(body: $0, id: id, collection: reference.collection, name)
                }
            }
            if isCovered { return true }
        }
        return false
    }
}

package final class ModelWriter: ModelReader, ReplicaWriter {
    private(set) var changes: [DocumentReference: ModelReplica.Change] = [:]
    private var peerOfCommit: Int64?
    package var now: UInt64 { replica.wall }
    package override var sequence: Int64 { storage.sequence + (changes.isEmpty ? 0 : 1) }

    /// Ends the commit; returns its number where documents changed.
    package func finish() -> Int64? {
        guard !changes.isEmpty else { return nil }
        storage.sequence += 1
        storage.log.append(ModelReplica.Record(sequence: storage.sequence, peer: peerOfCommit, changes: changes))
        return storage.sequence
    }

    package func makeCollection(named name: String) throws -> Int64 {
        if let known = try collection(named: name) { return known }
        storage.collections.append(name)
        return Int64(storage.collections.count)
    }

    package func makeReference(collection: Int64, id: UnsafeRawBufferPointer) throws -> DocumentReference {
        if let known = try reference(collection: collection, id: id) { return known }
        let reference = DocumentReference(collection: collection, key: Int64(storage.ids.count) + 1)
        storage.ids[reference] = [UInt8](id)
        storage.references[collection, default: [:]][[UInt8](id)] = reference
        return reference
    }

    package func store(
        _ state: borrowing DocumentState, _ reference: DocumentReference, id: UnsafeRawBufferPointer, from peer: Int64
    ) throws {
        let state = copy state
        peerOfCommit = peer
        let isKeeper = storage.peers.first { $0.number == peer }?.isKeeper ?? false
        for vector in [state.seen, state.deleted] {
            for element in vector.elements { replica.clock = max(replica.clock, element.time.rawValue) }
        }
        put(state, reference, [UInt8](id), isPending: !isKeeper)
    }

    /// Stores a state, locally or from a peer.
    package func put(_ state: DocumentState, _ reference: DocumentReference, _ id: [UInt8], isPending: Bool) {
        let old = storage.documents[reference]
        if changes[reference] == nil { changes[reference] = .wrote(before: old?.state) }
        var body = ByteBuffer()
        var encoded = ByteBuffer()
        let isAlive = state.encode(into: &body, state: &encoded, actors: replica.actors)
        storage.documents[reference] = ModelReplica.Document(
            id: id, body: isAlive ? body.array : nil, state: state, encoded: encoded.array,
            lastChange: storage.sequence + 1, lastPending: isPending ? storage.sequence + 1 : old?.lastPending ?? 0)
        storage.evicted.remove(reference)
    }

    package func storeFresh(
        body: UnsafeRawBufferPointer, stamp: Stamp, collection: Int64, id: UnsafeRawBufferPointer, from peer: Int64
    ) throws -> DocumentReference? {
        guard try reference(collection: collection, id: id) == nil else { return nil }
        var encoded = ByteBuffer()
        DocumentState.appendFreshState(
            stamp: stamp, isBodyEmpty: body.count == 1, actors: replica.actors, padding: 0, to: &encoded)
        let state = try DocumentState(body: body, state: encoded.bytes, actors: replica.actors)
        let reference = try makeReference(collection: collection, id: id)
        try store(state, reference, id: id, from: peer)
        return reference
    }

    package func evict(_ reference: DocumentReference, force: Bool) throws -> Bool {
        guard let document = storage.documents[reference] else { return false }
        guard try force || isAcknowledged(reference) else { return false }
        storage.documents[reference] = nil
        storage.deferred.remove(reference)
        storage.evicted.insert(reference)
        let isOwn = document.state.seen[storage.actor] > .zero || document.state.deleted[storage.actor] > .zero
        if isOwn, !replica.disabledRules.contains(.revertRotation) {
            storage.mustRotate = true
        }
        for index in storage.log.indices where storage.log[index].changes[reference] != nil {
            storage.log[index].changes[reference] = .erased
        }
        changes[reference] = .erased
        return true
    }

    package func rotateActor() throws { storage.mustRotate = true }

    package func setPeer(_ peer: PeerRecord) throws -> PeerRecord {
        var peer = peer
        if let index = storage.peers.firstIndex(where: { $0.storeID == peer.storeID }) {
            peer.number = storage.peers[index].number
            peer.currentCount = storage.peers[index].currentCount
            peer.currentSum = storage.peers[index].currentSum
            storage.peers[index] = peer
        } else {
            peer.number = Int64(storage.peers.count) + 1
            storage.peers.append(peer)
        }
        return peer
    }

    package func setTold(peer: Int64, _ reference: DocumentReference, _ digest: StateDigest?) throws {
        guard let index = storage.peers.firstIndex(where: { $0.number == peer }) else { return }
        if let old = storage.told[peer]?[reference] {
            storage.peers[index].currentCount -= 1
            storage.peers[index].currentSum.subtract(old)
        }
        storage.told[peer, default: [:]][reference] = digest
        if let digest {
            storage.peers[index].currentCount += 1
            storage.peers[index].currentSum.add(digest)
        }
    }

    package func removeAllTold(peer: Int64) throws {
        for reference in (storage.told[peer] ?? [:]).keys { try setTold(peer: peer, reference, nil) }
    }

    package func removeTold(_ reference: DocumentReference, except peer: Int64) throws -> [Int64] {
        var peers: [Int64] = []
        for other in storage.peers where other.number != peer && storage.told[other.number]?[reference] != nil {
            try setTold(peer: other.number, reference, nil)
            peers.append(other.number)
        }
        return peers
    }

    package func setApart(_ document: ApartDocument) throws {
        storage.apart[document.peer, default: [:]][document.side, default: [:]][document.reference] = document
    }

    package func removeApart(peer: Int64, side: ApartDocument.Side, _ reference: DocumentReference) throws {
        storage.apart[peer]?[side]?[reference] = nil
    }

    package func setQuarantined(_ delta: QuarantinedDelta) throws -> QuarantinedDelta? {
        storage.quarantine[delta.peer, default: [:]][delta.reference] = delta
        return nil
    }

    package func removeQuarantined(peer: Int64, _ reference: DocumentReference) throws {
        storage.quarantine[peer]?[reference] = nil
    }

    package func setDeferredEviction(_ reference: DocumentReference, _ isDeferred: Bool) throws {
        if isDeferred { storage.deferred.insert(reference) } else { storage.deferred.remove(reference) }
    }

    package var hasVoided: Bool { !storage.voided.isEmpty }
    package func voided(_ document: StateDigest) -> [VoidedChange] { storage.voided.filter { $0.document == document } }

    package func setVoided(_ change: VoidedChange) {
        removeVoided(document: change.document, actor: change.actor)
        storage.voided.append(change)
    }

    package func removeVoided(document: StateDigest, actor: ActorID) {
        storage.voided.removeAll { $0.document == document && $0.actor == actor }
    }
}
