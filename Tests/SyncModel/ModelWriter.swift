package import DocDBCore
package import DocDBSync

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
