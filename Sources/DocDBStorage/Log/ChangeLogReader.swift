package import DocDBCore

/// The reading end of the change log, over one connection; it keeps the block it read last.
package final class ChangeLogReader {
    /// Where a row of the log table lies and what it covers.
    package struct Row: Sendable {
        package var first: Int64
        package var last: Int64
        package var lastTime: HybridTime
        package var byteCount: Int64
        package var rawByteCount: Int64
        package var isFolded: Bool
        var codec: ChangeLogFormat.Codec
    }

    private let connection: SQLiteConnection
    private var loadedFirst: Int64?
    private var raw = ByteBuffer(capacity: 4096)
    private var offsets: [Range<Int>] = []

    package init(connection: SQLiteConnection) { self.connection = connection }

    private static let columns = "seq, last_seq, last_time, codec, length(data), raw_length"

    private func readRow(_ statement: SQLiteStatement) throws(DocDBError) -> Row {
        guard let codec = ChangeLogFormat.Codec(rawValue: statement.int(3)) else {
            throw ChangeLog.damaged(statement.int(0), "its codec is unknown")
        }
        let (first, last) = (statement.int(0), statement.int(1))
        try Self.checkBounds(first: first, last: last)
        return Row(
            first: first, last: last,
            lastTime: HybridTime(rawValue: UInt64(bitPattern: statement.int(2))), byteCount: statement.int(4),
            rawByteCount: min(max(0, statement.int(5)), Int64(ChangeLogFormat.blockByteLimit)),
            isFolded: codec != .record, codec: codec)
    }

    private static func checkBounds(first: Int64, last: Int64) throws(DocDBError) {
        guard first > 0, first <= last, last <= ChangeLogFormat.sequenceLimit else {
            throw ChangeLog.damaged(first, "its numbers are out of bounds")
        }
    }

    /// The row that holds a sequence number, or nil where the log does not reach there.
    package func row(containing sequence: Int64) throws(DocDBError) -> Row? {
        let statement = try connection.prepare(
            "SELECT \(Self.columns) FROM log WHERE seq <= ? ORDER BY seq DESC LIMIT 1")
        defer { statement.reset() }
        statement.bind(1, sequence)
        guard try statement.step() else { return nil }
        let row = try readRow(statement)
        return row.last >= sequence ? row : nil
    }

    /// All rows, oldest first.
    package func rows() throws(DocDBError) -> [Row] {
        let statement = try connection.prepare("SELECT \(Self.columns) FROM log ORDER BY seq")
        defer { statement.reset() }
        var rows: [Row] = []
        while try statement.step() { rows.append(try readRow(statement)) }
        return rows
    }

    /// The last sequence number, zero for an empty log that was never cut.
    package func lastSequence() throws(DocDBError) -> Int64 {
        let statement = try connection.prepare("SELECT seq, last_seq FROM log ORDER BY seq DESC LIMIT 1")
        defer { statement.reset() }
        guard try statement.step() else { return try oldestSequence() - 1 }
        try Self.checkBounds(first: statement.int(0), last: statement.int(1))
        return statement.int(1)
    }

    /// The first sequence number the log still holds.
    package func oldestSequence() throws(DocDBError) -> Int64 {
        let oldest = try StoreMetadata.integer(.oldestSequence, connection) ?? 1
        guard oldest > 0, oldest <= ChangeLogFormat.sequenceLimit else {
            throw ChangeLog.damaged(oldest, "its first number is out of bounds")
        }
        return oldest
    }

    /// The most documents that one commit can have inserted: a row takes more than this many bytes of the database.
    private func insertionLimit() throws(DocDBError) -> UInt64 {
        let bytes = try (connection.integer("PRAGMA page_count") ?? 0) * (connection.integer("PRAGMA page_size") ?? 0)
        return UInt64(max(0, bytes)) / 16
    }

    private func load(_ row: Row) throws(DocDBError) {
        if loadedFirst == row.first { return }
        loadedFirst = nil
        let statement = try connection.prepare("SELECT codec, raw_length, checksum, data FROM log WHERE seq = ?")
        defer { statement.reset() }
        statement.bind(1, row.first)
        guard try statement.step() else { throw ChangeLog.damaged(row.first, "a row is missing") }
        do {
            try ChangeLogBlock.unpack(
                statement.blob(3), codec: row.codec, rawLength: statement.int(1), checksum: statement.int(2), into: &raw
            )
        } catch {
            throw ChangeLog.damaged(row.first, "its checksum or length does not match")
        }
        var ranges: [Range<Int>] = []
        let base = raw.bytes.baseAddress
        try ChangeLogBlock.forEachRecord(raw.bytes, codec: row.codec, first: row.first, last: row.last) {
            (_, bytes) throws(DocDBError) in
            let offset = base.flatMap { start in bytes.baseAddress.map { $0 - start } } ?? 0
            ranges.append(offset..<offset + bytes.count)
        }
        offsets = ranges
        loadedFirst = row.first
    }

    /// The record with this sequence number, or nil where the log does not hold it.
    package func record(_ sequence: Int64) throws(DocDBError) -> ChangeLogRecord? {
        guard let row = try row(containing: sequence) else { return nil }
        return try record(sequence, in: row)
    }

    private func record(_ sequence: Int64, in row: Row) throws(DocDBError) -> ChangeLogRecord {
        try load(row)
        let index = Int(sequence - row.first)
        guard offsets.indices.contains(index) else { throw ChangeLog.damaged(sequence, "a record is missing") }
        let insertionLimit = try insertionLimit()
        do {
            return try ChangeLogRecord(
                sequence: sequence, bytes: UnsafeRawBufferPointer(rebasing: raw.bytes[offsets[index]]),
                insertionLimit: insertionLimit)
        } catch {
            throw ChangeLog.damaged(sequence, "a record is malformed")
        }
    }

    /// The records of one row, oldest first.
    package func records(in row: Row) throws(DocDBError) -> [ChangeLogRecord] {
        var records: [ChangeLogRecord] = []
        for sequence in row.first...max(row.first, row.last) { records.append(try record(sequence, in: row)) }
        return records
    }

    /// Calls `body` with the entries of one record, undo left out, until it returns false.
    ///
    /// Returns false, with nothing called, where the log does not hold the record.
    @discardableResult
    package func forEachEntry(
        of sequence: Int64, _ body: (ChangeLogRecord.Entry) -> Bool
    ) throws(DocDBError) -> Bool {
        guard let row = try row(containing: sequence) else { return false }
        try forEachEntry(of: sequence, in: row, insertionLimit: try insertionLimit(), body)
        return true
    }

    /// Calls `body` with the number and the entries of each record after a commit, undo left out, oldest first.
    package func forEachEntry(
        after sequence: Int64, _ body: (Int64, ChangeLogRecord.Entry) -> Void
    ) throws(DocDBError) {
        guard sequence < ChangeLogFormat.sequenceLimit else { return }
        let insertionLimit = try insertionLimit()
        var next = sequence + 1
        while let row = try row(containing: next) {
            for number in next...row.last {
                try forEachEntry(of: number, in: row, insertionLimit: insertionLimit) { entry in
                    body(number, entry)
                    return true
                }
            }
            next = row.last + 1
        }
        guard try next > lastSequence() else { throw ChangeLog.damaged(next, "a row is missing") }
    }

    private func forEachEntry(
        of sequence: Int64, in row: Row, insertionLimit: UInt64, _ body: (ChangeLogRecord.Entry) -> Bool
    ) throws(DocDBError) {
        try load(row)
        let index = Int(sequence - row.first)
        guard offsets.indices.contains(index) else { throw ChangeLog.damaged(sequence, "a record is missing") }
        do throws(CBORError) {
            var cursor = ByteCursor(UnsafeRawBufferPointer(rebasing: raw.bytes[offsets[index]]))
            let head = try ChangeLogRecord.readHead(&cursor)
            var reader = ChangeLogRecord.EntryReader(
                cursor: cursor, sequence: sequence, stampCount: head.stamps.count, insertionLimit: insertionLimit,
                readsUndo: false)
            while let entry = try reader.next() {
                if !body(entry) { return }
            }
        } catch {
            throw ChangeLog.damaged(sequence, "a record is malformed")
        }
    }

    /// Calls `body` with the head of each record of a row, oldest first.
    func forEachHead(
        in row: Row, _ body: (Int64, ChangeLogRecord.Head) throws(DocDBError) -> Void
    ) throws(DocDBError) {
        try load(row)
        for (index, range) in offsets.enumerated() {
            let head: ChangeLogRecord.Head
            do {
                var cursor = ByteCursor(UnsafeRawBufferPointer(rebasing: raw.bytes[range]))
                head = try ChangeLogRecord.readHead(&cursor)
            } catch {
                throw ChangeLog.damaged(row.first + Int64(index), "a record's head is malformed")
            }
            try body(row.first + Int64(index), head)
        }
    }

    /// Lets go of the block that is kept, so that rows changed since are read anew.
    package func invalidate() { loadedFirst = nil }
}
