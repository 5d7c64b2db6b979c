import DocDBCore

// What the provider sends: everything since the last snapshot, from the present states.
extension Session {
    /// Tells whether there may be something to send.
    var isPumpDue: Bool {
        // What was applied is acknowledged first: a total must not count what the peer does not know to be acknowledged.
        guard provider.number > 0, provider.request == nil, provider.reconciliation == nil,
            subscriber.acknowledgements.isEmpty, provider.flights.count < SyncLimits.flightCount
        else { return false }
        if provider.plan != nil { return true }
        guard provider.sent != nil else { return false }
        return provider.isFirst || provider.mustWalk || !provider.dirty.isEmpty || !provider.poked.isEmpty
            || !provider.unknown.isEmpty
    }

    /// Sends the next snapshot, or the next chunk of one, from one moment of the replica.
    func pump() throws {
        var isComplete = true
        try replica.read { reader in
            try synchronize(through: reader.sequence)
            provider.scope?.refresh()
            subscriber.scope?.refresh()
            gate.refresh()
            try tellActors(reader)
            if provider.plan == nil, let sent = provider.sent {
                provider.plan = SnapshotPlan(start: sent, isReconciled: false)
            }
            isComplete = try stream(reader)
        }
        try settleSizes()
        // The log does not reach back to where the peer is.
        if !isComplete { try beginReconciliation() }
    }

    /// Adds to a plan what concerns the peer up to this moment; returns false where the log does not reach back.
    private func gather(_ plan: inout SnapshotPlan, _ reader: any ReplicaReader) throws -> Bool {
        var references = provider.dirty.union(provider.poked)
        var taken: Set<DocumentReference> = []
        let start = provider.mustWalk ? plan.start : max(plan.start, provider.covered)
        guard reader.oldestSequence - 1 <= plan.start else { return false }
        if start < reader.sequence {
            let isComplete = try forEachChangeInScope(after: start, reader) { reference, isTaken in
                references.insert(reference)
                if isTaken { taken.insert(reference) }
            }
            guard isComplete else { return false }
        }
        if !isOn(.vector) { references.subtract(taken.subtracting(provider.poked)) }
        plan.isUndisturbed = reader.sequence - plan.position == provider.appliedCount
        provider.appliedCount = 0
        plan.add(references)
        plan.position = max(plan.position, reader.sequence)
        plan.taken.formUnion(taken)
        plan.names += provider.unknown
        plan.poked.formUnion(provider.poked)
        plan.bases.merge(provider.bases) { $1 }
        for (reference, seen) in provider.known { plan.known[reference, default: VersionVector()].join(seen) }
        plan.held.merge(provider.held) { $1 }
        plan.created.merge(provider.created) { $1 }
        provider.dirty = []
        provider.poked = []
        provider.bases = [:]
        provider.known = [:]
        provider.held = [:]
        provider.created = [:]
        provider.unknown = []
        provider.covered = plan.position
        provider.mustWalk = false
        return true
    }

    /// Calls `body` with each document that commits have changed, but for those of collections of which nothing is in scope:
    /// the peer neither wants them nor counts them. Returns false where the log does not reach back.
    private func forEachChangeInScope(
        after sequence: Int64, _ reader: any ReplicaReader, _ body: (DocumentReference, _ isTaken: Bool) throws -> Void
    ) throws -> Bool {
        guard let scope = provider.scope, !scope.isNothing else { return true }
        var last: (collection: Int64, isEmpty: Bool)?
        return try reader.forEachChange(after: sequence, takenFrom: peer.number) { reference, _, isTaken in
            if last?.collection != reference.collection {
                let name = try name(ofCollection: reference.collection, reader)
                last = (reference.collection, scope.isEmpty(reference.collection, name))
            }
            if last?.isEmpty == false { try body(reference, isTaken) }
        }
    }

    /// Sends the plan's documents from this moment on, until a snapshot or chunk is full.
    ///
    /// The last of several chunks catches up with what has changed since the first, so that what the peer was told is
    /// always the scope at one moment: that of the cursor it then gets.
    private func stream(_ reader: any ReplicaReader) throws -> Bool {
        guard var plan = provider.plan else { return true }
        provider.plan = nil
        if plan.isFirstChunk, try !gather(&plan, reader) { return false }
        var output = SnapshotOutput(
            number: provider.number, dictionary: provider.dictionary, names: replica.names, actors: replica.actors,
            interestHash: subscriber.interestHash)
        let limit = plan.isReconciled ? SyncLimits.chunkByteCount : SyncLimits.snapshotByteCount
        while output.byteCount < limit {
            if plan.next == plan.references.count {
                if plan.position >= reader.sequence { break }
                // A document may now be counted twice: the total is counted anew.
                provider.total = nil
                guard try gather(&plan, reader) else { return false }
                continue
            }
            try offer(plan.references[plan.next], plan, reader, &output)
            plan.next += 1
        }
        let isLast = plan.next == plan.references.count && plan.position >= reader.sequence
        if isLast {
            for name in plan.names { try output.appendNotHeld(name) }
        }
        let isWhole = isLast && plan.isFirstChunk
        // Later chunks are from other moments.
        if !isWhole { provider.total = nil }
        try finish(&output, plan, isLast: isLast, isWhole: isWhole, reader)
        plan.isFirstChunk = false
        if isLast {
            provider.sent = plan.position
            provider.listed = [:]
            provider.isFirst = false
        } else {
            provider.plan = plan
        }
        return true
    }

