import DocDBCore
import DocDBSync
import SyncModel
import Testing

/// The counterexamples of DESIGN section 8 as scripts: each must hold, and must not hold without its rule.
@Suite("Rules of the protocol")
struct SessionRuleTests {
    struct Scenario: CustomTestStringConvertible, Sendable {
        var rule: SyncRule
        /// Tells whether what the rule is for holds.
        var holds: @Sendable (Set<SyncRule>) throws -> Bool
        var testDescription: String { rule.rawValue }
    }

    @Test("Without the rule, its counterexample fails", arguments: scenarios)
    func rule(_ scenario: Scenario) throws {
        #expect(try scenario.holds([]))
        #expect(try !scenario.holds([scenario.rule]))
    }

    private static let one = documentID(1)
    private static let two = documentID(2)

    private static func makePair(
        _ disabledRules: Set<SyncRule>, prepare: (SessionPair) throws -> Void = { _ in }
    ) throws -> SessionPair {
        let pair = SessionPair(disabledRules: disabledRules)
        for side in pair.sides { side.replica.disabledRules = disabledRules }
        try prepare(pair)
        for number in Int64(0)..<3 { try pair.write(0, documentID(number), [.set("x", number), .set("y", 1)]) }
        pair.connect()
        pair.settle()
        return pair
    }

    private static func isAcknowledged(_ side: SessionPair.Side, _ id: [UInt8]) throws -> Bool {
        guard let reference = side.replica.storage.references[1]?[id] else { return false }
        return try side.replica.read { try $0.isAcknowledged(reference) }
    }

    /// The state of a document at a side, with names spelt out.
    private static func state(_ side: SessionPair.Side, _ id: [UInt8]) -> DocumentState? {
        guard let reference = side.replica.storage.references[1]?[id] else { return nil }
        return try? side.replica.storage.documents[reference]?.state.transcoded(from: side.replica.names, to: nil)
    }

    /// What becomes of a state that gets of another one what it has not seen.
    private static func entries(_ state: DocumentState, joining other: DocumentState) -> [String] {
        var joined = state
        _ = joined.apply(other.delta(since: state.seen), forgets: false, names: FieldNames())
        return HistoryAuditor.entries(joined)
    }

    private static func interests(_ side: SessionPair.Side) -> Int {
        side.sentMessages.count { if case .interest = $0 { true } else { false } }
    }

