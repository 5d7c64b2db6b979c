import DocDBCore

/// A document with changes that no keeper is known to hold.
package struct PendingDocument: Hashable, Sendable {
    /// The number of the collection.
    package var collection: Int64
    package var key: Int64
    /// The canonical CBOR of the id.
    package var id: [UInt8]
    /// The commit that changed it last.
    package var lastChange: Int64
}

extension ReadContext {
    /// Calls `body` with each document of a collection that has changes which no keeper is known to hold, deleted ones
    /// included, until it returns false.
    ///
    /// - Complexity: O(changes since the last acknowledgement) where a keeper wants all of the collection and the log
    ///   reaches back to that; else O(documents).
    package func forEachPendingDocument(
        in collection: CollectionReader, _ body: (PendingDocument) throws -> Bool
    ) throws {
        let known = try Acknowledgements(self)
        if let keys = try changedKeys(in: collection, known) {
            for key in keys {
                guard let document = try pending(key: key, in: collection, known) else { continue }
                if try !body(document) { return }
            }
        } else {
            try scanPending(in: collection, known, body)
        }
    }

    /// The keys of the documents that may be pending, ascending, where the log and the refusals tell them all; else nil.
    private func changedKeys(
        in collection: CollectionReader, _ known: Acknowledgements
    ) throws(DocDBError) -> [Int64]? {
        let number = collection.info.number
        let reader = ChangeLogReader(connection: connection)
        guard let keeper = try known.unconditionalKeeper(of: collection.info),
            keeper.sequence >= (try reader.oldestSequence()) - 1
        else { return nil }
        var keys: Set<Int64> = []
        try reader.forEachEntry(after: keeper.sequence) { _, entry in
            if entry.collection == number { keys.insert(entry.key) }
        }
        let refused = try connection.prepare("SELECT key FROM apart WHERE peer = ? AND side = 1 AND collection = ?")
        refused.bind(1, keeper.number)
        refused.bind(2, number)
        defer { refused.reset() }
        while try refused.step() { keys.insert(refused.int(0)) }
        return keys.sorted()
    }

    private func pending(
        key: Int64, in collection: CollectionReader, _ known: Acknowledgements
    ) throws -> PendingDocument? {
        let found = try collection.withDocument(key: key) { (row, id) throws(DocDBError) -> PendingDocument? in
            try Self.pending(row.key, id, row.body, row.lastChange, collection.info, known)
        }
        return found ?? nil
    }

    private static func pending(
        _ key: Int64, _ id: UnsafeRawBufferPointer, _ body: UnsafeRawBufferPointer?, _ lastChange: Int64,
        _ collection: CollectionInfo, _ known: Acknowledgements
    ) throws(DocDBError) -> PendingDocument? {
        let isHeld = try known.isAcknowledged(
            collection, key: key, id: id, body: body, lastChange: lastChange)
        return isHeld
            ? nil
            : PendingDocument(collection: collection.number, key: key, id: [UInt8](id), lastChange: lastChange)
    }

    private func scanPending(
        in collection: CollectionReader, _ known: Acknowledgements, _ body: (PendingDocument) throws -> Bool
    ) throws {
        let rows = try connection.prepareOnce(
            "SELECT key, id, body, last_change FROM documents_\(collection.info.number) ORDER BY key")
        var id = ByteBuffer()
        while try rows.step() {
            id.removeAll()
            rows.appendID(1, to: &id)
            let stored: UnsafeRawBufferPointer? = rows.isNull(2) ? nil : rows.blob(2)
            let document = try Self.pending(rows.int(0), id.bytes, stored, rows.int(3), collection.info, known)
            if let document, try !body(document) { return }
        }
    }
}
