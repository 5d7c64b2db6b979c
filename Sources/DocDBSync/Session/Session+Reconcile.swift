import DocDBCore

// Range-based set reconciliation, both sides: what the provider has in scope against what the subscriber holds.
extension Session {
    /// Calls `body` with every stored document that matches, with the digest of its state, by reference; but for those that
    /// are too large to be sent, of which it only calls `tooLarge`.
    func forEachMatch(
        _ scope: ScopeFilter, _ reader: any ReplicaReader, tooLarge: (DocumentReference) -> Void = { _ in },
        _ body: (StoredDocument, StateDigest) throws -> Void
    ) throws {
        var digester = DocumentDigester(actors: replica.actors)
        for (number, name) in try reader.collections().sorted(by: { $0.number < $1.number }) {
            collectionNames[number] = name
            if scope.isEmpty(number, name) { continue }
            try reader.forEachDocument(collection: number, after: .min) { document in
                guard matches(scope, document, name) else { return true }
                if isSendable(document) {
                    try body(document, try digester.digest(document, collection: name))
                } else {
                    tooLarge(document.reference)
                }
                return true
            }
        }
    }

    /// Tells whether a document is in a scope; a dead one where its whole collection is (R8).
    func matches(_ scope: ScopeFilter, _ document: StoredDocument, _ name: String) -> Bool {
        if document.body == nil, !isOn(.deadInScope) { return false }
        return scope.matches(
            body: document.body, id: document.id, collection: document.reference.collection, name)
            && !isObscure(document, to: scope, name)
    }

    /// Tells whether the peer may read a living document.
    func mayRead(_ document: StoredDocument, _ body: UnsafeRawBufferPointer, _ name: String) -> Bool {
        gate.mayRead(body: body, id: document.id, collection: document.reference.collection, name)
            && !isObscure(document, to: gate.readable, name)
    }

    /// Tells whether a document has entries of unknown kinds where a permission tests it.
    func isObscure(_ document: StoredDocument, to filter: ScopeFilter, _ name: String) -> Bool {
        let fields = filter.testedFields(document.reference.collection, name)
        guard !fields.isEmpty, DocumentState.mayHoldUnknowns(document.state) else { return false }
        guard let state = try? state(document) else { return true }
        return state.hasUnknowns(in: fields, names: replica.names)
    }

    // The subscriber's side.

    /// The provider has begun a reconciliation, or has taken a step of it.
    func receiveReconcile(_ message: RangesMessage) throws {
        guard message.number == subscriber.number else { return }
        if message.bytes.isEmpty { return askFresh() }
        if subscriber.reconciliation == nil {
            try list(message.number)
            report(.reconciling)
        }
        guard var reconciliation = subscriber.reconciliation else { return }
        subscriber.reconciliation = nil
        let reply = try replica.read { reader in
            try reconciliation.receive(message.bytes) { reference in
                guard let name = try name(of: reference, reader) else { return nil }
                var seen: VersionVector?
                try reader.withDocument(reference) { seen = try state($0).seen }
                return seen.map { HeldDocument(name: name, seen: $0) }
            }
        }
        subscriber.reconciliation = reconciliation
        send(.ranges(RangesMessage(number: message.number, bytes: reply)))
    }

    /// Lists what is held here of the scope, but for what the peer may not know: only documents that it may read, or has
    /// told.
    private func list(_ number: UInt64) throws {
        let scope = try ownScope()
        var set = ReconciliationSet(salt: salt(number))
        var listed: [ListedDocument] = []
        try replica.read { reader in
            scope.refresh()
            gate.refresh()
            try forEachMatch(scope, reader) { document, digest in
                guard try mayList(document, reader) else { return }
                set.append(digest, document.reference)
                listed.append(ListedDocument(reference: document.reference, digest: digest))
            }
        }
        subscriber.reconciliation = SubscriberReconciliation(set)
        subscriber.listed = listed
        subscriber.evictedSinceListed = []
        subscriber.acknowledgedSinceListed = [:]
    }

