import DocDBCore
import DocDBStorage

extension Query {
    /// Deletes the query's documents, in one transaction: that of the query, or one of its own.
    ///
    /// - Returns: how many there were.
    /// - Throws: `DocDBError` with the code `misuse` for a query of a snapshot or of a past state; and what
    ///   `Database.write(durability:_:)` throws.
    @discardableResult
    public func remove() throws -> Int {
        try write { (transaction, id) throws(DocDBError) in
            try transaction.remove(id: id, collection: definition.collection)
        }
    }

    /// Changes each of the query's documents, in one transaction: that of the query, or one of its own.
    ///
    /// ```swift
    /// try cars.find("state == 'reserved'").update { $0["state"] = "for sale" }
    /// ```
    ///
    /// - Parameter change: the changes, called once for each document.
    /// - Returns: how many documents there were.
    /// - Throws: as ``remove()`` and ``Collection/update(_:_:)`` do; nothing is changed then, unless an enclosing
    ///   transaction goes on.
    @discardableResult
    public func update(_ change: (inout DocumentEditor) throws -> Void) throws -> Int {
        try write { transaction, id in
            let documentID = DocumentID(stored: id)
            return try transaction.edit(id: id, collection: definition.collection) { state, stamp in
                try EditSession.run(on: &state, stamp: stamp, id: documentID, names: transaction.context.names, change)
            }
        }
    }

    /// Removes the query's documents from this database alone, in one transaction; see ``Collection/evict(_:force:)``.
    ///
    /// - Parameter force: whether changes that no other peer is known to hold may be lost.
    /// - Returns: how many there were.
    /// - Throws: `DocDBError` with the code `unsyncedChanges` where changes could be lost and `force` is false, and then
    ///   nothing is evicted; else as ``remove()`` does.
    @discardableResult
    public func evict(force: Bool = false) throws -> Int {
        try write { (transaction, id) throws(DocDBError) in
            try transaction.evict(id: id, collection: definition.collection, force: force)
        }
    }

    /// Calls `change` with each result in a transaction, and returns how often it returned true.
    private func write(_ change: (WriteTransaction, UnsafeRawBufferPointer) throws -> Bool) throws -> Int {
        try checkIsRunnable()
        switch source {
        case .store(let store):
            return try store.write { try changeResults(in: $0, change) }
        case .scope(let scope):
            // A snapshot has no transaction.
            guard scope.isTransaction else { throw Self.readOnly }
            return try changeResults(in: try scope.transaction(), change)
        case .past: throw Self.readOnly
        }
    }

    private func changeResults(
        in transaction: WriteTransaction, _ change: (WriteTransaction, UnsafeRawBufferPointer) throws -> Bool
    ) throws -> Int {
        var count = 0
        var id = ByteBuffer(capacity: 64)
        try QueryExecution(definition, in: transaction.context).forEachStable { row in
            id.removeAll()
            id.append(row.id)
            if try change(transaction, id.bytes) { count += 1 }
            return true
        }
        return count
    }

    private static var readOnly: DocDBError {
        DocDBError(.misuse, "a snapshot or a past state only reads; make the query from the database or a transaction")
    }
}
