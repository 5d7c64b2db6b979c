import DocDBCore
import DocDBStorage

extension Database {
    /// The database as it was after a commit.
    ///
    /// - Parameter sequence: the number of the commit, as in ``Revision/sequence`` and ``LogRecord/sequence``; zero is the
    ///   empty database.
    /// - Throws: `DocDBError` with the code `historyNotRetained` where the change log does not reach back that far, or
    ///   there is no such commit yet.
    public func asOf(sequence: Int64) throws -> HistoricalView {
        try store.read { context in
            try context.requireHistory(to: sequence, ChangeLogReader(connection: context.connection))
        }
        return HistoricalView(store: store, sequence: sequence)
    }

    /// The database as it was at a time: after the newest commit that was not made later.
    ///
    /// - Parameter time: such as ``Revision/time``, or `HybridTime(nanosecondsSince1970:)`.
    /// - Throws: `DocDBError` with the code `historyNotRetained` where the change log does not reach back that far.
    public func asOf(time: HybridTime) throws -> HistoricalView {
        let sequence = try store.read { context in
            let sequence = try context.sequence(at: time)
            try context.requireHistory(to: sequence, ChangeLogReader(connection: context.connection))
            return sequence
        }
        return HistoricalView(store: store, sequence: sequence)
    }

    /// The commits after one that is known, oldest first.
    ///
    /// ```swift
    /// var last: Int64 = 0
    /// for record in try db.log(since: last, limit: 100) {
    ///     for change in record.changes { print(record.sequence, change.collection, change.kind) }
    ///     last = record.sequence
    /// }
    /// ```
    ///
    /// - Parameters:
    ///   - sequence: the number of the commit that is known; zero for all that the log still holds.
    ///   - limit: the most commits to return.
    /// - Throws: `DocDBError` with the code `historyNotRetained` where `sequence` is not zero and the commits that follow
    ///   it have been cut from the log; `corrupted` where the log is damaged.
    /// - Complexity: O(commits returned and documents touched by them).
    public func log(since sequence: Int64 = 0, limit: Int = .max) throws -> [LogRecord] {
        try store.read { context in
            let reader = ChangeLogReader(connection: context.connection)
            let oldest = try reader.oldestSequence()
            let last = try reader.lastSequence()
            let known = max(sequence, 0)
            if known > 0, known < oldest - 1 { throw ReadContext.historyNotRetained(known) }
            var records: [LogRecord] = []
            var next = max(known < last ? known + 1 : last + 1, oldest)
            while next <= last, records.count < limit {
                guard let record = try reader.record(next) else {
                    throw DocDBError(
                        .corrupted,
                        "commit \(next) is missing from the change log; verify the database, restore a backup")
                }
                records.append(try LogRecord(record, in: context))
                next += 1
            }
            return records
        }
    }
}
