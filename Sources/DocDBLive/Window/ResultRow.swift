/// One document of a query's result: its place, its key in the store, and a reference to its contents.
///
/// An object, so that copying a chunk of rows costs one retain a row.
package final class ResultRow<Reference: Sendable>: Sendable {
    /// The place in the query's order.
    package let sortKey: RowKey
    /// The store's key of the document.
    package let key: Int64
    /// What the consumer gets.
    package let document: Reference

    package init(sortKey: RowKey, key: Int64, document: Reference) {
        self.sortKey = sortKey
        self.key = key
        self.document = document
    }
}

extension ResultRow {
    /// The indices of rows in the order of their keys; only keys with equal first bytes are compared beyond them.
    static func order(of rows: [ResultRow]) -> [Int] {
        var order: [(prefix: UInt64, index: Int)] = []
        order.reserveCapacity(rows.count)
        for (index, row) in rows.enumerated() { order.append((row.sortKey.prefix, index)) }
        order.sort {
            $0.prefix != $1.prefix
                ? $0.prefix < $1.prefix : rows[$0.index].sortKey < rows[$1.index].sortKey
        }
        return order.map(\.index)
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
