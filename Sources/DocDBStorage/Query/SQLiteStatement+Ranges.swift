import CSQLite
import DocDBCore
import DocDBQuery

extension SQLiteStatement {
    func bind(_ parameter: Int32, real value: Double) { sqlite3_bind_double(handle, parameter, value) }

    /// Binds a copy of text that is given as bytes, which need not be valid UTF-8.
    func bind(_ parameter: Int32, copyingText bytes: [UInt8]) {
        (bytes + [0]).withUnsafeBytes {
            guard let base = $0.baseAddress else { return }
            _ = docdb_sqlite3_bind_text_transient(
                handle, parameter, base.assumingMemoryBound(to: CChar.self), Int32(truncatingIfNeeded: bytes.count))
        }
    }

    /// Binds the lower and the upper bound of a range of index keys.
    func bind(_ range: KeyByteRange) {
        bind(1, copying: range.lower)
        bind(2, copying: range.upper)
    }
}
