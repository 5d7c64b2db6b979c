import DocDBCore

/// Unwinds the whole retained log from the present, and checks each commit's sum and the start that is reached.
struct LogUnwinding: ~Copyable {
    private struct Reference: Hashable {
        var collection: Int64
        var key: Int64
    }

    /// A document on its way back: how it stood after the commits that are still to be undone.
    private struct Past {
        /// Nil where values were erased by an eviction, so that nothing more can be said.
        var state: DocumentState?
        var hash: UInt64
        /// The commit that led to this state.
        var sequence: Int64
    }

    private let verifier: StoreVerifier
    private var pasts: [Reference: Past] = [:]
    /// The greatest key that the log has told of in each collection, also of documents that are gone.
    private var greatestKeys: [Int64: Int64] = [:]
    private var sum: UInt64
    private var body = ByteBuffer()
    private var state = ByteBuffer()

    init(_ verifier: StoreVerifier) {
        self.verifier = verifier
        sum = verifier.presentSum
    }

    mutating func run(_ rows: [ChangeLogReader.Row], oldestSum: UInt64, oldest: Int64) throws {
        for row in rows.reversed() {
            for record in try verifier.reader.records(in: row).reversed() { try undo(record) }
        }
        try checkKeys()
        if sum != oldestSum {
            verifier.report("change log", "unwinding does not reach the recorded state before commit \(oldest)")
        }
        var unreached = 0
        for past in pasts.values where past.state != nil && past.sequence >= oldest { unreached += 1 }
        if unreached > 0 {
            verifier.report("change log", "\(unreached) documents name a commit that does not tell of them")
        }
        if oldest == 1, sum != 0 {
            verifier.report("change log", "unwinding does not reach the empty store")
        }
    }

    /// Checks that no document can get the key of one that the log tells of.
    private func checkKeys() throws {
        let rows = try verifier.context.connection.prepareOnce("SELECT number, name, next_key FROM collections")
        while try rows.step() {
            guard let key = greatestKeys[rows.int(0)], key >= rows.int(2) else { continue }
            verifier.report(rows.text(1), "keys that the log tells of would be given to other documents")
        }
    }

    private mutating func undo(_ record: ChangeLogRecord) throws {
        let before = sum
        for entry in record.entries.reversed() {
            let reference = Reference(collection: entry.collection, key: entry.key)
            greatestKeys[entry.collection] = max(greatestKeys[entry.collection] ?? 0, entry.key)
            switch entry.change {
            case .evicted, .erased: continue
            case .inserted: try undoInsertion(reference, record)
            case .changed(let previous, let undo): try undoChange(reference, record, previous, undo)
            }
        }
        if before &- sum != record.contentDelta {
            verifier.report("change log, commit \(record.sequence)", "it does not lead to the documents as they stand")
        }
    }

    private func location(_ reference: Reference, _ record: ChangeLogRecord) -> String {
        "change log, commit \(record.sequence), collection \(reference.collection), key \(reference.key)"
    }

    /// The document as it stood after `record`, or nil where it is not there to be undone.
    private mutating func past(_ reference: Reference, _ record: ChangeLogRecord) throws -> Past? {
        let past: Past
        if let known = pasts[reference] {
            past = known
        } else {
            guard let loaded = try load(reference) else {
                verifier.report(location(reference, record), "it tells of a document that is not there")
                return nil
            }
            past = loaded
        }
        guard past.sequence == record.sequence else {
            verifier.report(
                location(reference, record), "the document says that commit \(past.sequence) changed it last")
            return nil
        }
        return past
    }

    private func load(_ reference: Reference) throws -> Past? {
        guard let info = verifier.context.catalog.collection(number: reference.collection),
            let collection = try verifier.context.collection(info.name)
        else { return nil }
        let actors = verifier.context.actors
        return try collection.withDocument(key: reference.key) { (row, _) throws(DocDBError) in
            Past(
                state: try DocumentState(body: row.body, state: row.state, actors: actors),
                hash: ContentHash.document(
                    collection: reference.collection, key: reference.key, body: row.body, state: row.state),
                sequence: row.lastChange)
        }
    }

    private mutating func undoInsertion(_ reference: Reference, _ record: ChangeLogRecord) throws {
        guard let past = try past(reference, record) else { return }
        sum = sum &- past.hash
        // Nothing older can tell of this key; a record that does finds no document.
        pasts[reference] = Past(state: nil, hash: 0, sequence: 0)
    }

    private mutating func undoChange(
        _ reference: Reference, _ record: ChangeLogRecord, _ previous: Int64, _ undo: [UInt8]
    ) throws {
        guard let past = try past(reference, record), let current = past.state else { return }
        let actors = verifier.context.actors
        let older: DocumentState?
        do {
            older = try undo.withUnsafeBytes { bytes in
                var cursor = ByteCursor(bytes)
                return try current.unwound(by: &cursor, reference: record.time, actors: actors)
            }
        } catch {
            verifier.report(location(reference, record), "its undo entry does not fit the document")
            return
        }
        let hash =
            older?.contentHash(
                collection: reference.collection, key: reference.key, actors: actors, body: &body, state: &state) ?? 0
        sum = sum &- past.hash &+ hash
        pasts[reference] = Past(state: older, hash: hash, sequence: previous)
    }
}
