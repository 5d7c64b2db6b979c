import DocDBCore
import DocDBSync
import SyncModel
import Testing

/// Peers that claim to have seen what they have not: with what vectors say, nothing else proves that a change is there.
///
/// The left side makes things up; the right side is the one whose changes it claims to know.
@Suite("Sessions against forged vectors")
struct SessionForgeryTests {
    private static let one = documentID(1)

    /// Two sides with one document of the right one, apart from each other.
    private static func makePair(_ disabledRules: Set<SyncRule> = []) throws -> SessionPair {
        let pair = SessionPair(disabledRules: disabledRules)
        try pair.write(1, one, [.set("x", 1)])
        pair.connect()
        pair.settle()
        pair.pass(seconds: 7)
        pair.disconnect()
        return pair
    }

    /// Has the left side's document say that it has seen the right side's actor up to a time.
    private static func forge(
        _ pair: SessionPair, upTo time: UInt64, isDeletion: Bool = false
    ) throws {
        let replica = pair.left.replica
        let reference = try #require(replica.storage.references[1]?[one])
        var state = try #require(replica.storage.documents[reference]?.state)
        let claim = VersionVector(actor: pair.right.replica.storage.actor, time: HybridTime(rawValue: time))
        let forged = isDeletion ? DocumentState(deleted: claim) : DocumentState(seen: claim)
        _ = state.apply(DocumentDelta(base: VersionVector(), state: forged), forgets: false, names: replica.names)
        let writer = ModelWriter(replica)
        writer.put(state, reference, one, isPending: true)
        replica.finish(writer)
    }

    enum Way: CaseIterable { case resumed, reconciled, reconciledByOne }

    private static func connect(_ pair: SessionPair, _ way: Way) {
        if way != .resumed {
            for side in pair.sides.prefix(way == .reconciled ? 2 : 1) { side.replica.storage.peers[0].cursor = nil }
        }
        pair.connect()
        pair.settle()
        pair.pass(seconds: 7)
    }

    /// Whether what the right side writes arrives, before it has heard of the claim and after.
    private static func arrives(_ claim: UInt64, _ way: Way, _ disabledRules: Set<SyncRule> = []) throws -> Bool {
        let pair = try makePair(disabledRules)
        try pair.write(1, one, [.set("z", 3), .increment("count", 5)])
        // Before the write, at it, a minute ahead, or as far ahead as numbers reach.
        let written = pair.right.replica.clock
        let time = [written - 1, written + 1, written + 60 * SessionPair.second, UInt64.max][Int(claim)]
        try forge(pair, upTo: time)
        connect(pair, way)
        let isThere = [0, 1].allSatisfy { pair.fields($0, one) == ["x": 1, "z": 3, "count": 5] }
        try pair.write(1, one, [.set("z", 4), .increment("count", 1)])
        pair.settle()
        let isNext = [0, 1].allSatisfy { pair.fields($0, one) == ["x": 1, "z": 4, "count": 6] }
        for side in pair.sides where side.closed != nil { return false }
        return isThere && isNext
    }

    @Test(
        "What was written arrives, whatever a peer claims to have seen of it", arguments: 0..<4 as Range<UInt64>,
        Way.allCases)
    func seen(claim: UInt64, way: Way) throws {
        #expect(try Self.arrives(claim, way))
    }

    @Test("Without the comparison it does not", arguments: Way.allCases)
    func withoutClaims(way: Way) throws {
        #expect(try !Self.arrives(2, way, [.claims]))
    }

    @Test("A claim beyond the clock bound waits, and holds up nothing")
    func quarantined() throws {
        let pair = try Self.makePair()
        try pair.write(1, Self.one, [.set("z", 3)])
        try Self.forge(pair, upTo: .max)
        Self.connect(pair, .resumed)
        #expect(pair.right.replica.storage.quarantine[1]?.count == 1)
        #expect(pair.fields(0, Self.one)?["z"] == 3)
        #expect(pair.left.warnings.count == 1)
        #expect(pair.right.replica.clock < pair.wall + 10 * SessionPair.second)
    }

    @Test(
        "A forged deletion deletes, as who may write may; what its author writes thereafter arrives",
        arguments: [0, 60])
    func deleted(secondsAhead: UInt64) throws {
        let pair = try Self.makePair()
        try pair.write(1, Self.one, [.set("z", 3)])
        try Self.forge(pair, upTo: pair.right.replica.clock + secondsAhead * SessionPair.second, isDeletion: true)
        Self.connect(pair, .resumed)
        try pair.write(1, Self.one, [.set("z", 4)])
        pair.settle()
        for side in 0..<2 { #expect(pair.fields(side, Self.one)?["z"] == 4) }
    }

    @Test("A request that claims to hold more of a document than its author has written is answered with all of it")
    func asked() throws {
        let pair = try Self.makePair()
        pair.connect()
        pair.settle()
        var interest = InterestMessage()
        interest.number = 99
        interest.origins = [
            AnnouncedInterest(origin: pair.left.replica.storeID, version: 1, hops: 0, interest: .everything)
        ]
        var seen = VersionVector()
        seen.set(pair.right.replica.storage.actor, to: HybridTime(rawValue: .max))
        let name = DocumentName(collection: "documents", id: Self.one)
        interest.have = [HeldDocument(name: name, seen: seen)]
        pair.right.sent = []
        pair.tell(1, .received(MessageCodec.frame(.interest(interest))))
        // Without a cursor a reconciliation comes first, in which the left side lists nothing.
        let contents = { () throws -> [IncomingDocument] in
            let dictionary = ReceivingDictionary()
            return try pair.right.sentMessages.flatMap { message -> [IncomingDocument] in
                guard case .documents(let documents) = message, documents.number == 99 else { return [] }
                return try DocumentsReader.documents(
                    documents.content, dictionary: dictionary, names: FieldNames())
            }
        }
        if let step = pair.right.sentMessages.compactMap({ message -> RangesMessage? in
            if case .reconcile(let ranges) = message { ranges } else { nil }
        }).first {
            var subscriber = SubscriberReconciliation(ReconciliationSet(salt: []))
            let reply = try subscriber.receive(step.bytes) { _ in nil }
            pair.tell(1, .received(MessageCodec.frame(.ranges(RangesMessage(number: 99, bytes: reply)))))
        }
        let documents = try contents()
        #expect(documents.map(\.name) == [name])
        #expect(documents.allSatisfy { $0.base.isEmpty && $0.digest != nil })
        #expect(pair.right.closed == nil)
    }

    @Test("An acknowledgement of what was never sent counts for nothing")
    func acknowledged() throws {
        let pair = SessionPair()
        pair.left.isKeeper = true
        pair.connect()
        pair.settle()
        try pair.write(1, Self.one, [.set("x", 1)])
        for snapshot in [2, 1000, UInt64.max] {
            pair.tell(
                1, .received(MessageCodec.frame(.acknowledge(Acknowledge(number: 1, snapshot: snapshot, except: [])))))
        }
        #expect(try !pair.evict(1, Self.one, force: false))
        pair.settle()
        pair.pass(seconds: 7)
        #expect(try pair.evict(1, Self.one, force: false))
    }
}
