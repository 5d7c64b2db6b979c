import DocDBCore
import Schemas

/// What the writer keeps for one collection: prepared statements, and the keys it hands out.
final class CollectionWriter {
    let info: CollectionInfo
    private unowned let writer: StoreWriter
    private let insertStatement: SQLiteStatement
    let selectStatement: SQLiteStatement
    private let updateStatement: SQLiteStatement
    private let deleteStatement: SQLiteStatement
    private let reserveStatement: SQLiteStatement
    let absent: AbsentDocuments
    let indexes: [IndexWriter]
    /// Whether somebody hears of changes in this collection, which are then collected.
    var isObserved: Bool
    /// Whether a changed document's body before is needed.
    var needsOldBody: Bool { isObserved || !indexes.isEmpty }
    private var nextKey: Int64
    private var reservedKey: Int64 = 0

    /// How many keys are reserved on disk at a time; a reopened store skips what was left of them.
    private static let reservedKeyCount: Int64 = 4096
    /// No document has a key beyond this; a store that says so is damaged.
    private static let keyLimit: Int64 = 1 << 62

    init(info: CollectionInfo, writer: StoreWriter) throws(DocDBError) {
        self.info = info
        self.writer = writer
        isObserved = writer.isObserved(info)
        let connection = writer.connection
        let table = "documents_\(info.number)"
        insertStatement = try connection.prepare(
            "INSERT INTO \(table) (key, id, body, state, last_change) VALUES (?, ?, ?, ?, ?) ON CONFLICT (id) DO NOTHING"
        )
        selectStatement = try connection.prepare("SELECT key, body, state, last_change FROM \(table) WHERE id = ?")
        updateStatement = try connection.prepare(
            "UPDATE \(table) SET body = ?, state = ?, last_change = ? WHERE key = ?")
        deleteStatement = try connection.prepare("DELETE FROM \(table) WHERE key = ?")
        reserveStatement = try connection.prepare("UPDATE collections SET next_key = ? WHERE number = ?")
        absent = try AbsentDocuments(collection: info.number, connection)
        let reserved = try connection.integer("SELECT next_key FROM collections WHERE number = \(info.number)") ?? 1
        let used = try connection.integer("SELECT max(key) FROM \(table)") ?? 0
        guard reserved <= Self.keyLimit, used < Self.keyLimit else {
            throw DocDBError(
                .corrupted,
                "the document keys of a collection are damaged; run 'docdb-inspect verify', restore a backup")
        }
        nextKey = max(reserved, used + 1)
        indexes = try info.indexes.map { (index) throws(DocDBError) in
            try IndexWriter(index: index, connection: connection, names: writer.names)
        }
    }

    /// Makes the next insertion reserve keys anew, after a rollback took back a reservation.
    func forgetReservation() { reservedKey = 0 }

    /// Inserts a document unless one with this id exists; returns its key, or nil where one exists.
    ///
    /// One that is absent gets the key it had, any other a new one.
    @inline(__always)
    func insert(
        id: UnsafeRawBufferPointer, body: UnsafeRawBufferPointer, state: UnsafeRawBufferPointer, sequence: Int64
    ) throws(DocDBError) -> (key: Int64, wasEvicted: Bool)? {
        if absent.mayHaveAny, let (key, isEvicted) = try absent.entry(id: id) {
            return try insert(key: key, id: id, body: body, state: state, sequence: sequence) ? (key, isEvicted) : nil
        }
        if nextKey >= reservedKey { try reserveKeys() }
        let key = nextKey
        guard try insertRow(key: key, id: id, body: body, state: state, sequence: sequence) else { return nil }
        nextKey = key + 1
        return (key, false)
    }

    /// Inserts a document under a key that is set aside for it; returns false where one with this id exists.
    func insert(
        key: Int64, id: UnsafeRawBufferPointer, body: UnsafeRawBufferPointer?, state: UnsafeRawBufferPointer,
        sequence: Int64
    ) throws(DocDBError) -> Bool {
        guard try insertRow(key: key, id: id, body: body, state: state, sequence: sequence) else { return false }
        try absent.remove(key: key)
        return true
    }

