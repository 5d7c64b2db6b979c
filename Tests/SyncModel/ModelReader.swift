package import DocDBCore
import DocDBQuery
package import DocDBSync

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
