import DocDBCore

extension Session {
    /// The peer asks: its interest, from where, and what it knows.
    func receive(_ message: InterestMessage) throws {
        guard message.number > (provider.asked?.number ?? provider.number) else {
            throw SessionFailure.protocolError("interests are numbered upwards")
        }
        guard message.predicateCount <= SyncLimits.interestPredicateCount else {
            throw SessionFailure(
                CloseCode.limitReached,
                "the peer asks by more than \(SyncLimits.interestPredicateCount) predicates; subscribe to fewer, wider ones"
            )
        }
        try countPredicates(message.predicateCount)
        provider.asked = message
        try takeUpInterest()
    }

    /// Begins to answer the newest interest: at once, or, where the peer changes it without end, a little later, and then only
    /// the one that stands. What answers an older one meanwhile is dropped by the peer.
    func takeUpInterest() throws {
        guard let message = provider.asked, provider.pace.take(at: time.monotonicNanoseconds) else { return }
        provider.asked = nil
        provider.number = message.number
        // What answered an earlier interest is acknowledged before a new one comes, or never.
        provider.flights = [:]
        provider.interest = try Interest.union(message.origins.map(\.interest))
        effects.append(.announced(message.origins))
        try rescope()
        provider.request = message
    }

    /// Compiles the scope for the interest and the rights that stand, and has commits reported by it.
    func rescope() throws {
        let scope = try ScopeFilter(provider.interest, permitted: gate.rights.read, names: replica.names)
        provider.scope = scope
        provider.sent = nil
        provider.reconciliation = nil
        provider.plan = nil
        provider.listed = [:]
        provider.bases = [:]
        provider.poked = []
        provider.unknown = []
        provider.known = [:]
        provider.held = [:]
        provider.created = [:]
        provider.appliedCount = 0
        provider.dirty = []
        provider.mustWalk = true
        provider.total = nil
        provider.isFirst = true
        // An offer for the old interest is dropped.
        apart.retried = [:]
        effects.append(.scope(scope.scope))
    }

    /// Commits are reported by now: reads from where the pull goes on (R10, R11).
    func startPull() throws {
        guard let request = provider.request else { return }
        provider.request = nil
        var isValid = false
        var apartThere: [DocumentReference: ApartDocument] = [:]
        try replica.read { reader in
            gate.refresh()
            isValid = try isValidCursor(request, reader)
            for held in request.have {
                if let reference = try knownReference(of: held, reader) {
                    provider.bases[reference] = held.seen
                    provider.poked.insert(reference)
                } else {
                    provider.unknown.append(held.name)
                }
            }
            for outcome in request.apart where outcome.code != .evicted {
                // What is not here any more was given up with what was refused of it.
                guard let reference = try reference(of: outcome.name, reader),
                    try reader.withDocument(reference, { _ in })
                else { continue }
                apartThere[reference] = ApartDocument(
                    peer: peer.number, side: .there, reference: reference, code: outcome.code, epoch: outcome.epoch,
                    reason: outcome.reason)
            }
        }
        try noteCursor(request, isValid, apartThere)
        try offerRefusedAgain()
        if isValid, let cursor = request.cursor {
            provider.sent = cursor.sequence
            provider.statedPosition = cursor.sequence
            provider.appliedCount = 0
            provider.mustWalk = true
            provider.total = ScopeTotal(count: request.toldCount, sum: request.toldSum)
        } else {
            try beginReconciliation()
        }
    }

    /// The reference of a document that the peer names, where it may know that there is one: it may read the document, or it
    /// shows by a time that the document's vectors cover that it has held some state of it, however old. Else the answer is
    /// that of a document that is not here.
    func knownReference(of held: HeldDocument, _ reader: any ReplicaReader) throws -> DocumentReference? {
        guard let reference = try reference(of: held.name, reader), gate.rights.read != .everything else {
            return try reference(of: held.name, reader)
        }
        var isKnown = true
        try reader.withDocument(reference) { document in
            if let body = document.body, mayRead(document, body, held.name.collection) { return }
            let state = try state(document)
            isKnown = held.seen.elements.contains {
                $0.time.rawValue > 0
                    && (state.seen.covers($0.actor, $0.time) || state.deleted.covers($0.actor, $0.time))
            }
        }
        return isKnown ? reference : nil
    }

    /// A cursor is valid if its incarnation is known, does not end before it, and the log reaches back to it (R11).
    private func isValidCursor(_ request: InterestMessage, _ reader: any ReplicaReader) throws -> Bool {
        guard let cursor = request.cursor, cursor.interestHash == provider.interest.hash(for: gate.rights.userID),
            cursor.epoch == request.epoch, cursor.epoch == gate.rights.epoch, cursor.sequence >= 0,
            cursor.sequence >= reader.oldestSequence - 1, cursor.sequence <= reader.sequence
        else { return false }
        if !isOn(.incarnation) { return true }
        guard let known = try reader.incarnations().last(where: { $0.id == cursor.incarnation }) else { return false }
        return cursor.sequence <= known.lastSequence ?? reader.sequence
    }

