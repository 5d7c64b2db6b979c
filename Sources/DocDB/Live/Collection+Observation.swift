public import Dispatch
public import DocDBCore
import DocDBLive
import DocDBStorage
import Synchronization

extension Collection {
    /// Observes one document: calls a handler with it as it stands, and again whenever a commit changes it.
    ///
    /// ```swift
    /// let observation = try cars.observe(id: "car-000001", on: .main) { car in
    ///     title = car?["make"]?.stringValue ?? "gone"
    /// }
    /// ```
    ///
    /// - Parameters:
    ///   - id: the document's id; there need be no such document.
    ///   - queue: where the handler is called; a private one unless given. Calls never overlap.
    ///   - onError: called once where the store cannot be read; the observation has then ended.
    ///   - handler: gets the document, or nil while there is none.
    /// - Throws: as `Query.observe(on:onError:_:)` does.
    /// - Complexity: of a commit, O(1), however many documents are observed.
    public func observe(
        id: DocumentID, on queue: DispatchQueue? = nil, onError: @escaping @Sendable (any Error) -> Void = { _ in },
        _ handler: @escaping @Sendable (Document?) -> Void
    ) throws -> LiveObservation {
        let query = try find("_id == $id", ["id": id.value])
        let store = try query.observableStore()
        let last = Lock<Document??>(nil)
        return try ObservationCore<LiveQuery.Delivery>.start(
            on: queue, onError: onError,
            deliver: { delivery in
                // Ids that are equal as values, such as [1] and [1.0], are different documents.
                let found = LiveUpdate(delivery).documents.first { $0.id == id }
                let isNew = last.withLock { last -> Bool in
                    if let known = last, known.isSame(as: found) { return false }
                    last = .some(found)
                    return true
                }
                if isNew { handler(found) }
            },
            makeSource: { try query.liveSource(store, wake: $0) })
    }
}

extension Document? {
    /// Tells whether both are the same bytes, or both are nothing.
    fileprivate func isSame(as other: Document?) -> Bool {
        switch (self, other) {
        case (nil, nil): true
        case (let left?, let right?): left.hasSameBytes(as: right)
        default: false
        }
    }
}

extension Database {
    /// Observes the list of collections: calls a handler with their names, and again whenever a commit adds one.
    ///
    /// - Parameters:
    ///   - queue: where the handler is called; a private one unless given. Calls never overlap.
    ///   - onError: called once where the store cannot be read; the observation has then ended.
    ///   - handler: gets the names in the order of their UTF-8 bytes.
    /// - Throws: `DocDBError` with the code `misuse` within a write; `databaseClosed`.
    public func observeCollectionNames(
        on queue: DispatchQueue? = nil, onError: @escaping @Sendable (any Error) -> Void = { _ in },
        _ handler: @escaping @Sendable ([String]) -> Void
    ) throws -> LiveObservation {
        try ObservationCore<[String]>.start(
            on: queue, onError: onError, deliver: handler,
            makeSource: { [store] wake in
                guard store.hearsOfCommits else {
                    return try FollowedSource(FollowedCollectionNames(), store: store, wake: wake)
                }
                return try LiveCollectionNames(store: store, wake: wake)
            })
    }
}
