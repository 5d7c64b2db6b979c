import DocDBCore

extension Store {
    /// Moves the write-ahead log into the database file and empties it.
    ///
    /// Returns whether all of it could be moved; a long read elsewhere keeps what it may still need.
    @discardableResult
    package func checkpoint() throws -> Bool {
        let writer = try requireWriter()
        return try writer.exclusively { try writer.checkpoint() }
    }

    /// Rewrites the database without gaps, so that the file shrinks to what is stored.
    ///
    /// Forgets the ids of documents that were evicted so long ago that the change log no longer tells of it, where no peer
    /// has told of them since.
    ///
    /// - Complexity: O(bytes stored); needs as much free disk space again while it runs.
    package func compact() throws {
        let writer = try requireWriter()
        try writer.exclusively {
            _ = try writer.checkpoint()
            try writer.forgetAbsentDocuments()
            try writer.connection.execute("VACUUM")
            _ = try writer.checkpoint()
        }
    }

    /// Writes a copy of the store, as it stands now, to a new directory.
    ///
    /// The copy takes an actor of its own when it is first written to. It is made under the name `path.partial-` and eight
    /// random digits, which is what a process that is killed meanwhile leaves.
    ///
    /// - Throws: `misuse` where something exists at `path`; `diskFull` or `storageFailed` where writing fails, after
    ///   which nothing is left at `path`.
    package func backup(to path: String) throws {
        try checkIsOpen()
        guard !path.isEmpty, !path.utf8.contains(0) else {
            throw DocDBError(.misuse, "a backup's path is empty or has a NUL; name a directory that does not exist yet")
        }
        let files = directory.fileSystem
        let target = StoreDirectory(path, fileSystem: files)
        try target.requireMissing("backup")
        let partial = target.partial(options.randomBytes)
        try files.makeDirectory(partial.path)
        do {
            try readers.outsideTransaction { context in
                let statement = try context.connection.prepareOnce("VACUUM INTO ?")
                statement.bind(1, partial.database)
                try statement.run()
            }
            try files.synchronizeFile(partial.database)
            try files.synchronizeDirectory(partial.path)
            // What the copy holds must not be lost here by a power cut, or both would tell of the same time differently.
            if files.kind(of: directory.writeAheadLog) == .file {
                try files.synchronizeFile(directory.writeAheadLog)
            }
            try target.requireMissing("backup")
            try files.rename(partial.path, to: target.path)
            try files.synchronizeDirectory(target.parent)
        } catch {
            partial.discard()
            throw error
        }
    }
}

extension StoreWriter {
    /// Forgets documents that are not stored and that nothing names any more.
    func forgetAbsentDocuments() throws(DocDBError) {
        let forget = try connection.prepareOnce(
            """
            DELETE FROM absent_documents WHERE coalesce(evicted_seq, 0) < ? AND (collection, key) NOT IN (
                SELECT collection, key FROM told UNION ALL SELECT collection, key FROM apart
                UNION ALL SELECT collection, key FROM quarantine)
            """)
        forget.bind(1, changeLog.state.oldestSequence)
        try forget.run()
    }

    /// Moves the write-ahead log into the database and empties it; false where a reader still needs part of it.
    func checkpoint(waiting: Bool = true) throws(DocDBError) -> Bool {
        if !waiting { connection.setBusyTimeout(milliseconds: 0) }
        defer { if !waiting { connection.setBusyTimeout(milliseconds: options.busyTimeoutMilliseconds) } }
        let statement = try connection.prepare("PRAGMA wal_checkpoint(TRUNCATE)")
        defer { statement.reset() }
        guard try statement.step(), statement.int(0) == 0 else { return false }
        state.mustErase = false
        return true
    }
}
