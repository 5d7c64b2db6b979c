import DocDBCore

/// The new store of a salvage: takes documents as they are found and writes them in batches.
final class SalvageTarget {
    /// A document that has been read and found sound.
    struct Document {
        var id: [UInt8]
        var state: DocumentState
        var isAlive: Bool
        var byteCount: Int
    }

    let store: Store
    /// Names and actors of the damaged store.
    var numbers: SalvageNumbers?
    private var batch: [(collection: String, document: Document)] = []
    private var batchByteCount = 0
    private var body = ByteBuffer()
    private var state = ByteBuffer()

    private static let batchDocumentCount = 1_000
    private static let batchByteCountLimit = 8 * 1024 * 1024

    init(_ store: Store) { self.store = store }

    /// Reads a row of a collection's table; nil where its body or its state is damaged or speaks of what is lost.
    func read(_ row: PageRecord, id: [UInt8]) -> Document? {
        guard let numbers, let stateBytes = row.blob(3) else { return nil }
        let bodyBytes = row.blob(2)
        return stateBytes.withUnsafeBytes { state -> Document? in
            guard let bodyBytes else { return read(body: nil, state: state, id: id, numbers) }
            return bodyBytes.withUnsafeBytes { read(body: $0, state: state, id: id, numbers) }
        }
    }

    private func read(
        body stored: UnsafeRawBufferPointer?, state storedState: UnsafeRawBufferPointer, id: [UInt8],
        _ numbers: SalvageNumbers
    ) -> Document? {
        do {
            if let stored { try CBOR.validate(stored, internedKeyCount: numbers.nameCount) }
            let decoded = try DocumentState(body: stored, state: storedState, actors: numbers.actors)
            guard !numbers.namesLostActor(decoded) else { return nil }
            body.removeAll()
            state.removeAll()
            let isAlive = decoded.encode(into: &body, state: &state, actors: numbers.actors)
            guard isAlive == (stored != nil), stored.map({ CBOR.compare($0, body.bytes) == 0 }) ?? true,
                DocumentState.isEqual(storedState, state.bytes)
            else { return nil }
            let renamed = try decoded.transcoded(by: CBORTranscoder(name: numbers.name, to: store.names))
            return Document(
                id: id, state: renamed, isAlive: isAlive, byteCount: (stored?.count ?? 0) + storedState.count + id.count
            )
        } catch {
            return nil
        }
    }

    /// Writes a document now or with those that follow.
    func add(_ document: Document, to collection: String) throws {
        batch.append((collection, document))
        batchByteCount += document.byteCount
        if batch.count >= Self.batchDocumentCount || batchByteCount >= Self.batchByteCountLimit { try flush() }
    }

    /// Writes what has been added.
    func flush() throws {
        guard !batch.isEmpty else { return }
        try store.write { transaction in
            for (name, document) in batch {
                let number = try transaction.makeCollection(named: name)
                try document.id.withUnsafeBytes { id in
                    let joined = try joined(document.state, id: id, name, transaction)
                    let key = try transaction.makeKey(collection: number, id: id)
                    _ = try transaction.storeRemote(
                        joined, collection: number, key: key, id: id, peer: ChangeLogFormat.noPeer)
                }
            }
        }
        batch.removeAll()
        batchByteCount = 0
    }

    func makeCollection(named name: String) throws {
        try store.write { _ = try $0.makeCollection(named: name) }
    }

    /// Takes over which changes a hub has refused.
    func addVoided(_ voided: [(document: [UInt8], actor: [UInt8], time: Int64)]) throws {
        guard !voided.isEmpty else { return }
        try store.write { transaction in
            let insert = try transaction.context.connection.prepareOnce(
                "INSERT OR IGNORE INTO voided (document, actor, time) VALUES (?, ?, ?)")
            for row in voided {
                insert.bind(1, copying: row.document)
                insert.bind(2, copying: row.actor)
                insert.bind(3, row.time)
                try insert.run()
            }
        }
    }

    /// The state joined with what was found of the document before, as a page and an older copy of it may both be there.
    private func joined(
        _ state: DocumentState, id: UnsafeRawBufferPointer, _ name: String, _ transaction: WriteTransaction
    ) throws -> DocumentState {
        let actors = store.actors
        let known = try transaction.context.collection(name)?.withDocument(id: id) { (row) throws(DocDBError) in
            try DocumentState(body: row.body, state: row.state, actors: actors)
        }
        guard var result = known ?? nil else { return state }
        _ = result.apply(DocumentDelta(base: VersionVector(), state: state), forgets: true, names: store.names)
        return result
    }
}
