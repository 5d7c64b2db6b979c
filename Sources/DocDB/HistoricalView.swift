import DocDBCore
import DocDBStorage

/// The database as it was after one of its commits, as far back as the change log reaches.
///
/// Evicted documents have no past. The log may be cut while a view is kept: its calls then throw
/// `historyNotRetained`.
///
/// ```swift
/// let before = try db.asOf(sequence: 1_000)
/// let car = try before.collection("cars").find(id: "car-000001")
/// ```
public struct HistoricalView: Sendable {
    private let store: Store
    /// The sequence number of the commit whose state this is; zero is the empty database.
    public let sequence: Int64

    init(store: Store, sequence: Int64) {
        self.store = store
        self.sequence = sequence
    }

    /// The collection with a name, as it was then.
    public func collection(_ name: String) -> HistoricalCollection {
        HistoricalCollection(store: store, name: name, sequence: sequence)
    }
}

/// A collection as it was after one of the database's commits.
public struct HistoricalCollection: Sendable {
    private let store: Store
    private let sequence: Int64
    /// The name of the collection.
    public let name: String

    init(store: Store, name: String, sequence: Int64) {
        self.store = store
        self.name = name
        self.sequence = sequence
    }

    /// The document with an id as it was then, or nil where there was none.
    ///
    /// - Throws: `DocDBError` with the code `historyNotRetained` where the change log does not reach back that far.
    /// - Complexity: O(changes of the document since).
    public func find(id: DocumentID) throws -> Document? {
        try store.read { context in
            let reader = ChangeLogReader(connection: context.connection)
            try context.requireHistory(to: sequence, reader)
            guard let collection = try context.collection(name) else {
                try Catalog.validate(collectionName: name)
                return nil
            }
            var identity = ByteBuffer(capacity: 64)
            id.appendCBOR(to: &identity)
            switch try context.document(id: identity.bytes, in: collection, asOf: sequence) {
            case .absent: return nil
            case .present(let body):
                return body.withUnsafeBytes { Document(id: identity.bytes, body: $0, names: context.names) }
            case .unknown: throw ReadContext.historyNotRetained(sequence)
            }
        }
    }

    /// The documents that matched a predicate then, as a query that has not run yet.
    ///
    /// It reads all documents whenever it runs, as there are no indexes of the past.
    ///
    /// - Parameters:
    ///   - predicate: such as `state == 'for sale' && price < $most`; an empty one matches every document.
    ///   - arguments: the values of `$name` in the predicate.
    /// - Throws: `DocDBError` with the code `invalidPredicate` where it does not parse or an argument is absent or not
    ///   used.
    public func find(_ predicate: String, _ arguments: [String: Value] = [:]) throws -> Query {
        try Query(.past(store, sequence: sequence), collection: name, predicate: predicate, arguments: arguments)
    }

    /// All documents that there were then, as a query that has not run yet.
    public func findAll() -> Query { Query(.past(store, sequence: sequence), collection: name) }
}
