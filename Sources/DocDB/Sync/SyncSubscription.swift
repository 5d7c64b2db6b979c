import DocDBCore
import DocDBReplication

/// What a database asks its peers for: made by ``Query/subscribe(whenLeaving:)``.
///
/// A subscription lasts until it is cancelled or the database closes. Letting go of this object does not end it: what an
/// app replicates should not hang on who keeps which object.
public final class SyncSubscription: Sendable {
    /// What becomes of a document here that no subscription matches any more.
    public enum LeavingPolicy: Hashable, Sendable {
        /// It stays, as its last update left it, and gets no further ones.
        case keep
        /// It is evicted, once a keeper holds its changes; without a keeper it stays.
        case evict
    }

    /// The number of the subscription in this database.
    public let id: UInt64
    private let engine: ReplicationEngine

    init(id: UInt64, engine: ReplicationEngine) {
        self.id = id
        self.engine = engine
    }

    /// Ends the subscription; calls after the first do nothing. What it brought stays.
    public func cancel() { engine.unsubscribe(id) }

    /// How the subscription stands at each connected peer; nil once it is cancelled.
    public var status: SyncStatus.Subscription? { Self.find(id, engine.status) }

    /// The status as it changes, beginning with the present one; nil once the subscription is cancelled.
    ///
    /// ```swift
    /// for await status in subscription.statusUpdates {
    ///     if case .receiving(let received, let expected?) = status?.peers.first?.progress { show(received, expected) }
    /// }
    /// ```
    public var statusUpdates: SyncUpdates<SyncStatus.Subscription?> {
        let (id, engine) = (id, engine)
        return .newest(engine.statusObservers, of: engine, now: { engine.status }, { Self.find(id, $0) })
    }

    /// Waits until all that a connected peer told of the subscription is here.
    ///
    /// Returns at once where that is so already, and also when the subscription is cancelled, the database closes, or the
    /// task is cancelled; ``status`` tells.
    public func waitUntilCaughtUp() async {
        // Known is a subscription once its making has come through.
        var wasKnown = false
        for await status in statusUpdates {
            if let status { wasKnown = true; if status.isCaughtUp { return } } else if wasKnown { return }
        }
    }

    private static func find(_ id: UInt64, _ status: ReplicationStatus) -> SyncStatus.Subscription? {
        status.subscriptions.first { $0.id == id }.map { SyncStatus.Subscription($0) }
    }
}
