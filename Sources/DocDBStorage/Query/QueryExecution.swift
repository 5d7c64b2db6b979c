package import DocDBCore
import DocDBQuery

/// One result of a query; its bytes are valid only within the call that it is handed to.
package struct QueryRow {
    package let key: Int64
    /// The `_id`, as canonical CBOR.
    package let id: UnsafeRawBufferPointer
    /// The body, as the store encodes it, without `_id`.
    package let body: UnsafeRawBufferPointer
}

/// Runs a query at one moment of the store: a snapshot's, or a transaction's with its own writes.
///
/// Plans and compiled filters are kept with the context, so that a query that is asked again only runs. A collection that
/// does not exist has no documents.
package struct QueryExecution {
    private let definition: QueryDefinition
    private let context: ReadContext

    package init(_ definition: QueryDefinition, in context: ReadContext) {
        self.definition = definition
        self.context = context
    }

    private func prepared(isOrdered: Bool) throws(DocDBError) -> PreparedQuery? {
        try context.queries.query(definition, isOrdered: isOrdered, in: context)
    }

    /// Calls `body` with each result in order, until it returns false.
    ///
    /// The results are read while it goes on: `body` must not write to the collection. Where it may, use
    /// `forEachStable(_:)`.
    ///
    /// - Throws: `corrupted` where a document is damaged, `limitReached` where a document takes the predicate too many
    ///   steps or a sort too much memory, and what `body` throws.
    /// - Complexity: O(results) where an index finds them in order, O(documents) where none does.
    package func forEach(_ body: (QueryRow) throws -> Bool) throws {
        guard let query = try prepared(isOrdered: true) else { return }
        try query.running {
            try query.forEachResult(definition) { bytes, row in
                try body(QueryRow(key: row.int(0), id: query.id(of: row), body: bytes))
            }
        }
    }

    /// Calls `body` with the first results beyond a place in order, until it returns false.
    ///
    /// They are as many as the limit says; the offset is not looked at. `body` must not write to the collection.
    ///
    /// - Throws: as `forEach(_:)` does.
    /// - Complexity: O(results) where an index gives the order and can be entered at the place, else as `forEach(_:)`.
    package func forEach(beyond place: ResultPlace, _ body: (QueryRow) throws -> Bool) throws {
        guard let query = try prepared(isOrdered: true) else { return }
        try query.running {
            try query.forEachResult(definition, beyond: place) { bytes, row in
                try body(QueryRow(key: row.int(0), id: query.id(of: row), body: bytes))
            }
        }
    }

    /// Calls `body` with each result in order, until it returns false; which ones they are is settled before the first.
    ///
    /// So `body` may write to the collection. Results that it has deleted before their turn are left out; those that it
    /// has changed come as they are by then. Takes 8 bytes of memory a result.
    package func forEachStable(_ body: (QueryRow) throws -> Bool) throws {
        guard let query = try prepared(isOrdered: true) else { return }
        let keys = try query.running { try query.resultKeys(definition) }
        // What `body` writes may replace the query's statements and move the row's bytes: both are this call's own.
        let rows = try context.connection.prepareOnce(
            "SELECT id, body FROM documents_\(query.collection.number) WHERE key = ? AND body IS NOT NULL")
        var id = ByteBuffer()
        var bytes = ByteBuffer(capacity: 1024)
        for key in keys {
            rows.bind(1, key)
            guard try rows.step() else {
                rows.reset()
                continue
            }
            id.removeAll()
            rows.appendID(0, to: &id)
            bytes.removeAll()
            bytes.append(rows.blob(1))
            rows.reset()
            guard try body(QueryRow(key: key, id: id.bytes, body: bytes.bytes)) else { return }
        }
    }

    /// The document keys of the results, in order.
    package func keys() throws -> [Int64] {
        guard let query = try prepared(isOrdered: true) else { return [] }
        return try query.running { try query.resultKeys(definition) }
    }

    /// The ids of the results, in order.
    package func ids() throws -> [DocumentID] {
        var ids: [DocumentID] = []
        try forEach { row in
            ids.append(try DocumentID(canonicalCBOR: row.id))
            return true
        }
        return ids
    }

    /// Calls `body` with the first result and returns what it returns; nil where there is none.
    package func first<R>(_ body: (QueryRow) throws -> R) throws -> R? {
        let one = QueryExecution(
            definition.limited(to: min(definition.limit ?? 1, 1), offset: definition.offset), in: context)
        var result: R?
        try one.forEach { row in
            result = try body(row)
            return false
        }
        return result
    }

    /// The number of results.
    ///
    /// - Complexity: O(index entries counted), at a few nanoseconds each, where an index expresses the filter; else as
    ///   `forEach(_:)`.
    package func count() throws -> Int {
        guard let query = try prepared(isOrdered: false) else { return 0 }
        let total = try query.running { try query.countMatches() }
        return ResultWindow(definition).count(of: total)
    }

    /// Tells whether there is a result.
    package func exists() throws -> Bool {
        guard definition.limit != 0, let query = try prepared(isOrdered: false) else { return false }
        var rest = definition.offset
        return try query.running {
            try !query.scan(needsID: false) { _, _ in
                defer { rest -= 1 }
                return rest > 0
            }
        }
    }

    /// How the query is answered, in a line for people: what is read, what is tested, and what is sorted. No literals.
    package func explain() throws(DocDBError) -> String {
        guard let rows = try prepared(isOrdered: true), let counts = try prepared(isOrdered: false) else {
            return "no documents: there is no such collection"
        }
        let parts = [rows.plan.explanation(limit: definition.wantedCount), counts.plan.countExplanation]
        return parts.compactMap { $0 }.joined(separator: "; ")
    }
}