    /// What the peer has acknowledged by its cursor, and what it has not joined (R10).
    private func noteCursor(
        _ request: InterestMessage, _ isValid: Bool, _ apartThere: [DocumentReference: ApartDocument]
    ) throws {
        guard isOn(.cursorAcknowledges) else { return }
        var record = peer
        // A keeper that may not read everything is no keeper of what it may not read.
        let interest = gate.rights.read == .everything ? provider.interest : .nothing
        // Who asks without a place to go on from holds what it has acknowledged all the same; if not, the reconciliation shows
        // it. A place in another history than this store's is another matter.
        let isOfAnotherHistory = !isValid && request.cursor != nil
        if isOfAnotherHistory || record.interest != interest { record.acknowledgedSequence = 0 }
        record.interest = interest
        if isValid, let cursor = request.cursor {
            record.acknowledgedSequence = max(record.acknowledgedSequence, cursor.sequence)
        }
        // That a document is too large to be sent is known here alone.
        let apartThere = apartThere.merging(apart.there.filter { $0.value.code == .limit }) { named, _ in named }
        guard record != peer || apartThere != apart.there else { return }
        let settled = apart.there.keys.filter { apartThere[$0] == nil }.sorted()
        let added = apartThere.values.filter { apart.there[$0.reference] != $0 }
            .sorted { $0.reference < $1.reference }
        try replica.write { writer in
            for reference in settled { try writer.removeApart(peer: peer.number, side: .there, reference) }
            for document in added { try writer.setApart(document) }
            peer = try writer.setPeer(record)
            try performDeferredEvictions(writer)
        }
        apart.there = apartThere
        for reference in settled { effects.append(.settled(reference, peer: peer.number, .there)) }
        for document in added { effects.append(.apart(document)) }
        effects.append(.acknowledged(through: peer.acknowledgedSequence))
    }

    /// Offers documents again that the peer refused under older rights of this one (R18).
    func offerRefusedAgain() throws {
        for document in apart.there.values { offerRefusedAgain(document) }
    }

    /// Offers a document again, once under each epoch of this peer's rights.
    private func offerRefusedAgain(_ document: ApartDocument) {
        let epoch = ownRights.epoch
        guard isOn(.retry) else { return }
        if document.code == .userLimit {
            // The limit may be higher by now, or less be taken of it: once a session.
            if !apart.limited.contains(document.reference) { offerAgain(document.reference) }
            return
        }
        guard document.code == .denied || document.code == .relay, document.epoch < epoch,
            apart.retried[document.reference] != epoch
        else { return }
        apart.retried[document.reference] = epoch
        offerAgain(document.reference)
    }

    /// Offers a document again, whole.
    func offerAgain(_ reference: DocumentReference) {
        provider.poked.insert(reference)
        provider.known[reference] = nil
        provider.held[reference] = nil
        provider.bases[reference] = VersionVector()
    }

    /// Commits have changed documents in scope.
    func note(_ documents: [DirtyDocument], through: Int64) {
        guard provider.number > 0, provider.request == nil else { return }
        // What the log is to be walked for need not be remembered.
        if provider.mustWalk { return }
        for document in documents { provider.dirty.insert(document.reference) }
        provider.covered = max(provider.covered, through)
        if provider.dirty.count > SyncLimits.dirtyDocumentCount {
            provider.dirty = []
            provider.mustWalk = true
        }
    }

    /// Documents were evicted here: the peer is told that they are not held (R13).
    func noteEvicted(_ references: [DocumentReference]) {
        for reference in references {
            if subscriber.listed != nil { subscriber.evictedSinceListed.insert(reference) }
            for (snapshot, flight) in provider.flights {
                for index in flight.documents.indices where flight.documents[index].reference == reference {
                    provider.flights[snapshot]?.documents[index].isEvicted = true
                }
            }
            guard isOn(.evictionNotice), provider.number > 0 else { continue }
            provider.poked.insert(reference)
            provider.known[reference] = nil
            provider.held[reference] = nil
            provider.created[reference] = nil
        }
    }

    /// This session has evicted documents itself.
    func tellEvicted(_ references: [DocumentReference]) {
        guard !references.isEmpty else { return }
        noteEvicted(references)
        effects.append(.evicted(references))
    }