    /// Puts what was gathered into frames.
    private func finish(
        _ output: inout SnapshotOutput, _ plan: SnapshotPlan, isLast: Bool, isWhole: Bool, _ reader: any ReplicaReader
    ) throws {
        output.finish()
        let number = provider.number
        if isLast, provider.total == nil, plan.isReconciled || !isWhole || provider.isFirst {
            provider.total = try countTotal(reader)
        }
        // Nothing is resumed from a place whose total is unknown: the place comes with the count, when all is quiet.
        let isExact = isLast && provider.total != nil
        // A new position spares the peer from being offered again what it has sent itself.
        let isNeeded =
            plan.isReconciled || !isWhole || provider.isFirst && isOn(.resumeEnd)
            || output.contents.isEmpty && output.echoCount >= SyncLimits.echoesPerPosition
        guard isNeeded || !output.contents.isEmpty else { return }
        provider.snapshot += 1
        provider.unstatedCount += 1
        output.flight.through = isLast ? plan.position : nil
        output.flight.madeNanoseconds = time.monotonicNanoseconds
        provider.flights[provider.snapshot] = output.flight
        if output.documentCount > 0 { effects.append(.told(count: output.documentCount)) }
        if isExact { provider.statedPosition = plan.position }
        if isExact, !isNeeded, output.contents.count == 1, !provider.isFirst {
            sendDocuments(
                .commit(
                    CommitMessage(
                        number: number, snapshot: provider.snapshot, sequence: plan.position,
                        content: output.contents[0])))
            return
        }
        var begin = Begin(number: number, snapshot: provider.snapshot)
        begin.isReconciled = plan.isReconciled && plan.isFirstChunk
        begin.isChunk = !isWhole
        if plan.isReconciled || !isWhole {
            begin.remainingCount = UInt64(plan.references.count - plan.next + output.documentCount)
        }
        send(.begin(begin))
        for content in output.contents {
            sendDocuments(.documents(DocumentsMessage(number: number, content: content)))
        }
        var end = End(number: number, position: nil, total: nil)
        if isExact {
            let incarnation = try reader.incarnations().last?.id ?? []
            end.position = End.Position(incarnation: incarnation, sequence: plan.position)
            end.total = provider.total
            if end.total != nil { provider.unstatedCount = 0 }
        }
        send(.end(end))
    }
}

// The total of the scope.
extension Session {
    /// Whether the peer is yet to be told the total of its scope.
    var owesTotal: Bool {
        guard provider.sent != nil, !provider.isFirst, provider.plan == nil else { return false }
        return provider.unstatedCount > 0 || provider.total == nil || (provider.sent ?? 0) > provider.statedPosition
    }

    /// States the total when nothing has gone either way for a while.
    func stateTotalIfQuiet() throws {
        guard owesTotal, time.monotonicNanoseconds >= timers.lastFact &+ SyncLimits.quietNanoseconds else { return }
        try stateTotal()
    }

    /// States count and digest sum of what the peer has in scope, as of what was sent last; at most once a session they are
    /// counted anew.
    private func stateTotal() throws {
        try sendAcknowledgements()
        // Whatever was committed since comes first.
        if flow.hasRoom, provider.request == nil, provider.plan == nil { try pump() }
        guard let sent = provider.sent, provider.plan == nil, flow.isEmpty else { return }
        var isExact = false
        var incarnation: [UInt8] = []
        try replica.read { reader in
            guard reader.sequence == sent else { return }
            incarnation = try reader.incarnations().last?.id ?? []
            isExact = true
            if provider.total == nil || !provider.wasRecounted { provider.total = try countTotal(reader) }
        }
        guard isExact, let total = provider.total else { return }
        provider.unstatedCount = 0
        let number = provider.number
        guard sent > provider.statedPosition else {
            return send(.sum(SumMessage(number: number, snapshot: provider.snapshot, total: total)))
        }
        // A snapshot of nothing: the peer gets a newer place to resume from.
        provider.statedPosition = sent
        provider.snapshot += 1
        provider.flights[provider.snapshot] = Flight(
            through: sent, interestHash: subscriber.interestHash, madeNanoseconds: time.monotonicNanoseconds)
        send(.begin(Begin(number: number, snapshot: provider.snapshot)))
        send(.end(End(number: number, position: End.Position(incarnation: incarnation, sequence: sent), total: total)))
    }

    /// Counts what the peer has in scope at this moment.
    private func countTotal(_ reader: any ReplicaReader) throws -> ScopeTotal {
        var total = ScopeTotal()
        guard let scope = provider.scope else { return total }
        scope.refresh()
        try forEachMatch(scope, reader) { _, digest in
            total.count += 1
            total.sum.add(digest)
        }
        provider.wasRecounted = true
        return total
    }

    /// States the total at once where many snapshots have gone since it was last stated.
    func stateTotalIfDue() throws {
        if provider.unstatedCount >= SyncLimits.snapshotsPerSum, owesTotal, flow.isEmpty { try stateTotal() }
    }
}
