package import DocDBCore
import DocDBStorage

/// Computes digests of documents from their stored bytes, without decoding entries: for scans of whole stores.
///
/// Keeps its memory between documents. The digest is what `DocumentState.digest` gives.
package struct DocumentDigester: ~Copyable {
    private let actors: ActorTable
    private var input = ByteBuffer(capacity: 512)
    private var collection: CollectionName?
    private var collectionByteCount = 0
    private var stamps: [Stamp] = []
    private var isDot: [Bool] = []

    package init(actors: ActorTable) { self.actors = actors }

    /// The digest of a stored document.
    ///
    /// - Throws: `DocDBError.corrupted` where the bytes are damaged.
    /// - Complexity: O(1) where all leaves have one stamp, else O(n) in the document's bytes.
    package mutating func digest(_ document: StoredDocument, collection: String) throws(DocDBError) -> StateDigest {
        begin(collection, document.id)
        do throws(CBORError) {
            var cursor = WireCursor(document.state)
            switch try cursor.readByte() {
            case StateWalk.fresh:
                guard document.body != nil else { throw .malformed }
                let word = try cursor.readVarint()
                guard let actor = actors.actor(word >> 1) else { throw .malformed }
                let time = HybridTime(rawValue: try cursor.readUInt64())
                appendFresh(actor, time)
            case StateWalk.general:
                let (seen, deleted) = try readVectors(&cursor, body: document.body)
                input.append(document.body == nil ? 0 : 1)
                if document.body != nil { append(seen) }
                append(deleted)
            default: throw .malformed
            }
        } catch {
            throw WireDocument.damaged(error)
        }
        return ContentHash.digest(input.bytes)
    }

    /// The digest of a document all of whose leaves have one stamp.
    package mutating func digest(
        fresh stamp: Stamp, collection: String, id: UnsafeRawBufferPointer
    ) -> StateDigest {
        begin(collection, id)
        appendFresh(stamp.actor, stamp.time)
        return ContentHash.digest(input.bytes)
    }

    private mutating func begin(_ collection: String, _ id: UnsafeRawBufferPointer) {
        let name = CollectionName(collection)
        if self.collection != name {
            input.removeAll()
            input.appendCBOR(collection)
            collectionByteCount = input.count
            self.collection = name
        }
        input.truncate(to: collectionByteCount)
        input.append(id)
    }

    /// Appends that a document is alive, one element of `seen`, and none of `deleted`.
    private mutating func appendFresh(_ actor: ActorID, _ time: HybridTime) {
        input.append(1)
        input.append(1)
        append(actor, time)
        input.append(0)
    }

    /// The digest of a decoded state.
    package static func digest(
        _ state: borrowing DocumentState, collection: String, id: UnsafeRawBufferPointer
    ) -> StateDigest {
        state.digest(collection: collection, id: id, hash: ContentHash.digest)
    }

    private mutating func append(_ vector: VersionVector) {
        input.appendVarint(UInt64(vector.elements.count))
        for element in vector.elements { append(element.actor, element.time) }
    }

    @inline(__always)
    private mutating func append(_ actor: ActorID, _ time: HybridTime) {
        input.append(0)
        input.append(bigEndian: time.rawValue)
        input.append(bigEndian: actor.high)
        input.append(bigEndian: actor.low)
    }

    /// Reads the vectors of a state in general form, behind its first byte.
    private mutating func readVectors(
        _ cursor: inout WireCursor, body: UnsafeRawBufferPointer?
    ) throws(CBORError) -> (seen: VersionVector, deleted: VersionVector) {
        let flags = try cursor.readByte()
        guard flags <= StateWalk.allFlags else { throw .malformed }
        try readStamps(&cursor)
        let hasExtras = flags & StateWalk.hasExtras != 0
        // Without extras every stamp of the table is that of a leaf.
        isDot.removeAll(keepingCapacity: true)
        isDot.append(contentsOf: repeatElement(!hasExtras, count: stamps.count + 1))
        if let body {
            if flags & StateWalk.hasRuns != 0 {
                try readRuns(&cursor, LeafCount.leaves(of: body))
            } else if body.count > 1, isDot.count > 1 {
                isDot[1] = true
            }
        }
        let reference = stamps.last?.time ?? .zero
        let differences = cursor
        var deleted = VersionVector()
        var ignored = VersionVector()
        if flags & StateWalk.hasSeen != 0 { try readDifferences(&cursor, into: &ignored, reference) }
        if flags & StateWalk.hasDeleted != 0 { try readDifferences(&cursor, into: &deleted, reference) }
        guard body != nil else { return (VersionVector(), deleted) }
        if hasExtras { try readExtras(&cursor) }
        var seen = VersionVector()
        for (index, stamp) in stamps.enumerated() where isDot[index + 1] { seen.advance(stamp.actor, to: stamp.time) }
        if flags & StateWalk.hasSeen != 0 {
            var differences = differences
            try readDifferences(&differences, into: &seen, reference)
        }
        return (seen, deleted)
    }

    private mutating func readStamps(_ cursor: inout WireCursor) throws(CBORError) {
        stamps.removeAll(keepingCapacity: true)
        let count = try cursor.readCount(atMost: cursor.remaining / 2)
        for _ in 0..<count {
            let word = try cursor.readVarint()
            guard let actor = actors.actor(word >> 1) else { throw .malformed }
            let time =
                if let last = stamps.last {
                    try cursor.readTime(from: last.time)
                } else {
                    HybridTime(rawValue: try cursor.readUInt64())
                }
            stamps.append(Stamp(time: time, actor: actor))
        }
    }

    private mutating func readRuns(_ cursor: inout WireCursor, _ leafCount: Int) throws(CBORError) {
        var covered = 0
        while covered < leafCount {
            isDot[try cursor.readCount(atMost: stamps.count)] = true
            let length = try cursor.readCount(atMost: leafCount - covered)
            guard length > 0 else { throw .malformed }
            covered += length
        }
    }

    private func readDifferences(
        _ cursor: inout WireCursor, into vector: inout VersionVector, _ reference: HybridTime
    ) throws(CBORError) {
        let count = try cursor.readCount(atMost: cursor.remaining / 2)
        for _ in 0..<count {
            guard let actor = actors.actor(try cursor.readVarint()) else { throw .malformed }
            vector.set(actor, to: try cursor.readTime(from: reference))
        }
    }

    /// Notes which stamps are dots of entries; those that are only bases are not.
    private mutating func readExtras(_ cursor: inout WireCursor) throws(CBORError) {
        let count = try cursor.readCount(atMost: cursor.remaining / 3)
        for _ in 0..<count {
            let tag = try cursor.readVarint()
            _ = try cursor.read(count: try cursor.readCount(atMost: cursor.remaining))
            if tag >= 3 { _ = try cursor.readCount(atMost: stamps.count) }
            isDot[try cursor.readCount(atMost: stamps.count)] = true
            switch tag {
            case 0, 1: break
            case 2, 3: try cursor.skipCBOR()
            default:
                for _ in 0..<2 { _ = try cursor.read(count: try cursor.readCount(atMost: cursor.remaining)) }
            }
        }
    }
}

/// Counts the leaves of a stored body.
private enum LeafCount {
    static func leaves(of body: UnsafeRawBufferPointer) throws(CBORError) -> Int {
        var cursor = WireCursor(body)
        let (major, count) = try cursor.readHead()
        guard major == Major.map, count <= UInt64(cursor.remaining) else { throw .malformed }
        // Objects only add to what is to come: no recursion.
        var pending = Int(count)
        var leafCount = 0
        while pending > 0 {
            pending -= 1
            try cursor.skipCBOR()
            guard !cursor.isAtEnd else { throw .truncated }
            var probe = cursor
            let (major, memberCount) = try probe.readHead()
            if major == Major.map, memberCount > 0 {
                guard memberCount <= UInt64(probe.remaining) else { throw .truncated }
                pending += Int(memberCount)
                cursor = probe
            } else {
                leafCount += 1
                try cursor.skipCBOR()
            }
        }
        return leafCount
    }
}
