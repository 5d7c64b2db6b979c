import DocDBCore
import Synchronization

/// Connections for reading, handed out one at a time; each sees one consistent moment while it is in use.
final class ReaderPool: Sendable {
    /// The most idle connections that are kept open.
    private static let idleCountLimit = 8
    /// The pages one reader caches, in KiB.
    private static let cacheKibibytes = 16_384

    private struct State {
        var idle: [ReadContext] = []
        var catalog: Catalog
        var catalogVersion = 0
        /// The catalog without withdrawals, while the transaction that drops an index has not ended.
        var committedCatalog: Catalog?
        var isClosed = false
    }

    private let directory: StoreDirectory
    private let options: StoreOptions
    private let names: FieldNames
    private let actors: ActorTable
    private let isImmutable: Bool
    /// Whether another process may be writing, so that names and catalog are read again when the file has changed.
    private let isFollowing: Bool
    private let state: Lock<State>

    init(
        directory: StoreDirectory, options: StoreOptions, names: FieldNames, actors: ActorTable, catalog: Catalog,
        isImmutable: Bool, isFollowing: Bool
    ) {
        self.directory = directory
        self.options = options
        self.names = names
        self.actors = actors
        self.isImmutable = isImmutable
        self.isFollowing = isFollowing
        state = Lock(State(catalog: catalog))
    }

    /// Takes a connection that is open already as the first idle one.
    func adopt(_ connection: SQLiteConnection, catalog: Catalog) {
        let context = makeContext(connection, catalog: catalog, version: 0)
        state.withLock { $0.idle.append(context) }
    }

    /// Commits, and tells the readers that come what the catalog is from then on.
    ///
    /// No reader takes a catalog in between, so that nobody sees the commit's documents without its collections.
    func publish(_ catalog: Catalog, committing commit: () throws(DocDBError) -> Void) throws(DocDBError) {
        try state.withLock { (state) throws(DocDBError) in
            try commit()
            state.catalog = catalog
            state.catalogVersion += 1
            state.committedCatalog = nil
        }
    }

    /// Makes the readers that come do without an index, before the transaction that drops it commits: none of them then
    /// looks for a table that its moment no longer has.
    func withdraw(index number: Int64, collection name: String) {
        state.withLock {
            $0.committedCatalog = $0.committedCatalog ?? $0.catalog
            $0.catalog[name]?.indexes.removeAll { $0.number == number }
            $0.catalogVersion += 1
        }
    }

    /// Gives back the indexes that were withdrawn, where the transaction that dropped them did not commit.
    func endWithdrawal() {
        state.withLock {
            guard let committed = $0.committedCatalog else { return }
            $0.catalog = committed
            $0.catalogVersion += 1
            $0.committedCatalog = nil
        }
    }

    /// Closes the idle connections; those in use close when they come back.
    func close() {
        let idle = state.withLock { state in
            state.isClosed = true
            defer { state.idle = [] }
            return state.idle
        }
        for context in idle { context.connection.close() }
    }

    private func makeContext(_ connection: SQLiteConnection, catalog: Catalog, version: Int) -> ReadContext {
        let context = ReadContext(
            connection: connection, names: names, actors: actors, catalog: catalog, path: directory.path)
        context.catalogVersion = version
        return context
    }

    /// Takes an idle connection or opens one, with the newest catalog.
    private func borrow() throws(DocDBError) -> ReadContext {
        let (context, catalog, version) = state.withLock { ($0.idle.popLast(), $0.catalog, $0.catalogVersion) }
        if let context {
            adopt(catalog, version, by: context)
            return context
        }
        let connection = try SQLiteConnection(
            path: directory.database, mode: isImmutable ? .immutable : .readOnly,
            busyTimeoutMilliseconds: options.busyTimeoutMilliseconds, fileSystem: directory.fileSystem)
        connection.action = "read \(directory.path)"
        try connection.execute(
            "PRAGMA cache_size = -\(Self.cacheKibibytes); PRAGMA mmap_size = 0; PRAGMA temp_store = MEMORY")
        return makeContext(connection, catalog: catalog, version: version)
    }

    private func adopt(_ catalog: Catalog, _ version: Int, by context: ReadContext) {
        guard context.catalogVersion != version else { return }
        context.invalidate()
        context.catalog = catalog
        context.catalogVersion = version
    }

    /// Takes the newest catalog; false where the context had it already.
    private func takeNewCatalog(_ context: ReadContext) -> Bool {
        let known = context.catalogVersion
        let (catalog, version) = state.withLock { ($0.catalog, $0.catalogVersion) }
        guard version != known else { return false }
        adopt(catalog, version, by: context)
        return true
    }

    private func giveBack(_ context: ReadContext) {
        let isKept = state.withLock { state in
            guard !state.isClosed, state.idle.count < Self.idleCountLimit else { return false }
            state.idle.append(context)
            return true
        }
        if !isKept { context.connection.close() }
    }

    /// Calls `body` with a connection that sees the store as it stands now, until `body` returns.
    func withSnapshot<R>(_ body: (ReadContext) throws -> R) throws -> R {
        let context = try borrow()
        defer { giveBack(context) }
        try begin(context)
        defer { end(context) }
        while !isFollowing, takeNewCatalog(context) {
            // An index may have been dropped between the catalog and the moment; the moment must be the later one.
            end(context)
            try begin(context)
        }
        return try body(context)
    }

    /// Calls `body` with a connection for a single statement, which is a moment of its own.
    @inline(__always)
    func withConnection<R>(_ body: (ReadContext) throws -> R) throws -> R {
        if isFollowing { return try withSnapshot(body) }
        let context = try borrow()
        defer { giveBack(context) }
        return try body(context)
    }

    /// Calls `body` with a connection that no transaction runs on.
    func outsideTransaction<R>(_ body: (ReadContext) throws -> R) throws -> R {
        let context = try borrow()
        defer { giveBack(context) }
        return try body(context)
    }

    private func begin(_ context: ReadContext) throws(DocDBError) {
        try context.connection.prepare("BEGIN").run()
        do throws(DocDBError) {
            // The first read fixes the moment.
            let pin = try context.connection.prepare("SELECT 1 FROM meta WHERE name = 'store_id'")
            _ = try pin.step()
            pin.reset()
            if isFollowing { try follow(context) }
        } catch {
            end(context)
            throw error
        }
    }

    private func end(_ context: ReadContext) { context.connection.rollback() }

    /// Brings names and catalog up to date where another process has committed since.
    private func follow(_ context: ReadContext) throws(DocDBError) {
        let version = try context.connection.integer("PRAGMA data_version") ?? 0
        guard context.dataVersion != version else { return }
        try Store.readNames(into: names, context.connection)
        try Store.readActors(into: actors, context.connection)
        context.invalidate()
        context.catalog = try Catalog(reading: context.connection)
        context.dataVersion = version
    }
}
