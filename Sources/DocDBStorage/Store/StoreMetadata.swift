import DocDBCore

/// The single facts in the `meta` table, by name.
enum StoreMetadata {
    enum Name: String {
        /// 16 random bytes that name the store.
        case storeID = "store_id"
        /// The number of the actor that writes.
        case actor
        /// The time that no stamp passes before it is raised here, durably.
        case clockReserved = "clock_reserved"
        /// 1 where the store was closed in order, 0 while it is being written to.
        case isClean = "is_clean"
        /// The nonce that the incarnation file holds.
        case incarnationNonce = "incarnation_nonce"
        /// The inode of the incarnation file, which a copy does not share.
        case incarnationInode = "incarnation_inode"
        /// When the incarnation file was changed last, which a copy written over it does not share.
        case incarnationChangeTime = "incarnation_changed"
        /// The first sequence number that the change log still holds.
        case oldestSequence = "oldest_seq"
        /// The sum of content hashes of all documents before that.
        case oldestSum = "oldest_sum"
        /// The kind of identity under which the store has replicated.
        case identityKind = "identity_kind"
    }

    static func integer(_ name: Name, _ connection: SQLiteConnection) throws(DocDBError) -> Int64? {
        let statement = try connection.prepare("SELECT value FROM meta WHERE name = ?")
        defer { statement.reset() }
        statement.bind(1, name.rawValue)
        return try statement.step() ? statement.int(0) : nil
    }

    static func bytes(_ name: Name, _ connection: SQLiteConnection) throws(DocDBError) -> [UInt8]? {
        let statement = try connection.prepare("SELECT value FROM meta WHERE name = ?")
        defer { statement.reset() }
        statement.bind(1, name.rawValue)
        return try statement.step() ? [UInt8](statement.blob(0)) : nil
    }

    static func remove(_ name: Name, _ connection: SQLiteConnection) throws(DocDBError) {
        let statement = try connection.prepare("DELETE FROM meta WHERE name = ?")
        statement.bind(1, name.rawValue)
        try statement.run()
    }

    static func set(_ name: Name, _ value: Int64, _ connection: SQLiteConnection) throws(DocDBError) {
        let statement = try connection.prepare("INSERT OR REPLACE INTO meta (name, value) VALUES (?, ?)")
        statement.bind(1, name.rawValue)
        statement.bind(2, value)
        try statement.run()
    }

    static func set(_ name: Name, _ value: [UInt8], _ connection: SQLiteConnection) throws(DocDBError) {
        let statement = try connection.prepare("INSERT OR REPLACE INTO meta (name, value) VALUES (?, ?)")
        statement.bind(1, name.rawValue)
        statement.bind(2, copying: value)
        try statement.run()
    }
}
