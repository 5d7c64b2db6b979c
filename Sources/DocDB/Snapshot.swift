import DocDBStorage

/// One consistent moment of a database, for reading.
///
/// Valid within the closure of `Database.read(_:)` only; later use throws `misuse`. While it is in use
/// the write-ahead log cannot be emptied, so do not hold one for long in a process that writes much.
public struct Snapshot {
    let scope: Scope

    /// Runs the closure of a read.
    static func run<R>(in context: ReadContext, _ body: (Snapshot) throws -> R) throws -> R {
        let scope = Scope(reading: context)
        defer { scope.end() }
        return try body(Snapshot(scope: scope))
    }

    /// The collection with a name, at this moment; one that does not exist has no documents.
    public func collection(_ name: String) -> SnapshotCollection { SnapshotCollection(scope: scope, name: name) }

    /// The names of the collections at this moment, in the order of their UTF-8 bytes.
    ///
    /// - Throws: `DocDBError` with the code `misuse` once the closure has ended.
    public func collectionNames() throws -> [String] { try scope.context().catalog.names }

    /// The sequence number of the newest commit that this moment holds; zero where nothing was ever written.
    ///
    /// - Throws: `DocDBError` with the code `misuse` once the closure has ended, or `corrupted`.
    public func sequence() throws -> Int64 {
        try ChangeLogReader(connection: scope.context().connection).lastSequence()
    }
}

/// A collection at one moment of the database.
///
/// Keeps what finding by id needs: look the collection up once and use it for many documents.
public struct SnapshotCollection {
    private let scope: Scope
    private let slot: Int
    /// The name of the collection.
    public let name: String

    init(scope: Scope, name: String) {
        self.scope = scope
        self.name = name
        slot = scope.slot(of: name)
    }

    /// The document with an id, or nil where there is none.
    ///
    /// - Throws: `DocDBError` with the code `misuse` once the closure has ended, or `storageFailed` on I/O failure.
    /// - Complexity: O(log n) in the number of documents, one allocation.
    public func find(id: DocumentID) throws -> Document? { try scope.document(id: id, slot) }

    /// The documents that match a predicate, as a query that has not run yet.
    ///
    /// - Parameters:
    ///   - predicate: such as `state == 'for sale' && price < $most`; an empty one matches every document.
    ///   - arguments: the values of `$name` in the predicate.
    /// - Throws: `DocDBError` with the code `invalidPredicate` where it does not parse or an argument is absent or not
    ///   used; the context has the line, the column, and the line's text with a caret.
    public func find(_ predicate: String, _ arguments: [String: Value] = [:]) throws -> Query {
        try Query(.scope(scope), collection: name, predicate: predicate, arguments: arguments)
    }

    /// All documents, as a query that has not run yet.
    public func findAll() -> Query { Query(.scope(scope), collection: name) }

    /// The versions of a document that the change log still holds, newest first.
    ///
    /// - Parameters:
    ///   - id: the document's id; it may have been deleted, but not evicted.
    ///   - limit: the most versions to return.
    /// - Throws: `DocDBError` with the code `misuse` once the closure has ended, or `corrupted`.
    /// - Complexity: O(changes of the document), each of which reads a block of the log.
    public func history(of id: DocumentID, limit: Int = .max) throws -> [Revision] {
        try scope.history(of: id, slot, limit: limit)
    }

    /// The indexes of the collection, oldest first.
    ///
    /// - Throws: `DocDBError` with the code `misuse` once the closure has ended.
    public func indexes() throws -> [IndexDefinition] { try scope.indexes(of: name) }
}

extension Scope {
    /// The document with an id, or nil where there is none.
    func document(id: DocumentID, _ slot: Int) throws -> Document? {
        guard let reader = try reader(slot) else { return nil }
        let id = encode(id)
        let names = names
        let found: Document?? = try reader.withDocument(id: id) { (row) throws(DocDBError) -> Document? in
            row.body.map { Document(id: id, body: $0, names: names) }
        }
        return found ?? nil
    }

    func history(of id: DocumentID, _ slot: Int, limit: Int) throws -> [Revision] {
        guard let reader = try reader(slot) else { return [] }
        return try Revision.history(of: encode(id), in: reader, try context(), limit: limit)
    }

    func indexes(of collection: String) throws -> [IndexDefinition] {
        try context().catalog[collection]?.indexes.map { IndexDefinition($0.definition) } ?? []
    }
}
