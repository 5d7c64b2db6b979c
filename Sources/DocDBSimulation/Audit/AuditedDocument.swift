import DocDBCore
import DocDBSync

/// Names a document at all peers.
struct AuditedKey: Hashable, Comparable, CustomStringConvertible {
    var collection: String
    /// Canonical CBOR.
    var id: [UInt8]

    static func < (left: AuditedKey, right: AuditedKey) -> Bool {
        left.collection != right.collection
            ? left.collection < right.collection : left.id.lexicographicallyPrecedes(right.id)
    }

    var description: String {
        "\(collection)/\(id.withUnsafeBytes { (try? DocumentID(canonicalCBOR: $0)).map { "\($0)" } ?? "?" })"
    }
}

/// A document as one peer holds it, names spelt out.
struct AuditedDocument {
    var reference: DocumentReference
    var state: DocumentState

    /// All that the document's writes are known to have done here.
    var covered: VersionVector {
        var all = state.seen
        all.join(state.deleted)
        return all
    }

    func covers(_ stamp: Stamp) -> Bool {
        state.seen.covers(stamp.actor, stamp.time) || state.deleted.covers(stamp.actor, stamp.time)
    }

    /// Whether this holds all of another peer's.
    func covers(_ other: DocumentState) -> Bool {
        other.seen.isCovered(by: covered) && other.deleted.isCovered(by: state.deleted)
    }

    /// The entries in a form that can be compared and shown.
    var entries: [String] { Self.entries(of: state) }

    static func entries(of state: DocumentState) -> [String] {
        state.assignments.map {
            "\(state.bytes(of: $0.path)) \($0.kind) \(state.bytes(of: $0.payload)) \($0.stamp)"
        }
            + state.tallies.map {
                "\(state.bytes(of: $0.path)) \($0.base) \($0.actor) \($0.time.rawValue) \($0.sum)"
            }
    }
}

extension SimulatedPeer {
    /// All documents that the peer stores, deleted ones included.
    func auditedDocuments() throws -> [AuditedKey: AuditedDocument] {
        let replica = try replica
        return try replica.read { reader in
            var documents: [AuditedKey: AuditedDocument] = [:]
            for (number, name) in try reader.collections() {
                try reader.forEachDocument(collection: number, after: 0) { document in
                    documents[AuditedKey(collection: name, id: [UInt8](document.id))] = AuditedDocument(
                        reference: document.reference, state: try Self.state(of: document, replica))
                    return true
                }
            }
            return documents
        }
    }

    static func state(of document: StoredDocument, _ replica: any Replica) throws -> DocumentState {
        let state = try DocumentState(body: document.body, state: document.state, actors: replica.actors)
        return try state.transcoded(from: replica.names, to: nil)
    }
}
