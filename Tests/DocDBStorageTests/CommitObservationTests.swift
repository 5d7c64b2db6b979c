import DocDBCore
import DocDBStorage
import Synchronization
import Testing

@Suite("Observing commits")
struct CommitObservationTests {
    /// Notes every change it hears of, as values.
    final class Recorder: CommitObserver {
        struct Heard: Equatable {
            var id: DocumentID
            var before: Value?
            var after: Value?
        }
        let commits = Lock<[[Heard]]>([])
        let names: FieldNames
        init(_ names: FieldNames) { self.names = names }

        func didCommit(_ changes: CommittedChanges) -> ObservedCollections? {
            let heard = changes.changes.map { change in
                changes.withBytes(of: change) { id, before, after in
                    Heard(
                        id: (try? DocumentID(canonicalCBOR: id)) ?? "malformed",
                        before: before.flatMap { try? Value.decode($0, names: names) },
                        after: after.flatMap { try? Value.decode($0, names: names) })
                }
            }
            commits.withLock { $0.append(heard) }
            return nil
        }

        func take() -> [[Heard]] {
            commits.withLock { commits in
                defer { commits = [] }
                return commits
            }
        }
    }

    struct Abort: Error {}

    @Test("tells each changed document once, as it stood before and after, and nothing that was rolled back")
    func tells() throws {
        let place = TemporaryStore("observe")
        let store = try place.open()
        let recorder = Recorder(store.names)
        try store.observe(.numbered(["cars": 7]), by: recorder)
        try store.put(["_id": 1, "a": 1])
        #expect(recorder.take() == [[.init(id: 1, before: nil, after: ["a": 1])]])
        try store.put(["_id": 1, "a": 1], in: "others")
        #expect(recorder.take().isEmpty)
        try store.write { transaction in
            try transaction.put(["_id": 2, "b": 1])
            try transaction.set(["a"], to: 2, of: 1)
            try transaction.set(["a"], to: 3, of: 1)
            try transaction.remove(2)
        }
        #expect(
            recorder.take() == [[.init(id: 1, before: ["a": 1], after: ["a": 3])]],
            "what was made and removed in one commit was never visible")
        #expect(throws: Abort.self) {
            try store.write { transaction in
                try transaction.put(["_id": 3])
                throw Abort()
            }
        }
        #expect(recorder.take().isEmpty)
        _ = try store.write { try $0.evict(1) }
        #expect(recorder.take() == [[.init(id: 1, before: ["a": 3], after: nil)]])
        try store.endObserving(by: recorder)
        try store.put(["_id": 4])
        #expect(recorder.take().isEmpty)
    }

    @Test("leaves out what one of several grouped transactions rolled back")
    func group() async throws {
        let place = TemporaryStore("observe")
        let store = try place.open()
        let recorder = Recorder(store.names)
        try store.observe(.numbered(["cars": 7]), by: recorder)
        await withTaskGroup(of: Void.self) { group in
            for number in 0..<40 {
                group.addTask {
                    try? await store.write { transaction in
                        try transaction.put(["_id": .int(Int64(number))])
                        if number % 2 == 1 { throw Abort() }
                    }
                }
            }
        }
        let heard = recorder.take().joined().map(\.id)
        #expect(Set(heard) == Set((0..<20).map { DocumentID(Int64($0 * 2)) }))
        #expect(heard.count == 20)
    }

    @Test("tells apart collections whose names differ in normalisation alone")
    func normalisation() throws {
        let place = TemporaryStore("observe")
        let store = try place.open()
        let recorder = Recorder(store.names)
        let (composed, decomposed) = ("caf\u{E9}", "cafe\u{301}")
        try store.observe(.numbered([CollectionName(composed): 1]), by: recorder)
        try store.put(["_id": 1], in: decomposed)
        #expect(recorder.take().isEmpty)
        try store.put(["_id": 2], in: composed)
        #expect(recorder.take().joined().map(\.id) == [2])
    }

    /// Notes what an observer of all changes hears, with the store's own numbers.
    final class Follower: CommitObserver {
        struct Heard: Equatable {
            var collection: Int64
            var key: Int64
            var first: Int64
            var peer: Int64 = 0
            var isEviction = false
            var isInvisible = false
        }
        let commits = Lock<[[Heard]]>([])
        let returned = Lock<[[Int64]]>([])
        let closeCount = Lock(0)

        func didCommit(_ changes: CommittedChanges) -> ObservedCollections? {
            let heard = changes.changes.map {
                Heard(
                    collection: $0.storeCollection, key: $0.key, first: $0.firstSequence, peer: $0.peer,
                    isEviction: $0.isEviction, isInvisible: $0.isInvisible)
            }
            commits.withLock { $0.append(heard) }
            returned.withLock {
                $0.append(contentsOf: changes.returned.map { [$0.storeCollection, $0.key] + $0.toldBy })
            }
            return nil
        }

        func didClose() { closeCount.withLock { $0 += 1 } }

        func take() -> [[Heard]] {
            commits.withLock { commits in
                defer { commits = [] }
                return commits
            }
        }
    }

    @Test("tells one that hears of everything the store's numbers, evictions, and what nobody sees")
    func everything() throws {
        let place = TemporaryStore("observe")
        let store = try place.open()
        try store.put(["_id": 1], in: "before")
        let follower = Follower()
        #expect(try store.observe(.everything, by: follower) == 1)
        try store.put(["_id": 1, "a": 1])
        try store.put(["_id": 1], in: "before")
        try store.put(["_id": 2], in: "before")
        #expect(
            follower.take() == [
                [.init(collection: 2, key: 1, first: 2)], [.init(collection: 1, key: 2, first: 3)],
            ], "the second write changed nothing")
        _ = try store.write { try $0.remove(1) }
        #expect(follower.take() == [[.init(collection: 2, key: 1, first: 4)]])
        let peer = try addPeer(store)
        try store.write { transaction in
            var state = DocumentState()
            let remote = ActorID(high: 9, low: 9)
            let stamp = Stamp(time: HybridTime(rawValue: 1 << 20), actor: remote)
            try [UInt8(0xA0)].withUnsafeBytes {
                try state.set(UnsafeRawBufferPointer(start: nil, count: 0), to: $0, stamp: stamp)
            }
            state.delete(stamp: Stamp(time: HybridTime(rawValue: 2 << 20), actor: remote), forgets: true)
            _ = try [UInt8(3)].withUnsafeBytes { id in
                let key = try transaction.makeKey(collection: 2, id: id)
                return try transaction.storeRemote(state, collection: 2, key: key, id: id, peer: peer)
            }
        }
        #expect(
            follower.take() == [[.init(collection: 2, key: 2, first: 5, peer: peer, isInvisible: true)]])
        try store.put(["_id": 4])
        _ = try store.write { transaction in
            _ = try transaction.setTold(peer: peer, collection: 2, key: 3, StateDigest(high: 1, low: 2))
            return try transaction.evict(4)
        }
        #expect(follower.take().last == [.init(collection: 2, key: 3, first: 7, isEviction: true)])
        #expect(follower.returned.withLock { $0.isEmpty })
        try store.put(["_id": 4, "back": true])
        #expect(follower.returned.withLock { $0 } == [[2, 3, peer]])
        #expect(try store.verify().isEmpty)
    }

    private func addPeer(_ store: Store) throws -> Int64 {
        try store.write { transaction in
            try transaction.context.connection.execute(
                "INSERT INTO peers (store_id, name, is_keeper, last_seen, acknowledged_seq, epoch) VALUES (zeroblob(16), '', 0, 0, 0, 0)"
            )
            return try #require(try transaction.context.connection.integer("SELECT number FROM peers"))
        }
    }

    @Test("serves several observers, each with what it asked for, and tells each that the store has closed once")
    func several() throws {
        let place = TemporaryStore("observe")
        let store = try place.open()
        let recorder = Recorder(store.names)
        let (all, some) = (Follower(), Follower())
        try store.observe(.everything, by: all)
        try store.observe(.numbered(["cars": 70]), by: recorder)
        try store.observe(.named(["shops"]), by: some)
        do {
            let gone = Follower()
            try store.observe(.everything, by: gone)
        }
        try store.put(["_id": 1, "a": 1])
        try store.put(["_id": 1], in: "shops")
        #expect(recorder.take() == [[.init(id: 1, before: nil, after: ["a": 1])]])
        #expect(all.take().count == 2)
        #expect(some.take() == [[.init(collection: 2, key: 1, first: 2)]])
        try store.observe(.named([]), by: all)
        try store.endObserving(by: some)
        try store.put(["_id": 2], in: "shops")
        #expect(all.take().isEmpty && some.take().isEmpty)
        try store.close()
        #expect(all.closeCount.withLock { $0 } == 1)
        #expect(some.closeCount.withLock { $0 } == 0)
    }

    @Test("gives a collection whose creation was rolled back no number that another then has")
    func rolledBackCollection() throws {
        let place = TemporaryStore("observe")
        let store = try place.open()
        let follower = Follower()
        try store.observe(.named(["wanted"]), by: follower)
        #expect(throws: Abort.self) {
            try store.write { transaction in
                try transaction.put(["_id": 1], in: "wanted")
                throw Abort()
            }
        }
        try store.put(["_id": 1], in: "other")
        #expect(follower.take().isEmpty)
        try store.put(["_id": 1], in: "wanted")
        #expect(follower.take() == [[.init(collection: 2, key: 1, first: 2)]])
    }
}
