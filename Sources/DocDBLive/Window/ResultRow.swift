/// One document of a query's result: its place, its key in the store, and a reference to its contents.
package struct ResultRow<Reference: Sendable>: Sendable {
    /// The place in the query's order.
    package let sortKey: RowKey
    /// The store's key of the document.
    package let key: Int64
    /// What the consumer gets; a class or a small struct, as rows are copied by chunks.
    package let document: Reference

    package init(sortKey: RowKey, key: Int64, document: Reference) {
        self.sortKey = sortKey
        self.key = key
        self.document = document
    }
}

/// What one commit made of one document, as one query sees it.
package struct ResultChange<Reference: Sendable>: Sendable {
    /// The store's key of the document.
    package let key: Int64
    /// The document's row after the commit; nil where it is gone or no longer matches.
    package let row: ResultRow<Reference>?

    /// The document is in the result after the commit, new, moved or changed in place.
    package init(_ row: ResultRow<Reference>) {
        self.key = row.key
        self.row = row
    }

    /// The document is not in the result after the commit.
    package init(leaving key: Int64) {
        self.key = key
        self.row = nil
    }
}
