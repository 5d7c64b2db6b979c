package import DocDBCore

/// Builds the log record of one transaction while it runs (see Schemas/change-log.md).
///
/// Entries come in the order of the operations. Runs of newly inserted documents with successive keys take a few bytes.
package struct ChangeLogRecordBuilder: ~Copyable {
    private var entries = ByteBuffer(capacity: 1024)
    private var collection: Int64 = -1
    private var lastKey: Int64 = 0
    private var runStart: Int64 = 0
    private var runCount: Int64 = 0
    private var stampIndex = 0
    private var peer = ChangeLogFormat.noPeer
    /// The sum of (content hash after - content hash before) over the documents changed, wrapping.
    package var contentDelta: UInt64 = 0
    /// The number of entries added.
    package private(set) var entryCount = 0

    package init() {}

    package var isEmpty: Bool { entryCount == 0 }

    package mutating func removeAll() {
        entries.removeAll()
        collection = -1
        lastKey = 0
        runCount = 0
        stampIndex = 0
        peer = ChangeLogFormat.noPeer
        contentDelta = 0
        entryCount = 0
    }

    /// Adds a document that did not exist at this store.
    ///
    /// - Parameter peer: the peer that it came from, `noPeer` for a local change; so for the other additions.
    @inline(__always)
    package mutating func addInsertion(
        collection: Int64, key: Int64, stampIndex: Int, peer: Int64 = ChangeLogFormat.noPeer
    ) {
        entryCount += 1
        if runCount > 0, self.collection == collection, key == runStart &+ runCount, self.stampIndex == stampIndex,
            self.peer == peer
        {
            runCount += 1
            return
        }
        select(collection, stampIndex, peer)
        runStart = key
        runCount = 1
    }

    /// Adds a change of a document, with the undo that leads back to what stood before.
    package mutating func addChange(
        collection: Int64, key: Int64, sequenceDistance: Int64, stampIndex: Int, undo: UnsafeRawBufferPointer,
        peer: Int64 = ChangeLogFormat.noPeer
    ) {
        entryCount += 1
        select(collection, stampIndex, peer)
        entries.append(ChangeLogFormat.changed)
        appendKey(key)
        entries.appendVarint(UInt64(max(0, sequenceDistance)))
        entries.appendVarint(UInt64(undo.count))
        entries.append(undo)
    }

    /// Adds a document that was evicted: its history ends here.
    package mutating func addEviction(collection: Int64, key: Int64) {
        entryCount += 1
        select(collection, stampIndex, ChangeLogFormat.noPeer)
        entries.append(ChangeLogFormat.evicted)
        appendKey(key)
    }

    /// Adds a stub for a change whose values were erased when the document was evicted.
    package mutating func addErasure(collection: Int64, key: Int64, peer: Int64 = ChangeLogFormat.noPeer) {
        entryCount += 1
        select(collection, stampIndex, peer)
        entries.append(ChangeLogFormat.erased)
        appendKey(key)
    }

    private mutating func select(_ collection: Int64, _ stampIndex: Int, _ peer: Int64) {
        flushRun()
        if self.collection != collection {
            entries.append(ChangeLogFormat.collection)
            entries.appendVarint(UInt64(collection))
            self.collection = collection
        }
        if self.stampIndex != stampIndex {
            entries.append(ChangeLogFormat.stamp)
            entries.appendVarint(UInt64(stampIndex))
            self.stampIndex = stampIndex
        }
        if self.peer != peer {
            entries.append(ChangeLogFormat.peer)
            entries.appendVarint(UInt64(max(0, peer)))
            self.peer = peer
        }
    }

    private mutating func flushRun() {
        guard runCount > 0 else { return }
        entries.append(ChangeLogFormat.inserted)
        appendKey(runStart)
        entries.appendVarint(UInt64(runCount))
        // Keys of a damaged log may wrap.
        lastKey = runStart &+ runCount &- 1
        runCount = 0
    }

    private mutating func appendKey(_ key: Int64) {
        entries.appendVarint(ChangeLogFormat.zigzag(key &- lastKey))
        lastKey = key
    }

    /// Appends the finished record to `output`.
    package mutating func finish(
        kind: ChangeLogFormat.Kind, time: HybridTime, stamps: [ChangeLogFormat.Stamp], to output: inout ByteBuffer
    ) {
        flushRun()
        output.append(kind.rawValue)
        output.appendBigEndian(time.rawValue)
        output.appendBigEndian(contentDelta)
        output.appendVarint(UInt64(stamps.count))
        for stamp in stamps {
            output.appendVarint(UInt64(stamp.actorNumber))
            output.appendVarint(ChangeLogFormat.zigzag(Int64(bitPattern: stamp.time.rawValue &- time.rawValue)))
        }
        output.append(entries.bytes)
    }
}
