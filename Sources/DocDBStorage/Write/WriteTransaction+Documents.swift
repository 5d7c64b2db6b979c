package import DocDBCore

/// What writing a whole document does where one with its id exists.
package enum WriteStrategy: Sendable {
    /// Writes only the fields that differ from the local document, and keeps those that are not given.
    case merge
    /// Replaces the whole document.
    case replace
    /// Fails.
    case insert
    /// Does nothing.
    case insertIfAbsent
    /// Does nothing; where there is none, writes values that any real write replaces, whatever its time.
    case insertDefault
}

/// What a write of a whole document did.
package enum WriteOutcome: Sendable {
    case inserted
    case updated
    /// The document exists and nothing had to be changed.
    case unchanged
}

extension WriteTransaction {
    /// Writes a document given as JSON text; its `_id`, given or generated, is left in `id` as canonical CBOR.
    ///
    /// - Throws: `invalidJSON`, `invalidDocumentID`, `documentTooLarge`, `documentTooDeep`, `documentExists`.
    @discardableResult
    package func put(
        json: UnsafeRawBufferPointer, collection: String, strategy: WriteStrategy, id: inout ByteBuffer
    ) throws(DocDBError) -> WriteOutcome {
        try checkIsUsable()
        let scratch = writer.scratch
        scratch.pointee.body.removeAll()
        id.removeAll()
        try scratch.pointee.transcoder.transcode(json, names: writer.names, body: &scratch.pointee.body, id: &id)
        return try put(body: scratch.pointee.body.bytes, collection: collection, strategy: strategy, id: &id)
    }

    /// Writes an encoded document; where `id` (canonical CBOR) is empty, a UUID of version 7 is generated into it.
    ///
    /// `body` must be a body of this store's own making, without `_id`.
    @discardableResult
    package func put(
        body: UnsafeRawBufferPointer, collection: String, strategy: WriteStrategy, id: inout ByteBuffer
    ) throws(DocDBError) -> WriteOutcome {
        try checkIsUsable()
        try Self.checkSize(body)
        if id.count == 0 { writer.generateID(into: &id) }
        let collection = try collectionForWriting(collection)
        if try insert(body: body, id: id.bytes, collection, isDefault: strategy == .insertDefault) { return .inserted }
        return try putExisting(body: body, id: id.bytes, collection, strategy)
    }

    /// The writer of a collection, which is created where it is new.
    func collectionForWriting(_ name: String) throws(DocDBError) -> CollectionWriter {
        if let last = writer.lastCollection, CollectionName(last.info.name) == CollectionName(name) { return last }
        try Catalog.validate(collectionName: name)
        let found = try writing { () throws(DocDBError) in try writer.collection(name, creating: true) }
        guard let found else { throw DocDBError(.collectionNotFound, "there is no such collection") }
        writer.lastCollection = found
        return found
    }

    /// Inserts a document under an id that no row has; false where one has it.
    @inline(__always)
    private func insert(
        body: UnsafeRawBufferPointer, id: UnsafeRawBufferPointer, _ collection: CollectionWriter, isDefault: Bool
    ) throws(DocDBError) -> Bool {
        let stamp = try stamp()
        let scratch = writer.scratch
        // A document without fields has no leaf to keep the default flag.
        let isDefault = isDefault && body.count > 1
        if scratch.pointee.freshStamp != stamp || scratch.pointee.isFreshDefault != isDefault {
            writer.prepareFreshState(stamp, isDefault: isDefault)
        }
        let state = scratch.pointee.freshState.bytes
        return try writing { () throws(DocDBError) in
            guard let (key, wasEvicted) = try collection.insert(id: id, body: body, state: state, sequence: sequence)
            else { return false }
            if wasEvicted { try noteReturn(key: key, collection) }
            for index in collection.indexes { try index.change(key: key, id: id, oldBody: nil, newBody: body) }
            if collection.isObserved {
                scratch.pointee.capture.add(
                    collection: collection.info.number, key: key, sequence: sequence, id: id, before: nil, after: body)
            }
            scratch.pointee.record.addInsertion(
                collection: collection.info.number, key: key, stampIndex: stampIndex)
            scratch.pointee.record.contentDelta &+= ContentHash.document(
                collection: collection.info.number, key: key, body: body, state: state)
            return true
        }
    }

