import DocDBCore
import DocDBStorage

/// A collection of documents; each call on it is a transaction or a snapshot of its own.
///
/// ```swift
/// let cars = db.collection("cars")
/// let id = try cars.insert(["make": "toyota", "price": 9_500])
/// try cars.update(id) { $0["price"] = 9_000 }
/// let cheap = try cars.find("price < $most", ["most": 10_000]).sort("price").limit(20).documents()
/// ```
///
/// Many writes are much cheaper in one transaction: see `Database.write(durability:_:)`.
public struct Collection: Sendable {
    let store: Store
    /// The name of the collection.
    public let name: String

    init(store: Store, name: String) {
        self.store = store
        self.name = name
    }

    /// Runs one operation as a transaction.
    private func write<R>(_ body: (TransactionCollection) throws -> R) throws -> R {
        try store.write { transaction in
            try Transaction.run(in: transaction, names: store.names) { try body($0.collection(name)) }
        }
    }

    // MARK: Insert

    /// Inserts a document; one without `_id` gets a new one, a UUID of version 7.
    ///
    /// - Returns: the document's id.
    /// - Throws: `DocDBError` with the code `documentExists` where the collection has a document with this id;
    ///   `invalidValue`, `invalidDocumentID`, `documentTooLarge`, `documentTooDeep`, `invalidCollectionName`; and what
    ///   `Database.write(durability:_:)` throws.
    /// - Complexity: O(size of the document + log n) in the number of documents, and as much for each index.
    @discardableResult
    public func insert(_ document: Value) throws -> DocumentID { try write { try $0.insert(document) } }

    /// Inserts a document given as JSON text, which is encoded in one pass.
    ///
    /// - Returns: the document's id, a new one where the text has no `_id`.
    /// - Throws: as the form for values does; `invalidJSON` where the text is not one JSON object, with `line`, `column`
    ///   and `offset` in the context.
    @discardableResult
    public func insert(json: String) throws -> DocumentID { try write { try $0.insert(json: json) } }

    /// Inserts a document that is encoded straight from a value of the app's own.
    ///
    /// - Returns: the document's id, a new one where the type encodes no `_id` or a nil one.
    /// - Throws: as the form for values does; the context of `invalidValue` has the `path` of the field.
    @discardableResult
    @_disfavoredOverload
    public func insert<D: Encodable>(_ document: D) throws -> DocumentID { try write { try $0.insert(document) } }

    // MARK: Upsert

    /// Writes a document, whether there is one with its id or not.
    ///
    /// - Parameters:
    ///   - document: an object; without `_id` it gets a new one.
    ///   - strategy: what to do where there is a document with this id; ``UpsertStrategy/merge`` unless given.
    /// - Returns: the document's id.
    /// - Throws: as ``insert(_:)-(Value)`` does, `documentExists` for the strategy ``UpsertStrategy/insert`` only.
    @discardableResult
    public func upsert(_ document: Value, strategy: UpsertStrategy = .merge) throws -> DocumentID {
        try write { try $0.upsert(document, strategy: strategy) }
    }

    /// Writes a document given as JSON text, whether there is one with its id or not.
    ///
    /// - Parameters:
    ///   - json: the text of one object; without `_id` it gets a new one.
    ///   - strategy: what to do where there is a document with this id; ``UpsertStrategy/merge`` unless given.
    /// - Returns: the document's id.
    /// - Throws: as ``insert(json:)`` does.
    @discardableResult
    public func upsert(json: String, strategy: UpsertStrategy = .merge) throws -> DocumentID {
        try write { try $0.upsert(json: json, strategy: strategy) }
    }

    /// Writes a document that is encoded straight from a value of the app's own.
    ///
    /// With ``UpsertStrategy/merge`` only the fields that differ from the document are written, so that writing back a
    /// value does not undo what other replicas change in its other fields. Properties that are nil leave the document's
    /// field as it is; ``update(_:_:)`` removes fields.
    ///
    /// - Parameters:
    ///   - document: a value that encodes as an object; without `_id` it gets a new one.
    ///   - strategy: what to do where there is a document with this id; ``UpsertStrategy/merge`` unless given.
    /// - Returns: the document's id.
    /// - Throws: as ``insert(_:)-(D)`` does.
    @discardableResult
    @_disfavoredOverload
    public func upsert<D: Encodable>(_ document: D, strategy: UpsertStrategy = .merge) throws -> DocumentID {
        try write { try $0.upsert(document, strategy: strategy) }
    }

    // MARK: Change and remove

    /// Changes single fields of a document.
    ///
    /// Only what the closure writes becomes part of the change: fields that others change at the same time stay theirs.
    ///
    /// ```swift
    /// try cars.update(id) {
    ///     $0["views"].increment()
    ///     $0["price"] = 9_000
    ///     $0["seller"]["name"].set("Ann")
    ///     $0["reserved"].unset()
    /// }
    /// ```
    ///
    /// - Parameters:
    ///   - id: the document's id.
    ///   - change: the changes; the editor is valid within the closure only.
    /// - Throws: `DocDBError` with the code `documentNotFound` where there is none; `typeMismatch` where something that
    ///   is no number was incremented; `invalidPath`, `invalidValue`, `documentTooDeep`, `documentTooLarge`; and what
    ///   `change` throws. Nothing is written then.
    public func update(_ id: DocumentID, _ change: (inout DocumentEditor) throws -> Void) throws {
        try write { try $0.update(id, change) }
    }

    /// Adds a number to a field; a missing field counts as zero. Concurrent increments of several replicas add up.
    ///
    /// - Parameters:
    ///   - path: the field.
    ///   - amount: an integer or a float, which may be negative.
    ///   - id: the document's id.
    /// - Throws: as ``update(_:_:)`` does; `typeMismatch` also where `amount` is no number, `invalidValue` where it is not
    ///   finite, or the sum of this database's increments of the field leaves 64 bits or the range of doubles.
    public func increment(_ path: FieldPath, by amount: Value = 1, id: DocumentID) throws {
        try write { try $0.increment(path, by: amount, id: id) }
    }

    /// Deletes a document. Of it only what replication needs is kept, and its history.
    ///
    /// - Returns: whether there was one.
    /// - Throws: what `Database.write(durability:_:)` throws.
    @discardableResult
    public func remove(_ id: DocumentID) throws -> Bool { try write { try $0.remove(id) } }

    /// Removes a document from this database alone, with its history, and leaves no byte of it in the files.
    ///
    /// Unlike ``remove(_:)`` this is no change that replicates: elsewhere the document stays, and may come back.
    ///
    /// - Parameters:
    ///   - id: the document's id.
    ///   - force: whether changes that no other peer is known to hold may be lost.
    /// - Returns: whether there was one, or what is kept of a deleted one.
    /// - Throws: `DocDBError` with the code `unsyncedChanges` where changes could be lost and `force` is false; and what
    ///   `Database.write(durability:_:)` throws.
    /// - Complexity: O(blocks of the change log that tell of the document).
    @discardableResult
    public func evict(_ id: DocumentID, force: Bool = false) throws -> Bool {
        try write { try $0.evict(id, force: force) }
    }
}
