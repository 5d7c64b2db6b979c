import Dispatch
import DocDBCore
import DocDBReplication
import DocDBStorage
import DocDBSync
import Synchronization
import Testing

@Suite("Actors of a peer's own", .timeLimit(.minutes(10)))
struct OwnActorTests {
    let network = MemoryNetwork()
    let clock = ManualClock(seconds: TestHub.start)
    let hub: EnginePeer
    let device: EnginePeer

    init() throws {
        let testHub = try TestHub()
        hub = try EnginePeer("hub", on: network, authenticator: testHub.authenticator(), clock: clock) {
            $0.isKeeper = true
            $0.wantsEverything = true
        }
        device = try EnginePeer(
            "alice", on: network, authenticator: testHub.device("alice", read: nil, write: nil), clock: clock
        ) { $0.urls = ["memory://127.hub:1"] }
        try hub.engine.start()
    }

    /// Waits until the hub has so many documents, or has refused one.
    private func wait(forCount count: Int) async throws -> Bool {
        let isRefused = Lock(false)
        let token = hub.engine.apartObservers.add { _ in isRefused.withLock { $0 = true } }
        defer { token.cancel() }
        let (stream, continuation) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        let timer = DispatchSource.makeTimerSource()
        timer.setEventHandler { continuation.yield() }
        timer.schedule(deadline: .now(), repeating: .milliseconds(10))
        timer.activate()
        defer { timer.cancel() }
        for await _ in stream {
            if isRefused.withLock({ $0 }) { return false }
            if try hub.contents().count == count { return true }
        }
        return false
    }

    @Test("What a new actor writes in a running session is taken, as after an eviction")
    func rotation() async throws {
        try device.engine.start()
        try device.put(#"{"_id": "a"}"#)
        #expect(try await wait(forCount: 1))
        let former = try device.replica.ownActors()
        try device.replica.write { writer in
            let collection = try #require(try writer.collection(named: "cars"))
            var reference: DocumentReference?
            try writer.forEachDocument(collection: collection, after: 0) { document in
                reference = document.reference
                return false
            }
            #expect(try writer.evict(try #require(reference), force: true))
        }
        try device.put(#"{"_id": "b"}"#)
        #expect(try device.replica.ownActors().count > former.count)
        #expect(try await wait(forCount: 2))
        for peer in [device, hub] { await peer.stop() }
    }

    @Test("A peer that has had more actors than a hello has room for connects, and what each wrote is taken")
    func many() async throws {
        // A frame before the proof has 16 KiB, and an actor with its nonce takes 35 bytes: 468 at most.
        let count = 500
        for number in 0..<count {
            try device.put(#"{"_id": \#(number)}"#)
            try device.replica.write { try $0.rotateActor() }
        }
        #expect(try device.replica.ownActors().count > count)
        try device.engine.start()
        #expect(try await wait(forCount: count))
        for peer in [device, hub] { await peer.stop() }
    }
}