    /// Strikes what peers had told of an evicted document that a local write brings back: they are to be asked for the rest.
    private func noteReturn(key: Int64, _ collection: CollectionWriter) throws(DocDBError) {
        let number = collection.info.number
        let peers = try removeTold(collection: number, key: key, except: ChangeLogFormat.noPeer)
        if collection.isObserved, !peers.isEmpty {
            writer.scratch.pointee.capture.addReturned(collection: number, key: key, toldBy: peers)
        }
    }

    private func putExisting(
        body: UnsafeRawBufferPointer, id: UnsafeRawBufferPointer, _ collection: CollectionWriter,
        _ strategy: WriteStrategy
    ) throws(DocDBError) -> WriteOutcome {
        guard var document = try load(id: id, collection) else {
            throw DocDBError(
                .corrupted, "the index of ids names a document that is not there; run 'docdb-inspect verify'")
        }
        if document.isAlive {
            switch strategy {
            case .insert:
                throw DocDBError(
                    .documentExists, "a document with this id exists; use upsert to change it, or another id")
            case .insertIfAbsent, .insertDefault: return .unchanged
            case .merge, .replace: break
            }
        } else if strategy == .insertDefault {
            // Its deletion is a real write, which a default never outranks.
            return .unchanged
        }
        let stamp = try stamp(for: document)
        let wasAlive = document.isAlive
        if strategy == .merge, wasAlive {
            let hasWritten = try document.state.merge(
                body, at: UnsafeRawBufferPointer(start: nil, count: 0), skippingEqual: true, stamp: stamp)
            guard hasWritten else { return .unchanged }
        } else {
            try document.state.set(UnsafeRawBufferPointer(start: nil, count: 0), to: body, stamp: stamp)
        }
        try store(document, id: id, collection)
        return wasAlive ? .updated : .inserted
    }

    /// Changes a document through `change`, which gets its state and the stamp to write with.
    ///
    /// Returns whether the document exists; `change` runs only where it does, and what it wrote is stored where it
    /// returns true.
    package func edit(
        id: UnsafeRawBufferPointer, collection name: String,
        _ change: (inout DocumentState, Stamp) throws -> Bool
    ) throws -> Bool {
        try checkIsUsable()
        guard let collection = try writer.collection(name, creating: false),
            var document = try load(id: id, collection), document.isAlive
        else { return false }
        let stamp = try stamp(for: document)
        isEditing = true
        defer { isEditing = false }
        if try change(&document.state, stamp) { try store(document, id: id, collection) }
        return true
    }

    /// Deletes a document; returns whether there was one.
    package func remove(id: UnsafeRawBufferPointer, collection name: String) throws(DocDBError) -> Bool {
        try checkIsUsable()
        guard let collection = try writer.collection(name, creating: false),
            var document = try load(id: id, collection), document.isAlive
        else { return false }
        document.state.delete(stamp: try stamp(for: document), forgets: true)
        try store(document, id: id, collection)
        return true
    }

    static func checkSize(_ body: UnsafeRawBufferPointer) throws(DocDBError) {
        guard body.count <= Limits.documentByteCount else { throw DocDBError.documentTooLarge }
    }
}

// MARK: Stored documents

extension WriteTransaction {
    /// A stored document with its state decoded, to be changed and stored again.
    struct StoredDocument {
        var key: Int64
        var lastChange: Int64
        /// The state as stored, for the undo.
        var oldState: DocumentState
        var state: DocumentState
        /// The bytes that body and state take.
        var byteCount: Int
        var contentHash: UInt64
        var isAlive: Bool { state.isAlive }
    }

    /// Reads a document for changing; its old body is left in the scratch buffer for the indexes.
    func load(id: UnsafeRawBufferPointer, _ collection: CollectionWriter) throws(DocDBError) -> StoredDocument? {
        let statement = collection.selectStatement
        try statement.bind(1, id: id)
        defer { statement.reset() }
        guard try statement.step() else { return nil }
        let key = statement.int(0)
        let body: UnsafeRawBufferPointer? = statement.isNull(1) ? nil : statement.blob(1)
        let stateBytes = statement.blob(2)
        let scratch = writer.scratch
        scratch.pointee.oldBody.removeAll()
        scratch.pointee.hasOldBody = body != nil
        if let body, collection.needsOldBody { scratch.pointee.oldBody.append(body) }
        let state = try DocumentState(body: body, state: stateBytes, actors: writer.actors)
        return StoredDocument(
            key: key, lastChange: statement.int(3), oldState: state, state: state,
            byteCount: (body?.count ?? 0) + stateBytes.count,
            contentHash: ContentHash.document(
                collection: collection.info.number, key: key, body: body, state: stateBytes))
    }

