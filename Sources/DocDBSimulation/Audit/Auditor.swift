import DocDB
import DocDBCore
import DocDBStorage
import DocDBSync

/// Checks what must hold at every peer of a simulation, against what was written and not against what peers believe.
///
/// The invariants, by number:
///
/// 1. Two peers whose versions of a document have seen the same hold the same document.
/// 2. What a version says it has seen is in it: it equals what a reference makes of the writes that it has seen.
/// 3. The order in which versions of a document are merged, and how often, makes no difference.
/// 4. A peer finds its own writes, and what it has read once is not taken back.
/// 5. Transactions are seen whole; scenarios check it, who know what belongs together.
/// 6. What a keeper has acknowledged is never lost.
/// 7. No two writes have the same stamp.
/// 8. Each peer holds all that its subscriptions match at the peers it is connected to, and was told of nothing else.
/// 10. What was deleted stays so, unless it was written to meanwhile.
/// 11. The results of observed queries are those of fresh ones, and the events lead there.
/// 12. When all have converged, there is silence.
/// 14. The database's own check finds nothing, and the change log unwinds to its start.
/// 15. Peers converge in bounded time once everything is healed.
/// 16. The times of a peer's writes rise, and are not ahead of its clock by more than the bound.
/// 17. What waits is bounded.
///
/// 13. What is sent for what has changed is within a budget, whatever is stored: between ``beginBudget()`` and
///     ``checkBudget()``.
///
/// Those about permissions and protocol versions (9, 18) are for scenarios of their own.
public final class Auditor {
    private struct Operation {
        var peer: Int
        var key: AuditedKey
        var stamp: Stamp
        var state: DocumentState
    }

    unowned let simulation: Simulation
    /// What each stamp wrote of a document, with names spelt out.
    private var operations: [AuditedKey: [Stamp: Operation]] = [:]
    private var stamps: [Stamp: String] = [:]
    private var newestTimes: [ActorID: HybridTime] = [:]
    private var entriesBySeen: [AuditedKey: [VersionVector: [String]]] = [:]
    private var acknowledged: [AuditedKey: Set<Stamp>] = [:]
    /// What each peer held when it was looked at last.
    private var known: [Int: [AuditedKey: VersionVector]] = [:]
    private var lossyPeers: Set<Int> = []
    private var evictingPeers: Set<Int> = []
    /// Writes that may have been lost with a power cut.
    private var doubtful: Set<Stamp> = []
    private let names = FieldNames()
    private var damagedPeers: Set<Int> = []
    /// What has changed since `beginBudget`.
    var budget: ByteBudget?
    /// Whether acknowledged writes may be lost, as a keeper was set back.
    public var permitsLoss = false
    /// How many writes were made.
    public private(set) var writeCount = 0
    /// How many documents were compared with the reference.
    public private(set) var checkedCount = 0

    init(_ simulation: Simulation) { self.simulation = simulation }

    // MARK: What happened

    /// A transaction of a peer was committed.
    func noteWrite(_ peer: SimulatedPeer, after sequence: Int64) throws {
        let replica = try peer.replica
        let written: [Operation] = try replica.read { reader in
            var written: [Operation] = []
            var references: [DocumentReference] = []
            _ = try reader.forEachChange(after: sequence, takenFrom: 0) { reference, _, _ in
                references.append(reference)
            }
            for reference in references {
                guard let name = try reader.name(ofCollection: reference.collection) else { continue }
                var before = VersionVector()
                if case .stored(let state) = try reader.state(of: reference, after: sequence) {
                    before = state.seen
                    before.join(state.deleted)
                }
                try reader.withDocument(reference) { document in
                    let state = try SimulatedPeer.state(of: document, replica)
                    let key = AuditedKey(collection: name, id: [UInt8](document.id))
                    let stamps = Self.stamps(in: state, beyond: before)
                    for stamp in stamps {
                        var others = state.seen
                        others.join(state.deleted)
                        others.set(stamp.actor, to: HybridTime(rawValue: stamp.time.rawValue - 1))
                        // What it wrote under earlier stamps is part of what came of the last.
                        if stamps.count > 1 { others = before }
                        written.append(
                            Operation(
                                peer: peer.number, key: key, stamp: stamp, state: state.delta(since: others).state))
                    }
                }
            }
            return written
        }
        for stamp in Set(written.map(\.stamp)).sorted() { try checkStamp(stamp, of: peer) }
        writeCount += written.isEmpty ? 0 : 1
        for operation in written {
            let stamp = operation.stamp
            budget?.note(operation.state, idByteCount: operation.key.id.count)
            operations[operation.key, default: [:]][stamp] = operation
            known[peer.number, default: [:]][operation.key, default: VersionVector()]
                .advance(stamp.actor, to: stamp.time)
        }
    }

    /// The dots that a state covers beyond a vector: one for each actor.
    private static func stamps(in state: DocumentState, beyond before: VersionVector) -> [Stamp] {
        var covered = state.seen
        covered.join(state.deleted)
        return covered.elements.filter { $0.time > before[$0.actor] }.map { Stamp(time: $0.time, actor: $0.actor) }
    }

