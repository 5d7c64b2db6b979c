package import DocDBCore

/// A connection with what is needed to read documents through it: a snapshot's, or the writer's own.
///
/// Used by one thread at a time.
package final class ReadContext: @unchecked Sendable {
    // Unchecked: the pool, or the store's write lock, hands it to one thread at a time.
    package let connection: SQLiteConnection
    package let names: FieldNames
    package let actors: ActorTable
    package internal(set) var catalog: Catalog
    /// The path of the store, for error messages.
    package let path: String
    /// Which published catalog this is, for the pool.
    var catalogVersion = 0
    /// SQLite's data version when names and catalog were read, where another process writes.
    package internal(set) var dataVersion: Int64 = -1
    private var readers: [Int64: CollectionReader] = [:]
    private var lastReader: CollectionReader?
    /// Queries that have been planned and compiled for this connection.
    let queries = QueryCache()

    init(connection: SQLiteConnection, names: FieldNames, actors: ActorTable, catalog: Catalog, path: String) {
        self.connection = connection
        self.names = names
        self.actors = actors
        self.catalog = catalog
        self.path = path
    }

    /// The reader of a collection, or nil where the store has no such collection.
    package func collection(_ name: String) throws(DocDBError) -> CollectionReader? {
        guard let info = catalog[name] else { return nil }
        if let known = readers[info.number] { return known }
        let reader = try CollectionReader(info: info, context: self)
        readers[info.number] = reader
        return reader
    }

    /// The reader of the collection with this number, where it has been made.
    func knownCollection(number: Int64) -> CollectionReader? {
        if let lastReader, lastReader.info.number == number { return lastReader }
        lastReader = readers[number]
        return lastReader
    }

    /// What a higher layer keeps with the connection, such as its own statements.
    package var companion: AnyObject?

    /// Lets go of the collections' readers, so that they are made anew from the catalog.
    func forgetCollections() {
        readers.removeAll()
        lastReader = nil
        queries.removeAll()
    }

    /// Lets go of every prepared statement and collection, after tables were dropped or made anew.
    func invalidate() {
        forgetCollections()
        connection.dropStatements()
    }
}

/// Reads single documents of one collection through one connection.
package final class CollectionReader {
    package let info: CollectionInfo
    package unowned let context: ReadContext
    private let selectByID: SQLiteStatement
    private let selectByKey: SQLiteStatement

    init(info: CollectionInfo, context: ReadContext) throws(DocDBError) {
        self.info = info
        self.context = context
        selectByID = try context.connection.prepare(
            "SELECT key, body, state, last_change FROM documents_\(info.number) WHERE id = ?")
        selectByKey = try context.connection.prepare(
            "SELECT id, body, state, last_change FROM documents_\(info.number) WHERE key = ?")
    }

    /// One stored document, its bytes valid only within the call that it is handed to.
    package struct Row {
        package var key: Int64
        /// The visible document, or nil where it is deleted.
        package var body: UnsafeRawBufferPointer?
        package var state: UnsafeRawBufferPointer
        package var lastChange: Int64
    }

    /// Calls `body` with the document that has this id (canonical CBOR), deleted ones included; nil where there is none.
    @inline(__always)
    package func withDocument<R, E: Error>(
        id: UnsafeRawBufferPointer, _ body: (Row) throws(E) -> R
    ) throws -> R? {
        let statement = selectByID
        try statement.bind(1, id: id)
        defer { statement.reset() }
        guard try statement.step() else { return nil }
        return try body(
            Row(
                key: statement.int(0), body: statement.isNull(1) ? nil : statement.blob(1), state: statement.blob(2),
                lastChange: statement.int(3)))
    }

    /// Calls `body` with the document that has this key and its id, deleted ones included; nil where there is none.
    package func withDocument<R, E: Error>(
        key: Int64, _ body: (Row, _ id: UnsafeRawBufferPointer) throws(E) -> R
    ) throws -> R? {
        let statement = selectByKey
        statement.bind(1, key)
        defer { statement.reset() }
        guard try statement.step() else { return nil }
        var id = ByteBuffer(capacity: 64)
        statement.appendID(0, to: &id)
        return try body(
            Row(
                key: key, body: statement.isNull(1) ? nil : statement.blob(1), state: statement.blob(2),
                lastChange: statement.int(3)), id.bytes)
    }
}
