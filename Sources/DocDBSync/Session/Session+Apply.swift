import DocDBCore
import DocDBStorage

extension Session {
    /// Applies a snapshot in one commit with its cursor, or nothing of it where a base is missing.
    func apply(_ application: inout SnapshotApplication) throws {
        let isIdle =
            application.documents.isEmpty && !application.begin.isReconciled && account?.isChanged != true
        if isIdle, let cursor = cursor(application), cursor == peer.cursor, peer.toldCount == peer.currentCount,
            peer.toldSum == peer.currentSum, application.total == nil || application.total == currentTotal
        {
            return
        }
        var result = application
        var usage: UserUsage?
        try replica.write { writer in
            result.needs = try isOn(.need) ? missingBases(result.documents, writer) : []
            if !result.needs.isEmpty {
                usage = try saveUsage(writer)
                return
            }
            gate.refresh()
            result.ownActor = writer.actor
            var evictions = try result.begin.isReconciled ? retell(&result, writer) : []
            for document in result.documents { try apply(document, &result, &evictions, writer) }
            try evict(evictions, &result, writer)
            guard var record = try writer.peer(storeID: peer.storeID) else {
                throw DocDBError(.corrupted, "a peer with a session is missing among the known ones")
            }
            if let total = result.total, total != ScopeTotal(count: record.currentCount, sum: record.currentSum) {
                // What is wrong is not resumed from.
                record.cursor = nil
            } else if let cursor = cursor(result) {
                record.cursor = cursor
                record.toldCount = record.currentCount
                record.toldSum = record.currentSum
            } else if result.begin.isReconciled {
                record.cursor = nil
            }
            record.lastSeenNanoseconds = max(record.lastSeenNanoseconds, time.wallNanoseconds)
            subscriber.place = nil
            peer = try writer.setPeer(record)
            result.sequence = result.changedCount > 0 ? writer.sequence : nil
            usage = try saveUsage(writer)
        }
        didSave(usage)
        subscriber.isUnsynchronized = true
        application = result
    }

    private func cursor(_ application: SnapshotApplication) -> Cursor? {
        guard let position = application.position else { return nil }
        return Cursor(
            incarnation: position.incarnation, sequence: position.sequence, interestHash: subscriber.interestHash,
            epoch: ownRights.epoch)
    }

    /// The documents whose deltas need more than is held here.
    private func missingBases(
        _ documents: [IncomingDocument], _ writer: any ReplicaWriter
    ) throws -> [DocumentReference] {
        var needs: [DocumentReference] = []
        for document in documents where !document.base.isEmpty {
            var seen: VersionVector?
            var reference = try reference(of: document.name, writer)
            if let reference { try writer.withDocument(reference) { seen = try state($0).seen } }
            if document.kind != .inScope, seen == nil { continue }
            if document.base.isCovered(by: seen ?? VersionVector()) { continue }
            if reference == nil { reference = try makeReference(document.name, writer) }
            if let reference { needs.append(reference) }
        }
        return needs
    }

    private func makeReference(_ name: DocumentName, _ writer: any ReplicaWriter) throws -> DocumentReference {
        let collection = try writer.makeCollection(named: name.collection)
        collectionNames[collection] = name.collection
        return try name.id.withUnsafeBytes { try writer.makeReference(collection: collection, id: $0) }
    }

    /// Applies one document of a snapshot: what it tells of the scope, then what it brings.
    private func apply(
        _ document: IncomingDocument, _ result: inout SnapshotApplication, _ evictions: inout [DocumentReference],
        _ writer: any ReplicaWriter
    ) throws {
        let isInScope = document.kind == .inScope
        guard !isInScope || document.hasContent else {
            throw SessionFailure.protocolError("a document in scope came without content")
        }
        if isInScope { try checkCollection(document.name.collection, writer) }
        if isInScope, try applyFresh(document, &result, writer) { return }
        let known = try isInScope ? makeReference(document.name, writer) : reference(of: document.name, writer)
        guard let reference = known else {
            if document.hasContent { except(document, .notHeld, &result) }
            return
        }
        if isInScope {
            try writer.setTold(peer: peer.number, reference, document.digest)
            try writer.setDeferredEviction(reference, false)
        } else {
            try writer.setTold(peer: peer.number, reference, nil)
            if document.kind == .notHeld { try settleHere(reference, &result.effects, writer) }
            // Only a hub, or who is fully trusted, takes documents away.
            if document.kind == .leftAccess, gate.rights.isHub || gate.rights.mayRelay { evictions.append(reference) }
        }
        guard document.hasContent else { return }
        guard try isInScope || isStored(reference, writer) else { return except(document, .notHeld, &result) }
        switch try accept(document, reference, &result, writer) {
        case .joined, .outdated: break
        case .refused(let code): except(document, code, &result)
        case .baseMissing: except(document, .malformed, &result)
        }
    }

    /// Bounds the collections that a peer has made here by documents which it may not write there.
    private func checkCollection(_ name: String, _ writer: any ReplicaWriter) throws {
        guard !gate.mayWriteEverything, try writer.collection(named: name) == nil,
            gate.mayWriteNothing(in: name)
        else { return }
        var collections: Set<Int64> = []
        for reference in apart.here.keys { collections.insert(reference.collection) }
        guard collections.count < SyncLimits.refusedCollectionCount else {
            throw SessionFailure(
                CloseCode.limitReached, "the peer writes to too many collections in which it may write nothing")
        }
    }

    private func except(_ document: IncomingDocument, _ code: RefusalCode, _ result: inout SnapshotApplication) {
        result.except.append(
            DocumentOutcome(name: document.name, code: code, epoch: gate.rights.epoch, reason: reason(code)))
    }

