import DocDBCore
import DocDBStorage
import DocDBSync
import SyncModel

/// Checks histories from outside: against what was written, not against what sessions believe.
struct HistoryAuditor {
    /// Per document what each stamp wrote, with names spelt out.
    private(set) var operations: [[UInt8]: [Stamp: DocumentState]] = [:]
    private var entriesBySeen: [[UInt8]: [VersionVector: [String]]] = [:]
    private(set) var written: [(peer: String, id: [UInt8], stamp: Stamp)] = []
    private(set) var acknowledged: [[UInt8]: Set<Stamp>] = [:]
    let names = FieldNames()
    let actors = ActorTable()

    mutating func note(_ written: ModelReplica.Written, _ peer: HistoryPeer) throws {
        for (_, id, delta) in written.deltas {
            operations[id, default: [:]][written.stamp] = try delta.transcoded(from: peer.replica.names, to: nil).state
            self.written.append((peer.name, id, written.stamp))
        }
    }

    /// What a power cut lost was never sent, so it never existed for anyone.
    mutating func forgetLost(_ peer: HistoryPeer, _ before: ModelReplica.Storage, _ peers: [HistoryPeer]) throws {
        for (reference, document) in before.documents {
            for stamp in (operations[document.id] ?? [:]).keys
            where Self.covers(document.state, stamp)
                && written.contains(where: { $0.peer == peer.name && $0.id == document.id && $0.stamp == stamp })
            {
                // The actor may be an earlier one: a new one that was lost, too.
                if let now = peer.replica.storage.documents[reference]?.state, Self.covers(now, stamp) { continue }
                let isHeld = peers.contains { other in
                    other !== peer && Self.state(of: document.id, other).map { Self.covers($0, stamp) } ?? false
                }
                // What waits in a quarantine, also the peer's own, comes back from there.
                let isWaiting = try peers.contains { try Self.waits(document.id, stamp, $0) }
                if isHeld || isWaiting { continue }
                operations[document.id]?[stamp] = nil
                written.removeAll { $0.id == document.id && $0.stamp == stamp }
            }
        }
        entriesBySeen = [:]
    }

    /// Tells whether a write is in what a peer has put in quarantine.
    private static func waits(_ id: [UInt8], _ stamp: Stamp, _ peer: HistoryPeer) throws -> Bool {
        guard let reference = peer.replica.storage.references[1]?[id] else { return false }
        return try peer.replica.storage.quarantine.values.compactMap { $0[reference] }.contains { delta in
            let document = try WireContent.document(delta.bytes, names: peer.replica.names)
            return try document.delta(actors: ActorTable()).map { covers($0.state, stamp) } ?? false
        }
    }

    /// Notes which writes a peer's acknowledgement has reached.
    mutating func noteAcknowledged(_ peer: HistoryPeer, by other: HistoryPeer) {
        guard let record = peer.replica.storage.peers.first(where: { $0.storeID == other.replica.storeID }),
            record.acknowledgedSequence > 0
        else { return }
        for (name, id, stamp) in written where name == peer.name {
            guard let reference = peer.replica.storage.references[1]?[id],
                let document = peer.replica.storage.documents[reference],
                document.lastChange <= record.acknowledgedSequence, Self.covers(document.state, stamp),
                peer.replica.storage.apart[record.number]?[.there]?[reference] == nil,
                record.interest == .everything
            else { continue }
            acknowledged[id, default: []].insert(stamp)
        }
    }

    // MARK: Invariants of one document

    /// Equal `seen` means equal documents (1), and `seen` is sound (2).
    mutating func check(_ peer: HistoryPeer, _ reference: DocumentReference) throws {
        guard let document = peer.replica.storage.documents[reference], document.state.isAlive else { return }
        let state = document.state
        let entries = Self.entries(try state.transcoded(from: peer.replica.names, to: nil))
        if let other = entriesBySeen[document.id]?[state.seen], other != entries {
            throw HistoryViolation("1", "equal seen, different document at \(peer.name)")
        }
        entriesBySeen[document.id, default: [:]][state.seen] = entries
        var reference = DocumentState()
        for (stamp, operation) in operations[document.id] ?? [:] where state.seen.covers(stamp.actor, stamp.time) {
            _ = reference.apply(
                DocumentDelta(base: VersionVector(), state: operation), forgets: false, names: names)
        }
        guard Self.entries(reference) == entries else {
            throw HistoryViolation("2", "unsound seen at \(peer.name) of \(document.id)")
        }
    }

