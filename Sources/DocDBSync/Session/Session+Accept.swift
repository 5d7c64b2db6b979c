import DocDBCore
import DocDBStorage

/// What came of a document that a peer has sent.
enum Acceptance: Equatable {
    case joined
    /// Everything in it was here already.
    case outdated
    case refused(RefusalCode)
    /// Its base is not held here.
    case baseMissing
}

extension Session {
    /// Tells whether a time lies no further ahead than the clock bound.
    func isWithinBound(_ newest: HybridTime) -> Bool {
        let (limit, overflows) = time.wallNanoseconds.addingReportingOverflow(configuration.clockBoundNanoseconds)
        return overflows || newest.rawValue <= limit
    }

    /// Joins a document into what is stored, or says why not; the gate of all that comes in.
    func accept(
        _ document: IncomingDocument, _ reference: DocumentReference, _ result: inout SnapshotApplication,
        _ writer: any ReplicaWriter
    ) throws -> Acceptance {
        if document.usesRefusedNames {
            account?.noteFieldNames()
            return try refuse(document, reference, .fieldNames, &result, writer)
        }
        let newest = document.newestTime
        guard isWithinBound(newest) else { return try quarantine(document, reference, newest, &result, writer) }
        if apart.quarantined[reference] != nil { try release(reference, &result, writer) }
        var old = DocumentState()
        var oldBody: [UInt8]?
        let wasStored = try writer.withDocument(reference) { stored in
            old = try state(stored)
            if !gate.mayWriteEverything { oldBody = stored.body.map { [UInt8]($0) } }
        }
        try checkOwnActor(document, old, &result, writer)
        var new = old
        var conflicts: Set<ActorID> = []
        guard try join(document, into: &new, &conflicts, &result) else { return .baseMissing }
        let claims = try judgeClaims(document, old, new, &result)
        conflicts.formUnion(claims.lacking)
        if gate.rights.isHub { overruleVoided(document) }
        let isChanged = !conflicts.isEmpty || !Self.haveSameVectors(old, new)
        // What was forgotten here with a deletion, and is known there, changes nothing that there are rights to.
        let isJudged = isChanged && !(conflicts.isEmpty && new.differsInForgottenOnly(from: old))
        if isJudged, let code = try refusal(of: document, reference, old, oldBody, new, conflicts, writer) {
            try refuse(document, reference, code, &result, writer)
            try void(document, code, old, &result, writer)
            if !isOn(.refuseWhole) { try storeVectors(document, old, reference, writer) }
            return .refused(code)
        }
        if isChanged, !mayBringActors(of: document) {
            return try refuse(document, reference, .actors, &result, writer)
        }
        if apart.here[reference]?.code == .denied { try settleVoided(document, &result, writer) }
        // Not of what is refused: two sides that do not take each other's version would offer theirs for ever.
        if claims.isFalse { result.claimed.append(reference) }
        try settleHere(reference, &result.effects, writer)
        if isChanged {
            try store(new, document, reference, wasStored: wasStored, &result, writer)
        }
        try settleThere(document, reference, new, &result, writer)
        return isChanged ? .joined : .outdated
    }

    /// Joins a document; returns false where its base is missing.
    ///
    /// - Parameter conflicts: gets the actors under whose stamps two payloads came.
    private func join(
        _ document: IncomingDocument, into state: inout DocumentState, _ conflicts: inout Set<ActorID>,
        _ result: inout SnapshotApplication
    ) throws -> Bool {
        guard let delta = try document.delta(actors: replica.actors) else { return true }
        let isJoined = state.apply(delta, forgets: configuration.forgetsDeleted, names: replica.names) {
            conflicts.insert($0.actor)
        }
        if !conflicts.isEmpty {
            result.effects.append(
                .warning(
                    DocDBError(
                        .corrupted,
                        "two values have one stamp; a store was copied while in use, or a peer is forging changes")))
        }
        return isJoined
    }

    /// Compares what vectors say to be seen with the entries that come and are here: vectors that were made up would keep
    /// the changes that they name from ever arriving.
    ///
    /// - Returns: whether the peer claims what it does not hold, or changes of this store that it never wrote: then it gets
    ///   the document whole; and of whom entries have come that this store claimed to have seen and lacked.
    private func judgeClaims(
        _ document: IncomingDocument, _ old: DocumentState, _ new: DocumentState, _ result: inout SnapshotApplication
    ) throws -> (isFalse: Bool, lacking: Set<ActorID>) {
        guard isOn(.claims), !old.seen.isEmpty, let delta = try document.delta(actors: replica.actors) else {
            return (false, [])
        }
        let isOwnClaim = ownActors.contains {
            max(delta.state.seen[$0], delta.state.deleted[$0]) > max(old.seen[$0], old.deleted[$0])
        }
        let isFalse =
            isOwnClaim
            || !old.seen.isCovered(by: delta.base)
                && !delta.state.actorsSeenWithoutEntries(in: new, beyond: delta.base).isEmpty
        guard delta.state.hasEntries(coveredBy: old.seen) else { return (isFalse, []) }
        let lacking = old.actorsSeenWithoutEntries(in: new, beyond: VersionVector())
        if !lacking.isEmpty {
            result.effects.append(
                .warning(
                    DocDBError(
                        .corrupted,
                        "a document was said to hold changes that it lacked, and has got them now; a peer made that up, or "
                            + "its store was set back: find that peer, and restore it from a backup")))
        }
        return (isFalse, lacking)
    }

    /// The actors that this store was known to write with when the session began.
    var ownActors: [ActorID] { configuration.hello.actors.map(\.actor) }

