import DocDBCore
import Synchronization

/// The one writing end of a store: one write transaction at a time, in commit order.
final class StoreWriter: @unchecked Sendable {
    // Unchecked: everything below `lock` is only touched while `lock` is held.

    /// What a rollback puts back: all that a transaction may change in memory.
    struct State {
        var lastTime: HybridTime
        var actor: ActorID?
        var catalog: Catalog
        var log: ChangeLog.State
        /// How many field names and actors are in the database, or in the transaction being made.
        var persistedNameCount: Int
        var persistedActorCount: Int
        var isCatalogChanged = false
        /// Whether values were evicted whose bytes the write-ahead log may still hold.
        var mustErase = false
    }

    let directory: StoreDirectory
    let options: StoreOptions
    let names: FieldNames
    let actors: ActorTable
    let identity: StoreIdentity
    let readers: ReaderPool
    let asyncWrites: AsyncWriteQueue
    /// The newest sequence number committed, and the newest that is on the disk itself.
    let committedSequence: Atomic<Int64>
    let synchronizedSequence: Atomic<Int64>

    /// Guards all that follows. Held for a whole transaction.
    private let lock = Lock<Void>(())
    /// The thread that holds `lock`, or zero: a write within a write would wait for itself.
    private let holder = Atomic<UInt>(0)

    let context: ReadContext
    var connection: SQLiteConnection { context.connection }
    private let storeLock: StoreLock
    private let writeAheadLog = WriteAheadLogFile()
    var state: State
    var changeLog: ChangeLog
    var session: WriterSession
    var collections: [Int64: CollectionWriter] = [:]
    /// Who hears of commits, and of which collections.
    var observations: [CommitObservation] = []
    private var told: ToldStatements?
    /// The collection that was written to last.
    var lastCollection: CollectionWriter?
    /// Buffers of the transaction that runs, behind a pointer so that hot paths pay no exclusivity checks.
    let scratch: UnsafeMutablePointer<WriterScratch>
    private var isFullySynchronous = false
    private var isClosed = false

    init(
        connection: SQLiteConnection, lock: StoreLock, hadWriteAheadLog: Bool, directory: StoreDirectory,
        options: StoreOptions,
        names: FieldNames, actors: ActorTable, catalog: Catalog, identity: StoreIdentity, readers: ReaderPool
    ) throws(DocDBError) {
        storeLock = lock
        self.directory = directory
        self.options = options
        self.names = names
        self.actors = actors
        self.identity = identity
        self.readers = readers
        asyncWrites = AsyncWriteQueue()
        context = ReadContext(
            connection: connection, names: names, actors: actors, catalog: catalog, path: directory.path)
        connection.action = "write to \(directory.path)"
        changeLog = try ChangeLog(connection: connection)
        session = try WriterSession(
            connection: connection, directory: directory, hadWriteAheadLog: hadWriteAheadLog)
        state = State(
            lastTime: session.reservedTime, actor: try session.currentActor(connection, actors), catalog: catalog,
            log: changeLog.state, persistedNameCount: names.count, persistedActorCount: actors.count)
        let last = changeLog.state.nextSequence - 1
        committedSequence = Atomic(last)
        // What a killed process committed may not be on the disk yet.
        synchronizedSequence = Atomic(session.wasClean ? last : 0)
        scratch = .allocate(capacity: 1)
        scratch.initialize(to: WriterScratch())
    }

    deinit {
        scratch.deinitialize(count: 1)
        scratch.deallocate()
    }

    /// The wall clock; a reading after the year 2262 counts as that year, so that times after it are left.
    var now: UInt64 { min(options.clock(), UInt64(Int64.max)) }

    // MARK: Transactions

    /// Runs `body` as one transaction on this thread and returns when it is committed.
    func write<R>(durability: StoreDurability?, _ body: (WriteTransaction) throws -> R) throws -> R {
        try exclusively {
            try begin(durability ?? options.durability)
            let transaction = WriteTransaction(writer: self)
            let before = state
            do {
                let result = try body(transaction)
                try transaction.finish()
                try commit()
                return result
            } catch {
                transaction.abandon()
                rollback(to: before)
                throw error
            }
        }
    }

    /// Whether this thread is within a write.
    var isHeldByThisThread: Bool { holder.load(ordering: .relaxed) == Platform.threadID }

    /// Runs `body` while this thread alone may write.
    func exclusively<R>(_ body: () throws -> R) throws -> R {
        let thread = Platform.threadID
        guard holder.load(ordering: .relaxed) != thread else {
            throw DocDBError(
                .misuse,
                "a write was begun within a write of the same database, which would wait for itself; use the transaction at hand"
            )
        }
        return try lock.withLock { _ in
            holder.store(thread, ordering: .relaxed)
            defer { holder.store(0, ordering: .relaxed) }
            guard !isClosed else {
                throw DocDBError(.databaseClosed, "the database at \(directory.path) has been closed; open it again")
            }
            do {
                return try body()
            } catch let error as DocDBError where error.code == .storageFailed {
                throw explained(error)
            }
        }
    }

    /// The error of a write that failed because the disk takes no writes any more, where that is so.
    private func explained(_ error: DocDBError) -> DocDBError {
        guard !directory.fileSystem.isWritable(directory.database) else { return error }
        return DocDBError(
            .readOnly,
            "cannot write to \(directory.path): it may not be written to any more; make its disk writable, or change its permissions",
            context: error.context)
    }

    /// Begins an SQLite transaction of the wanted durability, with a session and times reserved before it.
    func begin(_ durability: StoreDurability) throws(DocDBError) {
        try session.prepare(self)
        try setSynchronous(full: durability == .full)
        try connection.prepare("BEGIN IMMEDIATE").run()
        state.log = changeLog.state
        scratch.pointee.capture.truncate(to: .init())
    }

