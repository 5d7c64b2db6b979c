import DocDBCore
import DocDBQuery
import DocDBReplication
import DocDBStorage
import DocDBSync
import Synchronization
import Testing

@Suite("The router of commits") struct CommitRouterTests {
    let peer: EnginePeer
    let router: CommitRouter
    let pumps = Counter()

    final class Counter: Sendable {
        private let count = Lock(0)
        func add() { count.withLock { $0 += 1 } }
        func take() -> Int {
            count.withLock { count in
                defer { count = 0 }
                return count
            }
        }
    }

    init() throws {
        peer = try EnginePeer("router", on: MemoryNetwork())
        let pumps = pumps
        router = CommitRouter(replica: peer.replica) { pumps.add() }
        router.begin(at: try peer.store.observe(.everything, by: router))
    }

    func scope(_ predicates: [(String, String)]) throws -> SessionScope {
        SessionScope(
            filters: try predicates.map { (collection: $0.0, filter: try Filter.parse($0.1)) }, isEverything: false)
    }

    @Test("a commit touches the sessions that it concerns alone, and a batch of commits schedules one pump")
    func touched() throws {
        for session in 1...1_000 as ClosedRange<UInt64> {
            router.watch(try scope([("cars", "_id == \(session)")]), session: session)
        }
        router.watch(SessionScope(filters: [], isEverything: true), session: 2_000)
        router.watch(try scope([("cars", "true")]), session: 3_000)
        router.watch(try scope([("trucks", "true")]), session: 4_000)
        try peer.put(#"{"_id": 7, "a": 1}"#)
        try peer.put(#"{"_id": 7, "a": 2}"#)
        #expect(pumps.take() == 1)
        #expect(router.beginPump().sessions == [7, 2_000, 3_000])
        let reference = try #require(router.take(session: 7, after: 0)?.dirty.first)
        #expect(reference.first == 1)
        #expect(!reference.matchedBefore)
        #expect(router.take(session: 2_000, after: 0)?.dirty.count == 1)
        #expect(router.take(session: 8, after: 0)?.dirty.isEmpty == true)
        #expect(router.take(session: 8, after: 2) == nil)
        try peer.put(#"{"_id": 1}"#, in: "trucks")
        #expect(router.beginPump().sessions == [2_000, 3_000, 4_000])
    }

    @Test("deletions touch who had the document, and dead documents that change touch who wants all of a collection")
    func deletions() throws {
        try peer.put(#"{"_id": 1, "a": 1}"#)
        router.watch(try scope([("cars", "a == 1")]), session: 1)
        router.watch(try scope([("cars", "true")]), session: 2)
        try peer.store.write { transaction in
            try Self.bytes(of: 1) { _ = try transaction.remove(id: $0, collection: "cars") }
        }
        #expect(router.beginPump().sessions == [1, 2])
        #expect(router.take(session: 1, after: 0)?.dirty.first?.matchedBefore == true)
    }

    @Test("evictions are told as such, and a session that is forgotten hears nothing")
    func evictions() throws {
        try peer.put(#"{"_id": 1, "a": 1}"#)
        router.watch(try scope([("cars", "a == 1")]), session: 1)
        router.watch(try scope([("cars", "a == 1")]), session: 2)
        router.forget(session: 2)
        try peer.store.write { transaction in
            try Self.bytes(of: 1) { _ = try transaction.evict(id: $0, collection: "cars", force: true) }
        }
        #expect(router.beginPump().sessions == [1])
        let news = try #require(router.take(session: 1, after: 0))
        #expect(news.dirty.isEmpty)
        #expect(news.evicted.count == 1)
    }

    @Test("collections that nobody watches any more are forgotten, however many a peer has named")
    func forgotten() throws {
        router.watch(try scope([("cars", "a == 1")]), session: 1)
        for number in 0..<1_000 {
            router.watch(try scope([("c\(number)", "true"), ("d\(number)", "a == 1")]), session: 2)
        }
        #expect(router.watchedCollectionCount == 3)
        router.forget(session: 2)
        router.watchSubscriptions([(collection: "cars", filter: try Filter.parse("b == 1"), evicts: true)])
        #expect(router.watchedCollectionCount == 1)
        // What others watch goes on, whichever came first.
        router.forget(session: 1)
        try peer.put(#"{"_id": 1, "a": 1, "b": 1}"#)
        #expect(router.beginPump().gathered.entering.count == 1)
        router.watchSubscriptions([])
        #expect(router.watchedCollectionCount == 0)
        router.watch(try scope([("cars", "a == 2")]), session: 3)
        try peer.put(#"{"_id": 1, "a": 2}"#)
        #expect(router.beginPump().sessions == [3])
    }

    @Test("what comes into and leaves subscriptions is gathered, and what only changes is not")
    func subscriptions() throws {
        router.watchSubscriptions([
            (collection: "cars", filter: try Filter.parse("a == 1"), evicts: true),
            (collection: "cars", filter: try Filter.parse("b == 1"), evicts: false),
        ])
        try peer.put(#"{"_id": 1, "a": 1, "b": 1}"#)
        try peer.put(#"{"_id": 1, "c": 1}"#)
        var gathered = router.beginPump().gathered
        #expect(gathered.entering.count == 2)
        #expect(gathered.leaving.isEmpty)
        try peer.put(#"{"_id": 1, "b": 2}"#)
        #expect(router.beginPump().gathered.leaving.isEmpty)
        try peer.put(#"{"_id": 1, "a": 2}"#)
        gathered = router.beginPump().gathered
        #expect(gathered.leaving.count == 1)
        router.watchSubscriptions([])
        try peer.put(#"{"_id": 1, "a": 1}"#)
        #expect(router.beginPump().gathered.isEmpty)
    }

    private static func bytes(of id: DocumentID, _ body: (UnsafeRawBufferPointer) throws -> Void) throws {
        var buffer = ByteBuffer()
        id.appendCBOR(to: &buffer)
        try body(buffer.bytes)
    }
}
