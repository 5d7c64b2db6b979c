import DocDBCore
import DocDBStorage

/// What a running query is asked for: a query of the present, or one of the past.
protocol QueryRunner {
    var names: FieldNames { get }
    /// Calls `body` with each result in order, until it returns false.
    func forEach(_ body: (_ id: UnsafeRawBufferPointer, _ body: UnsafeRawBufferPointer) throws -> Bool) throws
    func count() throws -> Int
    func exists() throws -> Bool
    func explain() throws -> String
}

/// A query that runs in a snapshot or a transaction.
private struct PresentRunner: QueryRunner {
    let execution: QueryExecution
    let names: FieldNames
    /// Whether what is called with the results may write to the collection.
    let isStable: Bool

    init(_ definition: QueryDefinition, in context: ReadContext, isStable: Bool) throws {
        if context.catalog[definition.collection] == nil { try Catalog.validate(collectionName: definition.collection) }
        execution = QueryExecution(definition, in: context)
        names = context.names
        self.isStable = isStable
    }

    func forEach(_ body: (UnsafeRawBufferPointer, UnsafeRawBufferPointer) throws -> Bool) throws {
        if isStable {
            try execution.forEachStable { try body($0.id, $0.body) }
        } else {
            try execution.forEach { try body($0.id, $0.body) }
        }
    }

    func count() throws -> Int { try execution.count() }
    func exists() throws -> Bool { try execution.exists() }
    func explain() throws -> String { try execution.explain() }
}

extension Query {
    /// Runs the query at one moment.
    ///
    /// - Parameter runsForeignCode: whether code of the app runs between the results, which may write in a transaction.
    private func run<R>(runsForeignCode: Bool = false, _ body: (any QueryRunner) throws -> R) throws -> R {
        try checkIsRunnable()
        switch source {
        case .store(let store):
            return try store.read { try body(PresentRunner(definition, in: $0, isStable: false)) }
        case .scope(let scope):
            let isStable = runsForeignCode && scope.isTransaction
            return try body(PresentRunner(definition, in: scope.context(), isStable: isStable))
        case .past(let store, let sequence):
            return try store.read { try body(PastRunner(definition, in: $0, sequence: sequence)) }
        }
    }

    /// Runs the query and returns its documents.
    ///
    /// ``forEach(_:)`` and ``documents(as:)`` need less memory for many results.
    ///
    /// - Throws: `DocDBError` with the code `misuse` where the query's closure has ended, `limitReached` where a document
    ///   takes the predicate too many steps, `databaseClosed`, `corrupted` or `storageFailed`.
    /// - Complexity: O(results) where an index finds them in order, else O(documents), and one allocation a result.
    public func documents() throws -> [Document] {
        try run { runner in
            var documents: [Document] = []
            let names = runner.names
            try runner.forEach { id, body in
                documents.append(Document(id: id, body: body, names: names))
                return true
            }
            return documents
        }
    }

    /// Runs the query and decodes its documents into a type of the app's own, straight from the stored bytes.
    ///
    /// ```swift
    /// struct Car: Codable { let make: String; let price: Int }
    /// let cheap = try cars.find("price < 5000").documents(as: Car.self)
    /// ```
    ///
    /// - Parameter type: a type whose properties are fields of the documents; it may have an `_id`.
    /// - Throws: as ``documents()`` does; `typeMismatch` where a document does not fit the type, with the `path` of the
    ///   field in the context.
    /// - Complexity: as ``documents()``, without an allocation of its own for a result.
    public func documents<T: Decodable>(as type: T.Type = T.self) throws -> [T] {
        try run { runner in
            var documents: [T] = []
            let decoder = DocumentDecoder(names: runner.names)
            try runner.forEach { id, body in
                documents.append(try decoder.decode(type, body: body, id: id))
                return true
            }
            return documents
        }
    }

    /// Runs the query and calls a closure with each of its documents in order.
    ///
    /// All results are of one moment. In a transaction the closure may write to the collection: which documents come is
    /// settled before the first; those that it removes before their turn are left out, those that it changes come changed.
    ///
    /// - Throws: as ``documents()`` does, and what `body` throws, which ends the run.
    public func forEach(_ body: (Document) throws -> Void) throws {
        try run(runsForeignCode: true) { runner in
            let names = runner.names
            try runner.forEach { id, bytes in
                try body(Document(id: id, body: bytes, names: names))
                return true
            }
        }
    }

    /// Runs the query and returns its first document, or nil where it has no results.
    ///
    /// - Throws: as ``documents()`` does.
    public func first() throws -> Document? {
        try limitedToOne.run { runner in
            var first: Document?
            let names = runner.names
            try runner.forEach { id, body in
                first = Document(id: id, body: body, names: names)
                return false
            }
            return first
        }
    }

    /// Runs the query and decodes its first document; nil where it has no results.
    ///
    /// - Throws: as ``documents(as:)`` does.
    public func first<T: Decodable>(as type: T.Type = T.self) throws -> T? {
        try limitedToOne.documents(as: type).first
    }

    private var limitedToOne: Query { limit(min(definition.limit ?? 1, 1)) }

    /// Runs the query and returns the ids of its documents.
    ///
    /// - Throws: as ``documents()`` does.
    public func ids() throws -> [DocumentID] {
        try run { runner in
            var ids: [DocumentID] = []
            try runner.forEach { id, _ in
                ids.append(DocumentID(stored: id))
                return true
            }
            return ids
        }
    }

    /// The number of documents that ``documents()`` would return; limit and offset count.
    ///
    /// - Throws: as ``documents()`` does.
    /// - Complexity: O(index entries counted) where an index expresses the predicate, else O(documents), without
    ///   allocations.
    public func count() throws -> Int { try run { try $0.count() } }

    /// Tells whether the query has a result.
    ///
    /// - Throws: as ``documents()`` does.
    public func exists() throws -> Bool { try run { try $0.exists() } }

    /// How the query is answered, in a line for people: which index is read, what is tested, and what is sorted.
    ///
    /// Holds no values of the predicate.
    ///
    /// - Throws: as ``documents()`` does.
    public func explain() throws -> String { try run { try $0.explain() } }
}