    /// What the peer is now known to hold (R5), and whether it holds less than this store (R6).
    func noteHeard(_ documents: [HeardDocument], at sequence: Int64?) {
        guard provider.number > 0 else { return }
        if sequence != nil { provider.appliedCount += 1 }
        for document in documents {
            provider.created[document.reference] = document.isNew ? sequence : nil
            provider.known[document.reference, default: VersionVector()].join(document.seen)
            provider.held[document.reference] = document.digest
            if !document.isSame, isOn(.stale) { provider.poked.insert(document.reference) }
        }
    }

    /// Waits until everything up to a commit is on the disk itself (R15).
    func synchronize(through sequence: Int64) throws {
        guard isOn(.sendDurable), provider.synchronized < sequence else { return }
        provider.synchronized = max(provider.synchronized, try replica.synchronize())
    }
}

// Acknowledgements.
extension Session {
    func receive(_ message: Acknowledge) throws {
        guard let flight = provider.flights.removeValue(forKey: message.snapshot) else { return }
        // Those before it that were not acknowledged were dropped, with the interest that they answered.
        provider.flights = provider.flights.filter { $0.key > message.snapshot }
        timers.lastFact = time.monotonicNanoseconds
        var excepted: [DocumentReference: DocumentOutcome] = [:]
        try replica.read { reader in
            for outcome in message.except {
                if let reference = try reference(of: outcome.name, reader) { excepted[reference] = outcome }
            }
        }
        var again: [DocumentReference] = []
        try replica.write { writer in
            let record = try writer.peer(storeID: peer.storeID)
            // Most devices have told their hub nothing, which need not be asked for each document.
            let mayHaveTold = (record?.currentCount ?? 0) > 0 || flight.documents.contains { $0.isOwn }
            for document in flight.documents {
                if let outcome = excepted[document.reference] {
                    try noteRefused(document.reference, outcome, writer)
                } else {
                    try noteJoined(document, flight, mayHaveTold: mayHaveTold, &again, writer)
                }
            }
            if var record {
                if let through = flight.through, message.number == provider.number {
                    record.acknowledgedSequence = max(record.acknowledgedSequence, through)
                }
                peer = try writer.setPeer(record)
            }
            try performDeferredEvictions(writer)
        }
        provider.wasSent = true
        if let through = flight.through { effects.append(.acknowledged(through: through)) }
        ask(for: again)
    }

    private func noteRefused(
        _ reference: DocumentReference, _ outcome: DocumentOutcome, _ writer: any ReplicaWriter
    ) throws {
        provider.known[reference] = nil
        provider.held[reference] = nil
        guard outcome.code != .notHeld, outcome.code != .evicted else { return }
        let document = ApartDocument(
            peer: peer.number, side: .there, reference: reference, code: outcome.code, epoch: outcome.epoch,
            reason: outcome.reason)
        if outcome.code == .userLimit { apart.limited.insert(reference) }
        // It may have been judged before the rights came that permit it.
        offerRefusedAgain(document)
        // Where it was evicted meanwhile, what was refused of it is given up already.
        guard apart.there[reference] != document, try writer.withDocument(reference, { _ in }) else { return }
        apart.there[reference] = document
        try writer.setApart(document)
        effects.append(.apart(document))
    }

    private func noteJoined(
        _ document: FlightDocument, _ flight: Flight, mayHaveTold: Bool, _ again: inout [DocumentReference],
        _ writer: any ReplicaWriter
    ) throws {
        let reference = document.reference
        if apart.there.removeValue(forKey: reference) != nil {
            try writer.removeApart(peer: peer.number, side: .there, reference)
            effects.append(.settled(reference, peer: peer.number, .there))
        }
        // The peer holds this store's state now: it is in the peer's scope for this store if it is in this store's own.
        guard subscriber.isWanting, flight.interestHash == subscriber.interestHash else { return }
        guard document.isOwn else {
            if subscriber.listed != nil { subscriber.acknowledgedSinceListed[reference] = .some(nil) }
            if mayHaveTold { try writer.setTold(peer: peer.number, reference, nil) }
            return
        }
        if isOn(.evictionReturn), document.isEvicted, try writer.withDocument(reference, { _ in }) {
            try writer.setTold(peer: peer.number, reference, nil)
            again.append(reference)
            return
        }
        try writer.setTold(peer: peer.number, reference, document.digest)
        if subscriber.listed != nil { subscriber.acknowledgedSinceListed[reference] = document.digest }
    }

    /// Evicts what waited for its acknowledgement (R16).
    func performDeferredEvictions(_ writer: any ReplicaWriter) throws {
        var evicted: [DocumentReference] = []
        for reference in try writer.deferredEvictions() where try writer.isAcknowledged(reference) {
            try writer.setDeferredEviction(reference, false)
            if try writer.evict(reference, force: false) { evicted.append(reference) }
        }
        tellEvicted(evicted)
    }
}
