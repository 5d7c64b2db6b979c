import DocDBCore
import DocDBQuery
import DocDBStorage
import DocDBSync
import Synchronization

extension ReplicationEngine {
    /// Tells why a document is, or is not, here and at each peer.
    package func explain(collection: String, id: [UInt8]) throws -> DocumentExplanation {
        let status = status
        let connected = Set(status.peers.filter(\.isConnected).map(\.storeID))
        let rights = peerRights.withLock { $0 }
        return try replica.read { reader in
            var explanation = DocumentExplanation()
            let number = try reader.collection(named: collection)
            let reference = try number.flatMap { number in
                try id.withUnsafeBytes { try reader.reference(collection: number, id: $0) }
            }
            var stored = StoredCopy()
            if let reference {
                try reader.withDocument(reference) { stored = StoredCopy($0) }
                explanation.place =
                    stored.isStored
                    ? (stored.body == nil ? .deleted : .stored) : try reader.isEvicted(reference) ? .evicted : .absent
                explanation.isAcknowledged = try stored.isStored && reader.isAcknowledged(reference)
                explanation.isEvictionDeferred = try reader.deferredEvictions().contains(reference)
            }
            explanation.subscriptions = status.subscriptions.filter { subscription in
                CollectionName(subscription.collection) == CollectionName(collection)
                    && (!stored.isStored || stored.matches(subscription.predicate, id: id, names: replica.names))
            }.map(\.id)
            for peer in try reader.peers() {
                explanation.peers.append(
                    DocumentExplanation.Peer(
                        storeID: peer.storeID, name: peer.name, isKeeper: peer.isKeeper,
                        isConnected: connected.contains(peer.storeID),
                        verdict: try verdict(peer, reference, stored, collection, id, rights[peer.storeID], reader),
                        hasTold: try reference.flatMap { try reader.told(peer: peer.number, $0) } != nil,
                        refusedHere: try reference.flatMap {
                            try reader.apart(peer: peer.number, side: .here, $0)
                        }))
            }
            return explanation
        }
    }

    private func verdict(
        _ peer: PeerRecord, _ reference: DocumentReference?, _ stored: StoredCopy, _ collection: String, _ id: [UInt8],
        _ rights: PeerRights?, _ reader: any ReplicaReader
    ) throws -> DocumentExplanation.Verdict {
        guard let reference, stored.isStored else { return .notHere }
        if let apart = try reader.apart(peer: peer.number, side: .there, reference) {
            return .refused(apart.code, reason: apart.reason)
        }
        guard let interest = peer.interest else { return .neverAsked }
        guard stored.isCovered(by: interest, collection, id: id, names: replica.names) else { return .notWanted }
        if let rights, !stored.isCovered(by: rights.read, collection, id: id, names: replica.names) {
            return .notPermitted
        }
        if stored.lastChange <= peer.acknowledgedSequence { return .held }
        // What came from the peer itself is there, too, if nothing was added here.
        let told = try reader.told(peer: peer.number, reference)
        return told != nil && told == stored.digest(reference, id, collection, replica.actors) ? .held : .waiting
    }
}

/// What is looked at of a stored document, copied.
private struct StoredCopy {
    var isStored = false
    /// Nil where it is deleted.
    var body: [UInt8]?
    var state: [UInt8] = []
    var lastChange: Int64 = 0

    init() {}

    init(_ document: StoredDocument) {
        isStored = true
        body = document.body.map { [UInt8]($0) }
        state = [UInt8](document.state)
        lastChange = document.lastChange
    }

    /// The digest of the state; nil where it is damaged.
    func digest(
        _ reference: DocumentReference, _ id: [UInt8], _ collection: String, _ actors: ActorTable
    ) -> StateDigest? {
        var digester = DocumentDigester(actors: actors)
        return state.withUnsafeBytes { state in
            id.withUnsafeBytes { id in
                (body ?? []).withUnsafeBytes { bytes in
                    let document = StoredDocument(
                        reference: reference, id: id, body: body == nil ? nil : bytes, state: state,
                        lastChange: lastChange)
                    return try? digester.digest(document, collection: collection)
                }
            }
        }
    }

    /// Whether a canonical predicate matches; a deleted document matches only one that all match.
    func matches(_ predicate: String, id: [UInt8], names: FieldNames) -> Bool {
        guard let filter = try? Filter.parse(predicate) else { return false }
        if filter == .everything { return true }
        guard let body else { return false }
        let evaluator = Evaluator(filter, names: names)
        return body.withUnsafeBytes { body in id.withUnsafeBytes { evaluator.matches(body: body, id: $0) } }
    }

    func isCovered(by interest: Interest, _ collection: String, id: [UInt8], names: FieldNames) -> Bool {
        switch interest {
        case .everything: true
        case .collections(let elements):
            elements.contains {
                CollectionName($0.collection) == CollectionName(collection)
                    && matches($0.predicate, id: id, names: names)
            }
        }
    }
}
