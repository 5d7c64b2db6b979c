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
}
