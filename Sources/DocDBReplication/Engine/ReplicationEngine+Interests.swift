import DocDBCore
package import DocDBQuery
import DocDBSync
import Synchronization

// What this peer wants, and what it asks others for.
extension ReplicationEngine {
    /// Adds a subscription, running or not; returns the number that ends it.
    ///
    /// Commits from now on are watched for documents that leave it.
    package func subscribe(collection: String, filter: Filter, policy: LeavingPolicy) throws -> UInt64 {
        let predicate = filter.description
        try checkUnion(collection, predicate)
        let id = lifecycle.withLock { state -> UInt64 in
            let id = state.nextSubscription
            state.nextSubscription += 1
            state.subscriptions.append(
                Subscription(
                    id: id, collection: collection, filter: filter, predicate: predicate, policy: policy))
            return id
        }
        watchSubscriptions()
        do {
            try updateWatching()
        } catch {
            unsubscribe(id)
            throw error
        }
        published.withLock { $0.subscriptions = subscriptionStatuses($0) }
        enqueue { $0.subscriptionsChanged() }
        return id
    }

    /// Checks that the subscriptions, with one more, can be put as one predicate for each collection.
    ///
    /// - Throws: `.limitReached`.
    private func checkUnion(_ collection: String, _ predicate: String) throws(DocDBError) {
        var elements = subscriptions.map { Interest.Element(collection: $0.collection, predicate: $0.predicate) }
        elements.append(Interest.Element(collection: collection, predicate: predicate))
        // Whatever is short has few parts.
        let byteCount = elements.reduce(0) { $0 + $1.predicate.utf8.count }
        guard byteCount > ReplicationLimits.checkedUnionByteCount || elements.count > SyncLimits.interestPredicateCount
        else { return }
        do {
            guard case .collections(let union) = try Interest.union([.collections(elements)]),
                union.count <= SyncLimits.interestPredicateCount
            else { throw DocDBError(.limitReached, "") }
            // What this peer cannot read, no other can.
            for element in union { _ = try Filter.parse(element.predicate) }
        } catch {
            throw DocDBError(
                .limitReached,
                "the subscriptions have too many parts together; cancel some, or subscribe to what includes them")
        }
    }

    /// Ends a subscription; what it brought stays.
    package func unsubscribe(_ id: UInt64) {
        let isKnown = lifecycle.withLock { state -> Bool in
            let count = state.subscriptions.count
            state.subscriptions.removeAll { $0.id == id }
            return state.subscriptions.count < count
        }
        guard isKnown else { return }
        watchSubscriptions()
        published.withLock { $0.subscriptions = subscriptionStatuses($0) }
        enqueue { $0.subscriptionsChanged() }
    }

    var subscriptions: [Subscription] { lifecycle.withLock { $0.subscriptions } }

    /// Has the router watch what comes into and leaves the subscriptions, where one of them evicts.
    private func watchSubscriptions() {
        subscribing.withLock { _ in
            let subscriptions = subscriptions
            let evicts = subscriptions.contains { $0.policy == .evict }
            router.watchSubscriptions(
                evicts ? subscriptions.map { ($0.collection, $0.filter, $0.policy == .evict) } : [])
        }
    }

    private func subscriptionsChanged() {
        isStatusDirty = true
        // Here and not in the call that ends one, which may come within a write. Where it fails, the store has closed.
        try? updateWatching()
        guard isRunning else { return }
        updateOwnInterest()
        announceToAll()
    }

    /// Brings this peer's own interest up to date with its subscriptions.
    func updateOwnInterest() {
        let subscriptions = subscriptions
        newestSubscription = subscriptions.last?.id ?? 0
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
        connection.announcedSubscription = newestSubscription
        guard announcement != connection.sentInterest else { return }
        connection.sentInterest = announcement
        connection.caughtUpSinceWallNanoseconds = nil
        connection.progress = nil
        isStatusDirty = true
        tell(connection, .interest(announcement))
    }
}
