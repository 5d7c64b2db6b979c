import DocDBCore
import DocDBStorage

/// A collection within a write transaction: the same operations as on ``Collection``, all in one transaction.
///
/// Reads see what the transaction has written. An operation that throws before it has written anything leaves the
/// transaction usable.
///
/// ```swift
/// try db.write { tx in
///     let cars = tx.collection("cars")
///     for line in lines { try cars.upsert(json: line) }
/// }
/// ```
public struct TransactionCollection {
    let scope: Scope
    let slot: Int
    /// The name of the collection.
    public let name: String

    init(scope: Scope, name: String) {
        self.scope = scope
        self.name = name
        slot = scope.slot(of: name)
    }

    // MARK: Insert

    /// Inserts a document; one without `_id` gets a new one, a UUID of version 7.
    ///
    /// - Returns: the document's id.
    /// - Throws: `DocDBError` with the code `documentExists` where the collection has a document with this id;
    ///   `invalidValue`, `invalidDocumentID`, `documentTooLarge`, `documentTooDeep` or `invalidCollectionName`, all of
    ///   which leave the transaction usable; `misuse` once the closure has ended.
    /// - Complexity: O(size of the document + log n) in the number of documents, and as much for each index.
    @discardableResult
    public func insert(_ document: Value) throws -> DocumentID { try upsert(document, strategy: .insert) }

    /// Inserts a document given as JSON text, which is encoded in one pass.
    ///
    /// - Returns: the document's id, a new one where the text has no `_id`.
    /// - Throws: as the form for values does; `invalidJSON` where the text is not one JSON object, with `line`, `column`
    ///   and `offset` in the context.
    @discardableResult
    public func insert(json: String) throws -> DocumentID { try upsert(json: json, strategy: .insert) }

    /// Inserts a document given as the UTF-8 bytes of JSON text, as an importer has them.
    ///
    /// - Parameter json: the bytes, which only need to stay in place during the call.
    /// - Returns: the document's id, a new one where the text has no `_id`.
    /// - Throws: as the form for text does.
    @discardableResult
    public func insert(json: UnsafeRawBufferPointer) throws -> DocumentID { try upsert(json: json, strategy: .insert) }

    /// Inserts a document that is encoded straight from a value of the app's own.
    ///
    /// - Returns: the document's id, a new one where the type encodes no `_id` or a nil one.
    /// - Throws: as the form for values does; the context of `invalidValue` has the `path` of the field.
    @discardableResult
    @_disfavoredOverload
    public func insert<D: Encodable>(_ document: D) throws -> DocumentID { try upsert(document, strategy: .insert) }

    // MARK: Upsert

    /// Writes a document, whether there is one with its id or not.
    ///
    /// - Parameters:
    ///   - document: an object; without `_id` it gets a new one.
    ///   - strategy: what to do where there is a document with this id; ``UpsertStrategy/merge`` unless given.
    /// - Returns: the document's id.
    /// - Throws: `DocDBError` with the code `documentExists` for the strategy ``UpsertStrategy/insert``; else as
    ///   ``insert(_:)-(Value)`` does.
    @discardableResult
    public func upsert(_ document: Value, strategy: UpsertStrategy = .merge) throws -> DocumentID {
        let transaction = try scope.transaction()
        return try scope.withBuffers { (body, id) throws(DocDBError) in
            try document.appendDocument(names: scope.names, body: &body, id: &id)
            try transaction.put(body: body.bytes, collection: name, strategy: strategy.stored, id: &id)
            return DocumentID(stored: id.bytes)
        }
    }

    /// Writes a document given as JSON text, whether there is one with its id or not.
    ///
    /// - Parameters:
    ///   - json: the text of one object; without `_id` it gets a new one.
    ///   - strategy: what to do where there is a document with this id; ``UpsertStrategy/merge`` unless given.
    /// - Returns: the document's id.
    /// - Throws: as ``insert(json:)-(String)`` does.
    @discardableResult
    public func upsert(json: String, strategy: UpsertStrategy = .merge) throws -> DocumentID {
        var json = json
        return try json.withUTF8 { try upsert(json: UnsafeRawBufferPointer($0), strategy: strategy) }
    }

