import DocDBCore

/// What a store holds and what that takes.
package struct StoreStatistics: Sendable {
    package struct CollectionStatistics: Sendable {
        package var name: String
        package var documentCount: Int64
        /// Deleted documents, of which only the version vector is kept.
        package var tombstoneCount: Int64
        package var indexes: [IndexStatistics]
    }

    package struct IndexStatistics: Sendable {
        package var definition: IndexDefinition
        package var entryCount: Int64
    }

    package struct LogStatistics: Sendable {
        package var recordCount: Int64
        package var oldestSequence: Int64
        package var lastSequence: Int64
        package var blockCount: Int64
        /// Records that are not folded into a block yet.
        package var tailCount: Int64
        package var byteCount: Int64
        /// The bytes before compression.
        package var rawByteCount: Int64
    }

    /// What the store keeps for replication.
    package struct ReplicationStatistics: Sendable, Equatable {
        /// Peers ever met.
        package var peerCount: Int64 = 0
        /// Documents that peers have told, each peer's counted.
        package var toldCount: Int64 = 0
        /// Documents not joined, here or by a peer.
        package var apartCount: Int64 = 0
        /// Deltas that wait because of their times.
        package var quarantineCount: Int64 = 0
        /// Documents evicted that have not come back.
        package var evictedCount: Int64 = 0
        /// Evictions that wait for acknowledgements.
        package var deferredEvictionCount: Int64 = 0
    }

    package var collections: [CollectionStatistics]
    package var log: LogStatistics
    package var replication: ReplicationStatistics
    package var databaseByteCount: Int64
    package var writeAheadLogByteCount: Int64
    /// Bytes of the database file that are free for reuse.
    package var freeByteCount: Int64
    package var fieldNameCount: Int
    package var actorCount: Int
    package var incarnationCount: Int64
    /// Whether values of evicted documents may still be in the write-ahead log, because a reader held it up.
    package var isErasurePending: Bool
}

extension Store {
    /// Counts what the store holds.
    ///
    /// - Complexity: O(documents).
    package func statistics() throws -> StoreStatistics {
        let isErasurePending = try writer?.exclusively { self.writer?.state.mustErase ?? false } ?? false
        return try read { context in
            let connection = context.connection
            let pageByteCount = try connection.integer("PRAGMA page_size") ?? 0
            let freePageCount = try connection.integer("PRAGMA freelist_count") ?? 0
            return StoreStatistics(
                collections: try context.catalog.names.compactMap { name in
                    try context.catalog[name].map { try Self.statistics(of: $0, connection) }
                },
                log: try Self.logStatistics(connection), replication: try Self.replicationStatistics(connection),
                databaseByteCount: directory.fileSystem.byteCount(of: directory.database),
                writeAheadLogByteCount: directory.fileSystem.byteCount(of: directory.writeAheadLog),
                freeByteCount: pageByteCount * freePageCount, fieldNameCount: names.count, actorCount: actors.count,
                incarnationCount: try connection.integer("SELECT count(*) FROM incarnations") ?? 0,
                isErasurePending: isErasurePending)
        }
    }

    private static func statistics(
        of collection: CollectionInfo, _ connection: SQLiteConnection
    ) throws(DocDBError) -> StoreStatistics.CollectionStatistics {
        let table = "documents_\(collection.number)"
        let all = try connection.integer("SELECT count(*) FROM \(table)") ?? 0
        let alive = try connection.integer("SELECT count(*) FROM \(table) WHERE body IS NOT NULL") ?? 0
        var indexes: [StoreStatistics.IndexStatistics] = []
        for index in collection.indexes {
            let count = try connection.integer("SELECT count(*) FROM index_\(index.number)") ?? 0
            indexes.append(.init(definition: index.definition, entryCount: count))
        }
        return .init(name: collection.name, documentCount: alive, tombstoneCount: all - alive, indexes: indexes)
    }

    private static func replicationStatistics(
        _ connection: SQLiteConnection
    ) throws(DocDBError) -> StoreStatistics.ReplicationStatistics {
        guard try StoreMigration.hasReplication(connection) else { return .init() }
        func count(_ rows: String) throws(DocDBError) -> Int64 {
            try connection.integer("SELECT count(*) FROM \(rows)") ?? 0
        }
        return .init(
            peerCount: try count("peers"), toldCount: try count("told"), apartCount: try count("apart"),
            quarantineCount: try count("quarantine"),
            evictedCount: try count("absent_documents WHERE evicted_seq IS NOT NULL"),
            deferredEvictionCount: try count("deferred_evictions"))
    }

    private static func logStatistics(_ connection: SQLiteConnection) throws(DocDBError)
        -> StoreStatistics.LogStatistics
    {
        let reader = ChangeLogReader(connection: connection)
        let rows = try reader.rows()
        let oldest = try reader.oldestSequence()
        let last = try reader.lastSequence()
        return .init(
            recordCount: max(0, last - oldest + 1), oldestSequence: oldest, lastSequence: last,
            blockCount: Int64(rows.count { $0.isFolded }), tailCount: Int64(rows.count { !$0.isFolded }),
            byteCount: rows.reduce(0) { $0 + $1.byteCount }, rawByteCount: rows.reduce(0) { $0 + $1.rawByteCount })
    }
}
