import DocDB
import DocDBCore
import DocDBStorage
import DocDBSync

// Who must hold what.
extension Auditor {
    /// Checks for all pairs of connected peers that each holds what its subscriptions match at the other.
    func checkScopes(_ held: [(SimulatedPeer, [AuditedKey: AuditedDocument])]) throws {
        for (peer, own) in held {
            for (other, theirs) in held where try peer.isConnected(to: other) {
                try checkScope(peer, own, of: other, theirs)
            }
        }
    }

    private func checkScope(
        _ peer: SimulatedPeer, _ own: [AuditedKey: AuditedDocument], of other: SimulatedPeer,
        _ theirs: [AuditedKey: AuditedDocument]
    ) throws {
        let wanted = try wantedKeys(peer, of: other, theirs)
        let otherID = try other.replica.storeID
        try peer.replica.read { reader in
            guard let record = try reader.peer(storeID: otherID) else {
                throw simulation.failure(8, "\(peer.name) does not know \(other.name), though they are connected")
            }
            let apart = Set(try reader.apart(peer: record.number, side: .here).map(\.reference))
            let quarantined = Set(try reader.quarantine(peer: record.number).map(\.reference))
            var told: [AuditedKey: StateDigest] = [:]
            try reader.forEachTold(peer: record.number) { reference, digest in
                guard let name = try reader.name(ofCollection: reference.collection),
                    let id = try reader.id(of: reference)
                else { return }
                told[AuditedKey(collection: name, id: id)] = digest
            }
            for key in wanted.sorted() {
                guard let document = theirs[key] else { continue }
                let reference = try reader.collection(named: key.collection).flatMap { number in
                    try key.id.withUnsafeBytes { try reader.reference(collection: number, id: $0) }
                }
                if let reference {
                    if apart.contains(reference) || quarantined.contains(reference) { continue }
                    guard told[key] == digest(document.state, key) else {
                        throw simulation.failure(8, "\(peer.name) was not told of \(key) at \(other.name)")
                    }
                    if try reader.isEvicted(reference), own[key] == nil { continue }
                }
                guard let mine = own[key] else {
                    throw simulation.failure(8, "\(peer.name) lacks \(key), which matches at \(other.name)")
                }
                guard mine.covers(document.state) else {
                    throw simulation.failure(8, "\(peer.name) holds an older \(key) than \(other.name)")
                }
            }
            // A relay is told of what others want, too.
            if case .on = peer.description.relay { return }
            for key in told.keys.sorted() where !wanted.contains(key) {
                throw simulation.failure(8, "\(peer.name) still counts \(key) in its scope at \(other.name)")
            }
        }
    }

    /// What a peer's subscriptions match at another one.
    private func wantedKeys(
        _ peer: SimulatedPeer, of other: SimulatedPeer, _ theirs: [AuditedKey: AuditedDocument]
    ) throws -> Set<AuditedKey> {
        var keys: Set<AuditedKey> = []
        for subscription in peer.subscriptions {
            for id in try subscription.query(other.db).ids() {
                var buffer = ByteBuffer(capacity: 64)
                id.appendCBOR(to: &buffer)
                keys.insert(AuditedKey(collection: subscription.collection, id: buffer.array))
            }
            guard subscription.isEverything else { continue }
            // Deletions are of everything, too.
            for (key, document) in theirs where key.collection == subscription.collection && !document.state.isAlive {
                keys.insert(key)
            }
        }
        return keys
    }

    private func digest(_ state: DocumentState, _ key: AuditedKey) -> StateDigest {
        key.id.withUnsafeBytes { state.digest(collection: key.collection, id: $0, hash: ContentHash.digest) }
    }
}

extension SimulatedPeer {
    /// Whether the peer has a session with another one.
    func isConnected(to other: SimulatedPeer) throws -> Bool {
        let id = try other.replica.storeID
        return try db.sync.status.peers.contains { $0.isConnected && $0.id.bytes == id }
    }
}
