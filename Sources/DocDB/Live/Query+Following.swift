import DocDBCore
import DocDBLive
import DocDBStorage

/// The results of a query that is asked again and again, also of a database that another process writes to.
package struct FollowedResults {
    private var query: FollowedQuery
    private let store: Store

    fileprivate init(_ query: FollowedQuery, _ store: Store) {
        self.query = query
        self.store = store
    }

    /// What has changed since the last call, at first all results; nil where nothing visible has.
    package mutating func poll() throws -> LiveUpdate? { try query.poll(store).map { LiveUpdate($0) } }
}

extension Query {
    /// Begins to follow a query of a database by polling; use what it returns on one thread at a time.
    package func followed() throws -> FollowedResults {
        try checkIsRunnable()
        guard case .store(let store) = source else {
            throw DocDBError(.misuse, "only queries of the database itself change; make the query from its collection")
        }
        return FollowedResults(FollowedQuery(definition), store)
    }
}
