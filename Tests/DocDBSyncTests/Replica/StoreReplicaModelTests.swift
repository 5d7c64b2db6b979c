import DocDBCore
import DocDBStorage
import DocDBSync
import Testing

/// Random operations on a replica and on dictionaries, with rollbacks and reopening; both must say the same.
@Suite("A store as a replica under random operations")
struct StoreReplicaModelTests {
    struct Told: Hashable {
        var peer: Int64
        var reference: DocumentReference
    }

    /// What the replica must hold.
    struct Model: Equatable {
        var documents: [DocumentID: Value] = [:]
        var references: [DocumentID: DocumentReference] = [:]
        var evicted: Set<DocumentReference> = []
        var told: [Told: StateDigest] = [:]
        var apart: [Told: RefusalCode] = [:]
        var deferred: Set<DocumentReference> = []
        var quarantine: [Told: [UInt8]] = [:]
    }

    struct Abort: Error {}

    @Test("holds what dictionaries hold", arguments: 0..<16)
    func matchesModel(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        let place = ReplicaPlace()
        let clock = ReplicaClock()
        func open() throws -> StoreReplica {
            try place.open {
                $0.clock = { clock.now }
                if seed % 4 == 3 { $0.historyByteCount = 2_000 }
            }
        }
        var replica = try open()
        var model = Model()
        let peers = try (1...3).map { try replica.addPeer(UInt8($0)).number }
        for step in 0..<90 {
            clock.advance(seconds: UInt64(random.below(3)))
            let comment: Comment = "seed \(seed), step \(step)"
            if random.below(15) == 0 {
                try replica.store.close()
                replica = try open()
            }
            var changed = model
            let fails = random.below(6) == 0
            do {
                try replica.write { writer in
                    for _ in 0..<(1 + random.below(4)) {
                        try Self.operate(writer, replica, peers, clock, &changed, &random)
                    }
                    if fails { throw Abort() }
                }
                model = changed
            } catch is Abort {}
            if random.below(4) == 0 { try Self.writeLocally(replica, &model, &random) }
            try Self.check(replica, model, peers, comment)
        }
        let findings = try replica.findings()
        #expect(findings.isEmpty, "seed \(seed): \(findings)")
    }

    private static func randomID(_ random: inout SeededGenerator) -> DocumentID { DocumentID(Int64(random.below(10))) }

