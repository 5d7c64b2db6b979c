package import DocDBCore

/// What storing a state that came from a peer did.
package enum RemoteOutcome: Sendable {
    /// The state is the one that was stored.
    case unchanged
    case stored
    /// It is stored, though the document is larger than a local write may make it.
    case storedOversized
}

extension WriteTransaction {
    /// The number of a collection, which is created where there is none.
    package func makeCollection(named name: String) throws(DocDBError) -> Int64 {
        try checkIsUsable()
        return try collectionForWriting(name).info.number
    }

    /// Stores a joined state in place of what is stored, which may be nothing, without a stamp of its own.
    ///
    /// A dead document's entries are forgotten. The clock advances to the newest time of the state, but not past the clock
    /// bound.
    ///
    /// - Parameters:
    ///   - state: With names and actors of this store.
    ///   - key: The document's key, of `makeKey`.
    ///   - peer: The number of the peer that it came from.
    /// - Throws: `misuse` where the key is another document's.
    /// - Complexity: O(n) in the size of the document.
    package func storeRemote(
        _ state: borrowing DocumentState, collection number: Int64, key: Int64, id: UnsafeRawBufferPointer,
        peer: Int64
    ) throws(DocDBError) -> RemoteOutcome {
        try checkIsUsable()
        let collection = try existingCollection(number)
        beginRemote()
        var joined = copy state
        joined.forgetIfDead(true)
        guard !joined.isUnwritten else {
            throw DocDBError(.misuse, "a state without any change was to be stored; store what has been joined")
        }
        let byteCount: Int
        if var document = try load(id: id, collection) {
            guard document.key == key else { throw Self.foreignKey }
            guard !document.oldState.isSame(as: joined) else { return .unchanged }
            document.state = joined
            byteCount = try store(document, id: id, collection, peer: peer)
        } else {
            byteCount = try insertRemote(joined, key: key, id: id, collection, peer)
        }
        advanceClock(to: joined.newestTime)
        return byteCount > Limits.documentByteCount ? .storedOversized : .stored
    }

    /// Stores a document that is not stored, all leaves of which have one stamp; returns its key, or nil, with nothing
    /// done, where it is stored, or was evicted: others may have told more of it.
    ///
    /// - Parameter body: A body with names of this store, which the caller has validated.
    /// - Complexity: that of a local insertion.
    package func storeRemoteFresh(
        body: UnsafeRawBufferPointer, stamp: Stamp, collection number: Int64, id: UnsafeRawBufferPointer, peer: Int64
    ) throws(DocDBError) -> Int64? {
        try checkIsUsable()
        let collection = try existingCollection(number)
        beginRemote()
        let scratch = writer.scratch
        let isDefault = stamp.isDefault && body.count > 1
        if scratch.pointee.freshStamp != stamp || scratch.pointee.isFreshDefault != isDefault {
            writer.prepareFreshState(stamp, isDefault: isDefault)
        }
        let state = scratch.pointee.freshState.bytes
        return try writing { () throws(DocDBError) in
            let key: Int64
            if let reserved = reservations.key(collection: number, id: id) {
                guard try collection.insert(key: reserved, id: id, body: body, state: state, sequence: sequence) else {
                    return nil
                }
                reservations.remove(collection: number, id: id)
                key = reserved
            } else {
                if try collection.absent.entry(id: id)?.isEvicted == true { return nil }
                guard let inserted = try collection.insert(id: id, body: body, state: state, sequence: sequence) else {
                    return nil
                }
                key = inserted.key
            }
            try noteInsertion(key: key, id: id, body: body, state: state, collection, peer)
            advanceClock(to: stamp.time)
            return key
        }
    }

    private static var foreignKey: DocDBError {
        DocDBError(.misuse, "a state was to be stored under another document's key; make the reference from its id")
    }

    /// Makes the record one of a remote batch, made now, where nothing has been stamped.
    private func beginRemote() {
        guard recordTime == .zero else { return }
        recordTime = presentTime
        kind = .remote
    }

    private func insertRemote(
        _ state: DocumentState, key: Int64, id: UnsafeRawBufferPointer, _ collection: CollectionWriter, _ peer: Int64
    ) throws(DocDBError) -> Int {
        let known = try knownKey(id: id, collection)
        guard known.map({ $0 == key }) ?? collection.hasHandedOut(key: key) else { throw Self.foreignKey }
        let scratch = writer.scratch
        scratch.pointee.body.removeAll()
        scratch.pointee.state.removeAll()
        let isAlive = state.encode(
            into: &scratch.pointee.body, state: &scratch.pointee.state, actors: writer.actors,
            padding: StoreWriter.statePaddingByteCount)
        let body: UnsafeRawBufferPointer? = isAlive ? scratch.pointee.body.bytes : nil
        try writing { () throws(DocDBError) in
            let stateBytes = scratch.pointee.state.bytes
            guard try collection.insert(key: key, id: id, body: body, state: stateBytes, sequence: sequence) else {
                throw Self.foreignKey
            }
            reservations.remove(collection: collection.info.number, id: id)
            try noteInsertion(key: key, id: id, body: body, state: stateBytes, collection, peer)
        }
        return body?.count ?? 0
    }

    /// Writes the index entries of a new document, and notes it for the observers and the record.
    @inline(__always)
    private func noteInsertion(
        key: Int64, id: UnsafeRawBufferPointer, body: UnsafeRawBufferPointer?, state: UnsafeRawBufferPointer,
        _ collection: CollectionWriter, _ peer: Int64
    ) throws(DocDBError) {
        let scratch = writer.scratch
        for index in collection.indexes { try index.change(key: key, id: id, oldBody: nil, newBody: body) }
        if collection.isObserved {
            scratch.pointee.capture.add(
                collection: collection.info.number, key: key, sequence: sequence, peer: peer, id: id, before: nil,
                after: body)
        }
        scratch.pointee.record.addInsertion(
            collection: collection.info.number, key: key, stampIndex: stampIndex, peer: peer)
        scratch.pointee.record.contentDelta &+= ContentHash.document(
            collection: collection.info.number, key: key, body: body, state: state)
    }

    // MARK: The clock

    /// Makes the stamps that follow later than a time that was received, but not past the clock bound.
    private func advanceClock(to time: HybridTime) {
        guard time > writer.state.lastTime else { return }
        let (bound, isBeyond) = writer.now.addingReportingOverflow(Limits.clockBoundNanoseconds)
        let latest = HybridTime(rawValue: isBeyond ? .max : bound)
        writer.state.lastTime = max(writer.state.lastTime, min(time, latest))
    }

    /// Writes down, with what was received, a clock that has passed what is reserved on the disk.
    ///
    /// What is in memory stays behind, so that the next transaction reserves more before it stamps anything.
    func persistClock() throws(DocDBError) {
        guard writer.state.lastTime > writer.session.reservedTime else { return }
        try StoreMetadata.set(
            .clockReserved, Int64(bitPattern: writer.state.lastTime.rawValue), writer.connection)
    }

    /// Makes the changes that follow carry a new actor id.
    package func rotateActor() throws(DocDBError) {
        try checkIsUsable()
        try writing { () throws(DocDBError) in
            try writer.rotateActor()
            forgetStamp()
        }
    }

    /// The newest commit that this transaction sees: its own, once it has changed a document.
    package var newestSequence: Int64 { writer.scratch.pointee.record.isEmpty ? sequence - 1 : sequence }

    /// The wall clock of the store, in nanoseconds since 1970.
    package var now: UInt64 { writer.now }
}