    private func mayList(_ document: StoredDocument, _ reader: any ReplicaReader) throws -> Bool {
        guard gate.rights.read != .everything, let body = document.body else { return true }
        let collection = document.reference.collection
        if mayRead(document, body, try name(ofCollection: collection, reader)) { return true }
        return try reader.told(peer: peer.number, document.reference) != nil
    }

    func endReconciliation() {
        subscriber.reconciliation = nil
        subscriber.listed = nil
        subscriber.evictedSinceListed = []
        subscriber.acknowledgedSinceListed = [:]
    }

    // The provider's side.

    /// Begins a reconciliation at the present moment.
    func beginReconciliation() throws {
        let number = provider.number
        guard let scope = provider.scope else { return }
        var set = ReconciliationSet(salt: salt(number))
        var total = ScopeTotal()
        var sequence: Int64 = 0
        provider.fitting = Set(apart.there.values.filter { $0.code == .limit }.map(\.reference))
        try replica.read { reader in
            sequence = reader.sequence
            try synchronize(through: sequence)
            scope.refresh()
            scope.count(true)
            defer { scope.count(false) }
            try forEachMatch(scope, reader, tooLarge: { provider.tooLarge.insert($0) }) { document, digest in
                set.append(digest, document.reference)
                total.count += 1
                total.sum.add(digest)
            }
            // All others wait meanwhile.
            guard !scope.isTooCostly else {
                throw SessionFailure(
                    CloseCode.limitReached,
                    "what the peer asks for takes too long to find; subscribe by a simpler predicate")
            }
        }
        try settleSizes()
        provider.sent = nil
        provider.plan = nil
        provider.found = []
        provider.foundNames = []
        provider.total = total
        provider.wasRecounted = true
        provider.reconciledSequence = sequence
        provider.covered = sequence
        provider.appliedCount = 0
        provider.dirty = []
        provider.mustWalk = false
        var reconciliation = ProviderReconciliation(set)
        let first = reconciliation.begin()
        provider.reconciliation = reconciliation
        send(.reconcile(RangesMessage(number: number, bytes: first)))
    }

    /// The subscriber has answered.
    func receiveRanges(_ message: RangesMessage) throws {
        guard message.number == provider.number, var reconciliation = provider.reconciliation else { return }
        provider.reconciliation = nil
        let step = try reconciliation.receive(message.bytes)
        provider.found += step.missingAtSubscriber
        try checkAcknowledged(step)
        try replica.read { reader in
            gate.refresh()
            for held in step.heldBySubscriber {
                if let reference = try knownReference(of: held, reader) {
                    provider.found.append(reference)
                    provider.listed[reference] = held.seen
                } else {
                    provider.foundNames.append(held.name)
                }
            }
        }
        if let reply = step.reply {
            provider.reconciliation = reconciliation
            return send(.reconcile(RangesMessage(number: message.number, bytes: reply)))
        }
        var plan = SnapshotPlan(
            start: provider.reconciledSequence, isReconciled: true, found: provider.found)
        plan.names = provider.foundNames
        provider.plan = plan
        provider.found = []
        provider.foundNames = []
    }

    /// A peer that lacks what it has acknowledged has lost it, as where it was restored from a backup: then it is taken to hold
    /// nothing until the reconciliation is over.
    private func checkAcknowledged(_ step: ProviderReconciliation.Step) throws {
        guard peer.acknowledgedSequence > 0 else { return }
        let acknowledged = peer.acknowledgedSequence
        var isLost = false
        try replica.read { reader in
            func check(_ reference: DocumentReference, held: VersionVector) throws {
                guard !isLost, apart.there[reference] == nil else { return }
                try reader.withDocument(reference) { document in
                    guard document.lastChange <= acknowledged else { return }
                    let state = try state(document)
                    isLost = !state.isAlive || !state.seen.isCovered(by: held)
                }
            }
            for reference in step.missingAtSubscriber { try check(reference, held: VersionVector()) }
            for held in step.heldBySubscriber {
                if let reference = try reference(of: held.name, reader) { try check(reference, held: held.seen) }
            }
        }
        guard isLost else { return }
        try replica.write { writer in
            guard var record = try writer.peer(storeID: peer.storeID) else { return }
            record.acknowledgedSequence = 0
            peer = try writer.setPeer(record)
        }
    }
}
