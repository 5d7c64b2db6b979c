import DocDBCore

/// Keeps the entries of one secondary index in step with the documents, in their transactions.
final class IndexWriter {
    let index: IndexInfo
    private let encoder: IndexEntryEncoder
    private let insertStatement: SQLiteStatement
    private let deleteStatement: SQLiteStatement
    private let scratch: UnsafeMutablePointer<Scratch>

    private struct Scratch: ~Copyable {
        var old = IndexEntries()
        var new = IndexEntries()
    }

    init(index: IndexInfo, connection: SQLiteConnection, names: FieldNames) throws(DocDBError) {
        self.index = index
        encoder = IndexEntryEncoder(index.definition, names: names)
        let table = "index_\(index.number)"
        insertStatement = try connection.prepare("INSERT OR IGNORE INTO \(table) (value, key) VALUES (?, ?)")
        deleteStatement = try connection.prepare("DELETE FROM \(table) WHERE value = ? AND key = ?")
        scratch = .allocate(capacity: 1)
        scratch.initialize(to: Scratch())
    }

    deinit {
        scratch.deinitialize(count: 1)
        scratch.deallocate()
    }

    /// Replaces the entries of a document; nil bodies are absent or deleted documents. `id` is canonical CBOR.
    ///
    /// Only entries that differ are written.
    func change(
        key: Int64, id: UnsafeRawBufferPointer, oldBody: UnsafeRawBufferPointer?, newBody: UnsafeRawBufferPointer?
    ) throws(DocDBError) {
        let scratch = scratch
        try encode(oldBody, key, id, into: &scratch.pointee.old)
        try encode(newBody, key, id, into: &scratch.pointee.new)
        let oldCount = scratch.pointee.old.count
        let newCount = scratch.pointee.new.count
        var oldIndex = 0
        var newIndex = 0
        while oldIndex < oldCount || newIndex < newCount {
            let order: Int
            if oldIndex == oldCount {
                order = 1
            } else if newIndex == newCount {
                order = -1
            } else {
                order = CBOR.compare(scratch.pointee.old[oldIndex], scratch.pointee.new[newIndex])
            }
            if order < 0 { try run(deleteStatement, scratch.pointee.old[oldIndex], key) }
            if order > 0 { try run(insertStatement, scratch.pointee.new[newIndex], key) }
            if order <= 0 { oldIndex += 1 }
            if order >= 0 { newIndex += 1 }
        }
    }

    private func encode(
        _ body: UnsafeRawBufferPointer?, _ key: Int64, _ id: UnsafeRawBufferPointer, into entries: inout IndexEntries
    ) throws(DocDBError) {
        guard let body else { return entries.removeAll() }
        do throws(IndexEntryEncoder.Failure) {
            try encoder.encode(body: body, id: id, into: &entries)
        } catch {
            throw error.error(key: key, index: index)
        }
    }

    @inline(__always)
    private func run(
        _ statement: SQLiteStatement, _ value: UnsafeRawBufferPointer, _ key: Int64
    ) throws(DocDBError) {
        statement.bind(1, blob: value)
        statement.bind(2, key)
        try statement.run()
    }

    /// Inserts one entry, as filling an index does.
    func insert(_ value: UnsafeRawBufferPointer, key: Int64) throws(DocDBError) {
        try run(insertStatement, value, key)
    }
}
