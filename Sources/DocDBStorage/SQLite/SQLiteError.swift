import CSQLite
package import DocDBCore

/// Turns SQLite's result codes into errors that name a remedy.
package enum SQLiteError {
    /// The error for a result code of SQLite, with the connection's message where there is one.
    package static func error(_ code: Int32, connection: OpaquePointer?, while action: String) -> DocDBError {
        let extended = connection.map { sqlite3_extended_errcode($0) } ?? code
        let detail = String(cString: sqlite3_errstr(extended))
        let context = ["sqliteCode": String(extended), "action": action, "detail": detail]
        let remedy = remedy(
            primary: code & 0xFF, extended: extended, action: action, detail: detail, connection: connection)
        return DocDBError(remedy.code, remedy.message, context: context)
    }

    /// Whether a statement has failed for want of a table or a column.
    private static func namesMissingSchema(_ connection: OpaquePointer) -> Bool {
        let message = String(cString: sqlite3_errmsg(connection))
        return message.hasPrefix("no such column") || message.hasPrefix("no such table")
    }

    private static func remedy(
        primary: Int32, extended: Int32, action: String, detail: String, connection: OpaquePointer?
    ) -> (code: DocDBError.Code, message: String) {
        switch primary {
        case SQLITE_FULL:
            (.diskFull, "cannot \(action): the disk is full; free some space and try again, nothing committed is lost")
        case SQLITE_IOERR:
            (
                .storageFailed,
                "cannot \(action): the disk failed (\(detail)); check the disk and its cables or permissions"
            )
        case SQLITE_CORRUPT, SQLITE_NOTADB:
            (
                .corrupted,
                "cannot \(action): the store is damaged (\(detail)); run 'docdb-inspect verify', then restore a backup or 'docdb-inspect salvage' it"
            )
        case SQLITE_BUSY, SQLITE_LOCKED:
            (.busy, "cannot \(action): another connection holds the store; end long reads there or try again")
        case SQLITE_READONLY, SQLITE_PERM, SQLITE_AUTH:
            (
                .readOnly,
                "cannot \(action): the store or its directory is not writable; change its permissions or open it read-only"
            )
        case SQLITE_CANTOPEN:
            (
                .storageFailed,
                "cannot \(action): a file of the store cannot be opened; check that it exists and who may read it"
            )
        case SQLITE_NOMEM:
            (.storageFailed, "cannot \(action): out of memory")
        case SQLITE_TOOBIG:
            (
                .limitReached,
                "cannot \(action): a value is larger than SQLite stores; split the document or the transaction"
            )
        case SQLITE_ERROR where connection.map(namesMissingSchema) ?? false:
            // All statements are this code's own, and name what every store has.
            (
                .corrupted,
                "cannot \(action): the schema of the store is damaged; run 'docdb-inspect salvage' or restore a backup"
            )
        default:
            (
                .storageFailed,
                "cannot \(action): SQLite reports '\(connection.map { String(cString: sqlite3_errmsg($0)) } ?? detail)'"
            )
        }
    }
}
