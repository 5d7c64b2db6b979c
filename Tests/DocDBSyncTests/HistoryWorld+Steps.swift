import DocDBCore
import DocDBSync
import SyncModel

extension HistoryWorld {
    /// Runs a whole history: random steps, then everything heals, then everyone reconnects once more.
    func run(steps: Int) throws {
        for _ in 0..<(10 + random.below(max(1, steps - 10))) {
            try step()
            if let failure { throw failure }
        }
        for peer in peers { peer.skew = 0 }
        advance(wall: 1000 * Self.second)
        for link in links { try connect(link) }
        try settle()
        try checkFinal("healed")
        for link in links { drop(link) }
        for link in links { try connect(link) }
        try settle()
        try checkFinal("reconnected")
    }

    private func advance(wall seconds: UInt64) {
        wall += seconds
        for peer in peers { peer.replica.wall = wall }
    }

    func step() throws {
        let peer = peers[random.below(peers.count)]
        let roll = random.below(1000)
        advance(wall: UInt64(random.below(3)) * Self.second)
        monotonic += 10_000_000
        switch roll {
        case ..<160: try write(peer)
        case ..<190: try delete(peer)
        case ..<210: try evict(peer)
        case ..<235: try changeInterest(peer)
        case ..<255: try changeGrant(peer)
        case ..<270: cutLog(peer)
        case ..<285: backUp(peer)
        case ..<310: try crash(peer)
        case ..<320:
            peer.skew = [0, 0, 150 * Int64(Self.second)][random.below(3)]
            log("\(peer.name) skew \(peer.skew)")
        case ..<330: try revert(peer)
        case ..<370:
            let link = links[random.below(links.count)]
            log("drop \(link)")
            drop(link)
        case ..<430:
            let link = links[random.below(links.count)]
            log("connect \(link)")
            try connect(link)
        case ..<560:
            if let link = up.sorted().randomElement(using: &random) {
                let (a, b) = random.below(2) == 0 ? (link.left, link.right) : (link.right, link.left)
                log("\(peers[a].name) told of commits for \(peers[b].name)")
                try tellCommits(peers[a], peers[b])
            }
        case ..<575:
            monotonic += 6 * Self.second
        default:
            let full = queues.filter { !$0.value.isEmpty }.keys.sorted()
            if let queue = full.randomElement(using: &random) {
                let count = 1 + random.below(6)
                log("deliver \(count) of \(queue)")
                try deliver(queue, count: count, endsBatch: random.below(4) > 0)
            }
        }
        try tick()
    }

    func tick() throws {
        for link in up.sorted() {
            for (a, b) in [(link.left, link.right), (link.right, link.left)] { try tell(peers[a], peers[b], .tick) }
        }
    }

    private func randomID() -> [UInt8] { Self.documents[random.below(Self.documents.count)] }

    private func write(_ peer: HistoryPeer) throws {
        var operations: [(id: [UInt8], operation: ModelReplica.Operation)] = []
        let ids = random.below(10) < 7 ? [randomID()] : Array(Set([randomID(), randomID()])).sorted { $0[0] < $1[0] }
        for id in ids {
            if HistoryAuditor.state(of: id, peer) == nil || random.below(10) < 3 {
                operations.append((id, .set("x", Int64(random.below(3)))))
                operations.append((id, .set("y", Int64(random.below(2)))))
            } else {
                switch random.below(4) {
                case 0: operations.append((id, .set("x", Int64(random.below(3)))))
                case 1: operations.append((id, .set("y", Int64(random.below(2)))))
                case 2: operations.append((id, .set("z", Int64(random.below(99)))))
                default: operations.append((id, .increment("c", 1)))
                }
            }
        }
        try write(peer, operations)
    }

    func write(_ peer: HistoryPeer, _ operations: [(id: [UInt8], operation: ModelReplica.Operation)]) throws {
        log("\(peer.name) write \(operations)")
        // The auditor must know what was written before it judges the commit.
        let observer = peer.replica.onCommit
        var commits: [([(reference: DocumentReference, before: [UInt8]??, after: [UInt8]??)], Int64)] = []
        peer.replica.onCommit = { commits.append(($0, $1)) }
        defer { peer.replica.onCommit = observer }
        let written = try peer.replica.write(operations, skew: peer.skew)
        try auditor.note(written, peer)
        for (changes, sequence) in commits { observer(changes, sequence) }
        try want(written.returned, peer)
    }

