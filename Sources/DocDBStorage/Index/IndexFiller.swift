import DocDBCore

/// Fills a new index from the documents there are: in sorted batches, as inserting in order is several times faster.
struct IndexFiller: ~Copyable {
    /// The bytes of entries that one batch sorts in memory; where there are more, batches follow one another.
    static let batchByteCount = 16 * 1024 * 1024

    private struct Entry {
        var offset: Int
        var count: Int
        var key: Int64
    }

    private let writer: IndexWriter
    private let encoder: IndexEntryEncoder
    private var bytes = ByteBuffer(capacity: 64 * 1024)
    private var batch: [Entry] = []
    private var entries = IndexEntries()
    private var id = ByteBuffer()

    init(_ index: IndexInfo, connection: SQLiteConnection, names: FieldNames) throws(DocDBError) {
        writer = try IndexWriter(index: index, connection: connection, names: names)
        encoder = IndexEntryEncoder(index.definition, names: names)
    }

    /// Adds the entries of every living document of a collection.
    mutating func fill(from collection: CollectionInfo, _ connection: SQLiteConnection) throws(DocDBError) {
        let rows = try connection.prepare("SELECT key, id, body FROM documents_\(collection.number)")
        defer { rows.reset() }
        while try rows.step() {
            guard !rows.isNull(2) else { continue }
            let key = rows.int(0)
            id.removeAll()
            rows.appendID(1, to: &id)
            do throws(IndexEntryEncoder.Failure) {
                try encoder.encode(body: rows.blob(2), id: id.bytes, into: &entries)
            } catch {
                throw error.error(key: key, index: writer.index)
            }
            try add(key)
        }
        try flush()
    }

    private mutating func add(_ key: Int64) throws(DocDBError) {
        for index in 0..<entries.count {
            let entry = entries[index]
            batch.append(Entry(offset: bytes.count, count: entry.count, key: key))
            bytes.append(entry)
        }
        let size = bytes.count + batch.count * MemoryLayout<Entry>.stride
        if size >= Self.batchByteCount { try flush() }
    }

    private mutating func flush() throws(DocDBError) {
        let base = bytes.start
        func value(_ entry: Entry) -> UnsafeRawBufferPointer {
            UnsafeRawBufferPointer(start: base + entry.offset, count: entry.count)
        }
        batch.sort {
            let order = CBOR.compare(value($0), value($1))
            return order == 0 ? $0.key < $1.key : order < 0
        }
        for entry in batch { try writer.insert(value(entry), key: entry.key) }
        batch.removeAll(keepingCapacity: true)
        bytes.removeAll()
    }
}
