import DocDBCore

// Deltas whose times lie too far ahead wait; they are judged again as time passes.
extension Session {
    func quarantine(
        _ document: IncomingDocument, _ reference: DocumentReference, _ newest: HybridTime,
        _ result: inout SnapshotApplication, _ writer: any ReplicaWriter
    ) throws -> Acceptance {
        let delta = QuarantinedDelta(
            peer: peer.number, reference: reference, newestTime: newest,
            bytes: try WireContent.bytes(document, names: replica.names))
        guard try mayQuarantine(byteCount: delta.bytes.count, reference, writer) else {
            return try refuse(document, reference, .quarantined, &result, writer)
        }
        if let displaced = try writer.setQuarantined(delta) {
            // What had to go is told no longer, so that the totals differ and it comes again (R20).
            try writer.setTold(peer: displaced.peer, displaced.reference, nil)
            if displaced.peer == peer.number { apart.quarantined[displaced.reference] = nil }
        }
        apart.quarantined[reference] = newest
        result.effects.append(
            .apart(
                ApartDocument(
                    peer: peer.number, side: .here, reference: reference, code: .clock, epoch: gate.rights.epoch,
                    reason: Self.reason(.clock))))
        return .refused(.clock)
    }

    /// A waiting delta is replaced by what is judged now.
    func release(
        _ reference: DocumentReference, _ result: inout SnapshotApplication, _ writer: any ReplicaWriter
    ) throws {
        try writer.removeQuarantined(peer: peer.number, reference)
        apart.quarantined[reference] = nil
        result.effects.append(.settled(reference, peer: peer.number, .here))
    }

    /// Judges those waiting deltas again whose times are within the bound by now.
    func retryQuarantine() throws {
        guard apart.quarantined.values.contains(where: { isWithinBound($0) }) else { return }
        var result = SnapshotApplication(begin: Begin(number: 0, snapshot: 0), position: nil)
        var lacking: [DocumentReference] = []
        var usage: UserUsage?
        try replica.write { writer in
            gate.refresh()
            for delta in try writer.quarantine(peer: peer.number) where isWithinBound(delta.newestTime) {
                let reference = delta.reference
                try release(reference, &result, writer)
                let document = try WireContent.document(delta.bytes, names: replica.names)
                if try accept(document, reference, &result, writer) == .baseMissing {
                    if isOn(.quarantineNeed) { try writer.setTold(peer: peer.number, reference, nil) }
                    lacking.append(reference)
                }
            }
            result.sequence = result.changedCount > 0 ? writer.sequence : nil
            if let record = try writer.peer(storeID: peer.storeID) { peer = record }
            usage = try saveUsage(writer)
        }
        didSave(usage)
        // The peer does not know yet that it was joined: it is told by what comes back.
        for heard in result.heard {
            provider.known[heard.reference] = nil
            provider.held[heard.reference] = nil
            provider.poked.insert(heard.reference)
        }
        for reference in result.claimed { offerAgain(reference) }
        effects += result.effects
        if result.changedCount > 0 {
            effects.append(.applied(count: result.changedCount, sequence: result.sequence))
        }
        ask(for: lacking)
    }

    /// Adopts the peer's version of a document that it refused (R17).
    func revert(_ reference: DocumentReference) throws {
        var toldBy: [Int64] = []
        let isEvicted = try replica.write { writer -> Bool in
            // Where several have refused it, the session with the first of them has evicted it.
            if try writer.evict(reference, force: true) {
                if isOn(.revertRotation) { try writer.rotateActor() }
                for peer in try writer.peers() { try writer.removeApart(peer: peer.number, side: .there, reference) }
            } else if try !writer.isEvicted(reference) {
                return false
            }
            try forgetTold(reference, writer)
            // Who refused it may not be able to bring what others wrote: whoever has told it is asked as well.
            toldBy = try writer.removeTold(reference, except: peer.number)
            return true
        }
        guard isEvicted else { return }
        if apart.there.removeValue(forKey: reference) != nil {
            effects.append(.settled(reference, peer: peer.number, .there))
        }
        if !toldBy.isEmpty { effects.append(.returned(reference, toldBy: toldBy)) }
        tellEvicted([reference])
        ask(for: [reference])
    }

    /// Forgets that the peer has told of a document, so that it comes again: with the answer to what is asked next, or, where
    /// the session ends before, with a later session, which finds no place to resume from.
    func forgetTold(_ reference: DocumentReference, _ writer: any ReplicaWriter) throws {
        try writer.setTold(peer: peer.number, reference, nil)
        guard var record = try writer.peer(storeID: peer.storeID) else { return }
        if let cursor = record.cursor {
            subscriber.place = Subscriber.Place(
                cursor: cursor, total: ScopeTotal(count: record.toldCount, sum: record.toldSum))
        }
        record.cursor = nil
        peer = try writer.setPeer(record)
    }
}
