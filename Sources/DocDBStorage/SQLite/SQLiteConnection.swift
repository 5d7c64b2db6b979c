import CSQLite
package import DocDBCore

/// One connection to the store's database, used by one thread at a time.
package final class SQLiteConnection {
    package let handle: OpaquePointer
    /// What the caller is doing, for error messages: "write to cars.docdb".
    package var action: String
    /// Kept because the VFS that the handle calls is registered for as long as this lives.
    private let fileSystem: any StoreFileSystem
    private var statements: [String: SQLiteStatement] = [:]
    private let lifetime = SQLiteLifetime()

    /// How a connection is opened.
    package enum Mode {
        /// For reading and writing; the file is created where it is missing.
        case readWriteCreate
        /// For reading and writing an existing file.
        case readWrite
        /// For reading only.
        case readOnly
        /// For reading a file that nothing can change: no locks, no shared memory.
        case immutable
    }

    /// The most prepared statements one connection keeps; past it all are dropped and prepared anew.
    private static let statementCountLimit = 256

    /// Has SQLite not count the memory of the process, which takes a lock that all threads share for each allocation.
    ///
    /// Where something else in the process has used SQLite before, it stays as it is.
    private static let withoutMemoryStatistics: Void = {
        _ = docdb_sqlite3_config_int(SQLITE_CONFIG_MEMSTATUS, 0)
    }()

    package init(
        path: String, mode: Mode, busyTimeoutMilliseconds: Int32,
        fileSystem: any StoreFileSystem = SystemFileSystem.shared
    ) throws(DocDBError) {
        self.fileSystem = fileSystem
        Self.withoutMemoryStatistics
        var flags: Int32 = SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE
        var name = path
        switch mode {
        case .readWriteCreate: flags |= SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE
        case .readWrite: flags |= SQLITE_OPEN_READWRITE
        case .readOnly: flags |= SQLITE_OPEN_READONLY
        case .immutable:
            flags |= SQLITE_OPEN_READONLY | SQLITE_OPEN_URI
            name = "file:" + Self.percentEncoded(path) + "?immutable=1"
        }
        var handle: OpaquePointer?
        let code = sqlite3_open_v2(name, &handle, flags, fileSystem.sqliteVFSName)
        guard code == SQLITE_OK, let handle else {
            let error = SQLiteError.error(code, connection: handle, while: "open \(path)")
            if let handle { sqlite3_close_v2(handle) }
            throw error
        }
        self.handle = handle
        action = "use \(path)"
        sqlite3_busy_timeout(handle, busyTimeoutMilliseconds)
        // A damaged schema must not run code of its own.
        _ = docdb_sqlite3_db_config_int(handle, SQLITE_DBCONFIG_DEFENSIVE, 1)
        _ = docdb_sqlite3_db_config_int(handle, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0)
    }

    deinit { close() }

    /// Ends all statements, whoever keeps them, and closes the files; nothing may be asked of the connection any more.
    func close() {
        guard !lifetime.hasEnded else { return }
        statements.removeAll()
        while let statement = sqlite3_next_stmt(handle, nil) { sqlite3_finalize(statement) }
        lifetime.hasEnded = true
        sqlite3_close_v2(handle)
    }

    private static func percentEncoded(_ path: String) -> String {
        let digits = Array("0123456789ABCDEF")
        return path.utf8.reduce(into: "") { result, byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "/"), UInt8(ascii: "."), UInt8(ascii: "-"),
                UInt8(ascii: "_"):
                result.unicodeScalars.append(Unicode.Scalar(byte))
            default:
                result.append("%\(digits[Int(byte >> 4)])\(digits[Int(byte & 15)])")
            }
        }
    }

    /// Runs one or more statements that return no rows.
    package func execute(_ sql: String) throws(DocDBError) {
        let code = sqlite3_exec(handle, sql, nil, nil, nil)
        guard code == SQLITE_OK else { throw SQLiteError.error(code, connection: handle, while: action) }
    }

    /// Sets whether closing leaves the write-ahead log as it is; else the last connection moves it into the database and
    /// deletes it.
    func setKeepsWriteAheadLog(_ keeps: Bool) {
        _ = docdb_sqlite3_db_config_int(handle, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, keeps ? 1 : 0)
    }

    /// Sets how long a statement waits for a lock before it fails.
    package func setBusyTimeout(milliseconds: Int32) { sqlite3_busy_timeout(handle, milliseconds) }

    /// Whether a transaction has begun and neither ended nor been ended by a failure.
    @inline(__always)
    package var isInTransaction: Bool { sqlite3_get_autocommit(handle) == 0 }

    /// Ends a transaction without its changes; where SQLite has ended it already, as on some failures, that is well.
    package func rollback() {
        if isInTransaction { sqlite3_exec(handle, "ROLLBACK", nil, nil, nil) }
    }

    /// The prepared statement for `sql`, made once; it is reset and the caller resets it after use.
    ///
    /// Callers on hot paths keep it; this looks it up by its text. Not for statements during whose steps foreign code
    /// runs, which may ask for the same one: those take `prepareOnce`.
    package func prepare(_ sql: String) throws(DocDBError) -> SQLiteStatement {
        if let known = statements[sql] { return known }
        if statements.count >= Self.statementCountLimit { statements.removeAll() }
        let prepared = try make(sql, flags: UInt32(SQLITE_PREPARE_PERSISTENT))
        statements[sql] = prepared
        return prepared
    }

    /// A statement of its own for `sql`, for its caller alone.
    package func prepareOnce(_ sql: String) throws(DocDBError) -> SQLiteStatement { try make(sql, flags: 0) }

    private func make(_ sql: String, flags: UInt32) throws(DocDBError) -> SQLiteStatement {
        var statement: OpaquePointer?
        let code = sqlite3_prepare_v3(handle, sql, -1, flags, &statement, nil)
        guard code == SQLITE_OK, let statement else {
            throw SQLiteError.error(code, connection: handle, while: action)
        }
        return SQLiteStatement(handle: statement, connection: self, lifetime: lifetime)
    }

    /// Lets go of every kept statement, so that tables they name can be dropped.
    package func dropStatements() { statements.removeAll() }

    /// The integer that a query's first row starts with, or nil where it has no row or a null there.
    package func integer(_ sql: String) throws(DocDBError) -> Int64? {
        let statement = try prepare(sql)
        defer { statement.reset() }
        guard try statement.step(), !statement.isNull(0) else { return nil }
        return statement.int(0)
    }

    /// The text that a query's first row starts with, or nil where it has no row.
    package func text(_ sql: String) throws(DocDBError) -> String? {
        let statement = try prepare(sql)
        defer { statement.reset() }
        guard try statement.step() else { return nil }
        return statement.text(0)
    }

    /// The number of rows the last statement changed.
    @inline(__always)
    package var changeCount: Int32 { sqlite3_changes(handle) }
}

/// Whether a connection has been closed, for statements that are kept longer.
final class SQLiteLifetime {
    var hasEnded = false
}
