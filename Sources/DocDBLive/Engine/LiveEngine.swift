import DocDBCore
import DocDBQuery
package import DocDBStorage
import Synchronization

/// Keeps the live queries of one store up to date: hears of each commit and tells only the queries that it concerns.
package final class LiveEngine: CommitObserver {
    private struct Registration {
        weak var query: LiveQuery?
        var collection: String
    }

    private struct State: ~Copyable, @unchecked Sendable {
        // Unchecked: the matcher is only used under the lock.
        let matcher: QueryMatcher
        var documents = SharedDocuments()
        var registrations: [MatcherID: Registration] = [:]
        /// The engine's numbers of the observed collections, and how many queries each has.
        var collections: [String: (number: Int64, count: Int)] = [:]
        var nextCollection: Int64 = 1
        var matches: [QueryMatcher.Match] = []
    }

    private struct Owner: ~Copyable {
        /// The store, which owns the engine.
        weak var store: Store?
    }

    private let names: FieldNames
    /// Guards the matcher and the registrations; taken by the writer's thread for each commit.
    private let state: Mutex<State>
    /// Serialises changes of what is observed, so that the store and the registrations agree.
    private let registering: Mutex<Owner>

    /// The engine of a store, made when it is first asked for; the store keeps it.
    package static func of(_ store: Store) -> LiveEngine {
        store.observerSlot.withLock { slot in
            if let known = slot as? LiveEngine { return known }
            let made = LiveEngine(store: store)
            slot = made
            return made
        }
    }

    private init(store: Store) {
        registering = Mutex(Owner(store: store))
        names = store.names
        state = Mutex(State(matcher: QueryMatcher(names: store.names)))
    }

    // MARK: Registering

    /// Begins to observe for a query; commits from now on reach it.
    func register(_ query: LiveQuery, _ definition: QueryDefinition) throws -> MatcherID {
        try registering.withLock { owner in
            let (id, isNew) = state.withLock { state -> (MatcherID, Bool) in
                let known = state.collections[definition.collection]
                let number = known?.number ?? state.nextCollection
                if known == nil { state.nextCollection += 1 }
                state.collections[definition.collection] = (number, (known?.count ?? 0) + 1)
                let id = state.matcher.add(collection: number, filter: definition.filter)
                state.registrations[id] = Registration(query: query, collection: definition.collection)
                return (id, known == nil)
            }
            guard isNew else { return id }
            do {
                try observe(owner.store)
            } catch {
                remove(id)
                throw error
            }
            return id
        }
    }

    /// Ends observing for a query.
    func unregister(_ id: MatcherID) {
        registering.withLock { owner in
            // Where the store is closed nobody is told any more, which is what is wanted.
            if remove(id) { try? observe(owner.store) }
        }
    }

    /// Removes a registration; returns whether its collection has no other.
    @discardableResult
    private func remove(_ id: MatcherID) -> Bool {
        state.withLock { state in
            guard let registration = state.registrations.removeValue(forKey: id) else { return false }
            state.matcher.remove(id)
            guard let known = state.collections[registration.collection] else { return false }
            let isLast = known.count <= 1
            state.collections[registration.collection] = isLast ? nil : (known.number, known.count - 1)
            return isLast
        }
    }

    private func observe(_ store: Store?) throws {
        let numbers = state.withLock { $0.collections.mapValues { $0.number } }
        try store?.observe(numbers, by: numbers.isEmpty ? nil : self)
    }

    // MARK: Documents

    /// The document with these bytes, shared among queries.
    func content(
        collection: String, key: Int64, id: UnsafeRawBufferPointer, body: UnsafeRawBufferPointer
    ) -> SharedDocument {
        state.withLock { state in
            guard let number = state.collections[collection]?.number else {
                return SharedDocument(DocumentContent.make(id: id, body: body, names: names))
            }
            return SharedDocument(
                state.documents.content(collection: number, key: key, id: id, body: body, names: names))
        }
    }

    // MARK: Commits

    package func didCommit(_ changes: CommittedChanges) {
        let work = state.withLock { state in
            Self.distribute(changes, &state, names)
        }
        for (query, changed) in work { query.apply(changed, sequence: changes.sequence) }
    }

    /// Finds the queries that a commit concerns, and what it did to the documents of each.
    private static func distribute(
        _ changes: CommittedChanges, _ state: inout State, _ names: FieldNames
    ) -> [(LiveQuery, [LiveQuery.Change])] {
        var places: [MatcherID: Int] = [:]
        var work: [(LiveQuery, [LiveQuery.Change])] = []
        for change in changes.changes {
            changes.withBytes(of: change) { id, before, after in
                state.matcher.match(
                    collection: change.collection, before: before, after: after, id: id, into: &state.matches)
                guard !state.matches.isEmpty else { return }
                var content: SharedDocument?
                for match in state.matches {
                    let place: Int
                    if let known = places[match.id] {
                        place = known
                    } else {
                        guard let query = state.registrations[match.id]?.query else { continue }
                        place = work.count
                        places[match.id] = place
                        work.append((query, []))
                    }
                    if match.matchesAfter, content == nil, let after {
                        content = SharedDocument(
                            state.documents.content(
                                collection: change.collection, key: change.key, id: id, body: after, names: names))
                    }
                    work[place].1.append(.init(key: change.key, content: match.matchesAfter ? content : nil))
                }
            }
        }
        return work
    }
}
