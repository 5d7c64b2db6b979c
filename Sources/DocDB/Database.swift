import DocDBReplication
package import DocDBStorage
import DocDBSync
import Synchronization

/// An open database: a directory that holds collections of documents.
///
/// One process writes to a database at a time; others may open it for reading. A database, and the collections of it,
/// may be used from any thread and task.
///
/// ```swift
/// let db = try Database(at: "cars.docdb")
/// let cars = db.collection("cars")
/// let id = try cars.insert(["make": "toyota", "state": "for sale", "price": 9_500])
/// for car in try cars.find("state == 'for sale'").sort("price").documents() { print(try car.json()) }
/// try db.close()
/// ```
///
/// The rules of concurrency, which <doc:Concurrency> gives reasons and advice for:
///
/// 1. Write transactions run one after another, in the order of their commits. A synchronous write blocks its thread
///    until its turn has come; an asynchronous one suspends its task, and is committed together with others that wait.
/// 2. A read sees one moment of the database, whatever is committed meanwhile, and blocks nobody.
/// 3. A transaction reads its own writes; nobody else does before it commits.
/// 4. A write within a write of the same database throws `misuse`, as it would wait for itself.
/// 5. Transactions, snapshots and what comes from them are valid within their closure only; later use throws
///    `misuse`. Documents, values and ids stay valid.
public final class Database: Sendable {
    package let store: Store
    /// The logins of the database; nil where its identity has none.
    let authentication: DatabaseAuthentication?
    let replication: DatabaseSync

    /// Opens the database at a path, and creates it where there is none and the options allow that.
    ///
    /// Opening takes about a millisecond, whatever the size.
    ///
    /// - Parameters:
    ///   - path: the database's directory, by custom named `name.docdb`; its parent must exist.
    ///   - options: access, durability and how much history is kept.
    ///   - identity: who the database is to peers; without one it does not replicate. See ``sync``.
    /// - Throws: `DocDBError` with the code `notAStore` where there is something else, or nothing and it may not be
    ///   created; `storeLocked` where another process writes to it, whose id the message names; `storeTooNew`,
    ///   `readOnly`, `corrupted`, `diskFull` or `storageFailed`; with an identity also `invalidValue`,
    ///   `readOnly` where the options say so, and `misuse` where the database has replicated under another kind of identity
    ///   that an offline playground would betray.
    public init(at path: String, options: Options = Options(), identity: Identity? = nil) throws {
        let authentication = try identity?.makeAuthentication(path: path)
        let authenticator = try authentication?.authenticator ?? identity?.makeAuthenticator()
        var stored = options.stored
        stored.peerKey = authenticator?.peerKey ?? []
        let store = try Store(path: path, options: stored)
        self.store = store
        self.authentication = authentication
        replication = try DatabaseSync(
            store: store, identity: identity, authenticator: authenticator, authentication: authentication,
            world: options.syncWorld)
        store.withReplication { [replication] in $0 = ReplicationHandle(replication) }
    }

    deinit { replication.abandon() }

    /// The path of the database's directory, as it was given.
    public var path: String { store.directory.path }

    /// Stops replication, ends writing in order and closes the database; calls after the first do nothing.
    ///
    /// Waits for the transaction that runs. Reads that run go on to the end of their closures; all other calls from now on
    /// throw `databaseClosed`. A database that nobody holds any more closes itself, but has nobody to
    /// tell of a failure.
    ///
    /// - Throws: `DocDBError` with the code `diskFull` or `storageFailed` where the last state cannot be written; the
    ///   database is closed all the same, and what was committed is found again at the next opening. `misuse` within a
    ///   write, and then it stays open.
    public func close() throws {
        try store.checkMayClose()
        replication.close()
        try store.close()
    }

    /// The collection with a name, which need not exist yet: the first document written to it creates it.
    ///
    /// - Parameter name: 1 to `Limits.collectionNameByteCount` bytes, not beginning with two underscores. Calls on a
    ///   collection whose name breaks that throw `invalidCollectionName`.
    public func collection(_ name: String) -> Collection { Collection(store: store, name: name) }

    /// The names of the collections there are, in the order of their UTF-8 bytes.
    ///
    /// - Throws: `DocDBError` with the code `databaseClosed`, or `storageFailed` on I/O failure.
    public func collectionNames() throws -> [String] { try store.readOnce { $0.catalog.names } }
}