    /// Commits what the transactions since `begin` have written, and tells the readers.
    func commit() throws(DocDBError) {
        let isCatalogChanged = state.isCatalogChanged
        if isCatalogChanged {
            let connection = connection
            try readers.publish(state.catalog) { () throws(DocDBError) in try connection.prepare("COMMIT").run() }
            state.isCatalogChanged = false
        } else {
            try connection.prepare("COMMIT").run()
            readers.endWithdrawal()
        }
        state.log = changeLog.state
        let last = state.log.nextSequence - 1
        committedSequence.store(last, ordering: .releasing)
        if isFullySynchronous { synchronizedSequence.store(last, ordering: .releasing) }
        if state.mustErase { eraseEvicted() }
        scratch.pointee.trim()
        if !observations.isEmpty { tellObservers(isCatalogChanged: isCatalogChanged, sequence: last) }
    }

    /// Clears the bytes of evicted documents from the write-ahead log, now or, where a reader still needs it, at the
    /// next checkpoint.
    private func eraseEvicted() {
        // The commit stands whether this succeeds or not; `mustErase` says so until it has.
        guard (try? checkpoint(waiting: false)) == true else { return }
        state.mustErase = false
    }

    /// Undoes all since `begin`, on disk and in memory.
    func rollback(to before: State) {
        connection.rollback()
        restore(before)
        readers.endWithdrawal()
    }

    /// Puts memory back to what it was before a transaction.
    func restore(_ before: State) {
        let hadCatalogChanges = state.isCatalogChanged
        state = before
        changeLog.state = before.log
        context.catalog = before.catalog
        lastCollection = nil
        for collection in collections.values { collection.forgetReservation() }
        if hadCatalogChanges {
            collections.removeAll()
            for index in observations.indices { observations[index].forgetNumbers() }
            context.invalidate()
        }
    }

    private func setSynchronous(full: Bool) throws(DocDBError) {
        guard full != isFullySynchronous else { return }
        try connection.execute(full ? "PRAGMA synchronous = FULL" : "PRAGMA synchronous = NORMAL")
        isFullySynchronous = full
    }

    /// Runs `body` in a transaction of its own that is on the disk when this returns; for the store's own facts.
    ///
    /// Where it fails, memory is as it was before.
    func commitDurably(_ body: () throws(DocDBError) -> Void) throws(DocDBError) {
        try setSynchronous(full: true)
        try connection.prepare("BEGIN IMMEDIATE").run()
        let before = state
        do throws(DocDBError) {
            try body()
            try connection.prepare("COMMIT").run()
        } catch {
            connection.rollback()
            state = before
            throw error
        }
    }

    /// The statements for what peers have told, made at the first use.
    func toldStatements() throws(DocDBError) -> ToldStatements {
        if let told { return told }
        let made = try ToldStatements(connection)
        told = made
        return made
    }

    // MARK: The write-ahead log

    /// Waits until all that is committed is on the disk itself, and returns the newest sequence number of it.
    func synchronize() throws(DocDBError) -> Int64 {
        let committed = committedSequence.load(ordering: .acquiring)
        if synchronizedSequence.load(ordering: .acquiring) >= committed { return committed }
        try writeAheadLog.synchronize(directory)
        var known = synchronizedSequence.load(ordering: .acquiring)
        while known < committed {
            let (exchanged, original) = synchronizedSequence.compareExchange(
                expected: known, desired: committed, ordering: .acquiringAndReleasing)
            if exchanged { break }
            known = original
        }
        return committed
    }

    /// Ends the session in order and closes the connection; those who observed are handed out to be told.
    func close(observers: inout [any CommitObserver]) throws(DocDBError) {
        asyncWrites.close()
        let failure: DocDBError? = lock.withLock { _ in
            guard !isClosed else { return nil }
            isClosed = true
            observers = observations.compactMap { $0.observer }
            observations = []
            defer {
                connection.close()
                writeAheadLog.close()
                storeLock.release()
            }
            do throws(DocDBError) {
                try session.end(self)
                return nil
            } catch {
                return error
            }
        }
        if let failure { throw failure }
    }
}

/// The buffers one transaction works in, kept from one to the next.
struct WriterScratch: ~Copyable {
    var body = ByteBuffer(capacity: 4096)
    var state = ByteBuffer(capacity: 1024)
    var oldBody = ByteBuffer(capacity: 4096)
    /// Whether the document that was loaded last had a body.
    var hasOldBody = false
    var undo = ByteBuffer(capacity: 1024)
    var transcoder = JSONTranscoder()
    /// The state of documents freshly inserted under `freshStamp`.
    var freshState = ByteBuffer(capacity: 64)
    var freshStamp: Stamp?
    var isFreshDefault = false
    var record = ChangeLogRecordBuilder()
    /// The changes of observed collections since `begin`.
    var capture = ChangeCapture()
    var recordBytes = ByteBuffer(capacity: 4096)
    /// Random bytes for document ids, drawn from the system many at a time.
    var randomBytes: [UInt8] = []
    var randomOffset = 0

    /// The most bytes a buffer keeps from one transaction to the next.
    private static let keptByteCount = 4 * 1024 * 1024

    /// Gives back the memory that a transaction of large documents took.
    mutating func trim() {
        if body.capacity > Self.keptByteCount { body = ByteBuffer(capacity: 4096) }
        if oldBody.capacity > Self.keptByteCount { oldBody = ByteBuffer(capacity: 4096) }
        if undo.capacity > Self.keptByteCount { undo = ByteBuffer(capacity: 1024) }
        if recordBytes.capacity > Self.keptByteCount { recordBytes = ByteBuffer(capacity: 4096) }
    }
}
