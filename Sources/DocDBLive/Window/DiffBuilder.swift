/// Computes the difference of two snapshots from the documents that changed between them.
///
/// The work follows the number of changed documents: few are looked up in both snapshots, in one forward search over
/// each, and rows that did not change matter only where an edge of the visible range passed over them. Where a good part
/// of all documents changed, one pass over both snapshots is cheaper.
struct DiffBuilder<Reference: Sendable> {
    typealias Row = ResultRow<Reference>

    /// The rows that changed documents had, or have, and the documents' numbers.
    private struct Side {
        var rows: [Row] = []
        var documents: [Int] = []

        mutating func add(_ row: Row, _ document: Int) {
            rows.append(row)
            documents.append(document)
        }
    }

    /// A document present on both sides whose sort key changed.
    private struct Movable {
        let source: Int
        let target: Int
        var isFree = false
    }

    /// What became of the documents that changed or crossed an edge, in any order.
    private struct Found {
        var insertions: [Int] = []
        var deletions: [Int] = []
        var inPlace: [(source: Int, target: Int)] = []
        var movables: [Movable] = []
    }

    let old: ResultSnapshot<Reference>
    let new: ResultSnapshot<Reference>
    /// The window's `rowsPerLookup`.
    let rowsPerLookup: Int

    /// Returns the difference, by looking up each changed document or, where there are many, in one pass over all rows.
    ///
    /// - Parameters:
    ///   - touched: What happened since the old snapshot; nil where that is not known: all rows are then compared.
    ///   - heldRows: The present row of each document.
    ///   - isSame: Whether a document changed in place has its old content again.
    func build(
        touched: [Int64: ResultWindow<Reference>.Touch]?, heldRows: [Int64: Row],
        isSame: ((Reference, Reference) -> Bool)?
    ) -> ResultDiff {
        var found = Found()
        if let touched, rowsPerLookup <= 0 || touched.count <= (old.count + new.count) / rowsPerLookup {
            lookUp(touched, heldRows, into: &found)
        } else {
            scan(touched, into: &found)
        }
        var diff = ResultDiff(insertions: found.insertions, deletions: found.deletions)
        for (source, target) in found.inPlace where !(isSame?(old[source], new[target]) ?? false) {
            diff.updates.append(target)
        }
        diff.deletions.sort()
        diff.insertions.sort()
        if !found.movables.isEmpty { Self.addMoves(found.movables, to: &diff) }
        diff.updates.sort()
        return diff
    }

    // MARK: - Many changes

    /// Walks both snapshots side by side: rows that did not change are the same objects on both sides.
    private func scan(_ touched: [Int64: ResultWindow<Reference>.Touch]?, into found: inout Found) {
        var (source, target) = (0, 0)
        var gone: [Int64: Int] = [:]
        var come: [(key: Int64, index: Int)] = []
        while source < old.count, target < new.count {
            old.withChunk(at: source) { oldChunk in
                new.withChunk(at: target) { newChunk in
                    var (left, right) = (0, 0)
                    while left < oldChunk.count, right < newChunk.count {
                        if oldChunk[left].row === newChunk[right].row {
                            left += 1
                            right += 1
                        } else if oldChunk[left].precedes(newChunk[right]) {
                            gone[oldChunk[left].row.key] = source + left
                            left += 1
                        } else if newChunk[right].precedes(oldChunk[left]) {
                            come.append((newChunk[right].row.key, target + right))
                            right += 1
                        } else {
                            if touched.map({ $0[newChunk[right].row.key]?.isChanged ?? false }) ?? true {
                                found.inPlace.append((source + left, target + right))
                            }
                            left += 1
                            right += 1
                        }
                    }
                    source += left
                    target += right
                }
            }
        }
        for index in source..<old.count { gone[old.row(at: index).key] = index }
        for index in target..<new.count { come.append((new.row(at: index).key, index)) }
        for (key, target) in come {
            if let source = gone.removeValue(forKey: key) {
                found.movables.append(Movable(source: source, target: target))
            } else {
                found.insertions.append(target)
            }
        }
        found.deletions = Array(gone.values)
    }

    // MARK: - Few changes