    private func checkStamp(_ stamp: Stamp, of peer: SimulatedPeer) throws {
        if let other = stamps[stamp] {
            throw simulation.failure(7, "\(peer.name) wrote with the stamp \(stamp), as \(other) had")
        }
        stamps[stamp] = peer.name
        if let last = newestTimes[stamp.actor], stamp.time <= last {
            throw simulation.failure(16, "\(peer.name) wrote at \(stamp.time), not after \(last)")
        }
        newestTimes[stamp.actor] = stamp.time
        let bound = HybridTime(
            nanosecondsSince1970: peer.newestWallNanoseconds &+ SyncLimits.clockBoundNanoseconds &+ 1_000_000)
        if stamp.time > bound {
            throw simulation.failure(16, "\(peer.name) wrote at \(stamp.time), too far ahead of its clock")
        }
    }

    /// A peer evicts documents, which may come back older, from somebody who knows less.
    func noteEviction(_ peer: SimulatedPeer) { evictingPeers.insert(peer.number) }

    /// A peer has lost writes, or was set back: what it holds may be older than before.
    func noteLoss(_ peer: SimulatedPeer) {
        known[peer.number] = nil
        lossyPeers.insert(peer.number)
    }

    /// Does not mind what the own check of a peer's database finds from now on.
    public func expectDamage(of peer: SimulatedPeer) { damagedPeers.insert(peer.number) }

    /// A peer has started: writes that it lost and nobody holds have never been.
    func noteStart(_ peer: SimulatedPeer) throws {
        guard lossyPeers.remove(peer.number) != nil else { return }
        let held = try simulation.peers.filter(\.isRunning).map { try $0.auditedDocuments() }
        // Who does not run may hold what its disk says; it is looked at when it starts.
        guard simulation.peers.allSatisfy({ $0.isRunning || $0.number == peer.number }) else {
            lossyPeers.insert(peer.number)
            try noteDoubtful(peer, held)
            return
        }
        for (key, ofKey) in operations {
            for (stamp, operation) in ofKey where operation.peer == peer.number {
                if held.contains(where: { $0[key]?.covers(stamp) ?? false }) { continue }
                operations[key]?[stamp] = nil
                if !permitsLoss, acknowledged[key]?.contains(stamp) ?? false {
                    throw simulation.failure(6, "\(key) of \(peer.name) at \(stamp) was acknowledged, and is nowhere")
                }
            }
        }
        entriesBySeen = [:]
    }

    /// Until all peers run, nobody knows whether writes that no running one holds were lost.
    private func noteDoubtful(_ peer: SimulatedPeer, _ held: [[AuditedKey: AuditedDocument]]) throws {
        for (key, ofKey) in operations {
            for (stamp, operation) in ofKey where operation.peer == peer.number {
                if !held.contains(where: { $0[key]?.covers(stamp) ?? false }) { doubtful.insert(stamp) }
            }
        }
    }

    // MARK: Checks

    /// Checks what must hold at any moment, at all peers that run.
    ///
    /// - Throws: ``SimulationFailure`` where an invariant is broken.
    public func check() throws {
        for peer in simulation.peers where peer.isRunning { try check(peer) }
        let queue = simulation.network.traffic.largestQueueByteCount
        if queue > Self.queueByteCount { throw simulation.failure(17, "\(queue) bytes waited on a link") }
    }

    /// The backlog of a link, the largest snapshot that is sent whole, and what may follow.
    private static let queueByteCount = SyncLimits.linkBacklogByteCount + SyncLimits.snapshotByteCount + 1 << 20
    private static let workCount = 10_000

    private func check(_ peer: SimulatedPeer) throws {
        if peer.waitingWorkCount > Self.workCount {
            throw simulation.failure(17, "\(peer.waitingWorkCount) pieces of work wait at \(peer.name)")
        }
        let documents = try peer.auditedDocuments()
        for (key, document) in documents.sorted(by: { $0.key < $1.key }) {
            try check(document, key, peer)
            if !evictingPeers.contains(peer.number), let before = known[peer.number]?[key],
                !before.isCovered(by: document.covered)
            {
                throw simulation.failure(4, "\(peer.name) has gone back in \(key)")
            }
        }
        known[peer.number] = documents.mapValues(\.covered)
        try noteAcknowledged(peer, documents)
    }

