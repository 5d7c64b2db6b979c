import DocDBCore
package import DocDBStorage

extension Store {
    /// Calls `body` with one moment of the store as replication sees it, also where the store is open for reading only.
    ///
    /// - Returns: nil where the store is older than the tables of peers, and nobody has written to it since.
    package func readReplica<R>(_ body: (any ReplicaReader) throws -> R) throws -> R? {
        try read { context in
            let tables = try context.connection.integer("SELECT count(*) FROM sqlite_schema WHERE name = 'peers'")
            guard let tables, tables > 0 else { return nil }
            return try body(StoreReplicaReader(context))
        }
    }
}
