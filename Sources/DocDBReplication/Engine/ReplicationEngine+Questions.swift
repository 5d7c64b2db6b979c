import DocDBCore
import DocDBQuery
package import DocDBSync

/// Why a document is, or is not, at a peer or here.
package struct DocumentExplanation: Equatable, Sendable {
    /// How the document stands in this store.
    package enum Place: Equatable, Sendable {
        case stored, deleted, evicted, absent
    }

    /// What stands between the document and a peer.
    package enum Verdict: Equatable, Sendable {
        /// The peer has acknowledged all changes that this store has of it.
        case held
        /// What the peer asks for does not match it.
        case notWanted
        /// The peer has not said yet what it asks for.
        case neverAsked
        /// The peer may not read it.
        case notPermitted
        /// The peer has not joined it.
        case refused(RefusalCode, reason: String)
        /// It is yet to be sent, or acknowledged.
        case waiting
        /// There is nothing here that could be sent.
        case notHere
    }

    package struct Peer: Equatable, Sendable {
        package var storeID: [UInt8]
        package var name: String
        package var isKeeper: Bool
        package var isConnected: Bool
        package var verdict: Verdict
        /// Whether the peer has told the document as one of those asked for.
        package var hasTold: Bool
        /// Why what the peer sent of it was not joined here; nil where it was.
        package var refusedHere: ApartDocument?
    }

    package var place = Place.absent
    package var isAcknowledged = false
    /// Whether it goes once its changes are acknowledged.
    package var isEvictionDeferred = false
    /// The subscriptions that match it, or could: all of the collection where it is not stored.
    package var subscriptions: [UInt64] = []
    package var peers: [Peer] = []
}

/// A document that one side has not joined, by names.
package struct RefusedDocument: Hashable, Sendable {
    package var document: ApartDocument
    package var peer: [UInt8]
    package var collection: String
    package var id: [UInt8]
}

// Questions about single documents; they read the store on the thread that asks.
extension ReplicationEngine {
    /// Whether a keeper holds all changes of a document; nil where it is not stored here.
    package func isAcknowledged(collection: String, id: [UInt8]) throws -> Bool? {
        try replica.read { reader in
            guard let reference = try self.reference(collection, id, reader) else { return nil }
            guard try reader.withDocument(reference, { _ in }) else { return nil }
            return try reader.isAcknowledged(reference)
        }
    }

    /// All that one side has not joined, by peer.
    package func refusals() throws -> [RefusedDocument] {
        try replica.read { reader in
            var refused: [RefusedDocument] = []
            for peer in try reader.peers() {
                for side in [ApartDocument.Side.there, .here] {
                    for document in try reader.apart(peer: peer.number, side: side) {
                        if let named = try name(document, peer: peer.storeID, reader) { refused.append(named) }
                    }
                }
            }
            return refused
        }
    }

    /// A document apart with its names; nil where it has none any more.
    package func named(_ document: ApartDocument) throws -> RefusedDocument? {
        try replica.read { reader in
            guard let peer = try reader.peers().first(where: { $0.number == document.peer }) else { return nil }
            return try name(document, peer: peer.storeID, reader)
        }
    }

    private func name(
        _ document: ApartDocument, peer: [UInt8], _ reader: any ReplicaReader
    ) throws -> RefusedDocument? {
        guard let name = try reader.name(ofCollection: document.reference.collection),
            let id = try reader.id(of: document.reference)
        else { return nil }
        return RefusedDocument(document: document, peer: peer, collection: name, id: id)
    }

    private func reference(
        _ collection: String, _ id: [UInt8], _ reader: any ReplicaReader
    ) throws -> DocumentReference? {
        guard let number = try reader.collection(named: collection) else { return nil }
        return try id.withUnsafeBytes { try reader.reference(collection: number, id: $0) }
    }

    /// Calls `body` on the executor with how long the oldest snapshot that its peer has not acknowledged has waited for
    /// that, in seconds; zero where none has.
    package func measureLag(_ body: @escaping @Sendable (Double) -> Void) {
        enqueue { engine in
            let now = engine.executor.monotonicNanoseconds
            let oldest = engine.connections.values.compactMap(\.session.oldestFlightNanoseconds).min() ?? now
            body(Double(now > oldest ? now - oldest : 0) / 1_000_000_000)
        }
    }

    // MARK: Settling refusals

    /// Adopts the version of the peers that refused a document, in place of the local one.
    ///
    /// - Throws: `.documentNotFound` where no peer has refused it; `.connectionFailed` where none that has is connected.
    package func revert(collection: String, id: [UInt8]) throws {
        try settle(collection: collection, id: id) { .revert($0) }
    }

    /// Offers a document again to the peers that refused it; throws as `revert` does.
    package func retry(collection: String, id: [UInt8]) throws {
        try settle(collection: collection, id: id) { .retry($0) }
    }

    private func settle(
        collection: String, id: [UInt8], _ event: @escaping @Sendable (DocumentReference) -> SessionEvent
    ) throws {
        let (reference, refusers) = try replica.read { reader -> (DocumentReference?, Set<[UInt8]>) in
            guard let reference = try self.reference(collection, id, reader) else { return (nil, []) }
            let refusers = try reader.peers().filter {
                try reader.apart(peer: $0.number, side: .there, reference) != nil
            }
            return (reference, Set(refusers.map(\.storeID)))
        }
        guard let reference, !refusers.isEmpty else {
            throw DocDBError(
                .documentNotFound, "no peer has refused this document; 'refusals' lists those that were refused")
        }
        let connected = Set(status.peers.filter(\.isConnected).map(\.storeID))
        guard !connected.isDisjoint(with: refusers) else {
            throw DocDBError(
                .connectionFailed, "no peer that refused the document is connected; try again once one is")
        }
        enqueue { engine in
            for connection in engine.sortedConnections
            where connection.isEstablished && refusers.contains(connection.peerID) {
                engine.tell(connection, event(reference))
            }
        }
    }
}
