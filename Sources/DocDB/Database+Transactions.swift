import DocDBStorage

extension Database {
    /// Runs a closure as one transaction on this thread, and returns when it is committed.
    ///
    /// All that the closure writes becomes visible together. Where it throws, nothing is changed, and its error is thrown
    /// on. An operation that throws before it has written anything, as for malformed JSON or a document that exists
    /// already, leaves the transaction usable where the closure catches the error.
    ///
    /// ```swift
    /// try db.write { tx in
    ///     let accounts = tx.collection("accounts")
    ///     try accounts.update("ann") { $0["balance"].increment(by: -10) }
    ///     try accounts.update("bob") { $0["balance"].increment(by: 10) }
    /// }
    /// ```
    ///
    /// - Parameters:
    ///   - durability: how durable the commit is when this returns; nil for what the database was opened with.
    ///   - body: the work; the transaction is valid within it only.
    /// - Throws: what `body` throws; `DocDBError` with the code `misuse` within another write of this database,
    ///   `readOnly`, `databaseClosed`, `diskFull` or `storageFailed`.
    public func write<R>(durability: Durability? = nil, _ body: (Transaction) throws -> R) throws -> R {
        try store.write(durability: durability?.stored) { try Transaction.run(in: $0, names: store.names, body) }
    }

    /// Runs a closure as one transaction, and returns when it is committed; the task is suspended meanwhile.
    ///
    /// Transactions of tasks that wait at the same time are committed together, each whole or not at all, which makes
    /// them cheaper than as many synchronous ones. No thread of the cooperative pool is blocked.
    ///
    /// ```swift
    /// let id = try await db.write { tx in try tx.collection("cars").insert(car) }
    /// ```
    ///
    /// - Parameters:
    ///   - durability: how durable the commit is when this returns; nil for what the database was opened with.
    ///   - body: the work, which runs on the database's own thread; the transaction is valid within it only.
    /// - Throws: what `body` throws, and what the synchronous form throws; `cancelled` where the task is cancelled before
    ///   the write is queued.
    public func write<R: Sendable>(
        durability: Durability? = nil, _ body: @escaping @Sendable (Transaction) throws -> R
    ) async throws -> R {
        let names = store.names
        return try await store.write(durability: durability?.stored) {
            try Transaction.run(in: $0, names: names, body)
        }
    }

    /// Runs a closure that reads one consistent moment of the database, on this thread.
    ///
    /// ```swift
    /// let (cheap, all) = try db.read { snapshot in
    ///     let cars = snapshot.collection("cars")
    ///     return (try cars.find("price < 5000").count(), try cars.findAll().count())
    /// }
    /// ```
    ///
    /// - Parameter body: the work; the snapshot is valid within it only.
    /// - Throws: what `body` throws; `DocDBError` with the code `databaseClosed`, `busy` or `storageFailed`.
    public func read<R>(_ body: (Snapshot) throws -> R) throws -> R {
        try store.read { try Snapshot.run(in: $0, body) }
    }

    /// Runs a closure that reads one consistent moment of the database; the task is suspended meanwhile.
    ///
    /// - Parameter body: the work, which runs on a thread outside the cooperative pool; the snapshot is valid within it
    ///   only.
    /// - Throws: what `body` throws, and what the synchronous form throws.
    public func read<R: Sendable>(_ body: @escaping @Sendable (Snapshot) throws -> R) async throws -> R {
        try await store.read { try Snapshot.run(in: $0, body) }
    }
}