    static func entries(_ state: DocumentState) -> [String] {
        state.assignments.map {
            "\(hexadecimal(state.bytes(of: $0.path))) \($0.kind) \(hexadecimal(state.bytes(of: $0.payload))) \($0.stamp)"
        }
            + state.tallies.map {
                "\(hexadecimal(state.bytes(of: $0.path))) \($0.base) \($0.actor) \($0.time.rawValue) \($0.sum)"
            }
    }

    static func covers(_ state: DocumentState, _ stamp: Stamp) -> Bool {
        state.seen.covers(stamp.actor, stamp.time) || state.deleted.covers(stamp.actor, stamp.time)
    }

    /// Tells whether `mine` holds all of `other`.
    static func covers(_ mine: DocumentState?, _ other: DocumentState) -> Bool {
        guard let mine else { return false }
        var all = mine.seen
        all.join(mine.deleted)
        return other.seen.isCovered(by: all) && other.deleted.isCovered(by: mine.deleted)
    }

    static func state(of id: [UInt8], _ peer: HistoryPeer) -> DocumentState? {
        guard let reference = peer.replica.storage.references[1]?[id] else { return nil }
        return peer.replica.storage.documents[reference]?.state
    }

    /// The visible fields, nil of a dead document.
    static func fields(_ state: DocumentState, _ names: FieldNames) -> [String: Int64]? {
        var body = ByteBuffer()
        guard state.appendBody(to: &body), case .object(let object)? = try? Value.decode(body.bytes, names: names)
        else {
            return nil
        }
        var fields: [String: Int64] = [:]
        for (name, value) in object { if case .int(let number) = value { fields[name] = number } }
        return fields
    }

    /// Tells whether a document is in the scope of `peer` at `other`, evaluated here by itself.
    static func isInScope(
        _ state: DocumentState?, _ wanted: HistoryPredicate, _ readable: HistoryPredicate, _ names: FieldNames
    ) -> Bool {
        guard let state, !state.isUnwritten else { return false }
        guard state.isAlive else { return wanted.isEverything && readable.isEverything }
        let fields = fields(state, names)
        return wanted.matches(fields) && readable.matches(fields)
    }

    static func digest(_ state: DocumentState, _ id: [UInt8]) -> StateDigest {
        id.withUnsafeBytes { state.digest(collection: "documents", id: $0, hash: ContentHash.digest) }
    }
}

extension HistoryWorld {
    private func excuses(_ peer: HistoryPeer, _ other: HistoryPeer, _ id: [UInt8]) -> (
        isRefused: Bool, isQuarantined: Bool, isEvicted: Bool
    ) {
        let storage = peer.replica.storage
        guard let reference = storage.references[1]?[id],
            let number = storage.peers.first(where: { $0.storeID == other.replica.storeID })?.number
        else { return (false, false, false) }
        return (
            storage.apart[number]?[.here]?[reference] != nil, storage.quarantine[number]?[reference] != nil,
            storage.evicted.contains(reference)
        )
    }

    /// After a total that agrees, a subscriber covers all that matched at the provider when it was stated (3a, 6).
    func checkWhole(_ peer: HistoryPeer, _ other: HistoryPeer, _ stated: [DocumentReference: ModelReplica.Document])
        throws
    {
        for document in stated.values {
            guard
                HistoryAuditor.isInScope(
                    document.state, wanted(peer, other), peer.grant.read, other.replica.names)
            else { continue }
            let excuse = excuses(peer, other, document.id)
            if excuse.isRefused || excuse.isQuarantined || excuse.isEvicted { continue }
            guard HistoryAuditor.covers(HistoryAuditor.state(of: document.id, peer), document.state) else {
                throw HistoryViolation(
                    "3a/6", "\(peer.name) agrees on the total with \(other.name) but lacks its \(document.id)")
            }
        }
    }

    /// What must hold when all is quiet and every link is up.
    func checkFinal(_ tag: String) throws {
        for link in links {
            for (a, b) in [(link.left, link.right), (link.right, link.left)] {
                try checkPull(peers[a], from: peers[b], tag)
            }
        }
        if hasHub { for peer in peers.dropFirst() { try checkHub(peer, peers[0], tag) } }
        guard !isLossy else { return }
        for (name, id, stamp) in auditor.written where auditor.acknowledged[id]?.contains(stamp) ?? false {
            let isHeld = peers.contains {
                HistoryAuditor.state(of: id, $0).map { HistoryAuditor.covers($0, stamp) } ?? false
            }
            guard isHeld else {
                throw HistoryViolation("5", "\(tag): acknowledged \(stamp) of \(id) by \(name) is nowhere")
            }
        }
    }

