package import DocDBCore
package import DocDBStorage

/// The replica that is a `Store`: documents, their change log, and the tables of peers beside them.
package final class StoreReplica: Replica {
    package let store: Store
    private let report: @Sendable (DocDBError) -> Void

    /// Makes a replica of a store that is open for writing, and begins its session of writing, so that it has an actor and
    /// an incarnation of its change log to tell of.
    ///
    /// - Parameter report: Is told what has to be known though nothing failed, such as a document that grew over the limit
    ///   by a merge; on the thread that wrote, after the commit.
    /// - Throws: `readOnly`, `databaseClosed`, `misuse` within a write, or as writing does.
    package init(_ store: Store, report: @escaping @Sendable (DocDBError) -> Void = { _ in }) throws {
        self.store = store
        self.report = report
        try store.beginSession()
    }

    package var storeID: [UInt8] {
        StoreIdentity.id(announced: store.storeID, peerKey: store.options.peerKey)
    }
    package var announcedID: [UInt8] { store.storeID }
    package var names: FieldNames { store.names }
    package var actors: ActorTable { store.actors }

    /// The actors of the store's own, oldest first, with what proves that they are.
    package func ownActors() throws -> [OwnActor] { try store.read { try $0.ownActors() } }

    package func read<R>(_ body: (any ReplicaReader) throws -> R) throws -> R {
        try store.read { context in try body(StoreReplicaReader(context)) }
    }

    package func write<R>(_ body: (any ReplicaWriter) throws -> R) throws -> R {
        var warnings: [DocDBError] = []
        let result = try store.write { transaction in
            let writer = try StoreReplicaWriter(transaction)
            let result = try body(writer)
            try writer.finish()
            warnings = writer.warnings
            return result
        }
        for warning in warnings { report(warning) }
        return result
    }

    package func synchronize() throws -> Int64 { try store.synchronize() }
}
