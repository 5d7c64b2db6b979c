public import Dispatch
import DocDBCore
import DocDBLive
import DocDBStorage
import Synchronization

extension Query {
    /// Observes the query: calls a handler with its results, and again whenever a commit changes them.
    ///
    /// ```swift
    /// let cheapest = try cars.find("state == 'for sale'").sort("price").limit(20)
    /// let observation = try cheapest.observe(on: .main) { documents, event in
    ///     show(documents, event)
    /// }
    /// ```
    ///
    /// 1. The first event is ``LiveEvent/initial``; after that each tells what turns the last results into the new ones.
    /// 2. The documents of a delivery are those of one moment. One commit leads to at most one event, and to none where it
    ///    changes nothing of the results.
    /// 3. A write that has returned is in the next event.
    /// 4. Calls never overlap. While the handler runs, further changes gather and come as one event: a slow handler gets the
    ///    newest state, and one that never returns costs neither writers nor other observations anything.
    /// 5. A database that is open for reading hears of no commits: it looks for those of other processes ten times a second,
    ///    runs the query again where there are any, and delivers the difference.
    ///
    /// - Parameters:
    ///   - queue: where the handler is called; a private one unless given. A concurrent one is used one call at a time.
    ///   - onError: called once, on the same queue, where the store cannot be read any more; the observation has then ended.
    ///     The closing of the database ends it without an error.
    ///   - handler: gets the results and what happened to them.
    /// - Returns: the observation, which ends when it is cancelled or released.
    /// - Throws: `DocDBError` with the code `misuse` for queries of a snapshot, of a transaction, of the past, or within a
    ///   write; `databaseClosed`, and what running the query throws at once.
    /// - Complexity: of the first delivery as ``documents()``; of a commit, O(log n) for each changed document that the
    ///   query matched before or matches after, and nothing for others.
    public func observe(
        on queue: DispatchQueue? = nil, onError: @escaping @Sendable (any Error) -> Void = { _ in },
        _ handler: @escaping @Sendable (LiveDocuments, LiveEvent) -> Void
    ) throws -> LiveObservation {
        let store = try observableStore()
        return try ObservationCore<LiveQuery.Delivery>.start(
            on: queue, onError: onError,
            deliver: { delivery in
                let update = LiveUpdate(delivery)
                handler(update.documents, update.event)
            },
            makeSource: { try liveSource(store, wake: $0) })
    }

    /// Observes the query with its results decoded into a type of the app's own.
    ///
    /// ```swift
    /// let observation = try cars.findAll().sort("price").observe(as: Car.self, on: .main) { cars, event in
    ///     show(cars)
    /// }
    /// ```
    ///
    /// Only documents that are new or have changed are decoded for an event.
    ///
    /// - Parameters:
    ///   - type: a type whose properties are fields of the documents; it may have an `_id`.
    ///   - queue: where the handler is called; a private one unless given.
    ///   - onError: called once where a document does not fit the type (`typeMismatch`) or the store cannot be read; the
    ///     observation has then ended.
    ///   - handler: gets the decoded results and what happened to them.
    /// - Throws: as ``observe(on:onError:_:)-(DispatchQueue?,_,_)`` does.
    /// - Complexity: O(n) for an event, and the decoding of what is new or changed.
    public func observe<T: Decodable & Sendable>(
        as type: T.Type, on queue: DispatchQueue? = nil, onError: @escaping @Sendable (any Error) -> Void = { _ in },
        _ handler: @escaping @Sendable ([T], LiveEvent) -> Void
    ) throws -> LiveObservation {
        let store = try observableStore()
        let values = DecodedResults<T>()
        return try ObservationCore<LiveQuery.Delivery>.start(
            on: queue, onError: onError,
            deliver: { delivery in
                let update = LiveUpdate(delivery)
                handler(try values.update(update), update.event)
            },
            makeSource: { try liveSource(store, wake: $0) })
    }

    /// Observes how many results the query has; limit and offset count.
    ///
    /// ```swift
    /// let observation = try cars.find("state == 'for sale'").observeCount(on: .main) { badge.number = $0 }
    /// ```
    ///
    /// Holds no documents: a commit adds to the count what begins to match and takes away what no longer does.
    ///
    /// - Parameters:
    ///   - queue: where the handler is called; a private one unless given.
    ///   - onError: called once where the store cannot be read; the observation has then ended.
    ///   - handler: gets the count at first, and whenever it is another one.
    /// - Throws: as ``observe(on:onError:_:)-(DispatchQueue?,_,_)`` does.
    /// - Complexity: of the first delivery as ``count()``; of a commit, O(1) for each changed document that matters.
    public func observeCount(
        on queue: DispatchQueue? = nil, onError: @escaping @Sendable (any Error) -> Void = { _ in },
        _ handler: @escaping @Sendable (Int) -> Void
    ) throws -> LiveObservation {
        let store = try observableStore()
        return try ObservationCore<Int>.start(
            on: queue, onError: onError, deliver: handler,
            makeSource: { wake in
                guard store.hearsOfCommits else {
                    return try FollowedSource(FollowedCount(definition), store: store, wake: wake)
                }
                return try LiveCount(definition, store: store, wake: wake)
            })
    }

    /// What delivers the query's results: from commits, or by looking for those of another process.
    func liveSource(_ store: Store, wake: @escaping @Sendable () -> Void) throws -> any LiveSource<LiveQuery.Delivery> {
        guard store.hearsOfCommits else {
            return try FollowedSource(FollowedQuery(definition), store: store, wake: wake)
        }
        return try LiveQuery(definition, store: store, wake: wake)
    }

    /// The store that commits are heard of, where the query may be observed.
    func observableStore() throws -> Store {
        try checkIsRunnable()
        switch source {
        case .store(let store):
            try Catalog.validate(collectionName: definition.collection)
            if store.hearsOfCommits { try store.checkIsObservable() } else { try store.checkIsOpen() }
            return store
        case .scope, .past:
            throw DocDBError(
                .misuse, "only queries of the database itself change; make the query from a collection of the database")
        }
    }
}

/// Results of an observation as values of the app's own, brought up to date by each event.
private final class DecodedResults<T: Decodable & Sendable>: Sendable {
    private let values = Lock<[T]>([])

    func update(_ update: LiveUpdate) throws -> [T] {
        try values.withLock { values in
            if case .initial = update.event {
                values = try update.documents.decode()
            } else {
                values = try update.event.applied(to: values) { try update.documents[$0].decode() }
            }
            return values
        }
    }
}
