import DocDBCore
package import DocDBStorage

/// A query over a store that another process may write to: it is run again when the store has changed, and compared.
///
/// A store that is open for reading hears of no commits, so its owner polls. Used by one thread at a time.
package final class FollowedQuery {
    private let definition: QueryDefinition
    private let store: Store
    private var window: ResultWindow<SharedDocument>
    private var hasDelivered = false
    /// The connection that was read last, and SQLite's data version on it, which only compares within one connection.
    private var lastContext: ReadContext?
    private var lastVersion: Int64 = -1

    package init(_ definition: QueryDefinition, store: Store) {
        self.definition = definition
        self.store = store
        window = ResultWindow(limit: definition.limit, offset: definition.offset)
    }

    /// What has changed since the last call, at first all results; nil where nothing visible has.
    ///
    /// - Throws: What reading the store throws.
    /// - Complexity: O(1) where nothing was committed; else as running the query, and O(n).
    package func poll() throws -> LiveQuery.Delivery? {
        try store.read { context in
            let isKnown = context === lastContext && context.dataVersion == lastVersion && lastVersion >= 0
            if !isKnown { try read(context) }
        }
        guard hasDelivered else {
            hasDelivered = true
            return .initial(window.takeSnapshot())
        }
        return window.takeEvent(isSame: SharedDocument.areSame).map { .update($0) }
    }

    private func read(_ context: ReadContext) throws {
        let capacity = ResultWindow<SharedDocument>.capacity(limit: definition.limit, offset: definition.offset)
        let rows = try definition.limited(to: capacity, offset: 0).resultRows(in: context) { row in
            SharedDocument(DocumentContent.make(id: row.id, body: row.body, names: context.names))
        }
        let isComplete = capacity.map { rows.count < $0 } ?? true
        window.replaceAll(with: rows, isComplete: isComplete, isSame: SharedDocument.areSame)
        lastContext = context
        lastVersion = context.dataVersion
    }
}
