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
            var predicates: [MatcherID] = []
            for (name, filter) in scope.filters {
                let number = state.number(of: CollectionName(name))
                if filter == .everything {
                    state.watched[CollectionName(name)]?.whole.insertInOrder(session)
                } else {
                    let id = state.matcher.add(collection: number, filter: filter)
                    state.standing[id] = .session(session)
                    predicates.append(id)
                }
            }
            state.predicates[session] = predicates
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
            for id in state.subscriptionPredicates {
                state.matcher.remove(id)
                state.standing[id] = nil
            }
            state.subscriptionPredicates = []
            for (name, filter, evicts) in filters {
                let id = state.matcher.add(collection: state.number(of: CollectionName(name)), filter: filter)
                state.standing[id] = .subscription(evicts: evicts)
                state.subscriptionPredicates.append(id)
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
    /// The matcher's number of a collection.
    mutating func number(of name: CollectionName) -> Int64 {
        if let known = watched[name] { return known.number }
        let number = Int64(watched.count + 1)
        watched[name] = CommitRouter.Watched(number: number)
        return number
    }

    mutating func unwatch(_ session: UInt64) {
        for id in predicates.removeValue(forKey: session) ?? [] {
            matcher.remove(id)
            standing[id] = nil
        }
        everything.removeAll { $0 == session }
        for name in watched.keys { watched[name]?.whole.removeAll { $0 == session } }
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
