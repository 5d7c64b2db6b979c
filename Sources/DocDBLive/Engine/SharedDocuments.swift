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
        private weak var content: DocumentContent?

        init(_ content: DocumentContent) { self.content = content }

        /// The document while others hold it. Mutating, as that is read in place: copying a weak reference is costly.
        mutating func load() -> DocumentContent? { content }
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
        let place = entries.index(forKey: reference)
        if let place, let known = entries.values[place].load(), known.holds(id: id, body: body) { return known }
        let made = DocumentContent.make(id: id, body: body, names: names)
        if let place { entries.values[place] = Entry(made) } else { entries[reference] = Entry(made) }
        if entries.count >= sweepCount { sweep() }
        return made
    }

    private mutating func sweep() {
        entries = entries.filter { entry in
            var value = entry.value
            return value.load() != nil
        }
        sweepCount = max(Self.leastSweepCount, entries.count * 2)
    }
}