    @inline(__always)
    private func insertRow(
        key: Int64, id: UnsafeRawBufferPointer, body: UnsafeRawBufferPointer?, state: UnsafeRawBufferPointer,
        sequence: Int64
    ) throws(DocDBError) -> Bool {
        insertStatement.bind(1, key)
        try insertStatement.bind(2, id: id)
        if let body { insertStatement.bind(3, blob: body) } else { insertStatement.bindNull(3) }
        insertStatement.bind(4, blob: state)
        insertStatement.bind(5, sequence)
        try insertStatement.run()
        return writer.connection.changeCount == 1
    }

    /// Takes a new key, for a document that may come.
    func takeKey() throws(DocDBError) -> Int64 {
        if nextKey >= reservedKey { try reserveKeys() }
        defer { nextKey += 1 }
        return nextKey
    }

    /// Whether a key was handed out at some time.
    func hasHandedOut(key: Int64) -> Bool { key > 0 && key < nextKey }

    private func reserveKeys() throws(DocDBError) {
        let bound = nextKey + Self.reservedKeyCount
        reserveStatement.bind(1, bound)
        reserveStatement.bind(2, info.number)
        try reserveStatement.run()
        reservedKey = bound
    }

    /// Replaces what is stored under a key; a nil body is a deleted document.
    func update(
        key: Int64, body: UnsafeRawBufferPointer?, state: UnsafeRawBufferPointer, sequence: Int64
    ) throws(DocDBError) {
        if let body { updateStatement.bind(1, blob: body) } else { updateStatement.bindNull(1) }
        updateStatement.bind(2, blob: state)
        updateStatement.bind(3, sequence)
        updateStatement.bind(4, key)
        try updateStatement.run()
    }

    /// Removes a row altogether, as eviction does.
    func delete(key: Int64) throws(DocDBError) {
        deleteStatement.bind(1, key)
        try deleteStatement.run()
    }
}

extension StoreWriter {
    /// The writer of a collection; one that does not exist yet is created where `creating` says so, else nil.
    func collection(_ name: String, creating: Bool) throws(DocDBError) -> CollectionWriter? {
        if let info = state.catalog[name] { return try collectionWriter(info) }
        try Catalog.validate(collectionName: name)
        guard creating else { return nil }
        let insert = try connection.prepare("INSERT INTO collections (name, next_key) VALUES (?, 1)")
        insert.bind(1, name)
        try insert.run()
        guard let number = try connection.integer("SELECT last_insert_rowid()") else {
            throw DocDBError(.storageFailed, "the new collection has no number; check the disk and try again")
        }
        try connection.execute(StoreSchema.collection.replacingNumber(number))
        let info = CollectionInfo(number: number, name: name)
        setCatalog { $0[name] = info }
        return try collectionWriter(info)
    }

    /// The writer of the collection with this number, or nil where there is none.
    func collection(number: Int64) throws(DocDBError) -> CollectionWriter? {
        if let known = collections[number] { return known }
        guard let info = state.catalog.collection(number: number) else { return nil }
        return try collectionWriter(info)
    }

    private func collectionWriter(_ info: CollectionInfo) throws(DocDBError) -> CollectionWriter {
        if let known = collections[info.number] { return known }
        let made = try CollectionWriter(info: info, writer: self)
        collections[info.number] = made
        return made
    }

    /// Changes the catalog within the transaction that runs; readers hear of it at the commit.
    ///
    /// - Parameter number: the collection whose indexes change, so that its writer is made anew.
    func setCatalog(changing number: Int64? = nil, _ change: (inout Catalog) -> Void) {
        change(&state.catalog)
        lastCollection = nil
        if let number { collections[number] = nil }
        state.isCatalogChanged = true
        context.catalog = state.catalog
        context.forgetCollections()
    }
}

extension String {
    /// The text with `{N}` replaced by a number.
    func replacingNumber(_ number: Int64) -> String {
        split(separator: "{N}", omittingEmptySubsequences: false).joined(separator: String(number))
    }
}
