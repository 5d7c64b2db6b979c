import DocDBCore
import DocDBStorage

/// What the bytes of `reconcile` and `ranges` messages hold; see Schemas/sync-documents.md.
enum RangesCoding {
    /// In the first byte: more is to come, so that the other side must answer, if only with nothing.
    static let hasMore: UInt8 = 1

    enum Mode {
        static let sum: UInt8 = 1
        static let split: UInt8 = 2
        static let list: UInt8 = 3
        static let ask: UInt8 = 4
        static let all: UInt8 = 5
        static let need: UInt8 = 6
        static let held: UInt8 = 7
    }

    /// Ranges with at most this many items are listed.
    static let listedCount = 32

    static func malformed(_ error: CBORError) -> DocDBError {
        DocDBError(
            .protocolError,
            "a peer's step of a reconciliation is not what the protocol says (\(error)); update the older of the two sides"
        )
    }

    static var tooMany: DocDBError {
        DocDBError(
            .limitReached,
            "a reconciliation took more steps or ranges than the limits allow; connect again to start anew")
    }
}

extension ByteBuffer {
    mutating func append(_ summary: ReconciliationSet.Summary) {
        appendVarint(UInt64(summary.count))
        if summary.count > 0 { append(bigEndian: summary.sum) }
    }

    /// Appends the sums of all parts of a range.
    mutating func appendSplit(_ range: FingerprintRange, of set: borrowing ReconciliationSet) {
        append(RangesCoding.Mode.split)
        append(range)
        for digit in 0..<FingerprintRange.childCount { append(set.summary(of: range.child(digit))) }
    }
}

extension WireCursor {
    mutating func readSummary() throws(CBORError) -> ReconciliationSet.Summary {
        guard let count = Int(exactly: try readVarint()) else { throw .malformed }
        return ReconciliationSet.Summary(count: count, sum: count > 0 ? try readUInt64() : 0)
    }

    /// Reads a range that can be split.
    mutating func readSplitRange() throws(CBORError) -> FingerprintRange {
        let range = try readFingerprintRange()
        guard range.level < FingerprintRange.maximalLevel else { throw .malformed }
        return range
    }
}

/// Writes documents that are held, with dictionaries that last for one message.
struct HeldDocumentWriter {
    private var collections: [CollectionName: Int] = [:]
    private var actors: [ActorID: Int] = [:]
    private var lastTime = HybridTime.zero

    mutating func append(_ document: HeldDocument, to output: inout ByteBuffer) {
        output.append(RangesCoding.Mode.held)
        let name = CollectionName(document.name.collection)
        let collection = collections[name] ?? collections.count
        output.appendVarint(UInt64(collection))
        if collection == collections.count {
            collections[name] = collection
            output.appendVarint(UInt64(document.name.collection.utf8.count))
            output.append(utf8: document.name.collection)
        }
        document.name.id.withUnsafeBytes { WireID.append($0, to: &output) }
        output.appendVarint(UInt64(document.seen.elements.count))
        for element in document.seen.elements {
            let actor = actors[element.actor] ?? actors.count
            output.appendVarint(UInt64(actor))
            if actor == actors.count {
                actors[element.actor] = actor
                output.append(bigEndian: element.actor.high)
                output.append(bigEndian: element.actor.low)
            }
            output.appendTime(element.time, from: lastTime)
            lastTime = element.time
        }
    }
}

/// Reads what `HeldDocumentWriter` wrote, behind the mode.
struct HeldDocumentReader {
    private var collections: [String] = []
    private var actors: [ActorID] = []
    private var lastTime = HybridTime.zero

    mutating func read(_ cursor: inout WireCursor) throws(CBORError) -> HeldDocument {
        let collection = try cursor.readCount(atMost: collections.count)
        if collection == collections.count {
            let name = try cursor.read(count: try cursor.readCount(atMost: Limits.collectionNameByteCount))
            guard WireName.isCollection(name) else { throw .malformed }
            collections.append(String(decoding: name, as: UTF8.self))
        }
        let id = try WireID.readMarked(&cursor)
        let count = try cursor.readCount(atMost: min(cursor.remaining / 2, SyncLimits.vectorActorCount))
        var seen = VersionVector()
        for _ in 0..<count {
            let index = try cursor.readCount(atMost: actors.count)
            if index == actors.count {
                let high = try cursor.readUInt64()
                actors.append(ActorID(high: high, low: try cursor.readUInt64()))
            }
            lastTime = try cursor.readTime(from: lastTime)
            seen.set(actors[index], to: lastTime)
        }
        return HeldDocument(name: DocumentName(collection: collections[collection], id: id), seen: seen)
    }
}
