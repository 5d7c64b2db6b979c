import DocDBCore
import DocDBStorage

extension QueryDefinition {
    /// The results of this query at one moment, or those beyond a place, as rows of a window.
    func resultRows(
        in context: ReadContext, beyond place: ResultPlace? = nil, content: (QueryRow) throws -> SharedDocument
    ) throws -> [ResultRow<SharedDocument>] {
        var keys = try RowKeyMaker(self, names: context.names)
        var rows: [ResultRow<SharedDocument>] = []
        let execution = QueryExecution(self, in: context)
        func add(_ row: QueryRow) throws -> Bool {
            let document = try content(row)
            guard let key = keys.key(of: document, row.key) else { throw LiveFailure.damagedDocument }
            rows.append(ResultRow(sortKey: key, key: row.key, document: document))
            return true
        }
        if let place { try execution.forEach(beyond: place, add) } else { try execution.forEach(add) }
        return rows
    }
}

/// The failures of live sources.
enum LiveFailure {
    static var databaseClosed: DocDBError {
        DocDBError(.databaseClosed, "the database of the live query has been closed; open it again")
    }

    static var damagedDocument: DocDBError {
        DocDBError(.corrupted, "a document of the live query is damaged; verify the store and restore a backup")
    }
}
