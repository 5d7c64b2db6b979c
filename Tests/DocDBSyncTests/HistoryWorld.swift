import DocDBCore
import DocDBQuery
import DocDBSync
import SyncModel

/// What a history has shown to be broken.
struct HistoryViolation: Error, CustomStringConvertible {
    var invariant: String
    var text: String
    init(_ invariant: String, _ text: String) {
        self.invariant = invariant
        self.text = text
    }
    var description: String { "\(invariant): \(text)" }
}

/// A peer of a history: its store, and its end of each link.
final class HistoryPeer {
    struct End {
        var session: Session
        var scope: [(collection: String, filter: Filter)]? = nil
        var isEverything = false
        /// The number of the interest last sent.
        var number: UInt64 = 0
        /// What the other side may do, by the grant that has come.
        var judged = HistoryGrant()
        /// Reads along what is sent.
        var reading: (number: UInt64, dictionary: ReceivingDictionary)?
        /// What commits have changed of the scope, not told to the session yet.
        var dirty: [DirtyDocument] = []
        var isEstablished = false
    }

    let name: String
    let replica: ModelReplica
    let authenticator: HistoryAuthenticator
    /// What it has wanted so far; the version of each is its place.
    var interests = [HistoryPredicate.everything]
    var interest: HistoryPredicate { interests[interests.count - 1] }
    /// Interests of others by origin, with the peer that told them.
    var relayed: [[UInt8]: (AnnouncedInterest, from: String)] = [:]
    var ends: [String: End] = [:]
    var backups: [ModelReplica.Storage] = []
    var skew: Int64 = 0
    /// Documents that the peer of this name may not be read from any more; for the auditor.
    var toldAccess: Set<[UInt8]> = []

    init(_ name: String, _ replica: ModelReplica, _ authenticator: HistoryAuthenticator) {
        self.name = name
        self.replica = replica
        self.authenticator = authenticator
    }

    var grant: HistoryGrant { authenticator.own }
}

/// Several peers, links between them, and what happens to them: the same histories as `protocol_model.py` makes.
final class HistoryWorld {
    struct LinkID: Hashable, Comparable {
        var left: Int
        var right: Int
        static func < (a: LinkID, b: LinkID) -> Bool { (a.left, a.right) < (b.left, b.right) }
    }

    struct Frame {
        var bytes: [UInt8]
        var message: Message?
        /// The total that it states, and what the sender then held.
        var total: (number: UInt64, total: ScopeTotal)?
        var documents: [DocumentReference: ModelReplica.Document] = [:]
    }

    enum Topology: String { case mesh, star, chain }

    var random: SeededGenerator
    let topology: Topology
    let disabledRules: Set<SyncRule>
    var peers: [HistoryPeer] = []
    var links: [LinkID] = []
    var up: Set<LinkID> = []
    /// Frames under way, by sender and receiver.
    var queues: [LinkID: [Frame]] = [:]
    let hasHub: Bool
    let hasGrants: Bool
    let isRelaying: Bool
    var monotonic: UInt64 = 1_000_000_000
    var wall: UInt64 = 1_700_000_000_000_000_000
    var isLossy = false
    var trace: [String] = []
    var statistics: [String: Int] = [:]
    let grants = HistoryGrants()
    var auditor = HistoryAuditor()
    var freshCount: UInt64 = 0
    var failure: HistoryViolation?
    /// Whether the trace shows every message.
    var showsFrames = false

    static let documents: [[UInt8]] = (0..<7).map { encoded(DocumentID(Int64($0))) }
    static let second: UInt64 = 1_000_000_000

