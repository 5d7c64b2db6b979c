/// Computes the difference of two snapshots from the documents that changed between them.
///
/// The work follows the number of changed documents: each is looked up in both snapshots, in one forward pass over each,
/// and rows that did not change matter only where an edge of the visible range passed over them.
struct DiffBuilder<Reference: Sendable> {
    typealias Row = ResultRow<Reference>

    /// The rows that changed documents had, or have, and the documents' numbers.
    private struct Side {
        var rows: [Row] = []
        var documents: [Int] = []
    }

    /// A document present on both sides whose sort key changed.
    private struct Movable {
        let source: Int
        let target: Int
        var isFree = false
    }

    let old: ResultSnapshot<Reference>
    let new: ResultSnapshot<Reference>
    private var oldSide = Side()
    private var newSide = Side()
    /// Whether each changed document has the same sort key on both sides.
    private var isSameKey: [Bool] = []

    init(old: ResultSnapshot<Reference>, new: ResultSnapshot<Reference>, changeCount: Int) {
        self.old = old
        self.new = new
        isSameKey.reserveCapacity(changeCount)
    }

    /// Notes a changed document with its rows on both sides, where it has them.
    mutating func add(oldRow: Row?, newRow: Row?) {
        if let oldRow {
            oldSide.rows.append(oldRow)
            oldSide.documents.append(isSameKey.count)
        }
        if let newRow {
            newSide.rows.append(newRow)
            newSide.documents.append(isSameKey.count)
        }
        isSameKey.append(oldRow?.sortKey == newRow?.sortKey)
    }

    /// Returns the difference.
    ///
    /// - Parameters:
    ///   - isChanged: Whether a document is among the added ones: the edges are searched for the others.
    ///   - isSame: Whether a document changed in place has its old content again.
    func build(isChanged: (Int64) -> Bool, isSame: ((Reference, Reference) -> Bool)?) -> ResultDiff {
        let sources = Self.indices(of: oldSide, in: old, documentCount: isSameKey.count)
        let targets = Self.indices(of: newSide, in: new, documentCount: isSameKey.count)
        var diff = ResultDiff()
        var movables: [Movable] = []
        for (document, isSameKey) in isSameKey.enumerated() {
            switch (sources[document], targets[document]) {
            case (nil, nil): break
            case (let source?, nil): diff.deletions.append(source)
            case (nil, let target?): diff.insertions.append(target)
            case (let source?, let target?):
                if !isSameKey {
                    movables.append(Movable(source: source, target: target))
                } else if !(isSame?(old[source], new[target]) ?? false) {
                    diff.updates.append(target)
                }
            }
        }
        diff.deletions += Self.indices(of: old, beyond: new, isChanged: isChanged)
        diff.insertions += Self.indices(of: new, beyond: old, isChanged: isChanged)
        diff.deletions.sort()
        diff.insertions.sort()
        if !movables.isEmpty { Self.addMoves(movables, to: &diff) }
        diff.updates.sort()
        return diff
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
        of snapshot: ResultSnapshot<Reference>, beyond other: ResultSnapshot<Reference>, isChanged: (Int64) -> Bool
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
        for index in leading where !isChanged(snapshot.row(at: index).key) { result.append(index) }
        for index in trailing where !isChanged(snapshot.row(at: index).key) { result.append(index) }
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
