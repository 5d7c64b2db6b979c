import DocDBCore

extension StoreVerifier {
    /// Checks every index of a collection against its documents, both ways.
    func checkIndexes(_ info: CollectionInfo) throws {
        for index in info.indexes {
            let check = try IndexCheck(index, info, context)
            try check.run { self.report("index (\(index.definition.text)) of \(info.name), key \($0)", $1) }
        }
    }
}

/// Compares one index with the documents of its collection.
///
/// Every entry that a document should have is looked up. Where all are there and the index has no more, both are equal;
/// else the index is read as well, for entries that no document should have. Memory is that of one document.
private final class IndexCheck {
    private let encoder: IndexEntryEncoder
    private let documents: SQLiteStatement
    private let entryLookup: SQLiteStatement
    private let entryCount: SQLiteStatement
    private let allEntries: SQLiteStatement
    private let documentLookup: SQLiteStatement
    private var entries = IndexEntries()
    private var id = ByteBuffer()

    init(_ index: IndexInfo, _ collection: CollectionInfo, _ context: ReadContext) throws(DocDBError) {
        let table = "index_\(index.number)"
        let collectionTable = "documents_\(collection.number)"
        let connection = context.connection
        encoder = IndexEntryEncoder(index.definition, names: context.names)
        documents = try connection.prepareOnce("SELECT key, id, body FROM \(collectionTable) WHERE body IS NOT NULL")
        documentLookup = try connection.prepareOnce(
            "SELECT key, id, body FROM \(collectionTable) WHERE key = ? AND body IS NOT NULL")
        entryLookup = try connection.prepareOnce("SELECT 1 FROM \(table) WHERE value = ? AND key = ?")
        entryCount = try connection.prepareOnce("SELECT count(*) FROM \(table)")
        allEntries = try connection.prepareOnce("SELECT value, key FROM \(table)")
    }

    func run(_ report: (_ key: Int64, _ message: String) -> Void) throws(DocDBError) {
        var expectedCount: Int64 = 0
        var isEqual = true
        while try documents.step() {
            let key = documents.int(0)
            guard readEntries(documents) else {
                report(key, "its document is damaged, so that its entries are unknown")
                isEqual = false
                continue
            }
            expectedCount += Int64(entries.count)
            for index in 0..<entries.count where try !has(entries[index], key) {
                report(key, "the index lacks an entry of the document; drop the index and create it anew")
                isEqual = false
            }
        }
        documents.reset()
        _ = try entryCount.step()
        let count = entryCount.int(0)
        entryCount.reset()
        if !isEqual || count != expectedCount { try findSurplus(report) }
    }

    private func has(_ value: UnsafeRawBufferPointer, _ key: Int64) throws(DocDBError) -> Bool {
        entryLookup.bind(1, blob: value)
        entryLookup.bind(2, key)
        defer { entryLookup.reset() }
        return try entryLookup.step()
    }

    private func findSurplus(_ report: (_ key: Int64, _ message: String) -> Void) throws(DocDBError) {
        while try allEntries.step() {
            let key = allEntries.int(1)
            documentLookup.bind(1, key)
            let exists = try documentLookup.step()
            let isReadable = exists && readEntries(documentLookup)
            documentLookup.reset()
            if !exists {
                report(key, "the index has an entry of a document that is not there; drop the index and create it anew")
            } else if isReadable, !isExpected(allEntries.blob(0)) {
                report(
                    key, "the index has an entry that the document has no value for; drop the index and create it anew")
            }
        }
        allEntries.reset()
    }

    /// Fills `entries` with those of the document in a row; false where it is damaged.
    private func readEntries(_ row: SQLiteStatement) -> Bool {
        id.removeAll()
        row.appendID(1, to: &id)
        return (try? encoder.encode(body: row.blob(2), id: id.bytes, into: &entries)) != nil
    }

    private func isExpected(_ value: UnsafeRawBufferPointer) -> Bool {
        (0..<entries.count).contains { CBOR.compare(entries[$0], value) == 0 }
    }
}