    init(seed: UInt64, disabledRules: Set<SyncRule> = []) {
        var random = SeededGenerator(seed: seed)
        self.disabledRules = disabledRules
        let topology = [Topology.mesh, .star, .star, .chain][random.below(4)]
        let count = topology == .star ? 3 + random.below(3) : 2 + random.below(3)
        let (first, second) = (random.below(10), random.below(10))
        self.topology = topology
        hasHub = topology == .star
        hasGrants = first < (topology == .star ? 7 : 2)
        isRelaying = topology == .chain && second < 6
        self.random = random
        for index in 0..<count {
            let isHub = hasHub && index == 0
            var grant = HistoryGrant(isHub: isHub)
            if hasGrants, !isHub {
                grant.read = .random(&self.random, everythingIn: 40)
                grant.write = .random(&self.random, everythingIn: 60)
            }
            let replica = ModelReplica(makeFreshID: { [unowned self] in freshID() })
            replica.forgets = self.random.below(2) == 0
            replica.disabledRules = disabledRules
            replica.wall = wall
            let peer = HistoryPeer(
                String("ABCDE"[String.Index(utf16Offset: index, in: "ABCDE")]), replica,
                HistoryAuthenticator(grants, grant))
            if !isHub { peer.interests = [.random(&self.random)] }
            peers.append(peer)
            replica.onCommit = { [unowned self, unowned peer] changes, sequence in
                noteCommit(peer, changes, sequence)
            }
        }
        for left in 0..<count {
            for right in (left + 1)..<max(count, left + 1) {
                let isLinked =
                    switch topology {
                    case .mesh: true
                    case .star: left == 0
                    case .chain: right == left + 1
                    }
                if isLinked { links.append(LinkID(left: left, right: right)) }
            }
        }
    }

    func freshID() -> [UInt8] {
        freshCount += 1
        return (0..<8).map { _ in 0xF0 } + (0..<8).map { UInt8(truncatingIfNeeded: freshCount >> UInt64(56 - 8 * $0)) }
    }

    func peer(_ name: String) -> HistoryPeer { peers.first { $0.name == name } ?? peers[0] }
    func index(_ peer: HistoryPeer) -> Int { peers.firstIndex { $0 === peer } ?? 0 }
    func isHub(_ peer: HistoryPeer) -> Bool { hasHub && peer === peers[0] }
    func log(_ text: @autoclosure () -> String) { trace.append(text()) }
    func count(_ name: String, _ by: Int = 1) { statistics[name, default: 0] += by }
    var time: SessionTime { SessionTime(monotonicNanoseconds: monotonic, wallNanoseconds: wall) }

    // MARK: Links

    func connect(_ link: LinkID) throws {
        guard up.insert(link).inserted else { return }
        for (from, to) in [(link.left, link.right), (link.right, link.left)] {
            queues[LinkID(left: from, right: to)] = []
            let peer = peers[from]
            var hello = Hello()
            hello.nonce = freshID()
            hello.isKeeper = isHub(peer)
            hello.name = peer.name
            hello.actors = [Hello.OwnedActor(actor: peer.replica.storage.actor, nonce: [])]
            var configuration = SessionConfiguration(isInitiator: from == link.left, hello: hello)
            configuration.clockBoundNanoseconds = 60 * Self.second
            configuration.forgetsDeleted = peer.replica.forgets
            configuration.disabledRules = disabledRules
            peer.ends[peers[to].name] = HistoryPeer.End(
                session: Session(
                    configuration: configuration, replica: peer.replica, authenticator: peer.authenticator))
        }
        try tell(peers[link.left], peers[link.right], .opened(channelBinding: nil))
        try tell(peers[link.right], peers[link.left], .opened(channelBinding: nil))
    }

    func drop(_ link: LinkID) {
        guard up.remove(link) != nil else { return }
        for (from, to) in [(link.left, link.right), (link.right, link.left)] {
            queues[LinkID(left: from, right: to)] = nil
            let peer = peers[from]
            guard let end = peer.ends.removeValue(forKey: peers[to].name) else { continue }
            _ = end.session.handle(.closed, at: time)
        }
    }

    /// Delivers up to `count` frames; the batch may stay open.
    func deliver(_ queue: LinkID, count: Int, endsBatch: Bool) throws {
        let (from, to) = (peers[queue.left], peers[queue.right])
        for _ in 0..<count {
            guard var frames = queues[queue], !frames.isEmpty else { break }
            let frame = frames.removeFirst()
            queues[queue] = frames
            self.count("frames")
            if showsFrames, let message = frame.message {
                log("  \(from.name) -> \(to.name) \("\(message)".prefix(420))")
            }
            self.count("bytes", frame.bytes.count)
            if random.below(2) == 0 { try tellCommits(to, from) }
            switch frame.message {
            case .proof(let proof): to.ends[from.name]?.judged = try grants.grant(proof.bytes)
            case .grant(let grant): to.ends[from.name]?.judged = try grants.grant(grant)
            default: break
            }
            let number = to.ends[from.name]?.number
            try tell(to, from, .received(frame.bytes))
            if let total = frame.total, total.number == number,
                let record = to.replica.storage.peers.first(where: { $0.storeID == from.replica.storeID }),
                record.currentCount == total.total.count, record.currentSum == total.total.sum
            {
                self.count("agreements")
                try checkWhole(to, from, frame.documents)
            }
        }
        if endsBatch { try tell(to, from, .batchEnded) }
    }

