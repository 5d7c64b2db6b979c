import DocDBCore
import DocDBReplication
import DocDBStorage

extension Database {
    /// The replication of the database: starting and stopping it, its configuration and its status.
    ///
    /// - Precondition: The database was opened with an identity, as only who has one can replicate.
    public var sync: DatabaseSync {
        guard let replication else { preconditionFailure(DatabaseSync.withoutIdentity.message) }
        return replication
    }
}