    private func check(_ document: AuditedDocument, _ key: AuditedKey, _ peer: SimulatedPeer) throws {
        checkedCount += 1
        let state = document.state
        let ofKey = operations[key] ?? [:]
        try checkDeleted(document, key, peer)
        guard state.isAlive else { return }
        let entries = document.entries
        if let other = entriesBySeen[key]?[state.seen] {
            guard other != entries else { return }
            throw simulation.failure(1, "\(peer.name) holds another \(key) than a peer that has seen the same")
        }
        entriesBySeen[key, default: [:]][state.seen] = entries
        // In two orders, and some twice: merging must not mind.
        let covered = ofKey.values.filter { state.seen.covers($0.stamp.actor, $0.stamp.time) }
            .sorted { $0.stamp < $1.stamp }
        for order in [covered, covered.reversed() + covered.prefix(1)] {
            var reference = DocumentState()
            for operation in order {
                _ = reference.apply(
                    DocumentDelta(base: VersionVector(), state: operation.state), forgets: false, names: names)
            }
            if AuditedDocument.entries(of: reference) != entries, order.contains(where: { doubtful.contains($0.stamp) })
            {
                continue
            }
            guard AuditedDocument.entries(of: reference) == entries else {
                throw simulation.failure(
                    2,
                    "\(key) at \(peer.name) is not what it has seen: \(state.seen.elements), holds \(entries), and not \(AuditedDocument.entries(of: reference))"
                )
            }
        }
    }

    /// What is deleted is just what the deletions that were seen have deleted.
    private func checkDeleted(_ document: AuditedDocument, _ key: AuditedKey, _ peer: SimulatedPeer) throws {
        var mayBe = VersionVector()
        var ofKey: [Operation] = []
        ofKey.append(contentsOf: (operations[key] ?? [:]).values)
        for operation in ofKey {
            mayBe.join(operation.state.deleted)
            guard document.covers(operation.stamp) else { continue }
            // One that a power cut took is covered by what the same actor wrote later, and has never been.
            if doubtful.contains(operation.stamp) { continue }
            guard operation.state.deleted.isCovered(by: document.state.deleted) else {
                throw simulation.failure(10, "\(key) at \(peer.name) has come back, though it was deleted")
            }
        }
        guard document.state.deleted.isCovered(by: mayBe) else {
            throw simulation.failure(10, "\(key) at \(peer.name) is deleted, though nobody did that")
        }
    }

    private func noteAcknowledged(_ peer: SimulatedPeer, _ documents: [AuditedKey: AuditedDocument]) throws {
        guard simulation.peers.contains(where: \.description.isKeeper) else { return }
        try peer.replica.read { reader in
            for (key, document) in documents where try reader.isAcknowledged(document.reference) {
                for (stamp, operation) in operations[key] ?? [:]
                where operation.peer == peer.number && document.covers(stamp) {
                    acknowledged[key, default: []].insert(stamp)
                }
            }
        }
    }

    /// Checks everything, when all peers run and have come to rest.
    ///
    /// - Throws: ``SimulationFailure`` where an invariant is broken.
    public func checkAll() throws {
        try check()
        let running = simulation.peers.filter(\.isRunning)
        let held = try running.map { ($0, try $0.auditedDocuments()) }
        try checkMerges(held.map(\.1))
        for (peer, _) in held {
            try checkObserved(peer)
            let findings = try peer.db.verify()
            if !findings.isEmpty, !damagedPeers.contains(peer.number) {
                throw simulation.failure(14, "\(peer.name): \(findings)")
            }
        }
        try checkScopes(held)
        guard !permitsLoss else { return }
        for (key, stamps) in acknowledged.sorted(by: { $0.key < $1.key }) {
            for stamp in stamps.sorted() where !held.contains(where: { $0.1[key]?.covers(stamp) ?? false }) {
                throw simulation.failure(6, "\(key) at \(stamp) was acknowledged, and is nowhere")
            }
        }
    }

    /// Versions of different peers merge to the same in either order, and twice is once.
    private func checkMerges(_ held: [[AuditedKey: AuditedDocument]]) throws {
        guard held.count > 1 else { return }
        for (key, first) in held[0].sorted(by: { $0.key < $1.key }) {
            for other in held.dropFirst() {
                guard let second = other[key], second.state.seen != first.state.seen else { continue }
                var left = first.state
                _ = left.apply(DocumentDelta(base: VersionVector(), state: second.state), forgets: true, names: names)
                var right = second.state
                _ = right.apply(DocumentDelta(base: VersionVector(), state: first.state), forgets: true, names: names)
                _ = right.apply(DocumentDelta(base: VersionVector(), state: second.state), forgets: true, names: names)
                guard left.isAlive == right.isAlive, !left.isAlive || left.isSame(as: right) else {
                    throw simulation.failure(3, "the order of merging makes a difference to \(key)")
                }
            }
        }
    }

    private func checkObserved(_ peer: SimulatedPeer) throws {
        for results in peer.observed {
            results.take()
            if let problem = results.problem { throw simulation.failure(11, "at \(peer.name), \(problem)") }
            guard try results.documents == results.fresh() else {
                throw simulation.failure(11, "a query that \(peer.name) observes is not up to date")
            }
        }
    }

    /// Checks that nothing is sent any more but signs of life.
    ///
    /// - Throws: ``SimulationFailure`` where something is.
    public func checkSilence(for duration: Duration = .seconds(90)) throws {
        let before = simulation.network.traffic
        simulation.run(for: duration)
        let sent = simulation.network.traffic.dataFrameCount - before.dataFrameCount
        let links = simulation.network.traffic.linkCount - before.linkCount
        guard sent == 0, links == 0 else {
            throw simulation.failure(12, "\(sent) frames and \(links) new links after all had converged")
        }
    }
}