    // MARK: Sessions

    /// Tells the end of `peer` towards `other` something, and performs what it wants.
    func tell(_ peer: HistoryPeer, _ other: HistoryPeer, _ event: SessionEvent) throws {
        guard let session = peer.ends[other.name]?.session else { return }
        let effects = session.handle(event, at: time)
        for effect in effects {
            guard peer.ends[other.name]?.session === session else { return }
            try perform(effect, peer, other)
        }
        guard peer.ends[other.name]?.session === session else { return }
        if effects.contains(where: { if case .send = $0 { true } else { false } }) {
            for effect in session.handle(.drained, at: time) { try perform(effect, peer, other) }
        }
    }

    func tellCommits(_ peer: HistoryPeer, _ other: HistoryPeer) throws {
        guard let end = peer.ends[other.name], end.scope != nil else { return }
        peer.ends[other.name]?.dirty = []
        try tell(peer, other, .committed(end.dirty, through: peer.replica.storage.sequence))
    }

    private func perform(_ effect: SessionEffect, _ peer: HistoryPeer, _ other: HistoryPeer) throws {
        let queue = LinkID(left: index(peer), right: index(other))
        switch effect {
        case .send(let bytes):
            var frame = Frame(bytes: bytes)
            let message: Message?
            do { message = try MessageCodec.message(bytes) } catch {
                throw HistoryViolation("E", "\(peer.name) sent \(hexadecimal(bytes)): \(error)")
            }
            switch message {
            case .interest(let message): peer.ends[other.name]?.number = message.number
            case .sum(let sum): frame.total = (sum.number, sum.total)
            case .end(let end): if let total = end.total { frame.total = (end.number, total) }
            case .documents(let documents): try readAlong(documents.content, documents.number, peer, other)
            case .commit(let commit): try readAlong(commit.content, commit.number, peer, other)
            default: break
            }
            frame.message = message
            if frame.total != nil { frame.documents = peer.replica.storage.documents }
            queues[queue]?.append(frame)
        case .established:
            peer.ends[other.name]?.isEstablished = true
            try tell(peer, other, .interest(announced(peer, other)))
        case .scope(let scope):
            peer.ends[other.name]?.scope = scope.filters
            peer.ends[other.name]?.isEverything = scope.isEverything
            peer.ends[other.name]?.dirty = []
            try tell(peer, other, .scoped)
        case .announced(let interests): try note(interests, peer, from: other)
        case .returned(let reference, let numbers): try want([(reference, numbers)], peer)
        case .evicted(let references):
            for name in peer.ends.keys.sorted() where name != other.name {
                try tell(peer, self.peer(name), .evicted(references))
            }
        case .warning(let error):
            count("warnings")
            if error.message.hasPrefix("two values") { throw HistoryViolation("1", "\(peer.name) \(error)") }
            if error.message.hasPrefix("a document was said") { throw HistoryViolation("2", "\(peer.name) \(error)") }
            if error.message.hasPrefix("the peer's totals") { throw HistoryViolation("7", "\(peer.name) \(error)") }
        case .close(let code, let message):
            log("\(peer.name) closes to \(other.name): \(code)")
            drop(LinkID(left: min(queue.left, queue.right), right: max(queue.left, queue.right)))
            if code != CloseCode.keepaliveTimeout, code != CloseCode.timeout {
                throw HistoryViolation("C", "\(peer.name) closed its session with \(other.name): \(code) \(message)")
            }
        case .progress(let progress): if progress.phase == .reconciling { count("reconciliations") }
        case .acknowledged: auditor.noteAcknowledged(peer, by: other)
        case .wake, .frameLimit, .told, .applied, .apart, .settled, .voided, .extra: break
        }
    }

