import DocDBCore

/// What one commit changed in the collections that are observed: each document before and after, once.
package final class CommittedChanges: Sendable {
    /// One document that a commit changed.
    package struct Change: Sendable {
        /// The observer's number of the collection.
        package var collection: Int64
        package var key: Int64
        fileprivate var id: Range<Int>
        fileprivate var before: Range<Int>?
        fileprivate var after: Range<Int>?
    }

    /// The sequence number of the commit; of several that were grouped, the last.
    package let sequence: Int64
    /// The changed documents, in the order of their first change.
    package let changes: [Change]
    private let bytes: [UInt8]

    fileprivate init(sequence: Int64, changes: [Change], bytes: [UInt8]) {
        self.sequence = sequence
        self.changes = changes
        self.bytes = bytes
    }

    /// Calls `body` with a document's id (canonical CBOR) and its body before and after; nil where there was none.
    @inline(__always)
    package func withBytes<R>(
        of change: Change,
        _ body: (_ id: UnsafeRawBufferPointer, _ before: UnsafeRawBufferPointer?, _ after: UnsafeRawBufferPointer?)
            throws -> R
    ) rethrows -> R {
        try bytes.withUnsafeBytes { bytes in
            try body(
                UnsafeRawBufferPointer(rebasing: bytes[change.id]),
                change.before.map { UnsafeRawBufferPointer(rebasing: bytes[$0]) },
                change.after.map { UnsafeRawBufferPointer(rebasing: bytes[$0]) })
        }
    }
}

/// Hears of every commit that changed an observed collection, on the writer's thread and in commit order.
package protocol CommitObserver: AnyObject, Sendable {
    /// Tells of a commit; the write that made it returns only after this has. Must be brief, and must not write.
    ///
    /// - Returns: the collections to observe from now on, fewer than before; nil for the same.
    func didCommit(_ changes: CommittedChanges) -> [CollectionName: Int64]?
    /// Tells that a commit added a collection or changed the indexes of one; under the same rules.
    func didChangeCatalog()
    /// Tells that the store has closed, on the thread that closed it; nothing is told after that.
    func didClose()
}

extension CommitObserver {
    package func didChangeCatalog() {}
    package func didClose() {}
}

/// Collects what a transaction changes in observed collections.
struct ChangeCapture: ~Copyable {
    private var bytes = ByteBuffer(capacity: 1024)
    private var changes: [CommittedChanges.Change] = []

    /// How much has been collected: where a savepoint goes back to.
    struct Mark {
        var byteCount = 0
        var changeCount = 0
    }

    init() {}

    var mark: Mark { Mark(byteCount: bytes.count, changeCount: changes.count) }
    var isEmpty: Bool { changes.isEmpty }

    mutating func truncate(to mark: Mark) {
        bytes.truncate(to: mark.byteCount)
        changes.removeSubrange(mark.changeCount...)
    }

    mutating func add(
        collection: Int64, key: Int64, id: UnsafeRawBufferPointer, before: UnsafeRawBufferPointer?,
        after: UnsafeRawBufferPointer?
    ) {
        let id = append(id)
        let before = before.map { append($0) }
        let after = after.map { append($0) }
        changes.append(.init(collection: collection, key: key, id: id, before: before, after: after))
    }

    private mutating func append(_ source: UnsafeRawBufferPointer) -> Range<Int> {
        let start = bytes.count
        bytes.append(source)
        return start..<bytes.count
    }

    private struct Reference: Hashable {
        var collection: Int64
        var key: Int64
    }

    /// Takes what was collected, each document once: as it stood before the first change and after the last.
    mutating func take(sequence: Int64) -> CommittedChanges {
        var merged = changes
        if changes.count > 1 {
            merged.removeAll(keepingCapacity: true)
            var places: [Reference: Int] = Dictionary(minimumCapacity: changes.count)
            for change in changes {
                let reference = Reference(collection: change.collection, key: change.key)
                if let place = places[reference] {
                    merged[place].after = change.after
                } else {
                    places[reference] = merged.count
                    merged.append(change)
                }
            }
        }
        let taken = CommittedChanges(sequence: sequence, changes: merged, bytes: bytes.array)
        changes.removeAll()
        bytes.removeAll()
        return taken
    }
}
