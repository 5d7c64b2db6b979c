package import DocDBCore

/// A document's whole state as it stood after some commit.
package enum PastDocumentState {
    case stored(DocumentState)
    /// It was not stored.
    case absent
    /// The log does not reach back that far, or its values were erased.
    case unknown
}

extension ReadContext {
    /// The actor that the next local write has; nil before the first session of writing.
    package func currentActor() throws(DocDBError) -> ActorID? {
        guard let number = try StoreMetadata.integer(.actor, connection) else { return nil }
        return UInt64(exactly: number).flatMap { actors.actor($0) }
    }

    /// The actors of this store's own, oldest first.
    package func ownActors() throws(DocDBError) -> [OwnActor] {
        let rows = try connection.prepare("SELECT peer_key, nonce FROM own_actors ORDER BY number")
        defer { rows.reset() }
        var result: [OwnActor] = []
        while try rows.step() { result.append(OwnActor(peerKey: [UInt8](rows.blob(0)), nonce: [UInt8](rows.blob(1)))) }
        return result
    }

    /// The incarnations of the change log, oldest first; the newest has no last sequence number yet.
    package func incarnations() throws(DocDBError) -> [(id: [UInt8], lastSequence: Int64?)] {
        let rows = try connection.prepare("SELECT id, last_seq FROM incarnations ORDER BY ordinal")
        defer { rows.reset() }
        var result: [(id: [UInt8], lastSequence: Int64?)] = []
        while try rows.step() { result.append(([UInt8](rows.blob(0)), rows.isNull(1) ? nil : rows.int(1))) }
        return result
    }

    /// The reader of the collection with this number, or nil where there is none.
    package func collection(number: Int64) throws(DocDBError) -> CollectionReader? {
        if let known = knownCollection(number: number) { return known }
        guard let info = catalog.collection(number: number) else { return nil }
        return try collection(info.name)
    }

    /// The state that a document had after a commit, by unwinding the log from the present.
    ///
    /// - Complexity: O(changes of the document since), each of which reads one block of the log.
    package func state(
        of key: Int64, in collection: CollectionReader, after sequence: Int64, _ reader: ChangeLogReader
    ) throws -> PastDocumentState {
        let stored = try collection.withDocument(key: key) { (row, _) throws(DocDBError) in
            (state: try DocumentState(body: row.body, state: row.state, actors: self.actors), change: row.lastChange)
        }
        guard let stored else { return try absentState(of: key, in: collection.info.number, after: sequence) }
        var unwinder = DocumentUnwinder(
            collection: collection.info.number, key: key, state: stored.state, lastChange: stored.change,
            reader: reader, actors: actors)
        while let state = unwinder.version.state {
            if unwinder.version.sequence <= sequence { return .stored(state) }
            if case .unknown = try unwinder.step() { return .unknown }
        }
        // It may have been stored before, and evicted: of that nothing is known.
        return sequence >= (try reader.oldestSequence()) - 1 ? .absent : .unknown
    }

    private func absentState(
        of key: Int64, in collection: Int64, after sequence: Int64
    ) throws(DocDBError) -> PastDocumentState {
        let select = try connection.prepare(
            "SELECT evicted_seq FROM absent_documents WHERE collection = ? AND key = ?")
        select.bind(1, collection)
        select.bind(2, key)
        defer { select.reset() }
        guard try select.step() else { return .unknown }
        return select.isNull(0) || select.int(0) <= sequence ? .absent : .unknown
    }
}
