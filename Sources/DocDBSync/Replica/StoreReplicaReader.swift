package import DocDBCore
package import DocDBStorage

/// One moment of a store, as replication reads it; valid only within the closure that it is handed to.
package class StoreReplicaReader: ReplicaReader {
    let context: ReadContext
    let statements: ReplicaStatements
    let log: ChangeLogReader
    /// Which changes keepers hold, once somebody has asked.
    private var acknowledgements: Acknowledgements?
    /// How many documents are handed out at present: the kept statement serves only one at a time.
    private var handedOutCount = 0
    /// The id of the first of these.
    private var handedOutID = ByteBuffer(capacity: 64)

    init(_ context: ReadContext) throws {
        self.context = context
        statements = try ReplicaStatements.of(context)
        log = ChangeLogReader(connection: context.connection)
    }

    // MARK: The store

    package var sequence: Int64 {
        // A log that cannot be read fails where it is used; until then nothing is claimed.
        (try? log.lastSequence()) ?? 0
    }

    package var oldestSequence: Int64 { (try? log.oldestSequence()) ?? .max }

    package var actor: ActorID? { (try? context.currentActor()) ?? nil }

    package func ownActors() throws -> [OwnActor] { try context.ownActors() }

    package func incarnations() throws -> [(id: [UInt8], lastSequence: Int64?)] { try context.incarnations() }

    package func collections() throws -> [(number: Int64, name: String)] {
        context.catalog.names.compactMap { name in context.catalog[name].map { ($0.number, $0.name) } }
            .sorted { $0.0 < $1.0 }
    }

    package func collection(named name: String) throws -> Int64? { context.catalog[name]?.number }

    package func name(ofCollection number: Int64) throws -> String? {
        try context.collection(number: number)?.info.name
    }

    // MARK: Documents

    package func reference(collection: Int64, id: UnsafeRawBufferPointer) throws -> DocumentReference? {
        guard try context.collection(number: collection) != nil else { return nil }
        let stored = try statements.documentKey(collection: collection)
        try stored.bind(1, id: id)
        defer { stored.reset() }
        if try stored.step() { return DocumentReference(collection: collection, key: stored.int(0)) }
        return try absentKey(collection: collection, id: id).map {
            DocumentReference(collection: collection, key: $0)
        }
    }

    /// The key that is kept for a document that is not stored.
    func absentKey(collection: Int64, id: UnsafeRawBufferPointer) throws -> Int64? {
        let absent = try statements[.absentKey]
        absent.bind(1, collection)
        try absent.bind(2, id: id)
        defer { absent.reset() }
        return try absent.step() ? absent.int(0) : nil
    }

    package func id(of reference: DocumentReference) throws -> [UInt8]? {
        guard try context.collection(number: reference.collection) != nil else { return nil }
        let stored = try statements.documentID(collection: reference.collection)
        stored.bind(1, reference.key)
        defer { stored.reset() }
        if try stored.step() { return stored.id(0) }
        let absent = try statements[.absentID]
        absent.bind(1, reference.collection)
        absent.bind(2, reference.key)
        defer { absent.reset() }
        return try absent.step() ? absent.id(0) : nil
    }

    @discardableResult
    package func withDocument(
        _ reference: DocumentReference, _ body: (StoredDocument) throws -> Void
    ) throws -> Bool {
        guard try context.collection(number: reference.collection) != nil else { return false }
        let statement = try statements.document(collection: reference.collection, isShared: handedOutCount == 0)
        statement.bind(1, reference.key)
        handedOutCount += 1
        defer {
            handedOutCount -= 1
            statement.reset()
        }
        guard try statement.step() else { return false }
        if handedOutCount == 1 {
            let document = Self.document(statement, collection: reference.collection, &handedOutID)
            try body(document)
        } else {
            var id = ByteBuffer(capacity: 64)
            try body(Self.document(statement, collection: reference.collection, &id))
        }
        return true
    }

    package func forEachDocument(
        collection: Int64, after key: Int64, _ body: (StoredDocument) throws -> Bool
    ) throws {
        guard try context.collection(number: collection) != nil else { return }
        let statement = try context.connection.prepareOnce(
            "\(ReplicaStatements.documentColumns(collection)) WHERE key > ? ORDER BY key")
        statement.bind(1, key)
        defer { statement.reset() }
        var id = ByteBuffer(capacity: 64)
        while try statement.step() {
            if try !body(Self.document(statement, collection: collection, &id)) { return }
        }
    }

    /// The document in a row; `id` holds its id.
    private static func document(
        _ row: SQLiteStatement, collection: Int64, _ id: inout ByteBuffer
    ) -> StoredDocument {
        id.removeAll()
        row.appendID(1, to: &id)
        return StoredDocument(
            reference: DocumentReference(collection: collection, key: row.int(0)), id: id.bytes,
            body: row.isNull(2) ? nil : row.blob(2), state: row.blob(3), lastChange: row.int(4))
    }

    // MARK: History

    package func state(of reference: DocumentReference, after sequence: Int64) throws -> PastState {
        guard let collection = try context.collection(number: reference.collection) else { return .unknown }
        do {
            return switch try context.state(of: reference.key, in: collection, after: sequence, log) {
            case .stored(let state): .stored(state)
            case .absent: .absent
            case .unknown: .unknown
            }
        } catch let error as DocDBError where error.code == .corrupted {
            // A damaged log is one that does not reach back: peers compare what they hold instead.
            return .unknown
        }
    }

    /// Returns false where the log is damaged: then it does not reach back, and peers compare what they hold instead.
    private func unlessDamaged(_ body: () throws -> Void) throws -> Bool {
        do {
            try body()
            return true
        } catch let error as DocDBError where error.code == .corrupted {
            return false
        }
    }

    package func forEachChange(
        after sequence: Int64, takenFrom peer: Int64,
        _ body: (_ reference: DocumentReference, _ first: Int64, _ isTaken: Bool) throws -> Void
    ) throws -> Bool {
        guard sequence >= (try log.oldestSequence()) - 1, sequence <= (try log.lastSequence()) else { return false }
        var places: [DocumentReference: Int] = [:]
        var changes: [(reference: DocumentReference, first: Int64, isTaken: Bool)] = []
        let isReadable = try unlessDamaged {
            try log.forEachEntry(after: sequence) { number, entry in
                let reference = DocumentReference(collection: entry.collection, key: entry.key)
                let isTaken = entry.peer == peer && peer != ChangeLogFormat.noPeer
                if let place = places[reference] {
                    if isTaken { changes[place].isTaken = true }
                } else {
                    places[reference] = changes.count
                    changes.append((reference, number, isTaken))
                }
            }
        }
        guard isReadable else { return false }
        for change in changes { try body(change.reference, change.first, change.isTaken) }
        return true
    }

    // MARK: Acknowledgement

    package func isAcknowledged(_ reference: DocumentReference) throws -> Bool {
        guard let collection = try context.collection(number: reference.collection) else { return false }
        let known: Acknowledgements
        if let acknowledgements { known = acknowledgements } else { known = try Acknowledgements(context) }
        acknowledgements = known
        guard known.hasKeepers else { return false }
        var isAcknowledged = false
        try withDocument(reference) { document in
            isAcknowledged = try known.isAcknowledged(
                collection.info, key: reference.key, id: document.id, body: document.body,
                lastChange: document.lastChange)
        }
        return isAcknowledged
    }

    /// Makes the next question after acknowledgements look at the peers anew.
    func forgetAcknowledgements() { acknowledgements = nil }

    /// Called before peers are read: what a writer holds back is then written.
    func willReadPeers() throws {}
}

extension SQLiteStatement {
    /// The document id in a column, as canonical CBOR.
    func id(_ column: Int32) -> [UInt8] {
        var buffer = ByteBuffer(capacity: 64)
        appendID(column, to: &buffer)
        return buffer.array
    }
}
