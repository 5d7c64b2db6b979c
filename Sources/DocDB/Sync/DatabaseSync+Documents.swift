import DocDBCore
import DocDBReplication
import DocDBStorage
import DocDBSync

extension DatabaseSync {
    /// Tells whether all changes of a document are at a keeper: a hub, or a peer that says it is one.
    ///
    /// Such a document may be evicted without loss. Without a keeper the answer is false.
    ///
    /// - Throws: `DocDBError` with the code `documentNotFound` where the document is not stored here; `misuse` where the
    ///   database has no identity; `databaseClosed` or `storageFailed`.
    public func isAcknowledged(_ collection: String, _ id: DocumentID) throws -> Bool {
        guard let answer = try requireEngine().isAcknowledged(collection: collection, id: id.canonicalBytes) else {
            throw DocDBError(.documentNotFound, "the document is not stored here; 'explain' tells where it could be")
        }
        return answer
    }

    /// The documents with changes that no keeper holds yet.
    ///
    /// - Parameter limit: the most documents that are returned; 1,000 unless given.
    /// - Throws: `DocDBError` with the code `databaseClosed` or `storageFailed`.
    /// - Complexity: O(documents) at worst.
    public func pendingDocuments(limit: Int = 1_000) throws -> [SyncDocument] {
        try Self.pendingDocuments(store, limit: limit)
    }

    static func pendingDocuments(_ store: Store, limit: Int) throws -> [SyncDocument] {
        try store.read { context in
            var pending: [SyncDocument] = []
            for name in context.catalog.names where pending.count < limit {
                guard let collection = try context.collection(name) else { continue }
                try context.forEachPendingDocument(in: collection) { document in
                    pending.append(SyncDocument(collection: name, id: DocumentID(canonicalBytes: document.id)))
                    return pending.count < limit
                }
            }
            return pending
        }
    }

    /// Tells why a document is, or is not, here and at each peer that was ever met.
    ///
    /// ```swift
    /// print(try db.sync.explain("cars", "car-000001"))
    /// ```
    ///
    /// - Throws: `DocDBError` with the code `databaseClosed` or `storageFailed`.
    public func explain(_ collection: String, _ id: DocumentID) throws -> SyncExplanation {
        SyncExplanation(try requireEngine().explain(collection: collection, id: id.canonicalBytes))
    }

    /// The documents that a peer has not taken from this database, or this database not from a peer.
    ///
    /// Nothing of them is lost: what was written here stays here, marked, until it is settled by ``revert(_:_:)`` or
    /// ``retry(_:_:)``.
    ///
    /// - Throws: `DocDBError` with the code `databaseClosed` or `storageFailed`.
    public func refusals() throws -> [SyncRefusal] { try requireEngine().refusals().map { SyncRefusal($0) } }

    /// Refusals as they happen.
    ///
    /// Of those that a busy consumer has not taken, the newest 1,024 are kept; ``refusals()`` has all.
    public var refusalUpdates: SyncUpdates<SyncRefusal> {
        guard let engine = try? requireEngine() else { return .none }
        return .each(engine.apartObservers, bufferCount: 1_024) { news in
            guard !news.isSettled, let named = try? engine.named(news.document) else { return nil }
            return SyncRefusal(named)
        }
    }

    /// Takes the version of the peers that refused a document in place of the one here, which is given up.
    ///
    /// - Throws: `DocDBError` with the code `documentNotFound` where no peer has refused the document, `connectionFailed`
    ///   where none that has is connected; `databaseClosed` or `storageFailed`.
    public func revert(_ collection: String, _ id: DocumentID) throws {
        try requireEngine().revert(collection: collection, id: id.canonicalBytes)
    }

    /// Offers a document again to the peers that refused it; throws as ``revert(_:_:)`` does.
    public func retry(_ collection: String, _ id: DocumentID) throws {
        try requireEngine().retry(collection: collection, id: id.canonicalBytes)
    }
}

/// A document by the names that all peers share.
public struct SyncDocument: Hashable, Sendable {
    /// The collection's name.
    public let collection: String
    /// The document's id.
    public let id: DocumentID

    /// Names a document.
    public init(collection: String, id: DocumentID) {
        self.collection = collection
        self.id = id
    }
}

extension DocumentID {
    /// The canonical CBOR of the id, keys as text.
    var canonicalBytes: [UInt8] {
        var buffer = ByteBuffer(capacity: 64)
        appendCBOR(to: &buffer)
        return buffer.array
    }

    /// The id of canonical CBOR that the store has checked.
    init(canonicalBytes bytes: [UInt8]) { self = bytes.withUnsafeBytes { DocumentID(stored: $0) } }
}