    private static func haveSameVectors(_ left: DocumentState, _ right: DocumentState) -> Bool {
        if left.isAlive || right.isAlive { return left.seen == right.seen && left.deleted == right.deleted }
        return left.deleted == right.deleted
    }

    /// Judges a change by its net effect: what was here before, and what would be after (R19).
    private func refusal(
        of document: IncomingDocument, _ reference: DocumentReference, _ old: DocumentState, _ oldBody: [UInt8]?,
        _ new: DocumentState, _ conflicts: Set<ActorID>, _ writer: any ReplicaWriter
    ) throws -> RefusalCode? {
        guard
            gate.mayBring(
                seen: document.seen, deleted: document.deleted, toSeen: old.seen, deleted: old.deleted,
                ownActors: actors.proven),
            gate.mayRewrite(conflicts, ownActors: actors.proven)
        else { return .relay }
        if try isVoided(document, old, writer) { return .denied }
        if gate.mayWriteEverything { return nil }
        let tested = gate.writable.testedFields(reference.collection, document.name.collection)
        guard ![old, new].contains(where: { $0.hasUnknowns(in: tested, names: replica.names) }) else { return .denied }
        var body = ByteBuffer()
        let isAlive = new.appendBody(to: &body)
        let newBody = isAlive ? body.array : nil
        let isPermitted = document.name.id.withUnsafeBytes { id in
            Self.withBytes(oldBody) { before in
                Self.withBytes(newBody) { after in
                    gate.mayWrite(
                        before: before, after: after, id: id, collection: reference.collection,
                        document.name.collection)
                }
            }
        }
        return isPermitted ? nil : .denied
    }

    static func withBytes<R>(_ bytes: [UInt8]?, _ body: (UnsafeRawBufferPointer?) throws -> R) rethrows -> R {
        guard let bytes else { return try body(nil) }
        return try bytes.withUnsafeBytes { try body($0) }
    }

    private func store(
        _ state: DocumentState, _ document: IncomingDocument, _ reference: DocumentReference, wasStored: Bool,
        _ result: inout SnapshotApplication, _ writer: any ReplicaWriter
    ) throws {
        if !wasStored, isOn(.evictionReturn), try writer.isEvicted(reference) {
            let peers = try writer.removeTold(reference, except: peer.number)
            if !peers.isEmpty { result.effects.append(.returned(reference, toldBy: peers)) }
        }
        try document.name.id.withUnsafeBytes {
            try writer.store(state, reference, id: $0, from: peer.number)
        }
        result.changedCount += 1
    }

    /// What a refusal does without R19: the changes count as seen, though their entries are not here.
    private func storeVectors(
        _ document: IncomingDocument, _ old: DocumentState, _ reference: DocumentReference,
        _ writer: any ReplicaWriter
    ) throws {
        guard let delta = try document.delta(actors: replica.actors) else { return }
        var state = old
        let vectors = delta.state.delta(since: document.seen).state
        _ = state.apply(
            DocumentDelta(base: VersionVector(), state: vectors), forgets: configuration.forgetsDeleted,
            names: replica.names)
        try document.name.id.withUnsafeBytes {
            try writer.store(state, reference, id: $0, from: peer.number)
        }
    }

    /// A peer that knows newer stamps of this store's actor than the store itself: the file was copied or restored.
    private func checkOwnActor(
        _ document: IncomingDocument, _ old: DocumentState, _ result: inout SnapshotApplication,
        _ writer: any ReplicaWriter
    ) throws {
        guard !result.hasRotated, let actor = writer.actor, isOn(.revertRotation) else { return }
        let known = max(old.seen[actor], old.deleted[actor])
        guard max(document.seen[actor], document.deleted[actor]) > known else { return }
        try writer.rotateActor()
        result.hasRotated = true
        result.effects.append(
            .warning(
                DocDBError(
                    .corrupted,
                    "a peer knows changes of this store that the store lacks: it was copied or restored; it goes on "
                        + "under a new actor id")))
    }

    func refuse(
        _ document: IncomingDocument, _ reference: DocumentReference, _ code: RefusalCode,
        _ result: inout SnapshotApplication, _ writer: any ReplicaWriter
    ) throws {
        let refused = ApartDocument(
            peer: peer.number, side: .here, reference: reference, code: code, epoch: gate.rights.epoch,
            reason: reason(code))
        if apart.here[reference] != refused {
            try writer.setApart(refused)
            apart.here[reference] = refused
            result.effects.append(.apart(refused))
        }
    }

    /// A document that was refused here has been joined, or is held by the peer no more.
    func settleHere(
        _ reference: DocumentReference, _ effects: inout [SessionEffect], _ writer: any ReplicaWriter
    ) throws {
        guard apart.here.removeValue(forKey: reference) != nil else { return }
        try writer.removeApart(peer: peer.number, side: .here, reference)
        effects.append(.settled(reference, peer: peer.number, .here))
    }

    /// Notes what the peer holds; where it is all that is held here, nothing is refused there any more.
    private func settleThere(
        _ document: IncomingDocument, _ reference: DocumentReference, _ state: DocumentState,
        _ result: inout SnapshotApplication, _ writer: any ReplicaWriter
    ) throws {
        guard let digest = document.digest else { return }
        let own = document.name.id.withUnsafeBytes {
            state.digest(collection: document.name.collection, id: $0, hash: ContentHash.digest)
        }
        result.heard.append(
            HeardDocument(reference: reference, seen: document.seen, digest: digest, isSame: own == digest))
        guard own == digest, apart.there.removeValue(forKey: reference) != nil else { return }
        try writer.removeApart(peer: peer.number, side: .there, reference)
        result.effects.append(.settled(reference, peer: peer.number, .there))
    }
}
