import DocDBCore

extension Database {
    /// The replication of the database: starting and stopping it, its configuration and its status.
    ///
    /// A database that was opened without an identity does not replicate: `sync.start()` and subscriptions throw `misuse`.
    public var sync: DatabaseSync { replication }
}
