package import DocDBCore

extension WriteTransaction {
    /// Removes a document from this store alone, and its values from the change log; returns whether there was one.
    ///
    /// Makes no change that replicates. After the commit a checkpoint clears the values from the files of the store; where
    /// the store has met peers, the id stays, by which they name the document.
    ///
    /// - Throws: `unsyncedChanges` where no keeper is known to hold the document's changes and `force` is not given;
    ///   `misuse` where this transaction has changed the document.
    package func evict(
        id: UnsafeRawBufferPointer, collection name: String, force: Bool
    ) throws(DocDBError) -> Bool {
        try checkIsUsable()
        guard let collection = try writer.collection(name, creating: false),
            let document = try load(id: id, collection)
        else { return false }
        guard document.lastChange != sequence else {
            throw DocDBError(
                .misuse, "this transaction has changed the document; evict it in a later transaction")
        }
        if !force, try !isAcknowledged(document, id: id, collection.info) {
            throw DocDBError(
                .unsyncedChanges,
                "no keeper has acknowledged the document's changes, evicting it could lose them; sync first, or force it"
            )
        }
        try writing { () throws(DocDBError) in
            try removeRow(document, id: id, collection)
            try eraseHistory(document, collection.info.number)
            if let actor = writer.state.actor, document.oldState.involves(actor) {
                // A later write under this actor would claim the entries that are gone.
                try writer.rotateActor()
                forgetStamp()
            }
            if isStampless { kind = .eviction }
            writer.scratch.pointee.record.addEviction(collection: collection.info.number, key: document.key)
            writer.state.mustErase = true
            try keepReference(key: document.key, id: id, collection)
        }
        return true
    }

    /// Whether a keeper holds the changes of a document that has been loaded.
    private func isAcknowledged(
        _ document: StoredDocument, id: UnsafeRawBufferPointer, _ collection: CollectionInfo
    ) throws(DocDBError) -> Bool {
        let known: Acknowledgements
        if let acknowledgements { known = acknowledgements } else { known = try Acknowledgements(context) }
        acknowledgements = known
        guard known.hasKeepers else { return false }
        var body = ByteBuffer(capacity: 512)
        let isAlive = document.state.appendBody(to: &body)
        return try known.isAcknowledged(
            collection, key: document.key, id: id, body: isAlive ? body.bytes : nil, lastChange: document.lastChange)
    }

    /// Keeps the key of an evicted document where peers may have told of it, and drops what else was kept for it.
    private func keepReference(
        key: Int64, id: UnsafeRawBufferPointer, _ collection: CollectionWriter
    ) throws(DocDBError) {
        guard try writer.connection.integer("SELECT 1 FROM peers LIMIT 1") != nil else { return }
        try collection.absent.insert(key: key, id: id, evictedSequence: sequence)
        // What waits in quarantine has values of the document; its provider still holds them.
        for table in ["quarantine", "deferred_evictions"] {
            let delete = try writer.connection.prepare("DELETE FROM \(table) WHERE collection = ? AND key = ?")
            delete.bind(1, collection.info.number)
            delete.bind(2, key)
            try delete.run()
        }
    }

    private func removeRow(
        _ document: StoredDocument, id: UnsafeRawBufferPointer, _ collection: CollectionWriter
    ) throws(DocDBError) {
        try collection.delete(key: document.key)
        let scratch = writer.scratch
        let oldBody: UnsafeRawBufferPointer? = scratch.pointee.hasOldBody ? scratch.pointee.oldBody.bytes : nil
        for index in collection.indexes {
            try index.change(key: document.key, id: id, oldBody: oldBody, newBody: nil)
        }
        if collection.isObserved {
            scratch.pointee.capture.add(
                collection: collection.info.number, key: document.key, sequence: sequence, isEviction: true, id: id,
                before: oldBody, after: nil)
        }
    }

    /// Replaces what the log tells of the document by stubs, as if its content had never been in the log's sums.
    private func eraseHistory(_ document: StoredDocument, _ collection: Int64) throws(DocDBError) {
        let reader = ChangeLogReader(connection: writer.connection)
        var deltas: [Int64: UInt64] = [:]
        let remainder = try sumContributions(of: document, collection, reader, into: &deltas)
        reader.invalidate()
        var row: ChangeLogReader.Row?
        var rows: [ChangeLogReader.Row] = []
        for sequence in deltas.keys.sorted() where row.map({ sequence > $0.last }) ?? true {
            guard let found = try reader.row(containing: sequence) else { continue }
            row = found
            rows.append(found)
        }
        for row in rows { try rewrite(row, reader, erasing: document.key, collection, deltas) }
        if remainder != 0 {
            try writer.changeLog.setOldest(
                sequence: writer.changeLog.state.oldestSequence,
                sum: writer.changeLog.state.oldestSum &- remainder)
        }
    }

    /// Finds what each commit added to the sums by this document; returns what it had before the log begins.
    private func sumContributions(
        of document: StoredDocument, _ collection: Int64, _ reader: ChangeLogReader, into deltas: inout [Int64: UInt64]
    ) throws(DocDBError) -> UInt64 {
        var body = ByteBuffer()
        var state = ByteBuffer()
        var unwinder = DocumentUnwinder(
            collection: collection, key: document.key, state: document.oldState, lastChange: document.lastChange,
            reader: reader, actors: writer.actors)
        var hash = document.contentHash
        while true {
            let sequence = unwinder.version.sequence
            let step = try unwinder.step()
            if case .unknown = step { return hash }
            let before =
                unwinder.version.state?.contentHash(
                    collection: collection, key: document.key, actors: writer.actors, body: &body, state: &state) ?? 0
            deltas[sequence, default: 0] &+= hash &- before
            hash = before
            if case .created = step { return 0 }
        }
    }

    private func rewrite(
        _ row: ChangeLogReader.Row, _ reader: ChangeLogReader, erasing key: Int64, _ collection: Int64,
        _ deltas: [Int64: UInt64]
    ) throws(DocDBError) {
        var bytes = ByteBuffer(capacity: 64 * 1024)
        var one = ByteBuffer(capacity: 4096)
        for record in try reader.records(in: row) {
            one.removeAll()
            if let delta = deltas[record.sequence] {
                record.erasing(collection: collection, key: key, contribution: delta).append(to: &one)
            } else {
                record.append(to: &one)
            }
            if row.isFolded { bytes.appendVarint(UInt64(one.count)) }
            bytes.append(one.bytes)
        }
        try writer.changeLog.replaceRow(
            first: row.first, last: row.last, time: row.lastTime, isTail: !row.isFolded, records: bytes.bytes)
    }
}

extension ChangeLogRecord {
    /// The record with what it tells of one document replaced by stubs, and its share of the sum taken out.
    func erasing(collection: Int64, key: Int64, contribution: UInt64) -> ChangeLogRecord {
        var entries = entries
        for index in entries.indices where entries[index].key == key && entries[index].collection == collection {
            entries[index].change = .erased
        }
        return ChangeLogRecord(
            sequence: sequence, kind: kind, time: time, contentDelta: contentDelta &- contribution, stamps: stamps,
            entries: entries)
    }
}

extension DocumentState {
    /// Tells whether some change of `actor` is covered.
    func involves(_ actor: ActorID) -> Bool { seen[actor] > .zero || deleted[actor] > .zero }
}