    private func delete(_ peer: HistoryPeer) throws {
        let id = randomID()
        if HistoryAuditor.state(of: id, peer)?.isAlive ?? false { try write(peer, [(id, .delete)]) }
    }

    private func evict(_ peer: HistoryPeer) throws {
        let isForced = random.below(100) < 15
        guard !isHub(peer), let reference = peer.replica.storage.references[1]?[randomID()],
            try peer.replica.evict(reference, force: isForced)
        else { return }
        log("\(peer.name) evict \(reference.key) \(isForced)")
        if isForced { isLossy = true }
        for name in peer.ends.keys.sorted() { try tell(peer, self.peer(name), .evicted([reference])) }
    }

    private func changeInterest(_ peer: HistoryPeer) throws {
        guard !isHub(peer) else { return }
        peer.interests.append(.random(&random))
        log("\(peer.name) interest \(peer.interest.interest)")
        for name in peer.ends.keys.sorted() where peer.ends[name]?.isEstablished ?? false {
            try tell(peer, self.peer(name), .interest(announced(peer, self.peer(name))))
        }
    }

    private func changeGrant(_ peer: HistoryPeer) throws {
        guard hasGrants, !isHub(peer) else { return }
        let grant = HistoryGrant(
            read: .random(&random, everythingIn: 40), write: .random(&random, everythingIn: 60),
            epoch: peer.grant.epoch + 1)
        peer.authenticator.change(grant)
        log("\(peer.name) grant \(grant.read.interest) \(grant.write.interest)")
        for name in peer.ends.keys.sorted() where peer.ends[name]?.isEstablished ?? false {
            try tell(peer, self.peer(name), .renewed)
        }
    }

    private func cutLog(_ peer: HistoryPeer) {
        let storage = peer.replica.storage
        guard !storage.log.isEmpty, random.below(2) == 0 else { return }
        let span = Int(storage.sequence - storage.oldestSequence) + 2
        let first = storage.oldestSequence + Int64(random.below(max(1, span)))
        log("\(peer.name) cuts its log before \(first)")
        peer.replica.cutLog(before: min(first, storage.sequence + 1))
    }

    private func backUp(_ peer: HistoryPeer) {
        log("\(peer.name) backup")
        peer.backups.append(peer.replica.backup())
    }

    private func crash(_ peer: HistoryPeer) throws {
        for link in up.sorted() where peers[link.left] === peer || peers[link.right] === peer { drop(link) }
        if random.below(10) < 3, let backup = peer.backups.randomElement(using: &random) {
            log("\(peer.name) restores a backup at \(backup.sequence)")
            isLossy = true
            peer.backups = []
            peer.replica.restore(backup)
        } else {
            let before = peer.replica.storage
            peer.replica.cutPower(keeping: random.below(6))
            log("\(peer.name) crashes from \(before.sequence) to \(peer.replica.storage.sequence)")
            try auditor.forgetLost(peer, before, peers)
        }
    }

    private func revert(_ peer: HistoryPeer) throws {
        var candidates: [(String, DocumentReference)] = []
        for record in peer.replica.storage.peers {
            guard let other = peers.first(where: { $0.replica.storeID == record.storeID }),
                peer.ends[other.name]?.isEstablished ?? false
            else { continue }
            for reference in (peer.replica.storage.apart[record.number]?[.there] ?? [:]).keys.sorted() {
                candidates.append((other.name, reference))
            }
        }
        guard let (name, reference) = candidates.randomElement(using: &random) else { return }
        log("\(peer.name) reverts \(reference.key) to \(name)")
        isLossy = true
        try tell(peer, self.peer(name), .revert(reference))
    }

    /// Delivers everything until nothing moves any more.
    func settle() throws {
        var deliveries = 0
        var quietRounds = 0
        while quietRounds < 3 {
            if let failure { throw failure }
            for link in up.sorted() {
                for (a, b) in [(link.left, link.right), (link.right, link.left)] {
                    try tell(peers[a], peers[b], .batchEnded)
                    try tellCommits(peers[a], peers[b])
                }
            }
            let full = queues.filter { !$0.value.isEmpty }.keys.sorted()
            if full.isEmpty {
                quietRounds += 1
                monotonic += 6 * Self.second
                try tick()
                for link in links { try connect(link) }
                continue
            }
            for queue in full {
                while let frames = queues[queue], !frames.isEmpty {
                    quietRounds = 0
                    try deliver(queue, count: 3, endsBatch: true)
                    deliveries += 1
                    guard deliveries < 6000 else { throw HistoryViolation("7", "no silence at quiescence") }
                }
            }
        }
    }
}
