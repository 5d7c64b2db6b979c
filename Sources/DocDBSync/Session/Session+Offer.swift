import DocDBCore
import DocDBStorage

/// How a document stood to the peer's scope when the last snapshot was sent.
private struct Before {
    var isMatched = false
    /// What the peer then held of it.
    var seen = VersionVector()
    var digest: StateDigest?
    /// The whole of it, where it was alive and matched.
    var state: DocumentState?
}

extension Session {
    /// Adds a document to a snapshot, if it concerns the peer.
    func offer(
        _ reference: DocumentReference, _ plan: SnapshotPlan, _ reader: any ReplicaReader,
        _ output: inout SnapshotOutput
    ) throws {
        if let digest = plan.echo(of: reference), provider.scope?.isEverything ?? false {
            if plan.isChanged(reference) { moveTotal(adding: digest) }
            output.echoCount += 1
            return
        }
        let collection = try name(ofCollection: reference.collection, reader)
        let before = plan.isChanged(reference) ? try before(reference, plan, collection, reader) : Before()
        if let digest = before.digest { moveTotal(removing: digest) }
        let concerned =
            before.isMatched || provider.listed[reference] != nil || plan.poked.contains(reference)
            || isOn(.stale) && (plan.held[reference] != nil || plan.taken.contains(reference))
        // What the peer has told is what it holds. Where it has lost that, or was never told that it is held here, the
        // total says so, which a resume ends with.
        let mayBeTold = provider.isFirst && plan.taken.contains(reference) && !plan.poked.contains(reference)
        let toldDigest = mayBeTold ? try reader.told(peer: peer.number, reference) : nil
        let isStored = try reader.withDocument(reference) { document in
            try offer(
                document, plan, before, collection, isConcerned: concerned,
                held: plan.held[reference] ?? toldDigest, &output)
        }
        if !isStored, concerned, let id = try reader.id(of: reference) {
            try id.withUnsafeBytes { try output.append(.notHeld, reference, collection, id: $0) }
        }
    }

    private func moveTotal(removing digest: StateDigest) {
        provider.total?.count -= 1
        provider.total?.sum.subtract(digest)
    }

    private func moveTotal(adding digest: StateDigest) {
        provider.total?.count += 1
        provider.total?.sum.add(digest)
    }

    /// The document as the last snapshot told it, by unwinding.
    private func before(
        _ reference: DocumentReference, _ plan: SnapshotPlan, _ collection: String, _ reader: any ReplicaReader
    ) throws -> Before {
        var before = Before()
        guard let scope = provider.scope else { return before }
        if let created = plan.created[reference], created > plan.start, !plan.poked.contains(reference) {
            return before
        }
        switch try reader.state(of: reference, after: plan.start) {
        case .absent: break
        case .unknown:
            // Erased: whether it was counted cannot be told, so the total is counted anew.
            provider.total = nil
        case .stored(let state):
            guard let id = try reader.id(of: reference) else { break }
            var body = ByteBuffer()
            let isAlive = state.appendBody(to: &body)
            id.withUnsafeBytes { id in
                guard isAlive || isOn(.deadInScope),
                    scope.matches(
                        body: isAlive ? body.bytes : nil, id: id, collection: reference.collection, collection),
                    !state.hasUnknowns(
                        in: scope.testedFields(reference.collection, collection), names: replica.names),
                    isSendable(state, body: isAlive ? body.bytes : nil, reference, id)
                else { return }
                before.isMatched = true
                before.digest = state.digest(collection: collection, id: id, hash: ContentHash.digest)
                if isAlive { (before.seen, before.state) = (state.seen, state) }
            }
        }
        return before
    }

    /// Sends a stored document with what the peer lacks of it, or that it has left the scope, and why (R4, R7).
    private func offer(
        _ document: StoredDocument, _ plan: SnapshotPlan, _ before: Before, _ collection: String, isConcerned: Bool,
        held: StateDigest?, _ output: inout SnapshotOutput
    ) throws {
        guard let scope = provider.scope else { return }
        let reference = document.reference
        let isMatched = matches(scope, document, collection)
        if !isMatched, apart.there[reference]?.code == .limit { provider.fitting.insert(reference) }
        guard isMatched || isConcerned else { return }
        guard isSendable(document) else {
            if isMatched { provider.tooLarge.insert(reference) }
            // The peer keeps what it has of it, and counts it no more.
            return isConcerned ? try output.append(.notHeld, reference, collection, id: document.id) : ()
        }
        let digest = try digester.digest(document, collection: collection)
        if isMatched, plan.isChanged(reference) { moveTotal(adding: digest) }
        // The peer's own state: both sides derive what it means from the acknowledgement.
        if held == digest, plan.bases[reference] == nil {
            output.echoCount += 1
            return
        }
        let base = base(reference, plan, before)
        if !isOn(.transition), try isCovered(document, base) { return }
        guard let kind = kind(document, isMatched: isMatched, collection) else {
            return try output.append(.leftAccess, reference, collection, id: document.id)
        }
        if !base.isEmpty, document.body != nil, let delta = try delta(document, since: base, before) {
            try output.append(kind, delta, document, collection)
        } else {
            try output.append(kind, document, collection)
        }
        let isOwn =
            try subscriber.isWanting
            && matches(ownScope(), document, collection)
        output.flight.documents.append(FlightDocument(reference: reference, digest: digest, isOwn: isOwn))
    }

    /// What a peer lacks that has seen `base`; nil where no vector tells that, so that it must get the whole: it may hold
    /// another payload under a stamp that it has seen, or say to have seen what it lacks.
    private func delta(
        _ document: StoredDocument, since base: VersionVector, _ before: Before
    ) throws -> DocumentDelta? {
        let state = try state(document)
        if let old = before.state, state.rewrites(old) { return nil }
        guard isOn(.claims) else { return state.delta(since: base) }
        if let old = before.state, !old.actorsSeenWithoutEntries(in: state, beyond: VersionVector()).isEmpty {
            return nil
        }
        // Nobody knows changes of this store that it lacks: such a base is not believed.
        if ownActors.contains(where: { base[$0] > state.seen[$0] }) { return nil }
        return state.delta(since: base)
    }

    /// Tells whether a peer that has seen `base` lacks nothing: what R4 does not ask.
    private func isCovered(_ document: StoredDocument, _ base: VersionVector) throws -> Bool {
        let state = try state(document)
        return state.seen.isCovered(by: base) && state.deleted.isEmpty
    }

    /// What the peer holds of a document, as the base of a delta.
    private func base(_ reference: DocumentReference, _ plan: SnapshotPlan, _ before: Before) -> VersionVector {
        // What was not joined there is sent whole.
        if apart.there[reference] != nil || !isOn(.bases) { return VersionVector() }
        if let asked = plan.bases[reference] { return asked }
        if let listed = provider.listed[reference] { return listed }
        var base = before.seen
        if let known = plan.known[reference] { base.join(known) }
        return base
    }

    /// How a document is told; nil where it may not be read any more.
    private func kind(
        _ document: StoredDocument, isMatched: Bool, _ collection: String
    ) -> WireDocumentKind? {
        if isMatched { return .inScope }
        guard let body = document.body else { return .leftDeleted }
        return mayRead(document, body, collection) || !isOn(.leftRead) ? .leftFilter : nil
    }
}
