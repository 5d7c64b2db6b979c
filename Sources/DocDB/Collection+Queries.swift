import DocDBCore
import DocDBStorage

extension Collection {
    /// The document with an id as it stands now, or nil where there is none.
    ///
    /// For many of them use one snapshot: see `Database.read(_:)`.
    ///
    /// - Throws: `DocDBError` with the code `databaseClosed`, or `storageFailed` on I/O failure.
    /// - Complexity: O(log n) in the number of documents, one allocation for the document.
    public func find(id: DocumentID) throws -> Document? {
        try store.readOnce { context in
            let scope = Scope(reading: context)
            defer { scope.end() }
            return try scope.document(id: id, scope.slot(of: name))
        }
    }

    /// The documents that match a predicate, as a query that has not run yet.
    ///
    /// ```swift
    /// let cheap = try cars.find("state == 'for sale' && price < $most", ["most": 10_000])
    /// print(try cheap.count())
    /// ```
    ///
    /// - Parameters:
    ///   - predicate: such as `state == 'for sale' && price < $most`; an empty one matches every document.
    ///   - arguments: the values of `$name` in the predicate.
    /// - Throws: `DocDBError` with the code `invalidPredicate` where it does not parse or an argument is absent or not
    ///   used; the context has the line, the column, and the line's text with a caret.
    public func find(_ predicate: String, _ arguments: [String: Value] = [:]) throws -> Query {
        try Query(.store(store), collection: name, predicate: predicate, arguments: arguments)
    }

    /// All documents, as a query that has not run yet.
    public func findAll() -> Query { Query(.store(store), collection: name) }

    /// The versions of a document that the change log still holds, newest first.
    ///
    /// ```swift
    /// for revision in try cars.history(of: id) {
    ///     print(revision.sequence, revision.document?["price"] ?? "deleted")
    /// }
    /// ```
    ///
    /// - Parameters:
    ///   - id: the document's id; it may have been deleted, but not evicted.
    ///   - limit: the most versions to return.
    /// - Throws: `DocDBError` with the code `corrupted` where the log is damaged, or `databaseClosed`.
    /// - Complexity: O(changes of the document), each of which reads a block of the log.
    public func history(of id: DocumentID, limit: Int = .max) throws -> [Revision] {
        try store.read { context in
            let scope = Scope(reading: context)
            defer { scope.end() }
            return try scope.history(of: id, scope.slot(of: name), limit: limit)
        }
    }

    // MARK: Indexes

    /// Adds an index over one or more paths, and fills it from the documents there are; does nothing where the collection
    /// has it already, so that an app can ask for its indexes at each start.
    ///
    /// Queries that compare or sort by these paths, from the first on, then read the index instead of all documents.
    ///
    /// ```swift
    /// try cars.createIndex(["state", "price:desc"])
    /// print(try cars.find("state == 'for sale'").sort("price", .descending).explain())
    /// ```
    ///
    /// - Parameter paths: such as `["state", "price:desc"]` or `["tags[*]"]`; the suffix `:desc` makes a path descend.
    /// - Returns: whether the index was added; false where the collection has it already.
    /// - Throws: `DocDBError` with the code `invalidIndex` where a path does not parse, or the limits on paths and indexes
    ///   are reached; and what `Database.write(durability:_:)` throws.
    /// - Complexity: O(n log n) in the number of documents.
    @discardableResult
    public func createIndex(_ paths: [String]) throws -> Bool {
        try store.write { try $0.createIndex(try .init(paths: paths), collection: name) }
    }

    /// Removes an index.
    ///
    /// - Parameter paths: the paths that it was created with.
    /// - Throws: `DocDBError` with the code `invalidIndex` where there is no such index; and what
    ///   `Database.write(durability:_:)` throws.
    public func dropIndex(_ paths: [String]) throws {
        try store.write { try $0.dropIndex(try .init(paths: paths), collection: name) }
    }

    /// The indexes of the collection, oldest first; none where there is no such collection.
    ///
    /// - Throws: `DocDBError` with the code `databaseClosed`, or `storageFailed` on I/O failure.
    public func indexes() throws -> [IndexDefinition] {
        try store.readOnce { $0.catalog[name]?.indexes.map { IndexDefinition($0.definition) } ?? [] }
    }
}
