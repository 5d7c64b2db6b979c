import CSQLite

/// What goes wrong in a benchmark.
package struct BenchmarkError: Error, CustomStringConvertible {
    package let description: String
    package init(_ description: String) { self.description = description }
}

/// One prepared statement, reused; the peer's calls, as thin as the C interface allows.
final class SQLiteStatement {
    private let handle: OpaquePointer
    private let connection: OpaquePointer

    init(_ sql: String, on connection: OpaquePointer) throws {
        var handle: OpaquePointer?
        let code = sqlite3_prepare_v3(connection, sql, -1, UInt32(SQLITE_PREPARE_PERSISTENT), &handle, nil)
        guard code == SQLITE_OK, let handle else {
            throw BenchmarkError("\(String(cString: sqlite3_errmsg(connection))) in: \(sql)")
        }
        self.handle = handle
        self.connection = connection
    }

    deinit { sqlite3_finalize(handle) }

    /// Binds text that outlives the execution, without copying it.
    func bind(_ text: UnsafeBufferPointer<UInt8>, at index: Int32) {
        text.withMemoryRebound(to: CChar.self) {
            _ = docdb_sqlite3_bind_text_static(handle, index, $0.baseAddress, Int32(text.count))
        }
    }

    func bind(_ number: Int, at index: Int32) { sqlite3_bind_int64(handle, index, Int64(number)) }

    /// Executes a statement that returns no rows, and makes it ready for the next time.
    func run() throws {
        let code = sqlite3_step(handle)
        sqlite3_reset(handle)
        guard code == SQLITE_DONE || code == SQLITE_ROW else { throw failure() }
    }

    /// Moves to the next row; false, and ready for the next time, after the last.
    func next() throws -> Bool {
        switch sqlite3_step(handle) {
        case SQLITE_ROW: return true
        case SQLITE_DONE:
            sqlite3_reset(handle)
            return false
        default: throw failure()
        }
    }

    func reset() { sqlite3_reset(handle) }

    func integer(_ column: Int32) -> Int { Int(sqlite3_column_int64(handle, column)) }

    /// The text of a column, valid until the next step.
    func text(_ column: Int32) -> UnsafeBufferPointer<UInt8> {
        let start = sqlite3_column_text(handle, column)
        return UnsafeBufferPointer(start: start, count: Int(sqlite3_column_bytes(handle, column)))
    }

    private func failure() -> BenchmarkError {
        BenchmarkError("SQLite: \(String(cString: sqlite3_errmsg(connection)))")
    }
}