    /// No content goes to a peer that may not read the document (4).
    private func readAlong(_ content: [UInt8], _ number: UInt64, _ peer: HistoryPeer, _ other: HistoryPeer) throws {
        guard let end = peer.ends[other.name] else { return }
        var dictionary = ReceivingDictionary()
        if let reading = end.reading, reading.number == number { dictionary = reading.dictionary }
        peer.ends[other.name]?.reading = (number, dictionary)
        let documents = try DocumentsReader.documents(content, dictionary: dictionary, names: auditor.names)
        for document in documents {
            guard let delta = try document.delta(actors: auditor.actors), !delta.state.hasNoEntries else { continue }
            let state = HistoryAuditor.state(of: document.name.id, peer)
            let fields = state.flatMap { HistoryAuditor.fields($0, peer.replica.names) }
            guard end.judged.read.matches(fields) else {
                throw HistoryViolation("4", "\(peer.name) sends \(other.name) content of \(document.name.id)")
            }
        }
    }

    func want(_ returned: [(DocumentReference, [Int64])], _ peer: HistoryPeer) throws {
        for (reference, numbers) in returned {
            for number in numbers {
                guard let record = peer.replica.storage.peers.first(where: { $0.number == number }),
                    let other = peers.first(where: { $0.replica.storeID == record.storeID })
                else { continue }
                try tell(peer, other, .wanted([reference]))
            }
        }
    }

    // MARK: Commits

    private func noteCommit(
        _ peer: HistoryPeer, _ changes: [(reference: DocumentReference, before: [UInt8]??, after: [UInt8]??)],
        _ sequence: Int64
    ) {
        for (name, end) in peer.ends {
            guard let scope = end.scope else { continue }
            for change in changes {
                let collection = peer.replica.storage.collections[Int(change.reference.collection) - 1]
                let filter = end.isEverything ? .everything : scope.first { $0.collection == collection }?.filter
                guard let filter else { continue }
                let id = peer.replica.storage.ids[change.reference] ?? []
                let before = matches(filter, change.before, id, peer.replica)
                guard before || matches(filter, change.after, id, peer.replica) else { continue }
                peer.ends[name]?.dirty.append(
                    DirtyDocument(reference: change.reference, first: sequence, matchedBefore: before))
            }
        }
        do {
            for change in changes { try auditor.check(peer, change.reference) }
        } catch let violation as HistoryViolation {
            failure = failure ?? violation
        } catch {}
    }

    private func matches(_ filter: Filter, _ body: [UInt8]??, _ id: [UInt8], _ replica: ModelReplica) -> Bool {
        guard let body else { return false }
        if filter == .everything { return true }
        guard let body else { return false }
        return body.withUnsafeBytes { body in
            id.withUnsafeBytes { Evaluator(filter, names: replica.names).matches(body: body, id: $0) }
        }
    }

    // MARK: Interests

    /// What a peer announces to another: its own interest, and as a relay those of others.
    func announced(_ peer: HistoryPeer, _ other: HistoryPeer) -> [AnnouncedInterest] {
        var interests = [
            AnnouncedInterest(
                origin: peer.replica.storeID, version: UInt64(peer.interests.count), hops: 0,
                interest: peer.interest.interest)
        ]
        guard isRelaying else { return interests }
        for (known, from) in peer.relayed.values.sorted(by: { $0.0.origin.lexicographicallyPrecedes($1.0.origin) })
        where from != other.name && known.origin != other.replica.storeID && known.hops < 4 {
            var next = known
            next.hops += 1
            interests.append(next)
        }
        return interests
    }

    private func note(_ interests: [AnnouncedInterest], _ peer: HistoryPeer, from other: HistoryPeer) throws {
        guard isRelaying else { return }
        for interest in interests where interest.origin != peer.replica.storeID {
            if let known = peer.relayed[interest.origin], known.0.version > interest.version { continue }
            peer.relayed[interest.origin] = (interest, other.name)
        }
        for name in peer.ends.keys.sorted() where name != other.name {
            try tell(peer, self.peer(name), .interest(announced(peer, self.peer(name))))
        }
    }

    /// The predicate by which `peer` pulls from `other`, as the auditor sees it.
    func wanted(_ peer: HistoryPeer, _ other: HistoryPeer) -> HistoryPredicate {
        guard isRelaying else { return peer.interest }
        var boxes = peer.interest.boxes
        for (known, from) in peer.relayed.values where from != other.name && known.origin != other.replica.storeID {
            guard let origin = peers.first(where: { $0.replica.storeID == known.origin }) else { continue }
            boxes += origin.interests[Int(known.version) - 1].boxes
        }
        let all = HistoryPredicate.everything.boxes[0]
        return boxes.contains(all) ? .everything : HistoryPredicate(boxes: boxes)
    }
}