    private func isStored(_ reference: DocumentReference, _ reader: any ReplicaReader) throws -> Bool {
        try reader.withDocument(reference) { _ in }
    }

    /// Stores a whole document that is new here as it came; returns false where it takes the long way.
    private func applyFresh(
        _ document: IncomingDocument, _ result: inout SnapshotApplication, _ writer: any ReplicaWriter
    ) throws -> Bool {
        guard case .fresh(let body, let stamp) = document.content, isWithinBound(stamp.time),
            // What counts for a limit is judged the long way.
            account == nil || !document.usesRefusedNames && replica.actors.number(of: stamp.actor) != nil,
            gate.rights.mayRelay
                || gate.mayBring(
                    seen: document.seen, deleted: VersionVector(), toSeen: VersionVector(), deleted: VersionVector(),
                    ownActors: actors.proven),
            stamp.actor != result.ownActor, try !isVoided(document, DocumentState(), writer),
            try !isApart(document.name, writer)
        else { return false }
        if gate.rights.isHub { overruleVoided(document) }
        let name = document.name
        let collection = try collection(name.collection, &result, writer)
        let digest = name.id.withUnsafeBytes { digester.digest(fresh: stamp, collection: name.collection, id: $0) }
        let reference = try body.withUnsafeBytes { body -> DocumentReference? in
            try name.id.withUnsafeBytes { id in
                guard gate.mayWrite(before: nil, after: body, id: id, collection: collection, name.collection) else {
                    return nil
                }
                return try writer.storeFresh(
                    body: body, stamp: stamp, collection: collection, id: id, from: peer.number)
            }
        }
        guard let reference else { return false }
        try writer.setTold(peer: peer.number, reference, digest)
        result.changedCount += 1
        // Of what the peer does not pull, it need not be known that it has it.
        if provider.scope.map({ !$0.isEmpty(collection, name.collection) }) ?? true {
            result.heard.append(
                HeardDocument(reference: reference, seen: document.seen, digest: digest, isSame: true, isNew: true))
        }
        return true
    }

    /// Whether something that the peer has sent of a document before was not joined: then there is more to settle.
    private func isApart(_ name: DocumentName, _ reader: any ReplicaReader) throws -> Bool {
        guard !apart.here.isEmpty || !apart.quarantined.isEmpty else { return false }
        guard let reference = try reference(of: name, reader) else { return false }
        return apart.here[reference] != nil || apart.quarantined[reference] != nil
    }

    private func collection(
        _ name: String, _ result: inout SnapshotApplication, _ writer: any ReplicaWriter
    ) throws -> Int64 {
        if let last = result.collection, CollectionName(last.name) == CollectionName(name) { return last.number }
        let number = try writer.makeCollection(named: name)
        collectionNames[number] = name
        result.collection = (name, number)
        return number
    }

    /// What the peer counts in scope is now what was listed, and acknowledged since (R1); what comes with the snapshot
    /// follows. Writes differences only.
    ///
    /// - Returns: what this peer's own rights let it read no more, of what was told: to be evicted.
    private func retell(
        _ result: inout SnapshotApplication, _ writer: any ReplicaWriter
    ) throws -> [DocumentReference] {
        var wanted: [DocumentReference: StateDigest] = [:]
        for document in subscriber.listed ?? [] { wanted[document.reference] = document.digest }
        for (reference, digest) in subscriber.acknowledgedSinceListed {
            if let digest { wanted[reference] = digest } else { wanted[reference] = nil }
        }
        if isOn(.evictionReturn) {
            for reference in subscriber.evictedSinceListed.sorted() where wanted[reference] != nil {
                guard try isStored(reference, writer) else { continue }
                wanted[reference] = nil
                result.again.append(reference)
            }
        }
        var obsolete: [DocumentReference] = []
        try writer.forEachTold(peer: peer.number) { reference, digest in
            if let right = wanted[reference] {
                if right == digest { wanted[reference] = nil }
            } else {
                obsolete.append(reference)
            }
        }
        let lost = try unreadable(obsolete, writer)
        for reference in obsolete { try writer.setTold(peer: peer.number, reference, nil) }
        for (reference, digest) in wanted.sorted(by: { $0.key < $1.key }) {
            try writer.setTold(peer: peer.number, reference, digest)
        }
        subscriber.acknowledgedSinceListed = [:]
        subscriber.evictedSinceListed = []
        return lost
    }

    /// The documents that this peer's own rights do not let it read, where a hub, or who is fully trusted, has told them.
    private func unreadable(
        _ references: [DocumentReference], _ writer: any ReplicaWriter
    ) throws -> [DocumentReference] {
        guard !references.isEmpty, ownRights.read != .everything, gate.rights.isHub || gate.rights.mayRelay else {
            return []
        }
        let readable = try ScopeFilter(.everything, permitted: ownRights.read, names: replica.names)
        readable.refresh()
        return try references.filter { reference in
            let collection = try name(ofCollection: reference.collection, writer)
            var isReadable = true
            try writer.withDocument(reference) { document in
                guard let body = document.body else { return }
                isReadable =
                    readable.matches(
                        body: body, id: document.id, collection: reference.collection, collection)
                    && !isObscure(document, to: readable, collection)
            }
            return !isReadable
        }
    }

    /// Evicts what the peer may let this store read no more: at once, or when it is acknowledged (R16).
    private func evict(
        _ references: [DocumentReference], _ result: inout SnapshotApplication, _ writer: any ReplicaWriter
    ) throws {
        var evicted: [DocumentReference] = []
        for reference in references where try isStored(reference, writer) {
            if try writer.evict(reference, force: false) {
                evicted.append(reference)
            } else if isOn(.deferral) {
                try writer.setDeferredEviction(reference, true)
            }
        }
        result.evicted = evicted
    }
}