    /// A local write or eviction, which a model of facts about peers must follow.
    private static func writeLocally(
        _ replica: StoreReplica, _ model: inout Model, _ random: inout SeededGenerator
    ) throws {
        let id = randomID(&random)
        let known = model.references[id]
        if random.below(3) == 0 {
            guard try replica.evict(id, force: true), let known else { return }
            evict(id, known, &model)
            return
        }
        let reference = try replica.put(.object(["_id": id.value, "local": .int(Int64(random.below(9)))]), .replace)
        if let known { #expect(reference == known) }
        model.references[id] = reference
        model.documents[id] = try replica.value(id)
        if model.evicted.remove(reference) != nil { model.told = model.told.filter { $0.key.reference != reference } }
    }

    private static func evict(_ id: DocumentID, _ reference: DocumentReference, _ model: inout Model) {
        model.documents[id] = nil
        model.evicted.insert(reference)
        model.deferred.remove(reference)
        model.quarantine = model.quarantine.filter { $0.key.reference != reference }
    }

    private static func operate(
        _ writer: any ReplicaWriter, _ replica: StoreReplica, _ peers: [Int64], _ clock: ReplicaClock,
        _ model: inout Model, _ random: inout SeededGenerator
    ) throws {
        let peer = peers[random.below(peers.count)]
        let id = randomID(&random)
        guard random.below(3) > 0, let reference = model.references[id] else {
            try receive(id, peer, writer, replica, clock, &model, &random)
            return
        }
        let told = Told(peer: peer, reference: reference)
        switch random.below(7) {
        case 0, 1:
            let digest = random.below(4) == 0 ? nil : testDigest(random.next() % 5)
            try writer.setTold(peer: peer, reference, digest)
            model.told[told] = digest
        case 2:
            let others = try writer.removeTold(reference, except: peer)
            let expected = model.told.keys.filter { $0.reference == reference && $0.peer != peer }
            #expect(others == expected.map(\.peer).sorted())
            for key in expected { model.told[key] = nil }
        case 3:
            let code = RefusalCode(rawValue: UInt64(1 + random.below(8)))
            let isSet = random.below(2) == 0
            if isSet {
                try writer.setApart(
                    ApartDocument(peer: peer, side: .here, reference: reference, code: code, epoch: 1, reason: "why"))
            } else {
                try writer.removeApart(peer: peer, side: .here, reference)
            }
            model.apart[told] = isSet ? code : nil
        case 4:
            let isDeferred = random.below(2) == 0
            try writer.setDeferredEviction(reference, isDeferred)
            if isDeferred { model.deferred.insert(reference) } else { model.deferred.remove(reference) }
        case 5:
            let delta = QuarantinedDelta(
                peer: peer, reference: reference, newestTime: HybridTime(rawValue: random.next() >> 1),
                bytes: random.bytes(20))
            #expect(try writer.setQuarantined(delta) == nil)
            model.quarantine[told] = delta.bytes
        default:
            // What this commit has changed itself cannot be evicted in it.
            guard model.documents[id] != nil, try writer.lastChange(reference) < writer.nextSequence else { return }
            #expect(try writer.evict(reference, force: false) == false, "there is no keeper")
            if try writer.evict(reference, force: true) { evict(id, reference, &model) }
        }
    }

    /// Joins what a peer sends of one document.
    private static func receive(
        _ id: DocumentID, _ peer: Int64, _ writer: any ReplicaWriter, _ replica: StoreReplica, _ clock: ReplicaClock,
        _ model: inout Model, _ random: inout SeededGenerator
    ) throws {
        let document: Value = .object([
            "_id": id.value, ["a", "b", "c"][random.below(3)]: .int(Int64(random.below(100))),
        ])
        let remote = try remoteState(
            document, replica, actor: UInt64(random.below(3)), time: clock.now + UInt64(random.below(1000)) << 16)
        let reference = try writer.join(remote.state, id: remote.id, from: peer, replica)
        if let known = model.references[id] { #expect(reference == known) }
        model.references[id] = reference
        model.evicted.remove(reference)
        var value: Value?
        try writer.withDocument(reference) { stored in
            value = try stored.body.map { try Value.decode($0, names: replica.names) }
        }
        model.documents[id] = value
    }

    private static func check(
        _ replica: StoreReplica, _ model: Model, _ peers: [Int64], _ comment: Comment
    ) throws {
        for (id, document) in model.documents { #expect(try replica.value(id) == document, comment) }
        try replica.read { reader in
            #expect(Set(try reader.evicted(limit: .max).map(\.0)) == model.evicted, comment)
            #expect(Set(try reader.deferredEvictions()) == model.deferred, comment)
            #expect(try reader.quarantine(peer: nil).count == model.quarantine.count, comment)
            for peer in try reader.peers() {
                var told: [DocumentReference: StateDigest] = [:]
                var sum = DigestSum()
                try reader.forEachTold(peer: peer.number) { told[$0] = $1 }
                for digest in told.values { sum.add(digest) }
                let expected = model.told.filter { $0.key.peer == peer.number }
                #expect(told.count == expected.count, comment)
                for (key, digest) in expected { #expect(told[key.reference] == digest, comment) }
                #expect(peer.currentCount == Int64(told.count) && peer.currentSum == sum, comment)
                let apart = try reader.apart(peer: peer.number, side: .here)
                #expect(
                    Set(apart.map(\.reference))
                        == Set(model.apart.keys.filter { $0.peer == peer.number }.map(\.reference)), comment)
                for delta in try reader.quarantine(peer: peer.number) {
                    let key = Told(peer: peer.number, reference: delta.reference)
                    #expect(model.quarantine[key] == delta.bytes, comment)
                }
            }
        }
    }
}

extension ReplicaReader {
    /// The commit that changed a document last, zero where it is not stored.
    func lastChange(_ reference: DocumentReference) throws -> Int64 {
        var change: Int64 = 0
        try withDocument(reference) { change = $0.lastChange }
        return change
    }
}

extension ReplicaWriter {
    /// The number that this commit has or will get.
    var nextSequence: Int64 { (self as? StoreReplicaWriter)?.transactionSequence ?? sequence + 1 }
}
