import DocDBCore
import DocDBStorage
import DocDBSync
import Foundation
import Synchronization
import Testing

@Suite("A store as a replica")
struct StoreReplicaTests {
    @Test("has an actor and an incarnation before anything is written")
    func begins() throws {
        let place = ReplicaPlace()
        let replica = try place.open()
        let (actor, incarnations) = try replica.read { ($0.actor, try $0.incarnations()) }
        #expect(incarnations.count == 1 && incarnations[0].lastSequence == nil)
        #expect(try replica.ownActors().map(\.id) == [try #require(actor)])
        try replica.store.close()
        #expect(try place.open().read { try $0.incarnations().count } == 1, "closed in order, it goes on")
    }

    @Test("proves its actors by nonce and key, and takes a new one for another key")
    func provesActors() throws {
        let place = ReplicaPlace()
        let first = try place.open { $0.peerKey = [1, 2, 3] }
        let own = try #require(try first.ownActors().first)
        let hash = ([1, 2, 3] + own.nonce).withUnsafeBytes { ContentHash.sha256($0) }
        #expect(own.peerKey == [1, 2, 3] && own.nonce.count == 16 && own.id.bytes == Array(hash[..<16]))
        try first.store.close()
        let second = try place.open { $0.peerKey = [4] }
        #expect(try second.ownActors().map(\.peerKey) == [[1, 2, 3], [4]])
        #expect(try second.read { $0.actor } == second.ownActors()[1].id)
    }

    @Test("stores what comes from a peer, in one commit that names the peer")
    func storesRemote() throws {
        let replica = try ReplicaPlace().open()
        let peer = try replica.addPeer(1)
        let (id, state) = try remoteState(["_id": 1, "a": 1], replica, time: ReplicaClock.start)
        let reference = try replica.join((id, state), from: peer)
        #expect(try replica.value(1) == ["a": 1])
        let record = try #require(try replica.store.read { try ChangeLogReader(connection: $0.connection).record(1) })
        #expect(record.kind == .remote && record.stamps.isEmpty)
        #expect(record.entries.map(\.peer) == [peer.number])
        try replica.put(["_id": 1, "a": 2])
        let second = try remoteState(["_id": 1, "b": 5], replica, time: ReplicaClock.start + 70_000)
        try replica.join(second, from: peer)
        #expect(try replica.read { $0.sequence } == 3)
        var changes: [(DocumentReference, Int64, Bool)] = []
        let isComplete = try replica.read { reader in
            try reader.forEachChange(after: 1, takenFrom: peer.number) { changes.append(($0, $1, $2)) }
        }
        #expect(isComplete)
        #expect(changes.count == 1 && changes[0] == (reference, 2, true))
        let isBeyond = try replica.read { try !$0.forEachChange(after: 4, takenFrom: 0) { _, _, _ in } }
        #expect(isBeyond)
        #expect(try replica.findings().isEmpty)
    }

    @Test(
        "remembers refused changes over restarts, the newest of each actor and document, also where the store was older"
    )
    func voided() throws {
        let place = ReplicaPlace()
        var replica = try place.open()
        try replica.store.close()
        // As version 2 left it.
        do {
            let connection = try SQLiteConnection(
                path: place.path + "/store.sqlite", mode: .readWrite, busyTimeoutMilliseconds: 1_000)
            try connection.execute("DROP TABLE voided; PRAGMA user_version = 2")
        }
        replica = try place.open()
        let (car, other) = (StateDigest(high: 1, low: 2), StateDigest(high: 1, low: 3))
        func change(_ document: StateDigest, _ number: UInt64, _ time: UInt64) -> VoidedChange {
            VoidedChange(document: document, actor: actor(number), time: HybridTime(rawValue: time))
        }
        try replica.write { writer in
            #expect(try !writer.hasVoided)
            for change in [change(car, 7, 20), change(car, 7, 10), change(car, 8, 5), change(other, 7, 30)] {
                try writer.setVoided(change)
            }
            #expect(try writer.hasVoided)
        }
        try replica.store.close()
        replica = try place.open()
        try replica.write { writer in
            #expect(try writer.hasVoided)
            #expect(try Set(writer.voided(car)) == [change(car, 7, 20), change(car, 8, 5)])
            try writer.removeVoided(document: car, actor: actor(7))
            #expect(try writer.voided(car) == [change(car, 8, 5)])
            #expect(try writer.voided(other) == [change(other, 7, 30)])
        }
        #expect(try replica.read { $0.sequence } == 0)
        #expect(try replica.findings().isEmpty)
    }

    @Test("takes neither a record nor a number for facts about peers, nor for a state that it has")
    func costsNoNumber() throws {
        let replica = try ReplicaPlace().open()
        let peer = try replica.addPeer(1)
        let (id, state) = try remoteState(["_id": 1, "a": 1], replica, time: ReplicaClock.start)
        let reference = try replica.join((id, state), from: peer)
        try replica.write { writer in
            try writer.setTold(peer: peer.number, reference, testDigest(1))
            try writer.join(state, id: id, from: peer.number, replica)
            #expect(writer.sequence == 1)
        }
        #expect(try replica.read { $0.sequence } == 1)
        let stored = try replica.read { try $0.peer(storeID: peer.storeID) }
        #expect(stored?.currentCount == 1)
        #expect(stored?.currentSum == DigestSum(high: testDigest(1).high, low: testDigest(1).low))
    }

