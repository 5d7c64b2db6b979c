package import DocDBCore

/// One record of the change log, read back.
package struct ChangeLogRecord: Sendable {
    package let sequence: Int64
    package let kind: ChangeLogFormat.Kind
    package let time: HybridTime
    package let contentDelta: UInt64
    package let stamps: [ChangeLogFormat.Stamp]
    package let entries: [Entry]

    /// What a commit did to one document.
    package struct Entry: Sendable {
        package var collection: Int64
        package var key: Int64
        package var stampIndex: Int
        /// The peer that the change came from, `ChangeLogFormat.noPeer` where it was made here.
        package var peer = ChangeLogFormat.noPeer
        package var change: Change
    }

    package enum Change: Sendable {
        /// The document did not exist at this store before.
        case inserted
        /// The document changed; `previous` is the sequence of the change before, which may be this one.
        case changed(previous: Int64, undo: [UInt8])
        /// The document was evicted by this commit.
        case evicted
        /// What the commit did is no longer known: the document was evicted later.
        case erased
    }

    package init(
        sequence: Int64, kind: ChangeLogFormat.Kind, time: HybridTime, contentDelta: UInt64,
        stamps: [ChangeLogFormat.Stamp], entries: [Entry]
    ) {
        self.sequence = sequence
        self.kind = kind
        self.time = time
        self.contentDelta = contentDelta
        self.stamps = stamps
        self.entries = entries
    }
}

extension ChangeLogRecord {
    /// The head of a record, without its entries.
    struct Head {
        var kind: ChangeLogFormat.Kind
        var time: HybridTime
        var contentDelta: UInt64
        var stamps: [ChangeLogFormat.Stamp]
    }

    static func readHead(_ cursor: inout ByteCursor) throws(CBORError) -> Head {
        guard let kind = ChangeLogFormat.Kind(rawValue: try cursor.readByte()) else { throw .malformed }
        let time = HybridTime(rawValue: try cursor.readBigEndian(as: UInt64.self))
        let contentDelta = try cursor.readBigEndian(as: UInt64.self)
        let count = try cursor.readCount(atMost: min(ChangeLogFormat.stampCountLimit, cursor.remaining))
        var stamps: [ChangeLogFormat.Stamp] = []
        stamps.reserveCapacity(count)
        for _ in 0..<count {
            let actor = try cursor.readCount(atMost: Int(UInt32.max))
            let distance = ChangeLogFormat.unzigzag(try cursor.readVarint())
            stamps.append(
                .init(
                    actorNumber: UInt32(actor),
                    time: HybridTime(rawValue: time.rawValue &+ UInt64(bitPattern: distance))))
        }
        return Head(kind: kind, time: time, contentDelta: contentDelta, stamps: stamps)
    }

    /// Reads a record from its bytes.
    ///
    /// - Parameter insertionLimit: The most insertions that runs may tell of, so that damaged ones cannot exhaust memory.
    package init(sequence: Int64, bytes: UnsafeRawBufferPointer, insertionLimit: UInt64) throws(CBORError) {
        var cursor = ByteCursor(bytes)
        let head = try Self.readHead(&cursor)
        var entries: [Entry] = []
        var reader = EntryReader(
            cursor: cursor, sequence: sequence, stampCount: head.stamps.count, insertionLimit: insertionLimit)
        while let entry = try reader.next() { entries.append(entry) }
        self.init(
            sequence: sequence, kind: head.kind, time: head.time, contentDelta: head.contentDelta, stamps: head.stamps,
            entries: entries)
    }

    /// Reads the entries of a record one by one, runs of insertions expanded.
    struct EntryReader {
        private var cursor: ByteCursor
        private let sequence: Int64
        private let stampCount: Int
        private var collection: Int64 = -1
        private var lastKey: Int64 = 0
        private var stampIndex = 0
        private var peer = ChangeLogFormat.noPeer
        private let readsUndo: Bool
        private var runRest: UInt64 = 0
        private var insertionRest: UInt64

        /// - Parameter readsUndo: Whether the undo of changes is wanted; else it is left empty.
        init(cursor: ByteCursor, sequence: Int64, stampCount: Int, insertionLimit: UInt64, readsUndo: Bool = true) {
            self.cursor = cursor
            self.readsUndo = readsUndo
            insertionRest = insertionLimit
            self.sequence = sequence
            self.stampCount = stampCount
        }

        mutating func next() throws(CBORError) -> Entry? {
            if runRest > 0 {
                runRest -= 1
                lastKey &+= 1
                return entry(.inserted)
            }
            while !cursor.isAtEnd {
                switch try cursor.readByte() {
                case ChangeLogFormat.collection:
                    collection = Int64(try cursor.readCount(atMost: Int(Int32.max)))
                case ChangeLogFormat.stamp:
                    stampIndex = try cursor.readCount(atMost: max(0, stampCount - 1))
                case ChangeLogFormat.inserted:
                    try readKey()
                    let count = try cursor.readVarint()
                    guard count > 0, count <= insertionRest else { throw .malformed }
                    insertionRest -= count
                    runRest = count - 1
                    return entry(.inserted)
                case ChangeLogFormat.changed:
                    return try readChange()
                case ChangeLogFormat.evicted:
                    try readKey()
                    return entry(.evicted)
                case ChangeLogFormat.erased:
                    try readKey()
                    return entry(.erased)
                case ChangeLogFormat.peer:
                    peer = Int64(try cursor.readCount(atMost: Int(ChangeLogFormat.peerLimit)))
                default:
                    throw .malformed
                }
            }
            return nil
        }

        @inline(__always)
        private func entry(_ change: Change) -> Entry {
            Entry(collection: collection, key: lastKey, stampIndex: stampIndex, peer: peer, change: change)
        }

        private mutating func readKey() throws(CBORError) {
            guard collection >= 0 else { throw .malformed }
            lastKey = lastKey &+ ChangeLogFormat.unzigzag(try cursor.readVarint())
        }

        private mutating func readChange() throws(CBORError) -> Entry {
            try readKey()
            let distance = try cursor.readVarint()
            guard distance <= UInt64(max(0, sequence)) else { throw .malformed }
            let length = try cursor.readCount(atMost: cursor.remaining)
            let undo = try cursor.read(count: length)
            return entry(.changed(previous: sequence - Int64(distance), undo: readsUndo ? [UInt8](undo) : []))
        }
    }
}

extension ChangeLogRecord {
    /// Appends the record's bytes, the same as the builder made where nothing was changed.
    package func append(to output: inout ByteBuffer) {
        var builder = ChangeLogRecordBuilder()
        builder.contentDelta = contentDelta
        for entry in entries {
            switch entry.change {
            case .inserted:
                builder.addInsertion(
                    collection: entry.collection, key: entry.key, stampIndex: entry.stampIndex, peer: entry.peer)
            case .changed(let previous, let undo):
                undo.withUnsafeBytes {
                    builder.addChange(
                        collection: entry.collection, key: entry.key, sequenceDistance: sequence - previous,
                        stampIndex: entry.stampIndex, undo: $0, peer: entry.peer)
                }
            case .evicted:
                builder.addEviction(collection: entry.collection, key: entry.key)
            case .erased:
                builder.addErasure(collection: entry.collection, key: entry.key, peer: entry.peer)
            }
        }
        builder.finish(kind: kind, time: time, stamps: stamps, to: &output)
    }
}
