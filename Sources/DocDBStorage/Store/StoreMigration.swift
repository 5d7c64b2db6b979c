import DocDBCore
import Schemas

/// Creates the schema of new stores and brings older ones to the version of this code, forward only.
enum StoreMigration {
    /// Checks that a database is a store of a version this code reads.
    static func checkIdentity(
        _ connection: SQLiteConnection, _ directory: StoreDirectory, mayBeEmpty: Bool
    ) throws(DocDBError) {
        // One moment: another process may be creating the store.
        try connection.execute("BEGIN")
        defer { connection.rollback() }
        let version = try connection.integer("PRAGMA user_version") ?? 0
        let application = try connection.integer("PRAGMA application_id") ?? 0
        if application == 0, version == 0, try connection.integer("SELECT count(*) FROM sqlite_master") == 0 {
            guard directory.fileSystem.kind(of: directory.incarnation) == .missing else {
                throw DocDBError(
                    .corrupted,
                    "the database of the store at \(directory.path) is empty though it was written to; restore a backup"
                )
            }
            guard mayBeEmpty else {
                throw DocDBError(
                    .notAStore,
                    "the store at \(directory.path) was never finished; open it for writing once to create it")
            }
            return
        }
        guard application == Store.applicationID else {
            throw DocDBError(
                .notAStore, "\(directory.database) is an SQLite database but no DocDB store; name another directory")
        }
        guard version <= Store.formatVersion else {
            throw DocDBError(
                .storeTooNew,
                "the store at \(directory.path) has format \(version), this DocDB reads up to \(Store.formatVersion); update DocDB",
                context: ["storeVersion": String(version), "supportedVersion": String(Store.formatVersion)])
        }
        guard version >= 1 else {
            throw DocDBError(.corrupted, "the store at \(directory.path) has lost its version; restore a backup")
        }
    }

    /// Creates or migrates the schema, all in one transaction: a store has the old version or the new one.
    static func migrate(
        _ connection: SQLiteConnection, _ directory: StoreDirectory, _ options: StoreOptions
    ) throws(DocDBError) {
        let version = try connection.integer("PRAGMA user_version") ?? 0
        guard version < Store.formatVersion else { return }
        try connection.execute("PRAGMA synchronous = FULL; BEGIN IMMEDIATE")
        do throws(DocDBError) {
            if version == 0 { try create(connection, options) }
            if version <= 1 { try addReplication(connection) }
            if version <= 2 { try connection.execute(StoreSchema.voided) }
            try connection.execute("PRAGMA user_version = \(Store.formatVersion)")
            try connection.execute("COMMIT; PRAGMA synchronous = NORMAL")
        } catch {
            connection.rollback()
            throw error
        }
    }

    private static func create(_ connection: SQLiteConnection, _ options: StoreOptions) throws(DocDBError) {
        try connection.execute(StoreSchema.version1)
        try StoreMetadata.set(.storeID, options.randomBytes(16), connection)
        try StoreMetadata.set(.clockReserved, 0, connection)
        try StoreMetadata.set(.isClean, 1, connection)
        try StoreMetadata.set(.oldestSequence, 1, connection)
        try StoreMetadata.set(.oldestSum, 0, connection)
        try connection.execute("PRAGMA application_id = \(Store.applicationID)")
    }

    /// Adds the tables of version 2.
    ///
    /// What the ids of older actors came from was not kept, so that none can be proven: the next session takes a new one.
    private static func addReplication(_ connection: SQLiteConnection) throws(DocDBError) {
        try connection.execute(StoreSchema.replication)
        try StoreMetadata.remove(.actor, connection)
    }

    /// Whether the database that a connection sees has the tables of replication; one open for reading may be older.
    static func hasReplication(_ connection: SQLiteConnection) throws(DocDBError) -> Bool {
        try connection.integer("PRAGMA user_version") ?? 0 >= 2
    }
}
