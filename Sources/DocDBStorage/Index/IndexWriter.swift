import DocDBCore

/// Keeps the entries of one secondary index in step with the documents, in their transactions.
final class IndexWriter {
    let index: IndexInfo

    init(index: IndexInfo, connection: SQLiteConnection, names: FieldNames) throws(DocDBError) {
        self.index = index
    }

    /// Replaces the entries of a document; nil bodies are absent or deleted documents. `id` is canonical CBOR.
    func change(
        key: Int64, id: UnsafeRawBufferPointer, oldBody: UnsafeRawBufferPointer?, newBody: UnsafeRawBufferPointer?
    ) throws(DocDBError) {
    }
}