    /// The stamp for changing a document: a new actor's where the present one has forgotten entries in it.
    func stamp(for document: StoredDocument) throws(DocDBError) -> Stamp {
        let stamp = try stamp()
        guard document.state.needsActorRotation(stamp.actor) else { return stamp }
        return try writing { () throws(DocDBError) in
            try writer.rotateActor()
            return try issueStamp()
        }
    }

    /// Writes a changed document, its index entries and its undo.
    ///
    /// - Parameter peer: The peer that the change came from; a local one, of `noPeer`, must not pass the limit of size.
    /// - Returns: the bytes of the body, zero for a deleted document.
    @discardableResult
    func store(
        _ document: StoredDocument, id: UnsafeRawBufferPointer, _ collection: CollectionWriter,
        peer: Int64 = ChangeLogFormat.noPeer
    ) throws(DocDBError) -> Int {
        let scratch = writer.scratch
        scratch.pointee.body.removeAll()
        scratch.pointee.state.removeAll()
        let isAlive = document.state.encode(
            into: &scratch.pointee.body, state: &scratch.pointee.state, actors: writer.actors,
            padding: StoreWriter.statePaddingByteCount, keeping: document.byteCount)
        let body: UnsafeRawBufferPointer? = isAlive ? scratch.pointee.body.bytes : nil
        if let body, peer == ChangeLogFormat.noPeer { try Self.checkSize(body) }
        scratch.pointee.undo.removeAll()
        DocumentState.appendUndo(
            from: document.oldState, to: document.state, reference: recordTime, actors: writer.actors,
            to: &scratch.pointee.undo)
        try writing { () throws(DocDBError) in
            try collection.update(
                key: document.key, body: body, state: scratch.pointee.state.bytes, sequence: sequence)
            let oldBody: UnsafeRawBufferPointer? = scratch.pointee.hasOldBody ? scratch.pointee.oldBody.bytes : nil
            for index in collection.indexes {
                try index.change(key: document.key, id: id, oldBody: oldBody, newBody: body)
            }
            if collection.isObserved {
                scratch.pointee.capture.add(
                    collection: collection.info.number, key: document.key, sequence: sequence, peer: peer, id: id,
                    before: oldBody, after: body)
            }
            scratch.pointee.record.addChange(
                collection: collection.info.number, key: document.key,
                sequenceDistance: sequence &- document.lastChange, stampIndex: stampIndex,
                undo: scratch.pointee.undo.bytes, peer: peer)
            let hash = ContentHash.document(
                collection: collection.info.number, key: document.key, body: body, state: scratch.pointee.state.bytes)
            scratch.pointee.record.contentDelta &+= hash &- document.contentHash
        }
        return body?.count ?? 0
    }
}

extension StoreWriter {
    /// Encodes the state that documents freshly inserted under `stamp` have, for as long as it is the stamp.
    func prepareFreshState(_ stamp: Stamp, isDefault: Bool) {
        var stamped = stamp
        stamped.isDefault = isDefault
        scratch.pointee.freshStamp = stamp
        scratch.pointee.isFreshDefault = isDefault
        scratch.pointee.freshState.removeAll()
        DocumentState.appendFreshState(
            stamp: stamped, actors: actors, padding: Self.statePaddingByteCount, to: &scratch.pointee.freshState)
    }

    /// Zero bytes after a fresh state, which later growth takes: else every growing row splits a full page.
    static let statePaddingByteCount = 12

    /// Generates a document id: a UUID of version 7.
    func generateID(into buffer: inout ByteBuffer) {
        DocumentID.uuidVersion7(nanosecondsSince1970: options.clock(), random: nextRandom()).appendCBOR(to: &buffer)
    }

    private static let randomByteCount = 512

    private func nextRandom() -> UInt64 {
        if scratch.pointee.randomOffset + 8 > scratch.pointee.randomBytes.count {
            scratch.pointee.randomBytes = options.randomBytes(Self.randomByteCount)
            scratch.pointee.randomOffset = 0
        }
        var number: UInt64 = 0
        for _ in 0..<8 {
            number = number << 8 | UInt64(scratch.pointee.randomBytes[scratch.pointee.randomOffset])
            scratch.pointee.randomOffset += 1
        }
        return number
    }
}
