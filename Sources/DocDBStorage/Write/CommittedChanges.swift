import DocDBCore

/// What one commit changed in the collections that an observer asked for: each document before and after, once.
package final class CommittedChanges: Sendable {
    /// One document that a commit changed.
    package struct Change: Sendable {
        /// The collection: the observer's number where it gave one, else the store's own.
        package var collection: Int64
        /// The store's own number of the collection; with `key` it names the document.
        package let storeCollection: Int64
        package let key: Int64
        /// The first commit that changed the document; of several that were grouped not always the last.
        package let firstSequence: Int64
        /// The peer that the last change came from, `ChangeLogFormat.noPeer` where it was made here.
        package fileprivate(set) var peer: Int64
        /// Whether the document was evicted, not deleted.
        package fileprivate(set) var isEviction: Bool
        fileprivate var id: Range<Int>
        fileprivate var before: Range<Int>?
        fileprivate var after: Range<Int>?

        /// Whether the document was not visible before and is not now: only what replication knows of it changed.
        package var isInvisible: Bool { before == nil && after == nil }
    }

    /// The sequence number of the commit; of several that were grouped, the last.
    package let sequence: Int64
    /// The changed documents, in the order of their first change.
    package let changes: [Change]
    /// Documents that were evicted and that a local write has brought back; not told to observers with own numbers.
    package let returned: [Returned]
    private let bytes: [UInt8]

    /// An evicted document that is here again by a local write, without what it had held.
    package struct Returned: Sendable {
        /// The store's number of the collection.
        package let storeCollection: Int64
        package let key: Int64
        /// The numbers of the peers who had told it; what they told has been struck, so that they must be asked.
        package let toldBy: [Int64]
    }

    fileprivate init(sequence: Int64, changes: [Change], returned: [Returned], bytes: [UInt8]) {
        self.sequence = sequence
        self.changes = changes
        self.returned = returned
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

    /// What an observer hears of these changes, or nil where that is nothing.
    ///
    /// - Parameter number: The observer's number of a collection by the store's, nil where it does not observe it.
    func visible(isInvisibleTold: Bool, number: (Int64) -> Int64?) -> CommittedChanges? {
        var told: [Change] = []
        told.reserveCapacity(changes.count)
        for change in changes where isInvisibleTold || !change.isInvisible {
            guard let number = number(change.storeCollection) else { continue }
            var change = change
            change.collection = number
            told.append(change)
        }
        guard !told.isEmpty else { return nil }
        let back = isInvisibleTold ? returned.filter { number($0.storeCollection) != nil } : []
        return CommittedChanges(sequence: sequence, changes: told, returned: back, bytes: bytes)
    }
}

/// Collects what a transaction changes in observed collections.
struct ChangeCapture: ~Copyable {
    private var bytes = ByteBuffer(capacity: 1024)
    private var changes: [CommittedChanges.Change] = []
    private var returned: [CommittedChanges.Returned] = []

    /// The most bytes that are kept from one commit to the next.
    private static let keptByteCount = 4 * 1024 * 1024

    /// How much has been collected: where a savepoint goes back to.
    struct Mark {
        var byteCount = 0
        var changeCount = 0
        var returnedCount = 0
    }

    init() {}

    var mark: Mark { Mark(byteCount: bytes.count, changeCount: changes.count, returnedCount: returned.count) }
    var isEmpty: Bool { changes.isEmpty }

    mutating func truncate(to mark: Mark) {
        bytes.truncate(to: mark.byteCount)
        changes.removeSubrange(mark.changeCount...)
        returned.removeSubrange(mark.returnedCount...)
    }

    /// Notes that a local write, which is added as a change as well, has brought an evicted document back.
    mutating func addReturned(collection: Int64, key: Int64, toldBy peers: [Int64]) {
        returned.append(.init(storeCollection: collection, key: key, toldBy: peers))
    }

    mutating func add(
        collection: Int64, key: Int64, sequence: Int64, peer: Int64 = ChangeLogFormat.noPeer, isEviction: Bool = false,
        id: UnsafeRawBufferPointer, before: UnsafeRawBufferPointer?, after: UnsafeRawBufferPointer?
    ) {
        let id = append(id)
        let before = before.map { append($0) }
        let after = after.map { append($0) }
        changes.append(
            .init(
                collection: collection, storeCollection: collection, key: key, firstSequence: sequence, peer: peer,
                isEviction: isEviction, id: id, before: before, after: after))
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
                    merged[place].peer = change.peer
                    merged[place].isEviction = change.isEviction
                } else {
                    places[reference] = merged.count
                    merged.append(change)
                }
            }
        }
        let taken = CommittedChanges(sequence: sequence, changes: merged, returned: returned, bytes: bytes.array)
        changes.removeAll()
        returned.removeAll()
        bytes.removeAll()
        if bytes.capacity > Self.keptByteCount { bytes = ByteBuffer(capacity: 1024) }
        return taken
    }
}
