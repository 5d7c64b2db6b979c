import DocDBLive
import DocDBStorage

/// What happened to the results of an observed query since the last delivery.
///
/// To bring an array of the old results up to date, remove the elements at `deletions` and at the sources of `moves`, from
/// the highest index down; insert the new elements at `insertions` and at the targets of `moves`, from the lowest index up;
/// replace the elements at `updates`. ``applied(to:element:)`` does just that.
///
/// ```swift
/// switch event {
/// case .initial: table.reloadData()
/// case .update(let insertions, let deletions, let updates, let moves, _):
///     table.performBatchUpdates {
///         table.deleteRows(at: deletions)
///         table.insertRows(at: insertions)
///         for move in moves { table.moveRow(at: move.source, to: move.target) }
///     }
///     table.reloadRows(at: updates + moves.map(\.target))
/// }
/// ```
public enum LiveEvent: Sendable {
    /// The first delivery.
    case initial
    /// A later delivery: what turns the old results into the new ones. At least one of the lists is not empty.
    ///
    /// - `insertions`: indices in the new results, ascending.
    /// - `deletions`: indices in the old results, ascending.
    /// - `updates`: indices in the new results, ascending, of documents that changed and kept their place.
    /// - `moves`: documents that changed and with that their place; none of them is among the others.
    /// - `oldDocuments`: the results as they were delivered last.
    case update(
        insertions: [Int], deletions: [Int], updates: [Int], moves: [LiveMove], oldDocuments: LiveDocuments)

    init(_ event: ResultEvent<SharedDocument>) {
        self = .update(
            insertions: event.diff.insertions, deletions: event.diff.deletions, updates: event.diff.updates,
            moves: event.diff.moves.map { LiveMove(source: $0.source, target: $0.target) },
            oldDocuments: LiveDocuments(event.old))
    }

    /// Returns an array of the old results brought up to date.
    ///
    /// - Parameters:
    ///   - old: one element for each old result; not used for ``initial``, of which the result is empty.
    ///   - element: makes the element of an index in the new results; asked only where something is new or changed.
    /// - Complexity: O(n).
    public func applied<Element>(to old: [Element], element: (Int) throws -> Element) rethrows -> [Element] {
        guard case .update(let insertions, let deletions, let updates, let moves, _) = self else { return [] }
        let diff = ResultDiff(
            insertions: insertions, deletions: deletions, updates: updates,
            moves: moves.map { .init(source: $0.source, target: $0.target) })
        return try diff.applying(to: old, element: element)
    }
}

/// A document that changed its place among the results.
public struct LiveMove: Hashable, Sendable {
    /// The index in the old results.
    public let source: Int
    /// The index in the new results.
    public let target: Int

    /// Creates a move from an index of the old results to one of the new.
    public init(source: Int, target: Int) {
        self.source = source
        self.target = target
    }
}

/// One delivery of an observed query: its results at one moment, and what led to them.
public struct LiveUpdate: Sendable {
    /// The results now.
    public let documents: LiveDocuments
    /// What happened since the last delivery.
    public let event: LiveEvent

    init(_ delivery: LiveQuery.Delivery) {
        switch delivery {
        case .initial(let snapshot):
            documents = LiveDocuments(snapshot)
            event = .initial
        case .update(let change):
            documents = LiveDocuments(change.new)
            event = LiveEvent(change)
        }
    }
}