    @Test("advances its clock with what it receives, within the bound, also over a crash")
    func advancesClock() throws {
        let place = ReplicaPlace()
        let clock = ReplicaClock()
        var replica = try place.open { $0.clock = { clock.now } }
        let peer = try replica.addPeer(1)
        let ahead = ReplicaClock.start + 100_000_000_000
        let near = try remoteState(["_id": 1, "a": 1], replica, time: ahead)
        try replica.join(near, from: peer)
        // A copy of the files, as a crash would leave them, is opened while the first still runs.
        try replica.store.checkpoint()
        let copy = ReplicaPlace()
        try FileManager.default.copyItem(atPath: place.path, toPath: copy.path)
        replica = try copy.open { $0.clock = { clock.now } }
        try replica.put(["_id": 1, "a": 2])
        #expect(try replica.value(1) == ["a": 2], "the local write is later than what had come")
        let far = try remoteState(["_id": 2, "a": 1], replica, time: ReplicaClock.start + 3_600_000_000_000)
        try replica.join(far, from: peer)
        try replica.put(["_id": 3])
        let last = try replica.store.read { context in
            let reader = ChangeLogReader(connection: context.connection)
            return try reader.record(try reader.lastSequence())
        }
        #expect(try #require(last).time.rawValue <= clock.now + Limits.clockBoundNanoseconds + 1)
    }

    @Test("keeps a document that a merge makes too large, and reports it")
    func keepsOversized() throws {
        let reported = Lock<[DocDBError.Code]>([])
        let replica = try ReplicaPlace().open { _ in
        } report: { error in
            reported.withLock { $0.append(error.code) }
        }
        let peer = try replica.addPeer(1)
        let text = Value.string(String(repeating: "x", count: 3 * 1024 * 1024))
        for number in UInt64(1)...2 {
            // Fields of two writers, neither of which has replaced the document.
            var body = ByteBuffer()
            var id = ByteBuffer()
            let document: Value = .object(["_id": 1, "field\(number)": text])
            try document.appendDocument(names: replica.names, body: &body, id: &id)
            var state = DocumentState()
            let stamp = Stamp(time: HybridTime(nanosecondsSince1970: ReplicaClock.start), actor: actor(number))
            try state.merge(
                body.bytes, at: UnsafeRawBufferPointer(start: nil, count: 0), skippingEqual: false, stamp: stamp)
            let name = id.array
            try replica.join((name, state), from: peer)
        }
        #expect(reported.withLock { $0 } == [.documentTooLarge])
        #expect(try replica.value(1)?.objectValue?.count == 2)
        #expect(try replica.findings().isEmpty)
    }

    @Test("rolls back documents and facts together")
    func rollsBack() throws {
        struct Abort: Error {}
        let replica = try ReplicaPlace().open()
        let peer = try replica.addPeer(1)
        let (id, state) = try remoteState(["_id": 1, "a": 1], replica, time: ReplicaClock.start)
        #expect(throws: Abort.self) {
            try replica.write { writer in
                let reference = try writer.join(state, id: id, from: peer.number, replica)
                try writer.setTold(peer: peer.number, reference, testDigest(1))
                throw Abort()
            }
        }
        #expect(try replica.read { try $0.collections().isEmpty })
        #expect(try replica.read { try $0.peer(storeID: peer.storeID)?.currentCount } == 0)
        #expect(try replica.findings().isEmpty)
    }

    @Test("reads a document as it stood after a commit")
    func readsPast() throws {
        let replica = try ReplicaPlace().open()
        let reference = try replica.put(["_id": 1, "a": 1])
        try replica.put(["_id": 2])
        try replica.put(["_id": 1, "a": 2])
        try replica.remove(1)
        func past(_ sequence: Int64) throws -> String {
            try replica.read { reader in
                switch try reader.state(of: reference, after: sequence) {
                case .absent: return "absent"
                case .unknown: return "unknown"
                case .stored(let state):
                    var body = ByteBuffer()
                    guard state.appendBody(to: &body) else { return "dead" }
                    return try Value.decode(body.bytes, names: replica.names)["a"]?.intValue.map(String.init)
                        ?? "missing"
                }
            }
        }
        #expect(try (0...4).map { try past(Int64($0)) } == ["absent", "1", "1", "2", "dead"])
        _ = try replica.addPeer(1)
        try replica.evict(1, force: true)
        #expect(try past(2) == "unknown")
        #expect(try past(5) == "absent")
    }

    @Test("hands out documents within documents")
    func nests() throws {
        let replica = try ReplicaPlace().open()
        let references = try (1...3).map { try replica.put(["_id": .int(Int64($0)), "n": .int(Int64($0))]) }
        var pairs = 0
        _ = try replica.read { reader in
            try reader.withDocument(references[0]) { outer in
                for reference in references {
                    try reader.withDocument(reference) { inner in
                        #expect((inner.reference == outer.reference) == (reference == references[0]))
                        pairs += 1
                    }
                }
                #expect(try Value.decode(try #require(outer.body), names: replica.names) == ["n": 1])
            }
        }
        #expect(pairs == 3)
    }
}