    /// Writes a document given as the UTF-8 bytes of JSON text, as an importer has them.
    ///
    /// - Parameters:
    ///   - json: the bytes, which only need to stay in place during the call.
    ///   - strategy: what to do where there is a document with this id; ``UpsertStrategy/merge`` unless given.
    /// - Returns: the document's id.
    /// - Throws: as ``insert(json:)-(String)`` does.
    @discardableResult
    public func upsert(json: UnsafeRawBufferPointer, strategy: UpsertStrategy = .merge) throws -> DocumentID {
        let transaction = try scope.transaction()
        return try scope.withBuffers { (_, id) throws(DocDBError) in
            try transaction.put(json: json, collection: name, strategy: strategy.stored, id: &id)
            return DocumentID(stored: id.bytes)
        }
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
        let transaction = try scope.transaction()
        // Buffers of its own: the document's `encode(to:)` is the app's code, and may come back here.
        var body = ByteBuffer(capacity: 512)
        var id = ByteBuffer(capacity: 64)
        try DocumentEncoder().encode(document, names: scope.names, body: &body, id: &id)
        try transaction.put(body: body.bytes, collection: name, strategy: strategy.stored, id: &id)
        return DocumentID(stored: id.bytes)
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
    ///   `change` throws. Nothing of the update is written then, and the transaction stays usable.
    public func update(_ id: DocumentID, _ change: (inout DocumentEditor) throws -> Void) throws {
        let transaction = try scope.transaction()
        // A copy of its own: the closure may use the scope's buffers.
        var identity = ByteBuffer(capacity: 64)
        id.appendCBOR(to: &identity)
        let isFound = try transaction.edit(id: identity.bytes, collection: name) { state, stamp in
            try EditSession.run(on: &state, stamp: stamp, id: id, names: scope.names, change)
        }
        guard isFound else {
            throw DocDBError(
                .documentNotFound,
                "there is no document with this id to change; use upsert to write one, or check the id")
        }
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
        try update(id) { $0.increment(path, by: amount) }
    }

    /// Deletes a document. Of it only what replication needs is kept, and its history.
    ///
    /// - Returns: whether there was one.
    /// - Throws: `DocDBError` with the code `misuse` once the closure has ended, or `storageFailed`.
    @discardableResult
    public func remove(_ id: DocumentID) throws -> Bool {
        try scope.transaction().remove(id: scope.encode(id), collection: name)
    }

    /// Removes a document from this database alone, with its history, and leaves no byte of it in the files.
    ///
    /// Unlike ``remove(_:)`` this is no change that replicates: elsewhere the document stays, and may come back.
    ///
    /// - Parameters:
    ///   - id: the document's id.
    ///   - force: whether changes that no other peer is known to hold may be lost.
    /// - Returns: whether there was one, or what is kept of a deleted one.
    /// - Throws: `DocDBError` with the code `unsyncedChanges` where changes could be lost and `force` is false; `misuse`
    ///   where this transaction has changed the document, or once the closure has ended.
    /// - Complexity: O(blocks of the change log that tell of the document).
    @discardableResult
    public func evict(_ id: DocumentID, force: Bool = false) throws -> Bool {
        try scope.transaction().evict(id: scope.encode(id), collection: name, force: force)
    }

    // MARK: Read

    /// The document with an id as this transaction sees it, or nil where there is none.
    ///
    /// - Throws: `DocDBError` with the code `misuse` once the closure has ended, or `storageFailed` on I/O failure.
    /// - Complexity: O(log n) in the number of documents, one allocation.
    public func find(id: DocumentID) throws -> Document? { try scope.document(id: id, slot) }

    /// The documents that match a predicate as this transaction sees them, as a query that has not run yet.
    ///
    /// - Parameters:
    ///   - predicate: such as `state == 'for sale' && price < $most`; an empty one matches every document.
    ///   - arguments: the values of `$name` in the predicate.
    /// - Throws: `DocDBError` with the code `invalidPredicate` where it does not parse or an argument is absent or not
    ///   used; the context has the line, the column, and the line's text with a caret.
    public func find(_ predicate: String, _ arguments: [String: Value] = [:]) throws -> Query {
        try Query(.scope(scope), collection: name, predicate: predicate, arguments: arguments)
    }

    /// All documents as this transaction sees them, as a query that has not run yet.
    public func findAll() -> Query { Query(.scope(scope), collection: name) }

    // MARK: Indexes

    /// Adds an index over one or more paths, and fills it; does nothing where the collection has it already.
    ///
    /// - Parameter paths: such as `["state", "price:desc"]` or `["tags[*]"]`; the suffix `:desc` makes a path descend.
    /// - Returns: whether the index was added; false where the collection has it already.
    /// - Throws: `DocDBError` with the code `invalidIndex` where a path does not parse, or the limits on paths and indexes
    ///   are reached.
    /// - Complexity: O(n log n) in the number of documents.
    @discardableResult
    public func createIndex(_ paths: [String]) throws -> Bool {
        try scope.transaction().createIndex(try .init(paths: paths), collection: name)
    }

    /// Removes an index.
    ///
    /// - Parameter paths: the paths that it was created with.
    /// - Throws: `DocDBError` with the code `invalidIndex` where there is no such index.
    public func dropIndex(_ paths: [String]) throws {
        try scope.transaction().dropIndex(try .init(paths: paths), collection: name)
    }

    /// The indexes of the collection, oldest first.
    ///
    /// - Throws: `DocDBError` with the code `misuse` once the closure has ended.
    public func indexes() throws -> [IndexDefinition] { try scope.indexes(of: name) }
}

extension DocumentID {
    /// The id that a store has encoded itself; nothing is checked again.
    init(stored bytes: UnsafeRawBufferPointer) {
        var cursor = ByteCursor(bytes)
        switch try? cursor.readCBORItem() {
        case .int(let number): self.init(number)
        case .text(let text): self.init(storage: .string(String(decoding: text, as: UTF8.self)))
        default: self.init(storage: .encoded([UInt8](bytes)))
        }
    }
}
