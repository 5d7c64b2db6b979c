import DocDBStorage

extension Database {
    /// Makes everything that is committed durable, as if it had been written with ``Durability/full``.
    ///
    /// - Throws: `DocDBError` with the code `storageFailed`, `readOnly` or `databaseClosed`.
    public func synchronize() throws { try store.synchronize() }

    /// Moves the write-ahead log into the database file and empties it.
    ///
    /// That happens by itself now and then; it is of use before the files are looked at, and after evictions that a
    /// reader held up.
    ///
    /// - Returns: whether all of it could be moved; a read that is running may still need some, and is waited for as long
    ///   as ``Options/busyTimeoutMilliseconds`` says.
    /// - Throws: `DocDBError` with the code `storageFailed`, `diskFull`, `readOnly` or `databaseClosed`; `misuse` within a
    ///   write.
    @discardableResult
    public func checkpoint() throws -> Bool { try store.checkpoint() }

    /// Writes a copy of the database, as it stands now, to a new directory.
    ///
    /// Reads and writes go on meanwhile. The copy is a database of its own from its first write on. Until it is whole it is
    /// called `path.partial-` and eight digits; a process that is killed meanwhile leaves that, to be removed by hand.
    ///
    /// - Parameter path: where the copy goes; nothing may exist there.
    /// - Throws: `DocDBError` with the code `misuse` where something exists at `path`; `diskFull` or `storageFailed`, and
    ///   then nothing is left there.
    /// - Complexity: O(bytes stored).
    public func backup(to path: String) throws { try store.backup(to: path) }

    /// Rewrites the database file without gaps, so that it shrinks to what is stored.
    ///
    /// Writes wait meanwhile. Needs as much free disk space again while it runs. Reads that are running are waited for as
    /// ``checkpoint()`` does, three times over at most: better not called within one.
    ///
    /// - Throws: `DocDBError` with the code `diskFull`, `storageFailed`, `busy`, `readOnly` or `databaseClosed`; `misuse`
    ///   within a write.
    /// - Complexity: O(bytes stored).
    public func compact() throws { try store.compact() }

    /// Counts what the database holds, once the write that is running has ended.
    ///
    /// - Throws: `DocDBError` with the code `storageFailed` or `databaseClosed`; `misuse` within a write.
    /// - Complexity: O(documents).
    public func statistics() throws -> Statistics { Statistics(try store.statistics()) }

    /// Checks everything that is stored against itself: checksums, documents against their replication state, indexes
    /// against documents, and the change log unwound to its start.
    ///
    /// - Returns: what is wrong; nothing for a sound database.
    /// - Throws: `DocDBError` with the code `storageFailed` where reading fails, or `databaseClosed`.
    /// - Complexity: O(bytes stored), with memory for the documents that the retained log has changed.
    public func verify() throws -> [Finding] {
        try store.verify().map { Finding(location: $0.location, message: $0.message) }
    }
}
