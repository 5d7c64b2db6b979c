import DocDBCore
import DocDBSync
import SyncModel
import Testing

@Suite("Sessions")
struct SessionTests {
    private static let one = documentID(1)
    private static let two = documentID(2)

    /// Two connected sides that hold the same documents.
    private func makePair(
        documents: Int64 = 2, disabledRules: Set<SyncRule> = [], prepare: (SessionPair) -> Void = { _ in }
    ) throws -> SessionPair {
        let pair = SessionPair(disabledRules: disabledRules)
        prepare(pair)
        for number in 0..<documents {
            try pair.write(0, documentID(number), [.set("x", number), .set("y", 1)])
        }
        pair.connect()
        pair.settle()
        return pair
    }

    @Test("Documents go both ways, and later changes follow")
    func converge() throws {
        let pair = try makePair()
        #expect(pair.fields(1, Self.one) == ["x": 1, "y": 1])
        try pair.write(1, Self.one, [.set("x", 9)])
        try pair.write(0, Self.one, [.set("y", 8), .increment("c", 2)])
        pair.settle()
        for side in 0..<2 { #expect(pair.fields(side, Self.one) == ["x": 9, "y": 8, "c": 2]) }
        try pair.write(0, Self.one, [.delete])
        pair.settle()
        #expect(pair.fields(1, Self.one) == nil)
        for side in pair.sides { #expect(side.closed?.message == nil) }
    }

    @Test("A one-field update costs at most 80 bytes both ways, acknowledgement included")
    func updateBytes() throws {
        let pair = try makePair(documents: 20)
        pair.pass(seconds: 7)
        for round in 0..<3 {
            pair.left.sent = []
            pair.right.sent = []
            try pair.write(0, Self.one, [.set("x", Int64(1000 + round))])
            pair.settle()
            #expect(pair.fields(1, Self.one)?["x"] == Int64(1000 + round))
            let bytes = pair.left.sentByteCount + pair.right.sentByteCount
            #expect(bytes <= 80, "round \(round): \(pair.left.sent) \(pair.right.sent)")
        }
    }

    @Test("Reconnecting with nothing changed costs at most 700 bytes and no document")
    func idleReconnect() throws {
        let pair = try makePair(documents: 50)
        pair.pass(seconds: 7)
        pair.disconnect()
        let writes = pair.right.replica.writeCount
        pair.connect()
        pair.settle()
        let bytes = pair.left.sentByteCount + pair.right.sentByteCount
        #expect(bytes <= 700, "\(bytes) bytes")
        #expect(pair.right.replica.writeCount - writes <= 3)
        for side in pair.sides { #expect(side.closed?.message == nil) }
        let messages = pair.left.sentMessages + pair.right.sentMessages
        #expect(messages.allSatisfy { if case .documents = $0 { false } else { true } })
        #expect(messages.allSatisfy { if case .reconcile = $0 { false } else { true } })
    }

    @Test("A quiet session keeps nothing of its documents in memory")
    func idleMemory() throws {
        let pair = try makePair(documents: 300)
        for number in 0..<300 { try pair.write(1, documentID(Int64(number)), [.set("y", 5)]) }
        pair.settle()
        pair.pass(seconds: 7)
        for side in pair.sides { #expect(side.session.retainedDocumentCount == 0) }
    }

    @Test("Totals are stated after a quiet time, and agree")
    func quietTotals() throws {
        let pair = try makePair()
        try pair.write(0, Self.one, [.set("x", 4)])
        try pair.write(1, Self.two, [.set("x", 4)])
        pair.settle()
        pair.left.sent = []
        pair.right.sent = []
        pair.pass(seconds: 7)
        for side in pair.sides {
            let isStated = side.sentMessages.contains {
                switch $0 {
                case .sum: true
                case .end(let end): end.total != nil
                default: false
                }
            }
            #expect(isStated)
            #expect(side.sentMessages.allSatisfy { if case .interest = $0 { false } else { true } })
        }
        #expect(pair.toldCount(0) == 3 && pair.toldCount(1) == 3)
    }

    @Test("A total is stated after 64 snapshots even without quiet")
    func busyTotals() throws {
        let pair = try makePair()
        pair.left.sent = []
        for round in 0..<70 {
            try pair.write(0, Self.one, [.set("x", Int64(round))])
            pair.settle()
        }
        let sums = pair.left.sentMessages.count { if case .sum = $0 { true } else { false } }
        #expect(sums == 1)
        #expect(pair.right.sentMessages.count { if case .interest = $0 { true } else { false } } == 1)
    }

    @Test("A damaged table of told documents is found by the total, and repaired")
    func repair() throws {
        let pair = try makePair()
        let reference = try #require(pair.right.replica.storage.references[1]?[Self.one])
        try pair.right.replica.write { try $0.setTold(peer: 1, reference, nil) }
        try pair.write(0, documentID(0), [.set("x", 77)])
        pair.settle()
        #expect(pair.toldCount(1) == 1)
        pair.pass(seconds: 8)
        #expect(pair.toldCount(1) == 2)
    }

    /// Writes documents at the left side whose content no compression shortens much.
    private static func fill(_ pair: SessionPair, _ count: Int64) throws {
        var random = SeededGenerator(seed: 1)
        for number in 0..<count {
            try pair.left.replica.write(
                (0..<120).map { (documentID(number), .set("field\($0)", Int64(bitPattern: random.next()))) })
        }
    }

    @Test("A first sync goes in chunks under flow control, and resumes where it broke off")
    func chunks() throws {
        let pair = SessionPair()
        try Self.fill(pair, 600)
        pair.connect()
        // The link breaks off a few times; what was applied is not sent again.
        var received: Int64 = 0
        var chunkCount = 0
        func count() {
            chunkCount += pair.left.sentMessages.count {
                if case .begin(let begin) = $0 { begin.isChunk } else { false }
            }
        }
        for _ in 0..<3 {
            for _ in 0..<60 {
                _ = pair.deliver(to: 0)
                _ = pair.deliver(to: 1)
            }
            let told = pair.toldCount(1)
            #expect(told >= received)
            received = told
            count()
            pair.disconnect()
            pair.connect()
        }
        pair.settle()
        #expect(pair.toldCount(1) == 600)
        #expect(pair.right.replica.storage.documents.count == 600)
        count()
        #expect(chunkCount > 3)
        #expect(pair.right.progress.last?.phase == .current)
        for side in pair.sides { #expect(side.closed?.message == nil) }
    }

    @Test("Documents wait for a link that is full, and for credit")
    func backPressure() throws {
        let pair = SessionPair()
        pair.drains = false
        try Self.fill(pair, 600)
        pair.connect()
        pair.settle()
        let limit = SyncLimits.linkBacklogByteCount + 2 * SyncLimits.chunkByteCount
        #expect(pair.left.sentByteCount < limit)
        #expect(pair.toldCount(1) < 600)
        for _ in 0..<20 {
            pair.tell(0, .drained)
            pair.settle()
        }
        #expect(pair.toldCount(1) == 600)
    }

    @Test("A change that lies too far ahead waits, is reported, and is joined as time passes")
    func quarantine() throws {
        let pair = try makePair()
        try pair.write(0, Self.one, [.set("x", 50)], skew: 200 * Int64(SessionPair.second))
        pair.settle()
        #expect(pair.fields(1, Self.one)?["x"] == 1)
        #expect(pair.right.apart.map(\.code) == [.clock])
        #expect(pair.left.apart.map(\.code) == [.clock])
        #expect(pair.right.replica.storage.quarantine[1]?.count == 1)
        let newest = pair.left.replica.clock
        #expect(pair.right.replica.clock < newest)
        pair.pass(seconds: 100)
        #expect(pair.fields(1, Self.one)?["x"] == 50)
        #expect(pair.right.replica.storage.quarantine[1]?.isEmpty ?? true)
        #expect(pair.left.replica.storage.apart[1]?[.there]?.isEmpty ?? true)
        for side in pair.sides { #expect(side.closed?.message == nil) }
    }

    @Test("A store that was restored outside goes on under a new actor once a peer knows better")
    func copiedStore() throws {
        let pair = try makePair()
        let backup = pair.left.replica.storage
        try pair.write(0, Self.one, [.set("x", 60)])
        pair.settle()
        pair.disconnect()
        // Files put back by hand: the store believes to be what it was.
        pair.left.replica.storage = backup
        pair.left.replica.survivors = [backup]
        let actor = backup.actor
        pair.connect()
        pair.settle()
        #expect(pair.left.warnings.count == 1)
        try pair.write(0, Self.one, [.set("y", 61)])
        #expect(pair.left.replica.storage.actor != actor)
        pair.settle()
        for side in 0..<2 { #expect(pair.fields(side, Self.one) == ["x": 60, "y": 61]) }
    }

    @Test("A peer that may not relay brings its own changes only")
    func ownActorsOnly() throws {
        let pair = SessionPair()
        try pair.write(0, Self.one, [.set("x", 1)])
        // A document of a third store, which the left one got before.
        let actor = pair.left.replica.storage.actor
        pair.left.replica.storage.actor = ActorID(high: 77, low: 77)
        try pair.write(0, Self.two, [.set("x", 2)])
        pair.left.replica.storage.actor = actor
        pair.connect()
        pair.tell(1, .rights(PeerRights()))
        while !pair.right.isEstablished, pair.deliver(to: 1) || pair.deliver(to: 0) {}
        pair.tell(1, .rights(PeerRights(mayRelay: false)))
        pair.settle()
        #expect(pair.fields(1, Self.one) == ["x": 1])
        #expect(pair.fields(1, Self.two) == nil)
        #expect(pair.right.apart.map(\.code) == [.relay])
        #expect(pair.left.apart.map(\.code) == [.relay])
    }

    @Test("Rights that are taken away are told by id alone, and what may not be read is evicted")
    func revokedRights() throws {
        let pair = try makePair { $0.left.isKeeper = true }
        let seen = Interest.collections([Interest.Element(collection: "documents", predicate: "x == 1")])
        pair.left.sent = []
        pair.tell(0, .rights(PeerRights(read: seen)))
        pair.settle()
        #expect(pair.fields(1, Self.one) == ["x": 1, "y": 1])
        #expect(pair.right.replica.storage.documents.count == 1)
        #expect(pair.toldCount(1) == 1)
    }

    @Test("A refused document stays with its author, and reverting adopts the other side's state")
    func revert() throws {
        let pair = try makePair()
        let writable = Interest.collections([Interest.Element(collection: "documents", predicate: "x == 1 || x == 2")])
        pair.tell(1, .rights(PeerRights(write: writable)))
        pair.settle()
        try pair.write(0, Self.one, [.set("x", 5)])
        pair.settle()
        #expect(pair.fields(1, Self.one)?["x"] == 1)
        #expect(pair.left.apart.map(\.code) == [.denied])
        let reference = try #require(pair.left.replica.storage.references[1]?[Self.one])
        let actor = pair.left.replica.storage.actor
        pair.tell(0, .revert(reference))
        pair.settle()
        #expect(pair.fields(0, Self.one) == ["x": 1, "y": 1])
        #expect(pair.left.replica.storage.apart[1]?[.there]?.isEmpty ?? true)
        try pair.write(0, Self.one, [.set("x", 2)])
        #expect(pair.left.replica.storage.actor != actor)
        pair.settle()
        #expect(pair.fields(1, Self.one)?["x"] == 2)
    }

    /// A pair whose right side has refused what the left one wrote to the first document.
    private func makeRefused() throws -> (SessionPair, DocumentReference) {
        let pair = try makePair(prepare: { $0.right.isKeeper = true })
        let writable = Interest.collections([Interest.Element(collection: "documents", predicate: "x == 1 || x == 2")])
        pair.tell(1, .rights(PeerRights(write: writable)))
        pair.settle()
        try pair.write(0, Self.one, [.set("x", 5)])
        pair.settle()
        #expect(pair.left.apart.map(\.code) == [.denied])
        return (pair, try #require(pair.left.replica.storage.references[1]?[Self.one]))
    }

    @Test("A revert whose session ends before the answer is brought to its end by a later session")
    func interruptedRevert() throws {
        let (pair, reference) = try makeRefused()
        pair.pass(seconds: 7)
        pair.tell(0, .revert(reference))
        #expect(pair.fields(0, Self.one) == nil)
        pair.disconnect()
        pair.connect()
        pair.settle()
        #expect(pair.fields(0, Self.one) == ["x": 1, "y": 1])
        #expect(pair.toldCount(0) == 2)
        for side in pair.sides { #expect(side.closed == nil) }
    }

    @Test("Many reverts in one session ask for no reconciliation")
    func revertsWithoutReconciling() throws {
        let pair = try makePair(documents: 20)
        pair.tell(1, .rights(PeerRights(write: .nothing)))
        pair.settle()
        for number in Int64(0)..<20 { try pair.write(0, documentID(number), [.set("x", 500)]) }
        pair.settle()
        pair.pass(seconds: 7)
        (pair.left.sent, pair.right.sent) = ([], [])
        for number in Int64(0)..<20 {
            let reference = try #require(pair.left.replica.storage.references[1]?[documentID(number)])
            pair.tell(0, .revert(reference))
        }
        pair.settle()
        for number in Int64(0)..<20 { #expect(pair.fields(0, documentID(number))?["x"] == number) }
        let messages = pair.left.sentMessages + pair.right.sentMessages
        #expect(messages.allSatisfy { if case .reconcile = $0 { false } else { true } })
        #expect(pair.toldCount(0) == 20)
    }

    @Test("A refused document that was given up is not named again at the next session")
    func refusedAndEvicted() throws {
        let (pair, reference) = try makeRefused()
        pair.disconnect()
        // As a logout does, with no session that could tell.
        #expect(try pair.left.replica.evict(reference, force: true))
        pair.left.replica.storage.apart = [:]
        pair.left.apart = []
        pair.connect()
        pair.settle()
        #expect(pair.left.apart.isEmpty)
        #expect(pair.left.replica.storage.apart[1]?[.there]?.isEmpty ?? true)
    }

    @Test("What a keeper has acknowledged stays so while it asks anew; where it has lost it, that is found out")
    func acknowledgedWhileReconciling() throws {
        for isLost in [false, true] {
            let pair = try makePair(documents: 40, prepare: { $0.right.isKeeper = true })
            pair.pass(seconds: 7)
            let reference = try #require(pair.left.replica.storage.references[1]?[Self.one])
            func isAcknowledged() throws -> Bool {
                try pair.left.replica.read { try $0.isAcknowledged(reference) }
            }
            #expect(try isAcknowledged())
            pair.disconnect()
            for index in pair.right.replica.storage.peers.indices {
                pair.right.replica.storage.peers[index].cursor = nil
            }
            if isLost {
                pair.right.replica.storage.documents[
                    try #require(pair.right.replica.storage.references[1]?[Self.one])] = nil
            }
            pair.connect()
            var wasAlways = true
            while pair.deliver(to: 0) || pair.deliver(to: 1) { wasAlways = try wasAlways && isAcknowledged() }
            pair.settle()
            #expect(wasAlways == !isLost)
            #expect(try isAcknowledged())
            #expect(pair.fields(1, Self.one) == ["x": 1, "y": 1])
        }
    }

    @Test(
        "What was refused of a document is settled with its eviction, whenever the peer tells of it",
        arguments: [true, false])
    func settledByEviction(isToldAtOnce: Bool) throws {
        let narrow = HistoryPredicate(boxes: [HistoryPredicate.Box(xs: [1], ys: nil)])
        let grants = HistoryGrants()
        let pair = SessionPair(authenticators: [
            HistoryAuthenticator(grants, HistoryGrant(write: narrow)), HistoryAuthenticator(grants, HistoryGrant()),
        ])
        pair.connect()
        pair.settle()
        try pair.write(0, Self.one, [.set("x", 5)])
        let reference = try #require(pair.left.replica.storage.references[1]?[Self.one])
        if isToldAtOnce {
            // The refusal is on its way when the document goes.
            pair.tellDirty(0)
            while pair.deliver(to: 1) {}
            #expect(try pair.evict(0, Self.one))
            pair.settle()
        } else {
            pair.settle()
            #expect(pair.left.apart.map(\.code) == [.denied])
            pair.tell(0, .revert(reference))
            pair.settle()
            // The other side has not forgotten, and names the document when it asks anew.
            pair.disconnect()
            pair.connect()
            pair.settle()
        }
        #expect(pair.right.apart.map(\.code) == [.denied])
        #expect(pair.left.replica.storage.documents[reference] == nil)
        #expect(pair.left.replica.storage.apart[1]?[.there]?.isEmpty ?? true)
    }

    @Test("What one side forgot with a deletion and the other knows is refused by nobody, and both come to the same")
    func forgottenWithDeletion() throws {
        let narrow = HistoryPredicate(boxes: [HistoryPredicate.Box(xs: [1], ys: nil)])
        let grants = HistoryGrants()
        let pair = SessionPair(authenticators: [
            HistoryAuthenticator(grants, HistoryGrant(write: narrow)), HistoryAuthenticator(grants, HistoryGrant()),
        ])
        try pair.write(1, Self.one, [.set("x", 1)])
        pair.connect()
        pair.settle()
        #expect(pair.fields(0, Self.one) == ["x": 1])
        pair.disconnect()
        // The left side has the document alive all the time, and hears of its deletion together with its new life.
        try pair.write(1, Self.one, [.delete])
        try pair.right.replica.write { try $0.rotateActor() }
        try pair.write(1, Self.one, [.set("x", 2)])
        pair.connect()
        pair.settle()
        pair.disconnect()
        pair.connect()
        pair.settle()
        for side in pair.sides {
            #expect(side.apart.isEmpty)
            #expect(side.closed == nil)
        }
        let states = try pair.sides.map { side in
            let reference = try #require(side.replica.storage.references[1]?[Self.one])
            return try #require(side.replica.storage.documents[reference]).state
        }
        #expect(states[0].seen == states[1].seen)
        #expect(states[0].deleted == states[1].deleted)
        #expect(pair.fields(0, Self.one) == ["x": 2])
        #expect(pair.fields(1, Self.one) == ["x": 2])
    }

    @Test("Extra bytes of the runtime pass through")
    func extra() throws {
        let pair = try makePair()
        pair.left.sent = []
        pair.tell(0, .extra(kind: 3, [1, 2, 3]))
        guard case .extra(let kind, let bytes)? = pair.left.sentMessages.last else {
            Issue.record("no extra message was sent")
            return
        }
        #expect(kind == 3 && bytes == [1, 2, 3])
    }
}
