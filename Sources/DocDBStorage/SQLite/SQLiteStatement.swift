import CSQLite
package import DocDBCore

/// A prepared statement, reused for as long as its connection lives.
///
/// Bound bytes and text are not copied: they must stay where they are until the statement is reset.
package final class SQLiteStatement {
    package let handle: OpaquePointer
    private unowned let connection: SQLiteConnection

    private let lifetime: SQLiteLifetime

    init(handle: OpaquePointer, connection: SQLiteConnection, lifetime: SQLiteLifetime) {
        self.handle = handle
        self.connection = connection
        self.lifetime = lifetime
    }

    // A connection that was closed has ended its statements.
    deinit { if !lifetime.hasEnded { sqlite3_finalize(handle) } }

    /// Binds an integer to a parameter, the first being 1.
    @inline(__always)
    package func bind(_ parameter: Int32, _ value: Int64) { sqlite3_bind_int64(handle, parameter, value) }

    @inline(__always)
    package func bindNull(_ parameter: Int32) { sqlite3_bind_null(handle, parameter) }

    /// Binds a blob that stays valid until the statement is reset.
    @inline(__always)
    package func bind(_ parameter: Int32, blob: UnsafeRawBufferPointer) {
        if let base = blob.baseAddress, blob.count > 0 {
            _ = docdb_sqlite3_bind_blob_static(handle, parameter, base, Int32(truncatingIfNeeded: blob.count))
        } else {
            sqlite3_bind_zeroblob(handle, parameter, 0)
        }
    }

    /// Binds a copy of `blob`.
    package func bind(_ parameter: Int32, copying blob: [UInt8]) {
        blob.withUnsafeBytes {
            if let base = $0.baseAddress, $0.count > 0 {
                _ = docdb_sqlite3_bind_blob_transient(handle, parameter, base, Int32(truncatingIfNeeded: $0.count))
            } else {
                sqlite3_bind_zeroblob(handle, parameter, 0)
            }
        }
    }

    /// Binds UTF-8 text that stays valid until the statement is reset.
    @inline(__always)
    package func bind(_ parameter: Int32, utf8 text: UnsafeRawBufferPointer) {
        // An empty text needs a pointer all the same, or SQLite binds null.
        let base = text.baseAddress ?? UnsafeRawPointer(Self.emptyText)
        _ = docdb_sqlite3_bind_text_static(
            handle, parameter, base.assumingMemoryBound(to: CChar.self), Int32(truncatingIfNeeded: text.count))
    }

    nonisolated(unsafe) private static let emptyText: UnsafePointer<CChar> = {
        // Written once, before it is shared, and never freed: a constant.
        let text = UnsafeMutablePointer<CChar>.allocate(capacity: 1)
        text.initialize(to: 0)
        return UnsafePointer(text)
    }()

    /// Binds a copy of `text`.
    package func bind(_ parameter: Int32, _ text: String) {
        var text = text
        text.withUTF8 {
            let base = $0.baseAddress.map { UnsafeRawPointer($0) } ?? UnsafeRawPointer(Self.emptyText)
            _ = docdb_sqlite3_bind_text_transient(
                handle, parameter, base.assumingMemoryBound(to: CChar.self), Int32(truncatingIfNeeded: $0.count))
        }
    }

    /// Binds a document id, given as canonical CBOR, in the form the id columns hold it.
    @inline(__always)
    package func bind(_ parameter: Int32, id: UnsafeRawBufferPointer) throws(DocDBError) {
        var cursor = ByteCursor(id)
        do {
            switch try cursor.readCBORItem() {
            case .text(let text): bind(parameter, utf8: text)
            case .int(let value): bind(parameter, value)
            default: bind(parameter, blob: id)
            }
        } catch {
            throw DocDBError(
                .invalidDocumentID, "the document id is malformed; use a string, an integer or another valid value")
        }
    }

    /// Steps to the next row; false at the end.
    @inline(__always)
    package func step() throws(DocDBError) -> Bool {
        let code = sqlite3_step(handle)
        if code == SQLITE_ROW { return true }
        if code == SQLITE_DONE { return false }
        throw failure(code)
    }

    @inline(never)
    func failure(_ code: Int32) -> DocDBError {
        let error = SQLiteError.error(code, connection: connection.handle, while: connection.action)
        sqlite3_reset(handle)
        return error
    }

    /// Runs a statement that returns no rows, and resets it.
    @inline(__always)
    package func run() throws(DocDBError) {
        let code = sqlite3_step(handle)
        guard code == SQLITE_DONE || code == SQLITE_ROW else { throw failure(code) }
        sqlite3_reset(handle)
    }

    /// Makes the statement ready to run again and lets go of what is bound by reference.
    @inline(__always)
    package func reset() { sqlite3_reset(handle) }

    @inline(__always)
    package func int(_ column: Int32) -> Int64 { sqlite3_column_int64(handle, column) }

    @inline(__always)
    package func isNull(_ column: Int32) -> Bool { sqlite3_column_type(handle, column) == SQLITE_NULL }

    /// The blob of a column, valid until the next step or reset.
    @inline(__always)
    package func blob(_ column: Int32) -> UnsafeRawBufferPointer {
        let base = sqlite3_column_blob(handle, column)
        return UnsafeRawBufferPointer(start: base, count: Int(sqlite3_column_bytes(handle, column)))
    }

    package func text(_ column: Int32) -> String { String(decoding: blob(column), as: UTF8.self) }

    /// Appends the document id in a column as canonical CBOR.
    @inline(__always)
    package func appendID(_ column: Int32, to buffer: inout ByteBuffer) {
        switch sqlite3_column_type(handle, column) {
        case SQLITE_TEXT: buffer.appendCBOR(text: blob(column))
        case SQLITE_INTEGER: buffer.appendCBOR(int(column))
        default: buffer.append(blob(column))
        }
    }
}