    /// Looks each changed document up on both sides.
    private func lookUp(
        _ touched: [Int64: ResultWindow<Reference>.Touch], _ heldRows: [Int64: Row], into found: inout Found
    ) {
        var oldSide = Side()
        var newSide = Side()
        var isSameKey: [Bool] = []
        // The order of the dictionary does not matter: everything is sorted later.
        for (key, touch) in touched where touch.isChanged {
            let newRow = heldRows[key]
            if let oldRow = touch.deliveredRow { oldSide.add(oldRow, isSameKey.count) }
            if let newRow { newSide.add(newRow, isSameKey.count) }
            isSameKey.append(touch.deliveredRow?.sortKey == newRow?.sortKey)
        }
        let sources = Self.indices(of: oldSide, in: old, documentCount: isSameKey.count)
        let targets = Self.indices(of: newSide, in: new, documentCount: isSameKey.count)
        for (document, isSameKey) in isSameKey.enumerated() {
            switch (sources[document], targets[document]) {
            case (nil, nil): break
            case (let source?, nil): found.deletions.append(source)
            case (nil, let target?): found.insertions.append(target)
            case (let source?, let target?):
                if isSameKey {
                    found.inPlace.append((source, target))
                } else {
                    found.movables.append(Movable(source: source, target: target))
                }
            }
        }
        found.deletions += Self.indices(of: old, beyond: new, touched)
        found.insertions += Self.indices(of: new, beyond: old, touched)
    }

    /// Finds the visible indices of changed documents in one snapshot, in one pass in the order of their keys.
    private static func indices(
        of side: Side, in snapshot: ResultSnapshot<Reference>, documentCount: Int
    ) -> [Int?] {
        var indices = [Int?](repeating: nil, count: documentCount)
        var position = RowPosition.start
        for place in Row.order(of: side.rows) {
            indices[side.documents[place]] = snapshot.index(of: side.rows[place].sortKey, after: &position)
        }
        return indices
    }

    /// The unchanged rows of one snapshot that lie outside the visible range of the other.
    private static func indices(
        of snapshot: ResultSnapshot<Reference>, beyond other: ResultSnapshot<Reference>,
        _ touched: [Int64: ResultWindow<Reference>.Touch]
    ) -> [Int] {
        var leading = 0..<snapshot.count
        var trailing = 0..<0
        if let bounds = other.bounds {
            leading = 0..<snapshot.lowerBound(of: bounds.first)
            var first = snapshot.lowerBound(of: bounds.last)
            if first < snapshot.count, snapshot.row(at: first).sortKey == bounds.last { first += 1 }
            trailing = max(first, leading.upperBound)..<snapshot.count
        }
        var result: [Int] = []
        for range in [leading, trailing] {
            // Changed documents are counted apart.
            for index in range where !(touched[snapshot.row(at: index).key]?.isChanged ?? false) {
                result.append(index)
            }
        }
        return result
    }

    /// Sorts documents whose key changed into those that keep their place among the others and those that move.
    ///
    /// A row whose key did not change is fixed. A document with as many fixed rows before it on both sides may stay; of
    /// those, the longest subsequence that is in order on both sides stays, the others move.
    private static func addMoves(_ documents: [Movable], to diff: inout ResultDiff) {
        var movables = documents
        movables.sort { $0.source < $1.source }
        var loose = 0
        var fixedBefore: [Int] = []
        fixedBefore.reserveCapacity(movables.count)
        for (index, movable) in movables.enumerated() {
            while loose < diff.deletions.count, diff.deletions[loose] < movable.source { loose += 1 }
            fixedBefore.append(movable.source - loose - index)
        }
        var order = Array(movables.indices)
        order.sort { movables[$0].target < movables[$1].target }
        loose = 0
        for (index, document) in order.enumerated() {
            let target = movables[document].target
            while loose < diff.insertions.count, diff.insertions[loose] < target { loose += 1 }
            movables[document].isFree = fixedBefore[document] == target - loose - index
        }
        let free = order.filter { movables[$0].isFree }
        let stays = ResultDiff.longestIncreasingSubsequence(of: free.map { movables[$0].source })
        for (document, stays) in zip(free, stays) where !stays { movables[document].isFree = false }
        for document in order {
            let movable = movables[document]
            if movable.isFree {
                diff.updates.append(movable.target)
            } else {
                diff.moves.append(ResultDiff.Move(source: movable.source, target: movable.target))
            }
        }
    }
}

extension ResultDiff {
    /// Tells which of the distinct numbers belong to one longest increasing subsequence (Fredman, 1975). O(n log n).
    static func longestIncreasingSubsequence(of numbers: [Int]) -> [Bool] {
        // The index of the least last number of an increasing subsequence of each length, and each number's predecessor.
        var ends: [Int] = []
        var predecessors: [Int] = []
        predecessors.reserveCapacity(numbers.count)
        for (index, number) in numbers.enumerated() {
            var low = 0
            var high = ends.count
            while low < high {
                let middle = low + (high - low) / 2
                if numbers[ends[middle]] < number { low = middle + 1 } else { high = middle }
            }
            predecessors.append(low > 0 ? ends[low - 1] : -1)
            if low == ends.count { ends.append(index) } else { ends[low] = index }
        }
        var members = [Bool](repeating: false, count: numbers.count)
        var index = ends.last ?? -1
        while index >= 0 {
            members[index] = true
            index = predecessors[index]
        }
        return members
    }
}
