import DocDBCore
import DocDBQuery
import DocDBStorage

/// Makes the sort keys of a query's rows: those of its sort order, or of storage where it has none.
struct RowKeyMaker: ~Copyable {
    private let sort: [SortKey]
    private let names: FieldNames
    private var encoder: SortKeyEncoder
    private var buffer = ByteBuffer(capacity: 128)

    init(_ definition: QueryDefinition, names: FieldNames) throws(DocDBError) {
        sort = definition.sort
        self.names = names
        encoder = try SortKeyEncoder(definition.sort, names: names)
    }

    /// The sort key of a document; nil where its bytes are damaged.
    mutating func key(of document: SharedDocument, _ key: Int64) -> RowKey? {
        buffer.removeAll()
        guard !sort.isEmpty else {
            buffer.appendBigEndian(key)
            return RowKey(buffer.array)
        }
        if encoder.needsRecompile(names) {
            guard let renewed = try? SortKeyEncoder(sort, names: names) else { return nil }
            encoder = renewed
        }
        let isSound = document.content.withBytes { id, body, _ in encoder.append(body: body, id: id, to: &buffer) }
        return isSound ? RowKey(buffer.array) : nil
    }
}
