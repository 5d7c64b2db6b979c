import DocDBCore
import DocDBQuery
package import DocDBStorage
import Synchronization

/// Keeps the live queries of one store up to date: hears of each commit and tells only the queries that it concerns.
///
/// Locks, in the order in which they may be taken: `registering`, then the store's write lock, then `state`; a query's own
/// lock is never taken under `state`. Commits come under the write lock, so they must not take `registering`: that is why
/// removing a registration does not tell the store, and the next commit that nobody wants does. The store owns the engine.
package final class LiveEngine: CommitObserver {
    /// An object, as a weak reference is costly to copy out of a dictionary.
    private final class Registration {
        weak let target: (any LiveTarget)?
        let collection: String
        let wantsContents: Bool

        init(target: any LiveTarget, collection: String, wantsContents: Bool) {
            self.target = target
            self.collection = collection
            self.wantsContents = wantsContents
        }
    }

    private struct WindowReference {
        weak var window: LiveWindow?
        let id: MatcherID
    }

    private struct CatalogRegistration {
        weak var target: (any CatalogTarget)?
    }

    /// The engine's number of a collection, kept for good, and how many queries it has.
    private struct ObservedCollection {
        let number: Int64
        var count = 0
    }

    private struct State: ~Copyable, @unchecked Sendable {
        // Unchecked: the matcher is only used under the lock.
        let matcher: QueryMatcher
        var documents = SharedDocuments()
        var registrations: [MatcherID: Registration] = [:]
        /// The windows that queries share.
        var windows: [QueryIdentity: WindowReference] = [:]
        var collections: [CollectionName: ObservedCollection] = [:]
        var catalogTargets: [Int: CatalogRegistration] = [:]
        var nextCatalogTarget = 0
        var matches: [QueryMatcher.Match] = []

        /// The numbers of the collections that have queries.
        var observed: [CollectionName: Int64] { collections.filter { $0.value.count > 0 }.mapValues(\.number) }
    }

    private let names: FieldNames
    private let wakeQueue = WakeQueue()
    /// Guards the matcher and the registrations; taken by the writer's thread for each commit, and held briefly.
    private let state: Lock<State>
    /// Serialises additions, so that the store is told of them in their order. Held while waiting for the write lock.
    private let registering = Lock<Void>(())

    /// The engine of a store, made when it is first asked for; the store keeps it.
    package static func of(_ store: Store) -> LiveEngine {
        store.withObserver { slot in
            if let known = slot as? LiveEngine { return known }
            let made = LiveEngine(store: store)
            slot = made
            return made
        }
    }

    private init(store: Store) {
        names = store.names
        state = Lock(State(matcher: QueryMatcher(names: store.names)))
    }

    // MARK: Registering

    /// Adds a consumer to the window of a query, which is made where there is none; commits that end after this returns
    /// reach it.
    func attach(
        _ definition: QueryDefinition, in store: Store, wake: WakeQueue.Wake
    ) throws -> (window: LiveWindow, consumer: Int) {
        try store.checkIsObservable()
        let identity = QueryIdentity(definition)
        return try registering.withLock { _ in
            let known = state.withLock { $0.windows[identity]?.window }
            if let known, let consumer = known.attach(wake: wake) { return (known, consumer) }
            let made = try LiveWindow(definition, engine: self, store: store)
            guard let consumer = made.attach(wake: wake) else { throw LiveFailure.databaseClosed }
            let id = try add(made, definition, in: store)
            made.setID(id)
            state.withLock { $0.windows[identity] = WindowReference(window: made, id: id) }
            return (made, consumer)
        }
    }

    /// Ends observing for a window, from any thread, the writer's too.
    func unregister(_ id: MatcherID, _ definition: QueryDefinition) {
        let identity = QueryIdentity(definition)
        state.withLock { state in
            if state.windows[identity]?.id == id { state.windows[identity] = nil }
        }
        unregister(id)
    }

    /// Begins to observe for a query; commits that end after this returns reach it.
    func register(_ target: some LiveTarget, _ definition: QueryDefinition, in store: Store) throws -> MatcherID {
        try store.checkIsObservable()
        return try registering.withLock { _ in try add(target, definition, in: store) }
    }

    /// The same, while `registering` is held.
    private func add(
        _ target: some LiveTarget, _ definition: QueryDefinition, in store: Store
    ) throws -> MatcherID {
        let (id, isNew) = state.withLock { state -> (MatcherID, Bool) in
            var collection =
                state.collections[CollectionName(definition.collection)]
                ?? ObservedCollection(number: Int64(state.collections.count + 1))
            collection.count += 1
            state.collections[CollectionName(definition.collection)] = collection
            let id = state.matcher.add(collection: collection.number, filter: definition.filter)
            state.registrations[id] = Registration(
                target: target, collection: definition.collection, wantsContents: target.wantsContents)
            return (id, collection.count == 1)
        }
        guard isNew else { return id }
        do {
            try observe(store)
        } catch {
            unregister(id)
            throw error
        }
        return id
    }

    /// Ends observing for a query, from any thread, the writer's too.
    func unregister(_ id: MatcherID) {
        state.withLock { state in
            guard let registration = state.registrations.removeValue(forKey: id) else { return }
            state.matcher.remove(id)
            state.collections[CollectionName(registration.collection)]?.count -= 1
        }
    }

    /// Begins to tell of added collections; returns the handle that ends it.
    func register(_ target: some CatalogTarget, in store: Store) throws -> Int {
        try store.checkIsObservable()
        return try registering.withLock { _ in
            let id = state.withLock { state -> Int in
                state.nextCatalogTarget += 1
                state.catalogTargets[state.nextCatalogTarget] = CatalogRegistration(target: target)
                return state.nextCatalogTarget
            }
            do {
                try observe(store)
            } catch {
                unregister(catalogTarget: id)
                throw error
            }
            return id
        }
    }

    /// Ends telling of added collections.
    func unregister(catalogTarget id: Int) { state.withLock { state in state.catalogTargets[id] = nil } }

    private func observe(_ store: Store) throws {
        let numbers = state.withLock { $0.observed }
        try store.observe(.numbered(numbers), by: self)
    }

    // MARK: Documents

    /// The document with these bytes, shared among queries.
    func content(
        collection: String, key: Int64, id: UnsafeRawBufferPointer, body: UnsafeRawBufferPointer
    ) -> SharedDocument {
        state.withLock { state in
            guard let number = state.collections[CollectionName(collection)]?.number else {
                return SharedDocument(DocumentContent.make(id: id, body: body, names: names))
            }
            return SharedDocument(
                state.documents.content(collection: number, key: key, id: id, body: body, names: names))
        }
    }

    // MARK: Commits

    package func didCommit(_ changes: CommittedChanges) -> ObservedCollections? {
        let (work, observed) = state.withLock { state -> (Work, [CollectionName: Int64]?) in
            let work = Self.distribute(changes, &state, names)
            // Where the last query of a collection has gone, its changes need not be collected from now on.
            let isWanted = changes.changes.allSatisfy { state.matcher.hasPredicates(collection: $0.collection) }
            return (work, isWanted ? nil : state.observed)
        }
        var sleepers: [WakeQueue.Wake] = []
        for item in work.items { item.target.apply(item.changes, sequence: changes.sequence, waking: &sleepers) }
        wakeQueue.add(sleepers)
        return observed.map { .numbered($0) }
    }

    package func didChangeCatalog() {
        let targets = state.withLock { state in state.catalogTargets.values.compactMap { $0.target } }
        for target in targets { target.catalogDidChange() }
    }

    package func didClose() {
        let (targets, catalogTargets) = state.withLock { state in
            (state.registrations.values.compactMap { $0.target }, state.catalogTargets.values.compactMap { $0.target })
        }
        for target in targets { target.storeDidClose() }
        for target in catalogTargets { target.storeDidClose() }
    }

    /// What a commit means to the queries that it concerns.
    private struct Work {
        var places: [MatcherID: Int] = [:]
        var items: [(target: any LiveTarget, wantsContents: Bool, changes: [LiveChange])] = []
    }

    /// Finds the queries that a commit concerns, and what it did to the documents of each.
    ///
    /// The targets are kept in the result, so that none of them ends under the lock.
    private static func distribute(
        _ changes: CommittedChanges, _ state: inout State, _ names: FieldNames
    ) -> Work {
        var work = Work()
        // One document matches each query once.
        let mayRepeat = changes.changes.count > 1
        for change in changes.changes {
            changes.withBytes(of: change) { id, before, after in
                state.matcher.match(
                    collection: change.collection, before: before, after: after, id: id, into: &state.matches)
                var content: SharedDocument?
                for match in state.matches {
                    let place: Int
                    if mayRepeat, let known = work.places[match.id] {
                        place = known
                    } else {
                        guard let registration = state.registrations[match.id], let target = registration.target else {
                            continue
                        }
                        place = work.items.count
                        if mayRepeat { work.places[match.id] = place }
                        work.items.append((target, registration.wantsContents, []))
                    }
                    var item = LiveChange(
                        key: change.key, matchedBefore: match.matchedBefore, matchesAfter: match.matchesAfter)
                    if match.matchesAfter, work.items[place].wantsContents, let after {
                        let shared =
                            content
                            ?? SharedDocument(
                                state.documents.content(
                                    collection: change.collection, key: change.key, id: id, body: after, names: names))
                        content = shared
                        item.content = shared
                    }
                    work.items[place].changes.append(item)
                }
            }
        }
        return work
    }
}
