import DocDBCore

/// Leads one document back through the change log, change by change.
struct DocumentUnwinder: ~Copyable {
    /// One document as it stood after some commit.
    struct Version {
        /// The state, or nil where the document did not exist.
        var state: DocumentState?
        /// The commit that led to it; zero where the document did not exist.
        var sequence: Int64
    }

    private let reader: ChangeLogReader
    private let actors: ActorTable
    private let collection: Int64
    private let key: Int64
    private(set) var version: Version
    /// The entries of this document in the record of `version.sequence` that are still to be undone, oldest first.
    private var pending: [ChangeLogRecord.Entry] = []
    private var loadedSequence: Int64 = 0
    /// The record of `version.sequence`, where the log holds it.
    private(set) var record: ChangeLogRecord?

    init(
        collection: Int64, key: Int64, state: DocumentState, lastChange: Int64, reader: ChangeLogReader,
        actors: ActorTable
    ) {
        self.collection = collection
        self.key = key
        self.reader = reader
        self.actors = actors
        version = Version(state: state, sequence: lastChange)
    }

    /// What a step back found.
    enum Step {
        /// The document as it stood before the change, which was one of several in its commit where `isWithinCommit`.
        case undone(isWithinCommit: Bool)
        /// The log does not reach back further, or the values there were erased.
        case unknown
        /// The document did not exist before.
        case created
    }

    /// Goes one change back; `version` then tells what stood before.
    ///
    /// - Parameter onPath: is told of each encoded path that the change wrote or removed.
    mutating func step(onPath: (([UInt8]) -> Void)? = nil) throws(DocDBError) -> Step {
        guard version.state != nil else { return .created }
        let sequence = version.sequence
        if loadedSequence != sequence {
            record = try reader.record(sequence)
            loadedSequence = sequence
            pending = record?.entries.filter { [key, collection] in $0.key == key && $0.collection == collection } ?? []
        }
        guard let record else { return .unknown }
        guard let entry = pending.popLast() else {
            throw ChangeLog.damaged(sequence, "it does not tell of a document that it changed")
        }
        switch entry.change {
        case .erased, .evicted: return .unknown
        case .inserted:
            version = Version(state: nil, sequence: 0)
            return .created
        case .changed(let previous, let undo):
            guard let state = version.state else { return .created }
            let outcome = undo.withUnsafeBytes { (bytes) -> Result<DocumentState?, DocDBError> in
                var cursor = ByteCursor(bytes)
                do throws(DocDBError) {
                    if let onPath { try Self.readPaths(bytes, record.time, actors, onPath) }
                    return .success(try state.unwound(by: &cursor, reference: record.time, actors: actors))
                } catch {
                    return .failure(error)
                }
            }
            let before = try outcome.get()
            version = Version(state: before, sequence: previous)
            return before == nil ? .created : .undone(isWithinCommit: previous == sequence)
        }
    }
}

extension DocumentUnwinder {
    /// Calls `body` with each path that an undo entry names.
    private static func readPaths(
        _ undo: UnsafeRawBufferPointer, _ reference: HybridTime, _ actors: ActorTable, _ body: ([UInt8]) -> Void
    ) throws(DocDBError) {
        var cursor = ByteCursor(undo)
        do throws(CBORError) {
            var reader = try UndoReader(&cursor, reference: reference, actors: actors)
            while let item = try reader.next(&cursor) { body([UInt8](item.path)) }
        } catch {
            throw DocDBError(.corrupted, "an undo entry of the change log is damaged; restore a backup of the store")
        }
    }
}

extension DocumentState {
    /// The hash of this state as a stored document.
    func contentHash(
        collection: Int64, key: Int64, actors: ActorTable, body: inout ByteBuffer, state: inout ByteBuffer
    ) -> UInt64 {
        body.removeAll()
        state.removeAll()
        let isAlive = encode(into: &body, state: &state, actors: actors)
        return ContentHash.document(
            collection: collection, key: key, body: isAlive ? body.bytes : nil, state: state.bytes)
    }
}
