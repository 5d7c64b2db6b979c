import DocDBCore
import DocDBStorage

/// The documents that live queries hold, so that two queries that hold one share its bytes.
///
/// Holds nothing alive itself. Used under the engine's lock.
struct SharedDocuments: ~Copyable {
    private struct Reference: Hashable {
        var collection: Int64
        var key: Int64
    }

    private struct Entry {
        weak var content: DocumentContent?
    }

    private var entries: [Reference: Entry] = [:]
    /// The number of entries at which those without a document are dropped next.
    private var sweepCount = Self.leastSweepCount

    private static let leastSweepCount = 1_024

    init() {}

    /// The document with these bytes: one that is held already, or a new one.
    mutating func content(
        collection: Int64, key: Int64, id: UnsafeRawBufferPointer, body: UnsafeRawBufferPointer, names: FieldNames
    ) -> DocumentContent {
        let reference = Reference(collection: collection, key: key)
        if let known = entries[reference]?.content, known.holds(id: id, body: body) { return known }
        let made = DocumentContent.make(id: id, body: body, names: names)
        entries[reference] = Entry(content: made)
        if entries.count >= sweepCount { sweep() }
        return made
    }

    private mutating func sweep() {
        entries = entries.filter { $0.value.content != nil }
        sweepCount = max(Self.leastSweepCount, entries.count * 2)
    }
}
