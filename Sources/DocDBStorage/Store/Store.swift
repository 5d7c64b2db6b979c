package import DocDBCore
import Synchronization

/// One open store: a directory with its database, one writer, and a pool of readers.
package final class Store: Sendable {
    package let directory: StoreDirectory
    package let options: StoreOptions
    package let names: FieldNames
    package let actors: ActorTable
    /// The 16 random bytes that name the store.
    package var storeID: [UInt8] { identity.id }
    private let identity: StoreIdentity
    /// The writing end, or nil where the store is open for reading only.
    let writer: StoreWriter?
    let readers: ReaderPool
    /// Keeps who observes the store alive for as long as the store is.
    let observerSlot = Lock<(any CommitObserver)?>(nil)
    /// What the layers above keep to find the replication of the store.
    private let replicationSlot = Lock<(any AnyObject & Sendable)?>(nil)
    private let isClosed = Atomic<Bool>(false)
    /// Whether the write-ahead log was gone when the store was opened, though it had not been closed in order.
    let hasLostWriteAheadLog: Bool

    /// The version of the format that this code writes; `user_version` in the database.
    package static let formatVersion: Int64 = 3
    /// What `application_id` in the database says: "DocD".
    static let applicationID: Int64 = 0x446F_6344

    /// Opens the store at `path`, creating it where the options say so.
    ///
    /// - Throws: `notAStore`, `storeLocked`, `storeTooNew`, `readOnly`, `corrupted` or `storageFailed`.
    package init(path: String, options: StoreOptions = StoreOptions()) throws(DocDBError) {
        guard !path.isEmpty, !path.utf8.contains(0) else {
            throw DocDBError(.misuse, "a store's path is empty or has a NUL; name a directory such as cars.docdb")
        }
        let directory = StoreDirectory(path, fileSystem: options.fileSystem)
        self.directory = directory
        self.options = options
        names = FieldNames()
        actors = ActorTable()
        let opened = try Self.connect(directory, options)
        opened.connection.action = "use \(directory.path)"
        identity = StoreIdentity(try StoreMetadata.bytes(.storeID, opened.connection) ?? [])
        let lacksWriteAheadLog = try Self.lacksWriteAheadLog(opened.connection, directory)
        hasLostWriteAheadLog = !opened.hadWriteAheadLog && lacksWriteAheadLog
        try Self.readNames(into: names, opened.connection)
        try Self.readActors(into: actors, opened.connection)
        let catalog = try Catalog(reading: opened.connection)
        readers = ReaderPool(
            directory: directory, options: options, names: names, actors: actors, catalog: catalog,
            isImmutable: opened.isImmutable, isFollowing: opened.lock == nil)
        guard let lock = opened.lock else {
            writer = nil
            readers.adopt(opened.connection, catalog: catalog)
            return
        }
        writer = try StoreWriter(
            connection: opened.connection, lock: lock, hadWriteAheadLog: opened.hadWriteAheadLog, directory: directory,
            options: options, names: names,
            actors: actors, catalog: catalog, identity: identity, readers: readers)
    }

    deinit {
        // Errors have nobody to hear them here; `close()` is where they are told.
        try? close()
    }

    /// Ends writing in order and closes the files: once this returns, a copy of the directory has all that was written. A
    /// reading that has not ended keeps its files until it has. Calls after the first do nothing.
    ///
    /// - Throws: `storageFailed` or `diskFull` where the last state cannot be written; the store is closed all the same.
    package func close() throws(DocDBError) {
        try checkMayClose()
        guard isClosed.exchange(true, ordering: .acquiringAndReleasing) == false else { return }
        readers.close()
        var observers: [any CommitObserver] = []
        defer { tellClosed(observers) }
        try writer?.close(observers: &observers)
    }

    /// Calls `body` with who observes the store, nil at first, for it to look and to set.
    package func withObserver<R>(_ body: (inout sending (any CommitObserver)?) -> sending R) -> sending R {
        observerSlot.withLock(body)
    }

    /// Checks that closing would not wait for this thread itself.
    package func checkMayClose() throws(DocDBError) {
        guard let writer, writer.isHeldByThisThread else { return }
        throw DocDBError(
            .misuse, "the database was closed within a write, which would wait for itself; close it after the write")
    }

    /// Calls `body` with what replicates the store, nil at first, for it to look and to set.
    package func withReplication<R>(_ body: (inout sending (any AnyObject & Sendable)?) -> sending R) -> sending R {
        replicationSlot.withLock(body)
    }

    package func checkIsOpen() throws(DocDBError) {
        guard !isClosed.load(ordering: .acquiring) else {
            throw DocDBError(.databaseClosed, "the database at \(directory.path) has been closed; open it again")
        }
    }

    /// The writing end.
    func requireWriter() throws(DocDBError) -> StoreWriter {
        try checkIsOpen()
        guard let writer else {
            throw DocDBError(
                .readOnly, "the database at \(directory.path) is open for reading only; open it for writing")
        }
        return writer
    }

    // MARK: Opening

    private struct Opened {
        var connection: SQLiteConnection
        var lock: StoreLock?
        var isImmutable = false
        /// Whether there was a write-ahead log before the connection made one.
        var hadWriteAheadLog = false
    }

    private static func connect(_ directory: StoreDirectory, _ options: StoreOptions) throws(DocDBError) -> Opened {
        guard options.access != .readOnly else { return try connectForReading(directory, options) }
        let isNew = try directory.prepare(creating: options.access == .readWriteCreate)
        let lock = try StoreLock(directory)
        let hadWriteAheadLog = directory.fileSystem.kind(of: directory.writeAheadLog) != .missing
        // Its write-ahead log and what goes with that get the same mode.
        if isNew { directory.fileSystem.makePrivateFile(directory.database) }
        let connection = try SQLiteConnection(
            path: directory.database, mode: .readWriteCreate, busyTimeoutMilliseconds: options.busyTimeoutMilliseconds,
            fileSystem: directory.fileSystem)
        connection.action = "open \(directory.path)"
        // Until the session has ended in order: a store that is not marked as closed must not be without its log.
        connection.setKeepsWriteAheadLog(true)
        if isNew { try connection.execute("PRAGMA page_size = 4096") }
        try StoreMigration.checkIdentity(connection, directory, mayBeEmpty: true)
        try connection.execute(
            """
            PRAGMA journal_mode = WAL;
            PRAGMA synchronous = NORMAL;
            PRAGMA cache_size = -16384;
            PRAGMA wal_autocheckpoint = 4000;
            PRAGMA mmap_size = 0;
            PRAGMA secure_delete = ON;
            PRAGMA temp_store = MEMORY;
            """)
        try StoreMigration.migrate(connection, directory, options)
        return Opened(connection: connection, lock: lock, hadWriteAheadLog: hadWriteAheadLog)
    }

    private static func connectForReading(
        _ directory: StoreDirectory, _ options: StoreOptions
    ) throws(DocDBError) -> Opened {
        try directory.requireStore()
        let hadWriteAheadLog = directory.fileSystem.kind(of: directory.writeAheadLog) != .missing
        var failure: DocDBError
        do throws(DocDBError) {
            let connection = try SQLiteConnection(
                path: directory.database, mode: .readOnly, busyTimeoutMilliseconds: options.busyTimeoutMilliseconds,
                fileSystem: directory.fileSystem)
            connection.action = "open \(directory.path)"
            try StoreMigration.checkIdentity(connection, directory, mayBeEmpty: false)
            return Opened(connection: connection, lock: nil, hadWriteAheadLog: hadWriteAheadLog)
        } catch {
            failure = error
        }
        // Where nobody may write beside the database, a store at rest is read without the files that writing needs.
        guard failure.code == .storageFailed || failure.code == .readOnly,
            !directory.fileSystem.isWritable(directory.path),
            directory.fileSystem.byteCount(of: directory.writeAheadLog) == 0
        else { throw failure }
        let connection = try SQLiteConnection(
            path: directory.database, mode: .immutable, busyTimeoutMilliseconds: options.busyTimeoutMilliseconds,
            fileSystem: directory.fileSystem)
        connection.action = "open \(directory.path)"
        try StoreMigration.checkIdentity(connection, directory, mayBeEmpty: false)
        return Opened(connection: connection, lock: nil, isImmutable: true, hadWriteAheadLog: hadWriteAheadLog)
    }

    /// Whether a store without a write-ahead log should have one: it was not closed in order, and is no backup, which never has.
    private static func lacksWriteAheadLog(
        _ connection: SQLiteConnection, _ directory: StoreDirectory
    ) throws(DocDBError) -> Bool {
        // One that has come since is another process's, which has just begun to write.
        guard directory.fileSystem.byteCount(of: directory.writeAheadLog) == 0,
            try StoreMetadata.integer(.isClean, connection) == 0
        else { return false }
        return try WriterSession.matchesIncarnation(connection, directory)
    }

    /// Reads the field names that a connection sees beyond those that are known.
    static func readNames(into names: FieldNames, _ connection: SQLiteConnection) throws(DocDBError) {
        let rows = try connection.prepare("SELECT number, name FROM field_names WHERE number >= ? ORDER BY number")
        rows.bind(1, Int64(names.count))
        defer { rows.reset() }
        while try rows.step() {
            let number = Int(clamping: rows.int(0))
            // Where several threads follow another process at once, a name may be known already.
            guard names.intern(rows.blob(1)) == number else {
                throw DocDBError(
                    .corrupted, "the table of field names is damaged at \(number); restore a backup of the store")
            }
        }
    }

    /// Reads the actors that a connection sees beyond those that are known.
    static func readActors(into actors: ActorTable, _ connection: SQLiteConnection) throws(DocDBError) {
        let rows = try connection.prepare("SELECT number, id FROM actors WHERE number >= ? ORDER BY number")
        rows.bind(1, Int64(actors.count))
        defer { rows.reset() }
        while try rows.step() {
            guard let id = ActorID(bytes: rows.blob(1)), Int64(actors.intern(id)) == rows.int(0) else {
                throw DocDBError(
                    .corrupted, "the table of actors is damaged at \(rows.int(0)); restore a backup of the store")
            }
        }
    }
}
