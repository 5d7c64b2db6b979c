import DocDBCore

/// The documents of one collection that are not stored but keep their key: evicted ones, and those only told of.
final class AbsentDocuments {
    private let collection: Int64
    private let selectStatement: SQLiteStatement
    private let insertStatement: SQLiteStatement
    private let deleteStatement: SQLiteStatement
    /// False only where there is none for certain, so that insertions need not look.
    private(set) var mayHaveAny: Bool

    init(collection: Int64, _ connection: SQLiteConnection) throws(DocDBError) {
        self.collection = collection
        selectStatement = try connection.prepare(
            "SELECT key, evicted_seq FROM absent_documents WHERE collection = ? AND id = ?")
        insertStatement = try connection.prepare(
            "INSERT INTO absent_documents (collection, key, id, evicted_seq) VALUES (?, ?, ?, ?)")
        deleteStatement = try connection.prepare("DELETE FROM absent_documents WHERE collection = ? AND key = ?")
        mayHaveAny =
            try connection.integer("SELECT 1 FROM absent_documents WHERE collection = \(collection) LIMIT 1") != nil
    }

    /// The key that is kept for a document, and whether it was evicted; nil where none is.
    func entry(id: UnsafeRawBufferPointer) throws(DocDBError) -> (key: Int64, isEvicted: Bool)? {
        guard mayHaveAny else { return nil }
        selectStatement.bind(1, collection)
        try selectStatement.bind(2, id: id)
        defer { selectStatement.reset() }
        return try selectStatement.step() ? (selectStatement.int(0), !selectStatement.isNull(1)) : nil
    }

    /// Keeps the key of a document.
    ///
    /// - Parameter evictedSequence: The commit that evicts it, or nil where it was never stored.
    func insert(key: Int64, id: UnsafeRawBufferPointer, evictedSequence: Int64?) throws(DocDBError) {
        mayHaveAny = true
        insertStatement.bind(1, collection)
        insertStatement.bind(2, key)
        try insertStatement.bind(3, id: id)
        if let evictedSequence { insertStatement.bind(4, evictedSequence) } else { insertStatement.bindNull(4) }
        try insertStatement.run()
    }

    /// Forgets a document, which is stored now or of no more use.
    func remove(key: Int64) throws(DocDBError) {
        guard mayHaveAny else { return }
        deleteStatement.bind(1, collection)
        deleteStatement.bind(2, key)
        try deleteStatement.run()
    }
}
