/// What turns one array of results into the next.
///
/// The contract: take the old array; remove the elements at `deletions` and at the sources of `moves`, from the highest
/// index down; insert the new elements at `insertions` and at the targets of `moves`, from the lowest index up; replace
/// the elements at `updates`. That is the new array. Each new index occurs at most once among the insertions, the
/// targets and the updates, each old one at most once among the deletions and the sources. A move brings the new content
/// of its document. A document whose sort key did not change never moves, and what did not change occurs only where the
/// edge of a limit or an offset passed over it, as an insertion or a deletion.
package struct ResultDiff: Equatable, Sendable {
    /// A document that changed its place among the documents that stay.
    package struct Move: Equatable, Sendable {
        /// The index in the old array.
        package let source: Int
        /// The index in the new array.
        package let target: Int

        package init(source: Int, target: Int) {
            self.source = source
            self.target = target
        }
    }

    /// Indices in the new array, ascending.
    package var insertions: [Int]
    /// Indices in the old array, ascending.
    package var deletions: [Int]
    /// Indices in the new array of documents that changed and kept their place, ascending.
    package var updates: [Int]
    /// The fewest moves that bring the changed documents into order, by ascending target.
    package var moves: [Move]

    package init(insertions: [Int] = [], deletions: [Int] = [], updates: [Int] = [], moves: [Move] = []) {
        self.insertions = insertions
        self.deletions = deletions
        self.updates = updates
        self.moves = moves
    }

    /// Whether nothing changed.
    package var isEmpty: Bool { insertions.isEmpty && deletions.isEmpty && updates.isEmpty && moves.isEmpty }

    /// Returns the new array, given the old one and the new elements by their new index. O(n).
    ///
    /// The element is asked for only where the difference names its index.
    package func applying<Element>(
        to old: [Element], element: (Int) throws -> Element
    ) rethrows -> [Element] {
        let removed = Self.merged(deletions, moves.map(\.source).sorted())
        let inserted = Self.merged(insertions, moves.map(\.target))
        var result: [Element] = []
        result.reserveCapacity(old.count - removed.count + inserted.count)
        var nextRemoved = 0
        var nextInserted = 0
        for index in 0...old.count {
            while nextInserted < inserted.count, inserted[nextInserted] == result.count {
                result.append(try element(result.count))
                nextInserted += 1
            }
            guard index < old.count else { break }
            if nextRemoved < removed.count, removed[nextRemoved] == index {
                nextRemoved += 1
            } else {
                result.append(old[index])
            }
        }
        for index in updates { result[index] = try element(index) }
        return result
    }

    /// Merges two ascending lists.
    static func merged(_ left: [Int], _ right: [Int]) -> [Int] {
        if left.isEmpty { return right }
        if right.isEmpty { return left }
        var result: [Int] = []
        result.reserveCapacity(left.count + right.count)
        var next = 0
        for number in left {
            while next < right.count, right[next] < number {
                result.append(right[next])
                next += 1
            }
            result.append(number)
        }
        result += right[next...]
        return result
    }
}

/// One delivery to the consumer of a query.
package struct ResultEvent<Reference: Sendable>: Sendable {
    /// What was delivered before.
    package let old: ResultSnapshot<Reference>
    /// What is visible now.
    package let new: ResultSnapshot<Reference>
    /// What turns the one into the other; not empty.
    package let diff: ResultDiff
}
