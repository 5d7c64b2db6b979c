import DocDBCore

/// The writing end of the change log: appends records, folds the tail into blocks, cuts the old end.
///
/// Used under the store's write lock. `state` is plain data, so that a rollback puts back what stood before.
struct ChangeLog: ~Copyable {
    /// What the log knows in memory; all of it can be read again from the table.
    struct State {
        /// The sequence number the next commit gets; the first is 1.
        var nextSequence: Int64 = 1
        /// The first record that is not folded yet.
        var tailFirst: Int64 = 1
        var tailByteCount = 0
        /// The bytes of all rows, or nil until somebody asks.
        var byteCount: Int64?
        var oldestSequence: Int64 = 1
        /// The sum of content hashes of the documents as they stood before `oldestSequence`.
        var oldestSum: UInt64 = 0
    }

    var state: State
    private var raw: ByteBuffer
    private var packed: ByteBuffer
    private let connection: SQLiteConnection
    private let insert: SQLiteStatement

    init(connection: SQLiteConnection) throws(DocDBError) {
        let state = try Self.readState(connection)
        let insert = try connection.prepare(
            "INSERT INTO log (seq, last_seq, last_time, codec, raw_length, checksum, data) VALUES (?, ?, ?, ?, ?, ?, ?)"
        )
        self.connection = connection
        self.state = state
        self.insert = insert
        raw = ByteBuffer(capacity: 64 * 1024)
        packed = ByteBuffer(capacity: 64 * 1024)
    }

    private static func readState(_ connection: SQLiteConnection) throws(DocDBError) -> State {
        var state = State()
        state.oldestSequence = try ChangeLogReader(connection: connection).oldestSequence()
        state.oldestSum = UInt64(bitPattern: try StoreMetadata.integer(.oldestSum, connection) ?? 0)
        let last = try ChangeLogReader(connection: connection).lastSequence()
        state.nextSequence = max(last + 1, state.oldestSequence)
        state.tailFirst = state.nextSequence
        // The tail is the run of single records at the end: at most one fold's worth of rows.
        let rows = try connection.prepare("SELECT seq, codec, length(data) FROM log ORDER BY seq DESC")
        defer { rows.reset() }
        while try rows.step(), rows.int(1) == ChangeLogFormat.Codec.record.rawValue,
            rows.int(0) == state.tailFirst - 1
        {
            state.tailFirst = rows.int(0)
            state.tailByteCount += Int(rows.int(2))
        }
        return state
    }

    /// Appends the record of the commit that is being made, and folds the tail where it is full.
    ///
    /// - Throws: `DocDBError.limitReached` where one transaction writes more undo than a block may hold.
    mutating func append(_ record: UnsafeRawBufferPointer, time: HybridTime) throws(DocDBError) {
        guard record.count < ChangeLogFormat.recordByteLimit else {
            throw DocDBError(
                .limitReached,
                "the transaction's undo log is larger than \(ChangeLogFormat.recordByteLimit) bytes; split the transaction"
            )
        }
        let sequence = state.nextSequence
        let tailCount = Int(sequence - state.tailFirst)
        let isFull =
            state.tailByteCount + record.count >= ChangeLogFormat.foldByteCount
            || tailCount + 1 >= ChangeLogFormat.foldRecordCount
        if isFull, state.tailByteCount + record.count < ChangeLogFormat.recordByteLimit {
            try fold(with: record, time: time)
        } else {
            try insertRow(
                first: sequence, last: sequence, time: time, codec: .record, rawLength: record.count, data: record)
            state.tailByteCount += record.count
        }
        state.nextSequence = sequence + 1
    }

    private mutating func fold(with record: UnsafeRawBufferPointer, time: HybridTime) throws(DocDBError) {
        raw.removeAll()
        if state.tailFirst < state.nextSequence { try collectTail() }
        raw.appendVarint(UInt64(record.count))
        raw.append(record)
        if state.tailFirst < state.nextSequence {
            let delete = try connection.prepare("DELETE FROM log WHERE seq >= ?")
            delete.bind(1, state.tailFirst)
            try delete.run()
            state.byteCount = state.byteCount.map { $0 - Int64(state.tailByteCount) }
        }
        let codec = ChangeLogBlock.pack(raw.bytes, into: &packed)
        try insertRow(
            first: state.tailFirst, last: state.nextSequence, time: time, codec: codec, rawLength: raw.count,
            data: packed.bytes)
        state.tailFirst = state.nextSequence + 1
        state.tailByteCount = 0
    }