    private static let scenarios = [
        Scenario(rule: .need) { rules in
            // One transaction changes a document that was evicted and one that was not; the link breaks before the answer.
            let pair = try makePair(rules)
            _ = try pair.evict(1, one)
            pair.settle()
            try pair.left.replica.write([(one, .set("x", 7)), (two, .set("x", 7))])
            pair.tellDirty(0)
            pair.deliver(to: 1)
            pair.disconnect()
            pair.connect()
            pair.settle()
            pair.pass(seconds: 7)
            return pair.fields(1, one)?["x"] == 7 && pair.fields(1, two)?["x"] == 7
        },
        Scenario(rule: .accumulation) { rules in
            // Two evicted documents are needed one after the other: each request must name both.
            let pair = try makePair(rules)
            _ = try pair.evict(1, one)
            _ = try pair.evict(1, two)
            pair.settle()
            pair.right.sent = []
            try pair.write(0, one, [.set("y", 5)])
            pair.tellDirty(0)
            pair.deliver(to: 1)
            try pair.write(0, two, [.set("y", 6)])
            pair.settle(limit: 300)
            return interests(pair.right) <= 3 && pair.fields(1, one)?["y"] == 5 && pair.fields(1, two)?["y"] == 6
        },
        Scenario(rule: .cursorAcknowledges) { rules in
            // The acknowledgement is lost with its link; the next cursor stands for it.
            let pair = try makePair(rules) { $0.right.isKeeper = true }
            try pair.write(0, one, [.set("x", 5)])
            pair.tellDirty(0)
            pair.deliver(to: 1)
            pair.disconnect()
            pair.connect()
            pair.settle()
            return try pair.fields(1, one)?["x"] == 5 && isAcknowledged(pair.left, one)
        },
        Scenario(rule: .incarnation) { rules in
            // A restored store has other commits under the numbers that the peer's cursor covers.
            let pair = SessionPair(disabledRules: rules)
            pair.right.isKeeper = true
            try pair.write(0, one, [.set("x", 1)])
            let backup = pair.left.replica.backup()
            for value in Int64(0)..<5 { try pair.write(0, one, [.set("x", value)]) }
            pair.connect()
            pair.settle()
            pair.pass(seconds: 7)
            pair.disconnect()
            pair.left.replica.restore(backup)
            try pair.write(0, two, [.set("x", 1)])
            for value in Int64(0)..<9 { try pair.write(0, documentID(3), [.set("x", value)]) }
            pair.connect()
            var isClaimed = false
            for _ in 0..<100 {
                pair.deliver(to: 0)
                if try isAcknowledged(pair.left, two), pair.fields(1, two) == nil { isClaimed = true }
                pair.deliver(to: 1)
            }
            return !isClaimed
        },
        Scenario(rule: .resumeEnd) { rules in
            // A resume that finds nothing still tells the subscriber that it is up to date.
            let pair = try makePair(rules)
            pair.pass(seconds: 7)
            pair.disconnect()
            pair.right.progress = []
            pair.connect()
            pair.settle()
            return pair.right.progress.last?.phase == .current
        },
        Scenario(rule: .evictionNotice) { rules in
            // An eviction at the provider is told at once, not found by a later total.
            let pair = try makePair(rules)
            _ = try pair.evict(0, one)
            pair.settle()
            return pair.toldCount(1) == 2 && pair.fields(1, one) != nil
        },
        Scenario(rule: .evictionReturn) { rules in
            // Evicted, then written blindly: what the provider had told comes back, though it takes nothing itself.
            let pair = try makePair(rules) { $0.left.interest = .nothing }
            _ = try pair.evict(1, one)
            pair.settle()
            try pair.write(1, one, [.set("z", 3)])
            pair.settle()
            return pair.fields(1, one) == ["x": 1, "y": 1, "z": 3]
        },
        Scenario(rule: .acknowledgeDurable) { rules in
            // What was acknowledged survives a power cut.
            let pair = try makePair(rules)
            try pair.write(0, one, [.set("x", 5)])
            pair.tellDirty(0)
            pair.right.sent = []
            pair.deliver(to: 1)
            let isAcknowledged = pair.right.sentMessages.contains {
                if case .acknowledge = $0 { true } else { false }
            }
            pair.right.replica.cutPower(keeping: 0)
            return isAcknowledged && pair.fields(1, one)?["x"] == 5
        },
        Scenario(rule: .sendDurable) { rules in
            // What was sent survives a power cut: else its stamps would be used again, or seen by others alone.
            let pair = try makePair(rules)
            try pair.write(0, one, [.set("x", 5)])
            pair.settle()
            pair.left.replica.cutPower(keeping: 0)
            return pair.fields(1, one)?["x"] == 5 && pair.fields(0, one)?["x"] == 5
        },
        Scenario(rule: .bases) { rules in
            // One field of many is changed: what goes over the link follows the change, not the document.
            let pair = try makePair(rules) {
                try $0.write(0, documentID(9), (0..<300).map { .set("field\($0)", Int64($0) << 40) })
            }
            pair.left.sent = []
            try pair.write(0, documentID(9), [.set("field7", 8)])
            pair.settle()
            return pair.fields(1, documentID(9))?["field7"] == 8 && pair.left.sentByteCount < 200
        },
        Scenario(rule: .custody) { rules in
            // Each has acknowledged the other's write, and neither is a keeper: both keep what they have.
            let pair = try makePair(rules)
            try pair.write(1, one, [.set("z", 3)])
            pair.settle()
            pair.pass(seconds: 7)
            for index in 0..<2 { _ = try pair.evict(index, one, force: false) }
            return pair.fields(0, one)?["z"] == 3 && pair.fields(1, one)?["z"] == 3
        },
        Scenario(rule: .revertRotation) { rules in
            // A refused change is reverted and another one made; a neighbour has taken the refused one.
            let pair = try makePair(rules)
            let writable = Interest.collections([
                Interest.Element(collection: "documents", predicate: "x == 1 || x == 2")
            ])
            pair.tell(1, .rights(PeerRights(write: writable)))
            pair.settle()
            try pair.write(0, one, [.set("x", 5)])
            pair.settle()
            guard let neighbour = state(pair.left, one), let reference = pair.left.replica.storage.references[1]?[one],
                pair.fields(1, one)?["x"] == 1
            else { return false }
            pair.tell(0, .revert(reference))
            pair.settle()
            try pair.write(0, one, [.set("y", 7)])
            pair.settle()
            guard let accepted = state(pair.right, one), pair.fields(1, one) == ["x": 1, "y": 7] else { return false }
            // Where each of the two sends what the other has not seen, both come to the same.
            return entries(accepted, joining: neighbour) == entries(neighbour, joining: accepted)
        },
        Scenario(rule: .deferral) { rules in
            // The right to read is lost while a change is not acknowledged: the document goes once it is.
            let pair = try makePair(rules) { $0.left.isKeeper = true }
            try pair.write(1, one, [.set("y", 2)])
            let readable = Interest.collections([Interest.Element(collection: "documents", predicate: "x != 1")])
            pair.tell(0, .rights(PeerRights(read: readable)))
            pair.settleWithoutCommits()
            pair.settle()
            return pair.fields(0, one)?["y"] == 2 && pair.fields(1, one) == nil
        },
        Scenario(rule: .retry) { rules in
            // A change is refused while the right to make it is on its way: it is offered again.
            let grants = HistoryGrants()
            let narrow = HistoryPredicate(boxes: [HistoryPredicate.Box(xs: [1], ys: nil)])
            let author = HistoryAuthenticator(grants, HistoryGrant(write: narrow))
            let pair = SessionPair(
                authenticators: [author, HistoryAuthenticator(grants, HistoryGrant())], disabledRules: rules)
            // What the author itself pulls would bring it up, too.
            pair.left.interest = .nothing
            try pair.write(0, one, [.set("x", 1)])
            pair.connect()
            pair.settle()
            try pair.write(0, one, [.set("x", 2)])
            pair.settle()
            let wasRefused = pair.fields(1, one)?["x"] == 1
            author.change(HistoryGrant(epoch: 1))
            pair.tell(0, .renewed)
            pair.settle()
            return wasRefused && pair.fields(1, one)?["x"] == 2
        },
        Scenario(rule: .leftRead) { rules in
            // A document that leaves what may be read is told by its id alone.
            let pair = SessionPair(disabledRules: rules)
            try pair.write(0, one, [.set("x", 1)])
            pair.makeSession(0)
            pair.makeSession(1)
            for index in 0..<2 { pair.tell(index, .opened(channelBinding: nil)) }
            pair.settle()
            let readable = Interest.collections([Interest.Element(collection: "documents", predicate: "x == 1")])
            pair.tell(0, .rights(PeerRights(read: readable)))
            pair.settle()
            try pair.write(0, one, [.set("x", 2), .set("secret", 4711)])
            pair.settle()
            return pair.fields(1, one)?["secret"] == nil
        },
        Scenario(rule: .number) { rules in
            // A snapshot for the old interest comes after the new one was sent: its position must not count for the new.
            let pair = try makePair(rules) {
                $0.right.interest = .collections([Interest.Element(collection: "documents", predicate: "x == 1")])
            }
            try pair.write(0, one, [.set("y", 4)])
            pair.tellDirty(0)
            let wider = Interest.collections([Interest.Element(collection: "documents", predicate: "x >= 0")])
            pair.right.interest = wider
            let announced = AnnouncedInterest(
                origin: pair.right.replica.storeID, version: 2, hops: 0, interest: wider)
            pair.tell(1, .interest([announced]))
            pair.deliver(to: 1)
            pair.disconnect()
            pair.connect()
            pair.settle()
            return pair.right.sentMessages.contains {
                if case .interest(let message) = $0 { message.cursor == nil } else { false }
            }
        },
        Scenario(rule: .quarantineNeed) { rules in
            // A waiting delta no longer fits when its time comes, and the link breaks before the answer.
            let pair = try makePair(rules)
            try pair.write(0, one, [.set("x", 9)], skew: 200 * Int64(SessionPair.second))
            pair.settle()
            _ = try pair.evict(1, one)
            pair.settle()
            pair.monotonic += 100 * SessionPair.second
            pair.wall += 100 * SessionPair.second
            pair.disconnect()
            pair.connect()
            pair.settle()
            pair.tell(1, .tick)
            pair.disconnect()
            pair.connect()
            pair.settle()
            pair.pass(seconds: 7)
            return pair.fields(1, one)?["x"] == 9
        },
    ]
}
