/// The part of a sorted query's result that a live query holds, and what of it the consumer has not seen yet.
///
/// Without limit and offset all matching rows are held. With them the first `offset + limit` rows are, plus an overscan
/// that serves when rows before the edge leave. Where more rows match than are held, `bound` is the key up to which
/// every matching row is held; rows beyond it are not looked at. When leaves drain the overscan, `neededRefill` names
/// the rows that the owner is to supply.
///
/// A pure value without clock, storage or threads: the owner applies each commit and takes events when the consumer is
/// ready. Changes of several commits join into one event, which costs what changed, not what is held.
package struct ResultWindow<Reference: Sendable>: Sendable {
    package typealias Row = ResultRow<Reference>

    /// The rows that the owner is to supply: the first `count` ones whose sort key is greater than `after`.
    package struct Refill: Sendable {
        /// The last key up to which all matching rows are held.
        package let after: RowKey
        /// The last row held, no further than that; nil where none is.
        package let last: Row?
        /// How many rows make the window full again.
        package let count: Int
    }

    /// What happened to a document since the last delivery.
    struct Touch: Sendable {
        /// Its row at the last delivery; nil where it was not held.
        let deliveredRow: Row?
        /// Whether it changed; else it was only dropped from the end of the window.
        var isChanged: Bool
    }

    /// The most visible documents; nil for all.
    package let limit: Int?
    /// How many documents are skipped before the first visible one.
    package let offset: Int

    /// Where more than one in this many rows changed, a difference is found by a walk over all rows instead of looking
    /// the changed ones up; 0 for never. Both give the same.
    package var rowsPerLookup = WindowLimits.rowsPerLookup

    var rows: RowSequence<Reference>
    /// The row of each held document.
    var heldRows: [Int64: Row]
    /// Every matching row up to this key is held, and nothing is known beyond; nil where all matching rows are held.
    var bound: RowKey?
    /// The documents that were held, or came, and changed since the last delivery.
    var touched: [Int64: Touch] = [:]

    /// What the consumer got last; without documents before the first delivery.
    package internal(set) var delivered = ResultSnapshot<Reference>()

    /// Makes a window of the first `capacity(limit:offset:)` matching rows, in order.
    ///
    /// - Parameter isComplete: Whether no other rows match.
    /// - Complexity: O(n).
    package init(limit: Int? = nil, offset: Int = 0, rows: [Row] = [], isComplete: Bool = true) {
        self.limit = limit.map { max(0, $0) }
        self.offset = max(0, offset)
        self.rows = RowSequence(ordered: rows)
        heldRows = Dictionary(minimumCapacity: rows.count)
        for row in rows { heldRows[row.key] = row }
        bound = isComplete ? nil : rows.last?.sortKey ?? RowKey([])
        dropBeyondCapacity()
    }

    /// The most rows a window holds: limit, offset and overscan; nil where it holds all.
    package static func capacity(limit: Int?, offset: Int) -> Int? {
        guard let limit else { return nil }
        let overscan = max(limit, WindowLimits.leastOverscan)
        return max(0, limit).saturatingSum(max(0, offset)).saturatingSum(overscan)
    }

    var capacity: Int? { Self.capacity(limit: limit, offset: offset) }

    /// The number of rows held, visible or not.
    package var heldCount: Int { rows.count }

    /// The number of documents noted for the next event.
    package var pendingCount: Int { touched.count }

    /// Whether all matching rows are held.
    package var isComplete: Bool { bound == nil }

    /// The documents visible now, delivered or not. O(1).
    package var snapshot: ResultSnapshot<Reference> {
        let first = min(offset, rows.count)
        let end = limit.map { min(offset.saturatingSum($0), rows.count) } ?? rows.count
        return ResultSnapshot(rows: rows, visible: first..<max(first, end))
    }

    /// The rows to supply before the next event can be right; nil where the visible window is full or nothing is beyond.
    package var neededRefill: Refill? {
        guard let bound, let limit, let capacity, limit > 0, rows.count < offset.saturatingSum(limit) else {
            return nil
        }
        return Refill(after: bound, last: rows.last, count: capacity - rows.count)
    }

    /// The row of a held document, visible or not.
    package func row(of key: Int64) -> Row? { heldRows[key] }
}

/// The sizes that steer a result window.
package enum WindowLimits {
    /// The fewest rows held beyond the last visible one of a limited query.
    package static let leastOverscan = 32
    /// Commits with more changes of one query than this are merged in one pass.
    static let mostSingleChanges = 16
    /// The rows that a walk passes in the time of one search.
    static let rowsPerLookup = 32
    /// The changed documents noted before those without effect are looked for.
    static let leastTouchedBeforePruning = 1024
}

extension Int {
    /// The sum, or the greatest integer where there is none.
    func saturatingSum(_ other: Int) -> Int {
        let (sum, overflow) = addingReportingOverflow(other)
        return overflow ? .max : sum
    }
}
