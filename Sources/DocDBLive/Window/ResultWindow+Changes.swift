extension ResultWindow {
    /// Applies what one commit did to this query's documents, each named at most once.
    ///
    /// Documents that are not held and stay beyond the bound are ignored, so that changes may name any document.
    ///
    /// - Complexity: O(log n + chunk) each for few changes; O(m log m + chunks touched) for many.
    package mutating func apply(_ changes: [ResultChange<Reference>]) {
        if changes.count <= WindowLimits.mostSingleChanges {
            for change in changes { apply(change) }
        } else {
            merge(changes)
        }
        dropBeyondCapacity()
        pruneTouched()
    }

    private mutating func apply(_ change: ResultChange<Reference>) {
        let oldRow = heldRows[change.key]
        let row = held(change.row)
        note(change.key, oldRow: oldRow, isHeld: row != nil)
        heldRows[change.key] = row
        if let oldRow {
            let position = rows.lowerBound(of: oldRow.sortKey)
            if let row, row.sortKey == oldRow.sortKey {
                rows.replace(at: position, with: row)
                return
            }
            rows.remove(at: position)
        }
        if let row { rows.insert(row, at: rows.lowerBound(of: row.sortKey)) }
    }

    private mutating func merge(_ changes: [ResultChange<Reference>]) {
        var removals: [Row] = []
        var insertions: [Row] = []
        removals.reserveCapacity(changes.count)
        insertions.reserveCapacity(changes.count)
        if bound == nil { touched.reserveCapacity(touched.count + changes.count) }
        for change in changes {
            let row = held(change.row)
            let oldRow: Row?
            if let row {
                oldRow = heldRows.updateValue(row, forKey: change.key)
                insertions.append(row)
            } else {
                oldRow = heldRows.removeValue(forKey: change.key)
            }
            note(change.key, oldRow: oldRow, isHeld: row != nil)
            // A row whose key stays is replaced by its successor.
            if let oldRow, oldRow.sortKey != row?.sortKey { removals.append(oldRow) }
        }
        rows.merge(
            removing: Row.order(of: removals).map { removals[$0] },
            inserting: Row.order(of: insertions).map { insertions[$0] })
    }

    /// The row, unless it lies beyond what is held.
    private func held(_ row: Row?) -> Row? {
        guard let row else { return nil }
        if let bound, bound < row.sortKey { return nil }
        return row
    }

    /// Notes that a document changed since the last delivery.
    private mutating func note(_ key: Int64, oldRow: Row?, isHeld: Bool) {
        if oldRow != nil || isHeld {
            touched[key, default: Touch(deliveredRow: oldRow, isChanged: true)].isChanged = true
        } else if let index = touched.index(forKey: key) {
            // Dropped since the last delivery and changed meanwhile: a refill may bring it back.
            touched.values[index].isChanged = true
        }
    }

    /// Drops the rows that the window need not hold, and remembers up to where it is complete.
    mutating func dropBeyondCapacity() {
        guard let capacity, rows.count > capacity else { return }
        for row in rows.truncate(to: capacity) {
            heldRows[row.key] = nil
            if touched[row.key] == nil {
                touched[row.key] = Touch(deliveredRow: row, isChanged: false)
            }
        }
        bound = rows[capacity - 1].sortKey
    }

    /// Forgets changed documents that are neither held nor were delivered, so that a consumer that takes nothing costs
    /// no more memory than the rows.
    private mutating func pruneTouched() {
        let most = 2 * (rows.count + delivered.count) + WindowLimits.leastTouchedBeforePruning
        guard touched.count > most else { return }
        touched = touched.filter { key, touch in
            heldRows[key] != nil || touch.deliveredRow.map { delivered.index(of: $0.sortKey) != nil } ?? false
        }
    }
}

extension ResultWindow {
    /// Supplies the rows that `neededRefill` asked for, in order, as of the last applied commit.
    ///
    /// Rows as of a later commit will do where every later commit is applied as well, before the next event is taken. An
    /// answer that no longer fits, as the bound moved meanwhile, is ignored: `neededRefill` then tells what to ask for.
    ///
    /// - Parameter isComplete: Whether no matching rows lie beyond the last one.
    /// - Returns: Whether the answer fitted.
    @discardableResult
    package mutating func refill(_ newRows: [Row], for request: Refill, isComplete: Bool) -> Bool {
        guard let bound, bound == request.after else { return false }
        var insertions: [Row] = []
        var stale: [Row] = []
        insertions.reserveCapacity(newRows.count)
        for row in newRows where bound < row.sortKey {
            if let held = heldRows[row.key] {
                stale.append(held)
                note(row.key, oldRow: held, isHeld: true)
            } else if touched[row.key]?.deliveredRow?.sortKey != row.sortKey {
                // Not what was dropped since the last delivery: where it is visible, it is new or changed.
                touched[row.key, default: Touch(deliveredRow: nil, isChanged: true)].isChanged = true
            }
            heldRows[row.key] = row
            insertions.append(row)
        }
        rows.merge(removing: Row.order(of: stale).map { stale[$0] }, inserting: insertions)
        self.bound = isComplete ? nil : insertions.last?.sortKey ?? bound
        dropBeyondCapacity()
        return true
    }

    /// Replaces everything held by the result of a fresh query, where the changes in between are not known.
    ///
    /// - Parameters:
    ///   - newRows: The first `capacity(limit:offset:)` matching rows, in order.
    ///   - isComplete: Whether no other rows match.
    ///   - isSame: Whether a document held under the same sort key has the same content.
    /// - Complexity: O(n).
    package mutating func replaceAll(
        with newRows: [Row], isComplete: Bool, isSame: (Reference, Reference) -> Bool
    ) {
        var position = RowPosition.start
        var newHeldRows: [Int64: Row] = Dictionary(minimumCapacity: newRows.count)
        for row in newRows {
            newHeldRows[row.key] = row
            position = rows.lowerBound(of: row.sortKey, from: position)
            let isHeld = rows.holds(row.sortKey, at: position)
            if !isHeld || !isSame(rows[position].document, row.document) {
                note(row.key, oldRow: heldRows[row.key], isHeld: true)
            }
        }
        for chunk in rows.chunks {
            for entry in chunk where newHeldRows[entry.row.key] == nil {
                note(entry.row.key, oldRow: entry.row, isHeld: false)
            }
        }
        rows = RowSequence(ordered: newRows)
        heldRows = newHeldRows
        bound = isComplete ? nil : newRows.last?.sortKey ?? RowKey([])
        dropBeyondCapacity()
        pruneTouched()
    }
}
