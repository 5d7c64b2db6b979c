extension ResultWindow {
    /// Takes what is visible now as a first delivery, without a difference.
    package mutating func takeSnapshot() -> ResultSnapshot<Reference> {
        delivered = snapshot
        touched.removeAll()
        return delivered
    }

    /// Takes one event with all that changed visibly since the last delivery; nil where nothing did.
    ///
    /// A window with a `neededRefill` lacks rows: supply them first.
    ///
    /// - Parameter isSame: Whether a document that changed in place has its old content; it is then not in the event.
    ///   Without it every change in place counts.
    /// - Complexity: O(m log(n / m) + m log m) for m documents changed since the last delivery, O(n) for many.
    package mutating func takeEvent(
        isSame: ((Reference, Reference) -> Bool)? = nil
    ) -> ResultEvent<Reference>? {
        let new = snapshot
        let old = delivered
        let diff = DiffBuilder(old: old, new: new, rowsPerLookup: rowsPerLookup)
            .build(touched: touched, heldRows: heldRows, isSame: isSame)
        delivered = new
        touched.removeAll(keepingCapacity: touched.count <= WindowLimits.leastTouchedBeforePruning)
        return diff.isEmpty ? nil : ResultEvent(old: old, new: new, diff: diff)
    }

    /// Takes note that what is visible now has been delivered, and returns what happened since the last time.
    mutating func takeTouched() -> [Int64: Touch] {
        delivered = snapshot
        defer { touched = [:] }
        return touched
    }

    /// Stops a debug build where the parts of the window disagree. O(n).
    package func checkInvariants() {
        #if DEBUG
            rows.checkInvariants()
            precondition(heldRows.count == rows.count, "one row a document")
            for chunk in rows.chunks {
                for entry in chunk { precondition(heldRows[entry.row.key] === entry.row, "row of a document") }
            }
            if let capacity { precondition(rows.count <= capacity, "no more rows than the window holds") }
            if let bound, rows.count > 0 {
                precondition(rows[rows.count - 1].sortKey <= bound, "no rows beyond the bound")
            }
            precondition(limit != nil || bound == nil, "a window without limit holds all rows")
        #endif
    }
}
