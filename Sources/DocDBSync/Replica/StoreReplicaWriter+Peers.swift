import DocDBCore
import DocDBStorage

extension StoreReplicaWriter {
    package func setPeer(_ peer: PeerRecord) throws -> PeerRecord {
        let number = try statements[.peerNumber]
        number.bind(1, copying: peer.storeID)
        let known = try number.step() ? number.int(0) : nil
        number.reset()
        let statement = try statements[known == nil ? .insertPeer : .updatePeer]
        bind(peer, to: statement)
        if let known { statement.bind(13, known) } else { statement.bind(13, copying: peer.storeID) }
        try statement.run()
        forgetAcknowledgements()
        transaction.forgetAcknowledgements()
        guard let stored = try self.peer(storeID: peer.storeID) else {
            throw DocDBError(.corrupted, "a peer that was added is not there; run 'docdb-inspect verify'")
        }
        return stored
    }

    private func bind(_ peer: PeerRecord, to statement: SQLiteStatement) {
        statement.bind(1, peer.name)
        statement.bind(2, peer.isKeeper ? 1 : 0)
        statement.bind(3, Int64(bitPattern: peer.lastSeenNanoseconds))
        if let cursor = peer.cursor {
            statement.bind(4, copying: cursor.incarnation)
            statement.bind(5, cursor.sequence)
            statement.bind(6, copying: cursor.interestHash.bytes)
            statement.bind(7, Int64(bitPattern: cursor.epoch))
        } else {
            for parameter in Int32(4)...7 { statement.bindNull(parameter) }
        }
        statement.bind(8, peer.toldCount)
        statement.bind(9, copying: peer.toldSum.bytes)
        statement.bind(10, peer.acknowledgedSequence)
        if let interest = peer.interest {
            statement.bind(11, copying: interest.stored.bytes)
        } else {
            statement.bindNull(11)
        }
        statement.bind(12, Int64(bitPattern: peer.epoch))
    }

    package func setApart(_ document: ApartDocument) throws {
        let count = try statements[.apartCount]
        count.bind(1, document.peer)
        count.bind(2, document.side.rawValue)
        let isFull = try count.step() && count.int(0) >= Int64(SyncLimits.apartDocumentCount)
        count.reset()
        if isFull, try apart(peer: document.peer, side: document.side, document.reference) == nil {
            throw DocDBError(
                .limitReached,
                "\(SyncLimits.apartDocumentCount) documents of one peer are refused; settle them by revert or new rights"
            )
        }
        let insert = try statements[.insertApart]
        insert.bind(1, document.peer)
        insert.bind(2, document.side.rawValue)
        insert.bind(3, document.reference)
        insert.bind(5, Int64(bitPattern: document.code.rawValue))
        insert.bind(6, Int64(bitPattern: document.epoch))
        insert.bind(7, document.reason)
        try insert.run()
    }

    package func removeApart(peer: Int64, side: ApartDocument.Side, _ reference: DocumentReference) throws {
        let remove = try statements[.removeApart]
        remove.bind(1, peer)
        remove.bind(2, side.rawValue)
        remove.bind(3, reference)
        try remove.run()
        if context.connection.changeCount > 0 { release(reference) }
    }

    /// Puts a delta aside; returns the oldest where the peer has too many, or the delta itself where it is too large.
    package func setQuarantined(_ delta: QuarantinedDelta) throws -> QuarantinedDelta? {
        try removeQuarantined(peer: delta.peer, delta.reference)
        let total = try statements[.quarantineTotal]
        total.bind(1, delta.peer)
        guard try total.step() else { return delta }
        let (count, byteCount) = (total.int(0), total.int(1))
        total.reset()
        guard byteCount + Int64(delta.bytes.count) <= Int64(SyncLimits.quarantineByteCount) else { return delta }
        var removed: QuarantinedDelta?
        if count >= Int64(SyncLimits.quarantineCount) {
            removed = try oldestQuarantined(peer: delta.peer)
            if let removed { try removeQuarantined(peer: removed.peer, removed.reference) }
        }
        let insert = try statements[.insertQuarantined]
        insert.bind(1, delta.peer)
        insert.bind(2, delta.reference)
        insert.bind(4, Int64(bitPattern: delta.newestTime.rawValue))
        insert.bind(5, copying: delta.bytes)
        try insert.run()
        return removed
    }

    private func oldestQuarantined(peer: Int64) throws -> QuarantinedDelta? {
        let rows = try statements[.oldestQuarantined]
        rows.bind(1, peer)
        defer { rows.reset() }
        return try rows.step() ? QuarantinedDelta(rows) : nil
    }

    package func removeQuarantined(peer: Int64, _ reference: DocumentReference) throws {
        let remove = try statements[.removeQuarantined]
        remove.bind(1, peer)
        remove.bind(2, reference)
        try remove.run()
        if context.connection.changeCount > 0 { release(reference) }
    }

    package func setDeferredEviction(_ reference: DocumentReference, _ isDeferred: Bool) throws {
        let statement = try statements[isDeferred ? .insertDeferred : .removeDeferred]
        statement.bind(1, reference)
        try statement.run()
    }
}
