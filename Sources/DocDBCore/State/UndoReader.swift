/// One key that a change touched in a document: whether it wrote there, and what it displaced.
///
/// The bytes lie in the undo entry that is being read.
package struct UndoItem {
    package enum Key {
        case assignment
        case tally(base: Stamp, actor: ActorID)
        case unknown(kind: UInt32, base: Stamp, key: UnsafeRawBufferPointer)
    }

    /// An entry that stood there before the change.
    package enum Displaced {
        case assignment(stamp: Stamp, kind: DocumentState.PayloadKind, payload: UnsafeRawBufferPointer)
        case tally(time: HybridTime, sum: Number)
        case unknown(time: HybridTime, actor: ActorID, payload: UnsafeRawBufferPointer)
    }

    package var path: UnsafeRawBufferPointer
    package var key: Key
    /// Tells whether the change left an entry there.
    package var isWritten: Bool
    package var displaced: Displaced?
}

/// Reads an undo entry: what one commit changed in one document, told as how to take it back.
///
/// Read the items to their end, then the vectors; the cursor then stands behind the entry.
package struct UndoReader {
    package enum Flag {
        static let created: UInt64 = 1
        static let hasSeen: UInt64 = 2
        static let hasDeleted: UInt64 = 4
        static let shift: UInt64 = 3
    }

    enum Tag {
        static let written: UInt8 = 1
        static let displaced: UInt8 = 2
        static let classShift: UInt8 = 2
        static let kindShift: UInt8 = 4
        static let sameStamp: UInt8 = 64

        static let assignment: UInt8 = 0
        static let tally: UInt8 = 1
        static let unknown: UInt8 = 2
    }

    /// Tells whether the document did not exist before: then there are no items, and everything in it was written.
    package let isCreation: Bool
    /// Tells whether the change moved what deletes have covered: it was a delete, or brought one.
    package var changesDeleted: Bool { flags & Flag.hasDeleted != 0 }
    /// The items that are still to be read.
    package private(set) var remainingCount: Int
    private let flags: UInt64
    private let reference: HybridTime
    private let actors: ActorTable
    private var lastStamp: Stamp?

    /// Begins to read at `cursor`.
    ///
    /// - Parameter reference: the time of the commit, as given when the entry was written.
    package init(_ cursor: inout ByteCursor, reference: HybridTime, actors: ActorTable) throws(CBORError) {
        let head = try cursor.readVarint()
        flags = head & (1 << Flag.shift - 1)
        guard head >> Flag.shift <= UInt64(cursor.remaining) else { throw .truncated }
        remainingCount = Int(head >> Flag.shift)
        isCreation = flags & Flag.created != 0
        if isCreation, head != Flag.created { throw .malformed }
        self.reference = reference
        self.actors = actors
    }

    /// Reads the next item, or returns nil where there is none left.
    package mutating func next(_ cursor: inout ByteCursor) throws(CBORError) -> UndoItem? {
        guard remainingCount > 0 else { return nil }
        remainingCount -= 1
        let tag = try cursor.readByte()
        let isWritten = tag & Tag.written != 0
        let isDisplaced = tag & Tag.displaced != 0
        guard isWritten || isDisplaced, tag < 128 else { throw .malformed }
        let path = try cursor.readPath()
        var item = UndoItem(path: path, key: .assignment, isWritten: isWritten, displaced: nil)
        switch tag >> Tag.classShift & 3 {
        case Tag.assignment:
            guard isDisplaced else { break }
            item.displaced = try readAssignment(&cursor, tag)
        case Tag.tally:
            let base = try cursor.readStamp(from: reference, actors)
            item.key = .tally(base: base, actor: try readActor(&cursor))
            guard isDisplaced else { break }
            let time = try readDotTime(&cursor)
            item.displaced = .tally(time: time, sum: try cursor.readNumber())
        case Tag.unknown:
            guard let kind = UInt32(exactly: try cursor.readVarint()), kind >= DocumentState.firstUnknownKind else {
                throw .malformed
            }
            let base = try cursor.readStamp(from: reference, actors)
            item.key = .unknown(kind: kind, base: base, key: try cursor.readCounted())
            guard isDisplaced else { break }
            let actor = try readActor(&cursor)
            let time = try readDotTime(&cursor)
            item.displaced = .unknown(time: time, actor: actor, payload: try cursor.readCounted())
        default: throw .malformed
        }
        return item
    }

    private mutating func readAssignment(
        _ cursor: inout ByteCursor, _ tag: UInt8
    ) throws(CBORError) -> UndoItem.Displaced {
        guard let kind = DocumentState.PayloadKind(rawValue: tag >> Tag.kindShift & 3) else { throw .malformed }
        if tag & Tag.sameStamp == 0 { lastStamp = try cursor.readStamp(from: reference, actors) }
        guard let stamp = lastStamp, stamp.time > .zero else { throw .malformed }
        let payload =
            kind == .value
            ? try cursor.readPayload() : UnsafeRawBufferPointer(start: cursor.position, count: 0)
        return .assignment(stamp: stamp, kind: kind, payload: payload)
    }

    private func readDotTime(_ cursor: inout ByteCursor) throws(CBORError) -> HybridTime {
        let time = try cursor.readTime(from: reference)
        guard time > .zero else { throw .malformed }
        return time
    }

    private func readActor(_ cursor: inout ByteCursor) throws(CBORError) -> ActorID {
        guard let actor = actors.actor(try cursor.readVarint()) else { throw .malformed }
        return actor
    }

    /// Reads what stands behind the items and sets both vectors back: `seen` holds what the previous entries imply,
    /// `deleted` the present one.
    package func readVectors(
        _ cursor: inout ByteCursor, seen: inout VersionVector, deleted: inout VersionVector
    ) throws(CBORError) {
        if flags & Flag.hasSeen != 0 {
            try cursor.readDifferences(into: &seen, reference: reference, actors)
        }
        if flags & Flag.hasDeleted != 0 {
            try cursor.readDifferences(into: &deleted, reference: reference, actors)
        }
    }

    /// Moves the cursor from an undo entry's first byte to the byte behind it.
    package static func skip(
        _ cursor: inout ByteCursor, reference: HybridTime, actors: ActorTable
    ) throws(CBORError) {
        var reader = try UndoReader(&cursor, reference: reference, actors: actors)
        while try reader.next(&cursor) != nil {}
        var seen = VersionVector()
        var deleted = VersionVector()
        try reader.readVectors(&cursor, seen: &seen, deleted: &deleted)
    }
}