    private func checkPull(_ peer: HistoryPeer, from other: HistoryPeer, _ tag: String) throws {
        let wanted = wanted(peer, other)
        let readable = peer.grant.read
        let storage = peer.replica.storage
        let record = storage.peers.first { $0.storeID == other.replica.storeID }
        let told = record.flatMap { storage.told[$0.number] } ?? [:]
        for document in other.replica.storage.documents.values
        where HistoryAuditor.isInScope(document.state, wanted, readable, other.replica.names) {
            let id = document.id
            let excuse = excuses(peer, other, id)
            let own = HistoryAuditor.state(of: id, peer)
            let isBack = excuse.isEvicted && own?.isAlive ?? false
            let isExcused = excuse.isRefused || excuse.isQuarantined || excuse.isEvicted
            if !isExcused || isBack, !excuse.isRefused, !HistoryAuditor.covers(own, document.state) {
                throw HistoryViolation("3", "\(tag): \(peer.name) lacks \(id) that matches at \(other.name)")
            }
            let reference = storage.references[1]?[id]
            guard reference.flatMap({ told[$0] }) == HistoryAuditor.digest(document.state, id) else {
                throw HistoryViolation("3t", "\(tag): \(peer.name) was not told \(id) of \(other.name)")
            }
        }
        for reference in told.keys {
            let state = HistoryAuditor.state(of: storage.ids[reference] ?? [], other)
            guard HistoryAuditor.isInScope(state, wanted, readable, other.replica.names) else {
                throw HistoryViolation(
                    "8",
                    "\(tag): \(peer.name) still counts \(storage.ids[reference] ?? []) in the scope of \(other.name)")
            }
        }
        if hasHub { try checkOutdated(peer, other, tag) }
    }

    /// A peer that holds a matching document does not hold an outdated one where the provider knows better (3b).
    private func checkOutdated(_ peer: HistoryPeer, _ other: HistoryPeer, _ tag: String) throws {
        for document in peer.replica.storage.documents.values where document.state.isAlive {
            let id = document.id
            let excuse = excuses(peer, other, id)
            guard !excuses(other, peer, id).isRefused, let theirs = HistoryAuditor.state(of: id, other),
                HistoryAuditor.isInScope(document.state, wanted(peer, other), peer.grant.read, peer.replica.names),
                !HistoryAuditor.isInScope(theirs, wanted(peer, other), peer.grant.read, other.replica.names),
                !excuse.isRefused, !excuse.isQuarantined, !excuse.isEvicted,
                !theirs.isAlive || peer.grant.read.matches(HistoryAuditor.fields(theirs, other.replica.names))
            else { continue }
            guard HistoryAuditor.covers(document.state, theirs) else {
                throw HistoryViolation(
                    "3b", "\(tag): \(peer.name) holds a matching but outdated \(id); \(other.name) knows better")
            }
        }
    }

    private func checkHub(_ peer: HistoryPeer, _ hub: HistoryPeer, _ tag: String) throws {
        for (reference, document) in peer.replica.storage.documents {
            let id = document.id
            let excuse = excuses(hub, peer, id)
            let isBad = excuse.isRefused || excuse.isQuarantined
            if excuse.isRefused, peer.grant.write.isEverything, peer.grant.epoch > 0, document.state.isAlive {
                throw HistoryViolation("R", "\(tag): \(id) of \(peer.name) is still refused though its rights allow it")
            }
            let isAcknowledged = try peer.replica.read { try $0.isAcknowledged(reference) }
            let theirs = HistoryAuditor.state(of: id, hub)
            if tag != "healed", !isAcknowledged, !isBad, let theirs, HistoryAuditor.covers(theirs, document.state) {
                throw HistoryViolation("P", "\(tag): \(peer.name) thinks \(id) pending, the hub holds it")
            }
            if isAcknowledged, peer.replica.storage.deferred.contains(reference) {
                throw HistoryViolation("9", "\(tag): \(peer.name) keeps \(id) that it may not read")
            }
        }
    }
}
