import DocDBCore
package import DocDBStorage

/// A query over a store that another process may write to: it is run again when the store has changed, and compared.
package struct FollowedQuery: FollowedReader {
    private let definition: QueryDefinition
    private var window: ResultWindow<SharedDocument>
    private var hasDelivered = false
    /// The newest commit that was read.
    private var lastSequence: Int64 = -1

    package init(_ definition: QueryDefinition) {
        self.definition = definition
        window = ResultWindow(limit: definition.limit, offset: definition.offset)
    }

    /// - Complexity: O(1) where nothing was committed; else as running the query, and O(n).
    package mutating func poll(_ store: Store) throws -> LiveQuery.Delivery? {
        let (definition, lastSequence) = (definition, lastSequence)
        let capacity = ResultWindow<SharedDocument>.capacity(limit: definition.limit, offset: definition.offset)
        let found = try store.read { context -> (rows: [ResultRow<SharedDocument>], sequence: Int64)? in
            let sequence = try FollowLimits.sequence(context)
            guard sequence != lastSequence else { return nil }
            let part = definition.limited(to: capacity, offset: 0)
            let rows = try part.resultRows(in: context) { row in
                SharedDocument(DocumentContent.make(id: row.id, body: row.body, names: context.names))
            }
            return (rows, sequence)
        }
        if let found {
            let isComplete = capacity.map { found.rows.count < $0 } ?? true
            window.replaceAll(with: found.rows, isComplete: isComplete, isSame: SharedDocument.areSame)
            self.lastSequence = found.sequence
        }
        guard hasDelivered else {
            hasDelivered = true
            return .initial(window.takeSnapshot())
        }
        return found == nil ? nil : window.takeEvent(isSame: SharedDocument.areSame).map { .update($0) }
    }
}

/// The number of a query's results in a store that another process may write to.
package struct FollowedCount: FollowedReader {
    private let definition: QueryDefinition
    private var delivered: Int?
    private var lastSequence: Int64 = -1

    package init(_ definition: QueryDefinition) { self.definition = definition }

    package mutating func poll(_ store: Store) throws -> Int? {
        let (definition, lastSequence) = (definition, lastSequence)
        let found = try store.read { context -> (count: Int, sequence: Int64)? in
            let sequence = try FollowLimits.sequence(context)
            guard sequence != lastSequence else { return nil }
            return (try QueryExecution(definition, in: context).count(), sequence)
        }
        guard let found else { return nil }
        self.lastSequence = found.sequence
        guard found.count != delivered else { return nil }
        delivered = found.count
        return found.count
    }
}

/// The collections of a store that another process may write to, in the order of the bytes of their names.
package struct FollowedCollectionNames: FollowedReader {
    private var delivered: [String]?

    package init() {}

    package mutating func poll(_ store: Store) throws -> [String]? {
        let names = try store.readOnce { $0.catalog.names }
        guard names != delivered else { return nil }
        delivered = names
        return names
    }
}
