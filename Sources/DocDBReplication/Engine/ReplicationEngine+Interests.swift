import DocDBCore
package import DocDBQuery
import DocDBSync
import Synchronization

// What this peer wants, and what it asks others for.
extension ReplicationEngine {
    /// Adds a subscription, running or not; returns the number that ends it.
    package func subscribe(collection: String, filter: Filter, policy: LeavingPolicy) -> UInt64 {
        let id = nextSubscription.withLock { next -> UInt64 in
            defer { next += 1 }
            return next
        }
        let subscription = Subscription(
            id: id, collection: collection, filter: filter, predicate: filter.description, policy: policy)
        enqueue { engine in
            engine.subscriptions.append(subscription)
            engine.subscriptionsChanged()
        }
        return id
    }

    /// Ends a subscription; what it brought stays.
    package func unsubscribe(_ id: UInt64) {
        enqueue { engine in
            engine.subscriptions.removeAll { $0.id == id }
            engine.subscriptionsChanged()
        }
    }

    private func subscriptionsChanged() {
        isStatusDirty = true
        // Where none evicts, it matters to nobody what comes and goes.
        let isWatching = subscriptions.contains { $0.policy == .evict }
        router.watchSubscriptions(
            isWatching ? subscriptions.map { ($0.collection, $0.filter, $0.policy == .evict) } : [])
        guard isRunning else { return }
        updateOwnInterest()
        announceToAll()
    }

    /// Brings this peer's own interest up to date with its subscriptions.
    func updateOwnInterest() {
        let interest: Interest
        if configuration.wantsEverything {
            interest = .everything
        } else {
            let each = subscriptions.map {
                Interest.collections([Interest.Element(collection: $0.collection, predicate: $0.predicate)])
            }
            // Predicates of subscriptions are canonical texts of filters, which parse.
            interest = (try? Interest.union(each)) ?? .nothing
        }
        _ = interests.setOwn(interest, wallNanoseconds: executor.wallNanoseconds)
    }

    /// Tells every peer what is wanted of it, where that has changed.
    func announceToAll() {
        for connection in sortedConnections where connection.isEstablished { announce(to: connection) }
    }

    func announce(to connection: Connection) {
        let announcement = interests.announcement(to: connection.peerID, link: connection.number)
        guard announcement != connection.sentInterest else { return }
        connection.sentInterest = announcement
        connection.caughtUpSinceWallNanoseconds = nil
        connection.progress = nil
        isStatusDirty = true
        tell(connection, .interest(announcement))
    }
}
