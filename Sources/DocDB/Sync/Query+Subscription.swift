import DocDBCore
import DocDBQuery
import DocDBReplication
import DocDBStorage
import DocDBSync
import Synchronization

extension Query {
    /// Subscribes to the documents that match the query's predicate: asks all peers for them, now and as they change.
    ///
    /// ```swift
    /// let subscription = try cars.find("state == 'for sale'").subscribe(whenLeaving: .evict)
    /// await subscription.waitUntilCaughtUp()
    /// ```
    ///
    /// What several subscriptions match comes once. A document that begins to match comes; one that no longer does gets its
    /// last update, and then stays or is evicted, as the policy says. Peers give
    /// what this database's user may read.
    ///
    /// - Parameter policy: what becomes of a document that no subscription matches any more; it is kept unless given.
    ///   Documents that were here before the subscription and never matched it are left alone, and so is all of it when it
    ///   is cancelled.
    /// - Returns: the subscription, which lasts until it is cancelled or the database closes, whether it is kept or not.
    /// - Throws: `DocDBError` with the code `misuse` where the query is sorted, limited or has an offset, is of a snapshot or
    ///   a transaction, or the database was opened without an identity; `limitReached` where the predicate is too long;
    ///   `databaseClosed`, and what a query throws when it runs.
    @discardableResult
    public func subscribe(whenLeaving policy: SyncSubscription.LeavingPolicy = .keep) throws -> SyncSubscription {
        let store = try observableStore()
        guard definition.sort.isEmpty, definition.limit == nil, definition.offset == 0 else {
            throw DocDBError(
                .misuse,
                "a subscription is a predicate; leave out sort, limit and offset, and sort or limit the query that shows the documents"
            )
        }
        guard definition.filter.description.utf8.count <= SyncLimits.predicateByteCount else {
            throw DocDBError(
                .limitReached,
                "a subscription's predicate has at most \(SyncLimits.predicateByteCount) bytes; subscribe to its parts")
        }
        guard let sync = store.replication?.sync else { throw DatabaseSync.withoutIdentity }
        let engine = try sync.requireEngine()
        let id = try engine.subscribe(
            collection: definition.collection, filter: definition.filter, policy: policy == .evict ? .evict : .keep)
        return SyncSubscription(id: id, engine: engine)
    }
}

extension DatabaseSync {
    static var withoutIdentity: DocDBError {
        DocDBError(
            .misuse,
            "the database was opened without an identity, so it does not replicate; name one, as in Database(at: path, identity: .offlinePlayground(appID: id))"
        )
    }
}

/// Finds the replication of a store, without keeping it.
final class ReplicationHandle: Sendable {
    private let reference: Lock<Weak>

    private struct Weak {
        weak var sync: DatabaseSync?
    }

    init(_ sync: DatabaseSync) { reference = Lock(Weak(sync: sync)) }

    var sync: DatabaseSync? { reference.withLock { $0.sync } }
}

extension Store {
    /// The replication of the store; nil where it was opened without an identity.
    var replication: ReplicationHandle? { withReplication { $0 as? ReplicationHandle } }
}
