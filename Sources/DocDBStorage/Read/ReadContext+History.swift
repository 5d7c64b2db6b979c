package import DocDBCore

/// One version of a document, as the change log tells it.
package struct StoredRevision: Sendable {
    /// The commit that made this version.
    package var sequence: Int64
    /// When that commit was made.
    package var time: HybridTime
    package var kind: ChangeLogFormat.Kind
    /// Who made it; several where a transaction rotated the actor.
    package var actors: [ActorID]
    /// The visible document, or nil where this version is a deletion.
    package var body: [UInt8]?
    /// The encoded paths that the commit wrote or removed, or nil where it made the whole document.
    package var paths: [[UInt8]]?
}

/// A document at one moment of the past.
package enum PastDocument {
    /// It did not exist, or was deleted.
    case absent
    /// It was this.
    case present(body: [UInt8])
    /// The change log does not reach back to it any more.
    case unknown
}

extension ReadContext {
    private func stored(
        _ collection: CollectionReader, id: UnsafeRawBufferPointer
    ) throws -> (key: Int64, state: DocumentState, lastChange: Int64)? {
        try collection.withDocument(id: id) { (row) throws(DocDBError) in
            (
                row.key, try DocumentState(body: row.body, state: row.state, actors: self.actors), row.lastChange
            )
        }
    }

    /// The versions of a document that the change log still tells of, newest first.
    ///
    /// - Complexity: O(changes of the document), each of which reads one block of the log.
    package func revisions(
        of id: UnsafeRawBufferPointer, in collection: CollectionReader, limit: Int = .max
    ) throws -> [StoredRevision] {
        guard let (key, state, lastChange) = try stored(collection, id: id) else { return [] }
        let reader = ChangeLogReader(connection: connection)
        var unwinder = DocumentUnwinder(
            collection: collection.info.number, key: key, state: state, lastChange: lastChange, reader: reader,
            actors: actors)
        var revisions: [StoredRevision] = []
        while revisions.count < limit, let current = unwinder.version.state {
            let sequence = unwinder.version.sequence
            var paths: Set<[UInt8]> = []
            var isWhole = false
            var isLast = false
            // Several changes of one commit make one version.
            repeat {
                let step = try unwinder.step { path in paths.insert(path) }
                switch step {
                case .undone: break
                case .created: (isWhole, isLast) = (true, true)
                case .unknown: isLast = true
                }
            } while !isLast && unwinder.version.sequence == sequence
            guard let record = unwinder.record, record.sequence == sequence else { break }
            if isLast, !isWhole { break }
            revisions.append(
                StoredRevision(
                    sequence: sequence, time: record.time, kind: record.kind,
                    actors: record.stamps.compactMap { actors.actor(UInt64($0.actorNumber)) },
                    body: current.visibleBody(),
                    paths: isWhole ? nil : paths.sorted { $0.lexicographicallyPrecedes($1) }))
            if isLast { break }
        }
        return revisions
    }

    /// The document with this id as it stood after commit `sequence`.
    package func document(
        id: UnsafeRawBufferPointer, in collection: CollectionReader, asOf sequence: Int64
    ) throws -> PastDocument {
        guard let (key, state, lastChange) = try stored(collection, id: id) else { return .absent }
        let reader = ChangeLogReader(connection: connection)
        return try past(
            DocumentUnwinder(
                collection: collection.info.number, key: key, state: state, lastChange: lastChange, reader: reader,
                actors: actors), asOf: sequence)
    }

    private func past(_ unwinder: consuming DocumentUnwinder, asOf sequence: Int64) throws(DocDBError) -> PastDocument {
        while let state = unwinder.version.state {
            if unwinder.version.sequence <= sequence {
                return state.visibleBody().map { .present(body: $0) } ?? .absent
            }
            if case .unknown = try unwinder.step() { return .unknown }
        }
        return .absent
    }

    /// Calls `body` with each document of a collection as it stood after commit `sequence`, in storage order.
    ///
    /// Evicted documents have no past. Documents that did not change since are read as they are.
    ///
    /// - Throws: `historyNotRetained` where the log does not reach back to `sequence`.
    /// - Complexity: O(documents + changes since).
    package func forEachDocument(
        in collection: CollectionReader, asOf sequence: Int64,
        _ body: (_ key: Int64, _ id: UnsafeRawBufferPointer, _ body: UnsafeRawBufferPointer) throws -> Void
    ) throws {
        let reader = ChangeLogReader(connection: connection)
        try requireHistory(to: sequence, reader)
        let rows = try connection.prepareOnce(
            "SELECT key, id, body, state, last_change FROM documents_\(collection.info.number) ORDER BY key")
        var id = ByteBuffer()
        while try rows.step() {
            id.removeAll()
            rows.appendID(1, to: &id)
            let stored: UnsafeRawBufferPointer? = rows.isNull(2) ? nil : rows.blob(2)
            if rows.int(4) <= sequence {
                if let stored { try body(rows.int(0), id.bytes, stored) }
                continue
            }
            let state = try DocumentState(body: stored, state: rows.blob(3), actors: actors)
            let past = try past(
                DocumentUnwinder(
                    collection: collection.info.number, key: rows.int(0), state: state, lastChange: rows.int(4),
                    reader: reader, actors: actors), asOf: sequence)
            switch past {
            case .absent: break
            case .present(let bytes): try bytes.withUnsafeBytes { try body(rows.int(0), id.bytes, $0) }
            case .unknown: throw Self.historyNotRetained(sequence)
            }
        }
    }

    /// Checks that the log reaches back to the state after commit `sequence`, and that this commit exists.
    package func requireHistory(to sequence: Int64, _ reader: ChangeLogReader) throws(DocDBError) {
        guard sequence >= (try reader.oldestSequence()) - 1 else { throw Self.historyNotRetained(sequence) }
        let last = try reader.lastSequence()
        guard sequence <= last, sequence >= 0 else {
            throw DocDBError(
                .historyNotRetained,
                "there is no commit \(sequence) yet, the newest is \(last); ask for that or an older one")
        }
    }

    /// The newest commit whose time is not after `time`, zero where all are later.
    ///
    /// - Throws: `historyNotRetained` where that commit may have been cut from the log.
    package func sequence(at time: HybridTime) throws(DocDBError) -> Int64 {
        let reader = ChangeLogReader(connection: connection)
        let rows = try reader.rows()
        let oldest = try reader.oldestSequence()
        // Times rise with sequence numbers but for clocks set back between sessions; rows tell the time they end at.
        guard let row = rows.first(where: { $0.lastTime > time }) else { return try reader.lastSequence() }
        var newest = row.first - 1
        for record in try reader.records(in: row) where record.time <= time { newest = record.sequence }
        guard newest + 1 > oldest || oldest == 1 else { throw Self.historyNotRetained(newest) }
        return newest
    }

    /// The error where the log does not reach back to a commit.
    package static func historyNotRetained(_ sequence: Int64) -> DocDBError {
        DocDBError(
            .historyNotRetained,
            "the change log does not reach back to commit \(sequence) any more; ask for a later one, or retain more history"
        )
    }
}

extension DocumentState {
    /// The visible document, or nil where it is deleted.
    func visibleBody() -> [UInt8]? {
        var body = ByteBuffer(capacity: 512)
        return appendBody(to: &body) ? body.array : nil
    }
}