    /// Gathers the tail's records in `raw`.
    ///
    /// A damaged record, and those before it, stay as they are: folding them would give them a checksum that holds.
    private mutating func collectTail() throws(DocDBError) {
        let rows = try connection.prepare("SELECT seq, checksum, data FROM log WHERE seq >= ? ORDER BY seq")
        rows.bind(1, state.tailFirst)
        defer { rows.reset() }
        while try rows.step() {
            let data = rows.blob(2)
            if ContentHash.checksum(data) == UInt64(bitPattern: rows.int(1)) {
                raw.appendVarint(UInt64(data.count))
                raw.append(data)
            } else {
                raw.removeAll()
                state.tailFirst = rows.int(0) + 1
                state.byteCount = nil
            }
        }
    }

    private mutating func insertRow(
        first: Int64, last: Int64, time: HybridTime, codec: ChangeLogFormat.Codec, rawLength: Int,
        data: UnsafeRawBufferPointer
    ) throws(DocDBError) {
        insert.bind(1, first)
        insert.bind(2, last)
        insert.bind(3, Int64(bitPattern: time.rawValue))
        insert.bind(4, codec.rawValue)
        insert.bind(5, Int64(rawLength))
        insert.bind(6, Int64(bitPattern: ContentHash.checksum(data)))
        insert.bind(7, blob: data)
        try insert.run()
        state.byteCount = state.byteCount.map { $0 + Int64(data.count) }
    }

    /// Replaces a row by one with the same records edited, as eviction does.
    mutating func replaceRow(
        first: Int64, last: Int64, time: HybridTime, isTail: Bool, records: UnsafeRawBufferPointer
    ) throws(DocDBError) {
        let delete = try connection.prepare("DELETE FROM log WHERE seq = ?")
        delete.bind(1, first)
        try delete.run()
        state.byteCount = nil
        if isTail {
            try insertRow(first: first, last: last, time: time, codec: .record, rawLength: records.count, data: records)
        } else {
            let codec = ChangeLogBlock.pack(records, into: &packed)
            try insertRow(
                first: first, last: last, time: time, codec: codec, rawLength: records.count, data: packed.bytes)
        }
    }

    /// Cuts whole rows at the old end until the log fits its bounds; the tail and the newest block always stay.
    ///
    /// A damaged row stays as well, and all that is newer: without it nobody knows what the documents were before it.
    mutating func cut(byteLimit: Int64, notBefore: HybridTime?) throws(DocDBError) {
        if state.byteCount == nil {
            state.byteCount = try connection.integer("SELECT sum(length(data)) FROM log") ?? 0
        }
        let reader = ChangeLogReader(connection: connection)
        while let bytes = state.byteCount, state.oldestSequence < state.tailFirst {
            guard let row = try reader.row(containing: state.oldestSequence) else { break }
            let isOld = notBefore.map { row.lastTime < $0 } ?? false
            guard bytes > byteLimit || isOld, row.last < state.tailFirst, row.last + 1 < state.nextSequence else {
                break
            }
            guard let delta = try contentDelta(of: row, reader) else { break }
            let delete = try connection.prepare("DELETE FROM log WHERE seq = ?")
            delete.bind(1, row.first)
            try delete.run()
            try setOldest(sequence: row.last + 1, sum: state.oldestSum &+ delta)
            state.byteCount = bytes - row.byteCount
        }
    }

    /// The sum of the content deltas of a row, or nil where it is damaged.
    private func contentDelta(of row: ChangeLogReader.Row, _ reader: ChangeLogReader) throws(DocDBError) -> UInt64? {
        var sum: UInt64 = 0
        do throws(DocDBError) {
            try reader.forEachHead(in: row) { (_, head) throws(DocDBError) in sum = sum &+ head.contentDelta }
            return sum
        } catch {
            guard error.code == .corrupted else { throw error }
            return nil
        }
    }

    mutating func setOldest(sequence: Int64, sum: UInt64) throws(DocDBError) {
        try StoreMetadata.set(.oldestSequence, sequence, connection)
        try StoreMetadata.set(.oldestSum, Int64(bitPattern: sum), connection)
        state.oldestSequence = sequence
        state.oldestSum = sum
    }

    /// The error for a log whose bytes are not what was written.
    static func damaged(_ sequence: Int64, _ detail: String) -> DocDBError {
        DocDBError(
            .corrupted,
            "the change log is damaged at \(sequence): \(detail); documents stay readable, history before it is lost",
            context: ["sequence": String(sequence)])
    }
}
