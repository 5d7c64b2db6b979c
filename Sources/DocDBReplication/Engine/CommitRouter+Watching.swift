import DocDBCore
package import DocDBQuery
import DocDBStorage
package import DocDBSync
import Synchronization

extension CommitRouter {
    /// What gathered for one session.
    package struct SessionNews {
        package var dirty: [DirtyDocument]
        package var evicted: [DocumentReference]
        /// The newest commit of which the router has heard.
        package var through: Int64
    }

    /// Begins with what was committed up to `sequence`, which is not told.
    package func begin(at sequence: Int64) { state.withLock { $0.newest = max($0.newest, sequence) } }

    /// Watches what concerns a session, in place of what was watched for it before; what has gathered for it stays.
    package func watch(_ scope: SessionScope, session: UInt64) {
        state.withLock { state in
            state.unwatch(session)
            guard !scope.isEverything else { return state.everything.insertInOrder(session) }
            for (name, filter) in scope.filters {
                let name = CollectionName(name)
                if filter == .everything {
                    _ = state.enter(name)
                    state.watched[name]?.whole.insertInOrder(session)
                    state.wholes[session, default: []].append(name)
                } else {
                    let id = state.add(filter, to: name, for: .session(session))
                    state.predicates[session, default: []].append(id)
                }
            }
        }
    }

    /// Ends watching for a session.
    package func forget(session: UInt64) {
        state.withLock { state in
            state.unwatch(session)
            state.dirty[session] = nil
            state.evicted[session] = nil
        }
    }

    /// Watches what comes into and leaves subscriptions, in place of the ones before.
    package func watchSubscriptions(_ filters: [(collection: String, filter: Filter, evicts: Bool)]) {
        state.withLock { state in
            for id in state.subscriptionPredicates { state.remove(id) }
            state.subscriptionPredicates = filters.map { name, filter, evicts in
                state.add(filter, to: CollectionName(name), for: .subscription(evicts: evicts))
            }
        }
    }

    /// Takes what has gathered for a session, and forgets it; nil where no commit came after `sequence`.
    package func take(session: UInt64, after sequence: Int64) -> SessionNews? {
        state.withLock { state in
            guard state.newest > sequence else { return nil }
            return SessionNews(
                dirty: state.dirty.removeValue(forKey: session)?.items ?? [],
                evicted: state.evicted.removeValue(forKey: session) ?? [], through: state.newest)
        }
    }

    /// How many collections are watched.
    package var watchedCollectionCount: Int { state.withLock { $0.watched.count } }

    /// Begins a pump: takes what concerns no session alone, and names the sessions that have news, ascending.
    package func beginPump() -> (gathered: Gathered, sessions: [UInt64]) {
        state.withLock { state in
            state.isScheduled = false
            defer { state.gathered = Gathered() }
            return (state.gathered, Set(state.dirty.keys).union(state.evicted.keys).sorted())
        }
    }
}

extension CommitRouter.State {
    /// Counts one more use of a collection, and returns the matcher's number of it.
    fileprivate mutating func enter(_ name: CollectionName) -> Int64 {
        if watched[name] == nil {
            lastNumber += 1
            watched[name] = CommitRouter.Watched(number: lastNumber)
        }
        watched[name]?.useCount += 1
        return watched[name]?.number ?? lastNumber
    }

    /// Counts one use less.
    private mutating func leave(_ name: CollectionName) {
        watched[name]?.useCount -= 1
        guard let known = watched[name], known.useCount == 0 else { return }
        watched[name] = nil
        matcher.forget(collection: known.number)
    }

    fileprivate mutating func add(
        _ filter: Filter, to name: CollectionName, for purpose: CommitRouter.Standing.Purpose
    ) -> MatcherID {
        let id = matcher.add(collection: enter(name), filter: filter)
        standing[id] = CommitRouter.Standing(collection: name, purpose: purpose)
        return id
    }

    fileprivate mutating func remove(_ id: MatcherID) {
        matcher.remove(id)
        if let gone = standing.removeValue(forKey: id) { leave(gone.collection) }
    }

    fileprivate mutating func unwatch(_ session: UInt64) {
        for id in predicates.removeValue(forKey: session) ?? [] { remove(id) }
        everything.removeAll { $0 == session }
        for name in wholes.removeValue(forKey: session) ?? [] {
            watched[name]?.whole.removeAll { $0 == session }
            leave(name)
        }
    }
}

extension [UInt64] {
    /// Inserts a number into an ascending array, unless it is there.
    mutating func insertInOrder(_ number: UInt64) {
        let index = firstIndex { $0 >= number } ?? endIndex
        guard index == endIndex || self[index] != number else { return }
        insert(number, at: index)
    }
}
