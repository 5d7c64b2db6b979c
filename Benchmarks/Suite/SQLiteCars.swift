import CSQLite

/// What both sides set on their databases, so that they pay for the same.
enum SharedSettings {
    static let pragmas = [
        "PRAGMA page_size = 4096",
        "PRAGMA journal_mode = WAL",
        "PRAGMA cache_size = -16384",
        "PRAGMA wal_autocheckpoint = 4000",
        "PRAGMA mmap_size = 0",
        "PRAGMA secure_delete = \(secureDelete)",
    ]

    /// Must be what the store of DocDB sets: with it, deleted bytes are overwritten.
    static let secureDelete = "ON"
}

/// The peer: cars as JSON text in plain SQLite, written with the same care as the engine.
///
/// One table `(id TEXT PRIMARY KEY, doc TEXT)`, prepared statements reused, ids given ready-made, texts bound where they
/// lie, `json_extract` in predicates, and indexes over those expressions.
final class SQLiteCars {
    private let connection: OpaquePointer
    private var statements: [String: SQLiteStatement] = [:]

    /// Opens the database at `path`, making it where there is none.
    init(at path: String, synchronous: String = "NORMAL") throws {
        var handle: OpaquePointer?
        let flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX
        guard sqlite3_open_v2(path, &handle, flags, nil) == SQLITE_OK, let handle else {
            throw BenchmarkError("SQLite cannot open \(path)")
        }
        connection = handle
        for pragma in SharedSettings.pragmas { try execute(pragma) }
        try execute("PRAGMA synchronous = \(synchronous)")
        try execute("CREATE TABLE IF NOT EXISTS cars(id TEXT PRIMARY KEY, doc TEXT)")
    }

    deinit {
        statements.removeAll()
        sqlite3_close_v2(connection)
    }

    func execute(_ sql: String) throws {
        guard sqlite3_exec(connection, sql, nil, nil, nil) == SQLITE_OK else {
            throw BenchmarkError("\(String(cString: sqlite3_errmsg(connection))) in: \(sql)")
        }
    }

    /// Returns the prepared statement of this text, made at its first use.
    func statement(_ sql: StaticString) throws -> SQLiteStatement {
        let text = "\(sql)"
        if let known = statements[text] { return known }
        let made = try SQLiteStatement(text, on: connection)
        statements[text] = made
        return made
    }

    /// Moves the write-ahead log into the database file and empties it.
    func checkpoint() throws { try execute("PRAGMA wal_checkpoint(TRUNCATE)") }

    // MARK: Writing

    /// Inserts these documents in transactions of `batch`; a batch of one commits by itself.
    func insert(_ positions: Range<Int>, of workload: CarsWorkload, batch: Int) throws {
        let insert = try statement("INSERT INTO cars(id, doc) VALUES(?1, ?2)")
        try inBatches(positions.count, of: batch) { offset in
            insert.bind(workload.ids[positions.lowerBound + offset], at: 1)
            insert.bind(workload.texts[positions.lowerBound + offset], at: 2)
            try insert.run()
        }
    }

    /// Sets new prices in transactions of `batch`.
    func update(_ workload: CarsWorkload, batch: Int) throws {
        let update = try statement("UPDATE cars SET doc = json_set(doc, '$.price', ?2) WHERE id = ?1")
        try inBatches(workload.updates.count, of: batch) { offset in
            let (position, price) = workload.updates[offset]
            update.bind(workload.ids[position], at: 1)
            update.bind(price, at: 2)
            try update.run()
        }
    }

    private func inBatches(_ count: Int, of batch: Int, _ body: (Int) throws -> Void) throws {
        guard batch > 1 else {
            for offset in 0..<count { try body(offset) }
            return
        }
        let begin = try statement("BEGIN IMMEDIATE")
        let commit = try statement("COMMIT")
        for start in stride(from: 0, to: count, by: batch) {
            try begin.run()
            for offset in start..<min(start + batch, count) { try body(offset) }
            try commit.run()
        }
    }

    /// Makes the index of `index-count`.
    func createStateAndPriceIndex() throws {
        try execute("CREATE INDEX cars_state_price ON cars(json_extract(doc, '$.state'), json_extract(doc, '$.price'))")
    }

    /// Makes the index of `sort-limit-indexed`; with the id in it, ties need no sorting.
    func createPriceIndex() throws { try execute("CREATE INDEX cars_price ON cars(json_extract(doc, '$.price'), id)") }
}
