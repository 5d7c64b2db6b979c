import DocDBCore
import DocDBQuery
import DocDBReplication
import DocDBStorage
import DocDBSync
import Synchronization
import Testing

@Suite("The replication engine over links in memory", .timeLimit(.minutes(10))) struct EngineTests {
    let network = MemoryNetwork()

    @Test("two stores converge and tell how they got there")
    func two() async throws {
        let hub = try EnginePeer("hub", on: network) { $0.isKeeper = true }
        let device = try EnginePeer("device", on: network) { $0.urls = ["memory://127.hub:1"] }
        for number in 0..<3_000 { try hub.put(#"{"_id": \#(number), "make": "audi", "n": \#(number)}"#) }
        try device.put(#"{"_id": "mine", "make": "bmw"}"#)
        try device.subscribe()
        try hub.subscribe("make == 'bmw'")
        let phases = Lock<[PullProgress.Phase]>([])
        let token = device.engine.statusObservers.add { status in
            guard let progress = status.peers.first?.progress else { return }
            phases.withLock { if $0.last != progress.phase { $0.append(progress.phase) } }
        }
        try hub.engine.start()
        try device.engine.start()
        try await EnginePeer.wait([hub, device]) {
            let (ours, theirs) = (try device.contents(), try hub.contents())
            return ours.count == 3_001 && ours == theirs
        }
        #expect(phases.withLock { $0.last } == .current)
        #expect(phases.withLock { $0.first } == .asking)
        token.cancel()
        let peer = try #require(device.engine.status.peers.first)
        #expect(peer.name == "hub")
        #expect(peer.isKeeper)
        #expect(peer.appliedCount >= 3_000)
        #expect(device.engine.status.dials.map(\.state) == [.connected(peer: hub.store.storeID)])
        await device.stop()
        #expect(device.engine.status.phase == .stopped)
        try await EnginePeer.wait([hub]) { hub.engine.status.peers.allSatisfy { !$0.isConnected } }
        #expect(try hub.replica.read { try $0.peers().map(\.name) } == ["device"])
        await hub.stop()
    }

    @Test("collections whose names differ in Unicode normalisation alone are two to subscriptions that evict")
    func normalisation() async throws {
        let peer = try EnginePeer("peer", on: network)
        let (wanted, other) = ("caf\u{E9}", "cafe\u{301}")
        try peer.subscribe(in: wanted)
        _ = try peer.engine.subscribe(collection: other, filter: Filter.parse("state == 'new'"), policy: .evict)
        try peer.put(#"{"_id": 1, "state": "new"}"#, in: other)
        try peer.put(#"{"_id": 1, "state": "old"}"#, in: other)
        let done = await withCheckedContinuation { continuation in
            peer.engine.executor.enqueue { continuation.resume(returning: true) }
        }
        #expect(done)
        var id = ByteBuffer()
        DocumentID(1).appendCBOR(to: &id)
        #expect(try peer.engine.explain(collection: other, id: id.array).isEvictionDeferred)
    }

    @Test("three stores in a ring converge over redundant paths, and fall silent")
    func ring() async throws {
        let names = ["one", "two", "three"]
        let peers = try names.indices.map { index in
            try EnginePeer(names[index], on: network) {
                $0.urls = ["memory://127.\(names[(index + 1) % names.count]):1"]
            }
        }
        for (index, peer) in peers.enumerated() {
            try peer.subscribe()
            for number in 0..<50 { try peer.put(#"{"_id": \#(number), "\#(names[index])": \#(number)}"#) }
        }
        for peer in peers { try peer.engine.start() }
        try await EnginePeer.wait(peers) {
            let contents = try peers.map { try $0.contents() }
            let areConnected = peers.allSatisfy { $0.engine.status.peers.filter(\.isConnected).count == 2 }
            return areConnected
                && contents.allSatisfy { contents in
                    contents.count == 50
                        && contents.allSatisfy { $0.value.objectValue?.count == 3 }
                }
        }
        for peer in peers { await peer.stop() }
        let sequences = try peers.map { try $0.replica.read { $0.sequence } }
        // Restarted with nothing to say, nothing is written.
        for peer in peers { try peer.engine.start() }
        try await EnginePeer.wait(peers) {
            peers.allSatisfy { peer in
                peer.engine.status.peers.filter { $0.progress?.phase == .current }.count == 2
            }
        }
        for peer in peers { await peer.stop() }
        #expect(try peers.map { try $0.replica.read { $0.sequence } } == sequences)
    }

    @Test("of several URLs of one peer one link is kept, and another takes over when it goes")
    func sameURLTwice() async throws {
        let hub = try EnginePeer("hub", on: network)
        let device = try EnginePeer("device", on: network) {
            $0.urls = ["memory://127.hub:1", "memory://127.hub:1", "memory://127.nobody:1", "nonsense"]
        }
        try hub.engine.start()
        try device.engine.start()
        try await EnginePeer.wait([device]) {
            let states = device.engine.status.dials.map(\.state)
            let id = hub.store.storeID
            return Set(states.prefix(2).map { "\($0)" })
                == ["\(DialStatus.State.connected(peer: id))", "\(DialStatus.State.redundant(peer: id))"]
                && states[3] == .failed
        }
        #expect(device.engine.status.dials[2].lastError?.error.code == .connectionFailed)
        #expect(device.engine.status.dials[3].lastError?.error.code == .invalidAddress)
        #expect(hub.engine.status.peers.filter(\.isConnected).count == 1)
        await device.stop()
        await hub.stop()
    }

    @Test("waits for a peer that is away grow to the longest that is configured, and no further")
    func longestWait() async throws {
        let clock = ManualClock(seconds: 1_800_000_000)
        let device = try EnginePeer("device", on: network, clock: clock) {
            $0.urls = ["memory://127.nobody:1"]
            $0.longestWaitSeconds = 1
        }
        try device.engine.start()
        // Unbounded, the eighth wait alone could be a minute; bounded, a second brings each next attempt.
        for count in 1...30 {
            try await eventually([device]) {
                // A time that has passed is that of the wait before.
                guard case .waiting(let time) = device.engine.status.dials.first?.state, time > clock.wallNanoseconds
                else { return false }
                #expect(time <= clock.wallNanoseconds + 1_000_000_000)
                return network.attemptCount >= count
            }
            clock.advance(nanoseconds: 1_000_000_000)
        }
        await device.stop()
    }

    @Test("a store that connects to itself refuses")
    func itself() async throws {
        let peer = try EnginePeer("self", on: network) { $0.urls = ["memory://127.self:1"] }
        try peer.engine.start()
        try await EnginePeer.wait([peer]) { peer.engine.status.dials.first?.lastError != nil }
        #expect(peer.engine.status.dials.first?.lastError?.error.context["close"] == CloseCode.sameStore)
        #expect(peer.engine.status.peers.isEmpty)
        await peer.stop()
    }

    @Test("an engine that is let go while it runs leaves nothing")
    func lifetime() async throws {
        let hub = try EnginePeer("hub", on: network)
        try hub.engine.start()
        weak var weakly: ReplicationEngine?
        do {
            let device = try EnginePeer("device", on: network) { $0.urls = ["memory://127.hub:1"] }
            try device.engine.start()
            try await EnginePeer.wait([hub]) { hub.engine.status.peers.contains { $0.isConnected } }
            await device.stop()
            weakly = device.engine
        }
        // The executor lets go of its last piece of work on its own thread.
        while weakly != nil { await Task.yield() }
        await hub.stop()
    }
}
