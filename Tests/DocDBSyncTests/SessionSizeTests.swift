import DocDBCore
import DocDBSync
import SyncModel
import Testing

@Suite("Sessions with documents that are too large")
struct SessionSizeTests {
    /// What there is too much of in a document.
    enum Excess: CaseIterable { case bytes, fields, writers }

    private static let large = documentID(9)

    /// Makes a document of the left side too large to be sent.
    private static func enlarge(_ pair: SessionPair, _ excess: Excess) throws {
        let replica = pair.left.replica
        let writer = ModelWriter(replica)
        let collection = try writer.makeCollection(named: "documents")
        let reference = try large.withUnsafeBytes { try writer.makeReference(collection: collection, id: $0) }
        replica.clock += 1
        let stamp = Stamp(time: HybridTime(rawValue: replica.clock), actor: writer.storage.actor)
        var state = writer.storage.documents[reference]?.state ?? DocumentState()
        switch excess {
        case .bytes:
            try set("x", [UInt8](repeating: 7, count: SyncLimits.documentByteCount), &state, stamp, replica.names)
        case .fields:
            // Nothing but this: to add each of them would take hours.
            state = try self.state(fieldCount: SyncLimits.documentLeafCount + 1, stamp, replica.actors)
        case .writers:
            try set("x", [1], &state, stamp, replica.names)
            var seen = VersionVector()
            for number in 0..<UInt64(SyncLimits.vectorActorCount) {
                seen.set(ActorID(high: 5, low: number), to: HybridTime(rawValue: 1))
            }
            _ = state.apply(
                DocumentDelta(base: VersionVector(), state: DocumentState(seen: seen)), forgets: false,
                names: replica.names)
        }
        writer.put(state, reference, large, isPending: true)
        replica.finish(writer)
        pair.tellDirty(0)
    }

    private static func set(
        _ name: String, _ bytes: [UInt8], _ state: inout DocumentState, _ stamp: Stamp, _ names: FieldNames
    ) throws {
        var path = ByteBuffer()
        Array(name.utf8).withUnsafeBytes { path.appendCBORKey($0, names: names, interning: true) }
        var value = ByteBuffer()
        value.appendCBOR(bytes: bytes)
        try state.set(path.bytes, to: value.bytes, stamp: stamp)
    }

    /// A document of so many fields, all of one stamp.
    private static func state(fieldCount: Int, _ stamp: Stamp, _ actors: ActorTable) throws -> DocumentState {
        var body = ByteBuffer(capacity: 8 * fieldCount)
        var state = ByteBuffer()
        body.appendCBORHead(major: 5, UInt64(fieldCount))
        let digits = Array("0123456789abcdefghijklmnopqrstuvwxyz".utf8)
        for number in 0..<fieldCount {
            body.append(0x64)
            for place in [46_656, 1296, 36, 1] { body.append(digits[number / place % 36]) }
            body.append(0)
        }
        DocumentState.appendFreshState(stamp: stamp, isBodyEmpty: false, actors: actors, padding: 0, to: &state)
        return try DocumentState(body: body.bytes, state: state.bytes, actors: actors)
    }

    private static func interests(_ side: SessionPair.Side) -> Int {
        side.sentMessages.count { if case .interest = $0 { true } else { false } }
    }

    private static func mark(_ side: SessionPair.Side) -> ApartDocument? {
        side.replica.storage.apart[1]?[.there]?.values.first
    }

    @Test("Such a document is marked, and the others go on", arguments: Excess.allCases)
    func marked(_ excess: Excess) throws {
        let pair = SessionPair()
        pair.right.isKeeper = true
        for number in Int64(0)..<3 { try pair.write(0, documentID(number), [.set("x", number)]) }
        try Self.enlarge(pair, excess)
        pair.connect()
        pair.settle()
        try pair.write(0, documentID(1), [.set("x", 11)])
        pair.settle()
        pair.pass(seconds: 8)
        #expect(pair.fields(1, documentID(1)) == ["x": 11])
        #expect(pair.right.replica.storage.documents.count == 3)
        #expect(pair.left.apart.map(\.code) == [.limit])
        #expect(Self.mark(pair.left)?.reason.contains("split it") ?? false)
        #expect(pair.toldCount(1) == 3)
        #expect(Self.interests(pair.right) == 1)
        #expect(try !pair.evict(0, Self.large, force: false))
        // Another session knows of it, and asks for nothing anew.
        pair.disconnect()
        pair.connect()
        pair.settle()
        pair.pass(seconds: 8)
        #expect(Self.interests(pair.right) == 1)
        #expect(Self.mark(pair.left)?.code == .limit)
        #expect(pair.right.progress.last?.phase == .current)
        for side in pair.sides {
            #expect(side.closed?.message == nil)
            #expect(side.warnings.isEmpty)
        }
    }

    @Test("Without the mark, the session ends each time", arguments: [Excess.fields, .writers])
    func unmarked(_ excess: Excess) throws {
        let pair = SessionPair(disabledRules: [.sizes])
        try Self.enlarge(pair, excess)
        pair.connect()
        pair.settle()
        #expect(pair.sides.contains { $0.closed != nil })
    }

    @Test(
        "One that grew too large stays at the peer as it was, and comes when it fits again", arguments: [false, true])
    func grown(isReconciled: Bool) throws {
        let pair = SessionPair()
        try pair.write(0, Self.large, [.set("x", 1)])
        try pair.write(0, documentID(1), [.set("x", 1)])
        pair.connect()
        pair.settle()
        #expect(pair.toldCount(1) == 2)
        try Self.enlarge(pair, .bytes)
        pair.settle()
        pair.pass(seconds: 8)
        #expect(pair.fields(1, Self.large) == ["x": 1])
        #expect(pair.toldCount(1) == 1)
        #expect(Self.mark(pair.left)?.code == .limit)
        if isReconciled {
            pair.disconnect()
            pair.right.replica.storage.peers[0].cursor = nil
            pair.connect()
            pair.settle()
            pair.pass(seconds: 8)
            #expect(pair.toldCount(1) == 1)
        }
        try pair.write(0, Self.large, [.set("x", 2)])
        pair.settle()
        pair.pass(seconds: 8)
        #expect(pair.fields(1, Self.large) == ["x": 2])
        #expect(pair.toldCount(1) == 2)
        #expect(Self.mark(pair.left) == nil)
        for side in pair.sides {
            #expect(side.closed?.message == nil)
            #expect(side.warnings.isEmpty)
        }
    }

    @Test("One that leaves the scope, or is deleted, loses the mark", arguments: [false, true])
    func left(isDeleted: Bool) throws {
        let pair = SessionPair()
        if !isDeleted {
            pair.right.interest = .collections([.init(collection: "documents", predicate: "is_missing(gone)")])
        }
        pair.connect()
        pair.settle()
        try Self.enlarge(pair, .bytes)
        pair.settle()
        #expect(Self.mark(pair.left)?.code == .limit)
        try pair.write(0, Self.large, [isDeleted ? .delete : .set("gone", 1)])
        pair.settle()
        #expect(Self.mark(pair.left) == nil)
        pair.pass(seconds: 8)
        for side in pair.sides {
            #expect(side.closed?.message == nil)
            #expect(side.warnings.isEmpty)
        }
    }
}
