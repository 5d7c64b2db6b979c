import DocDB
import Testing

@Suite("More than two databases", .timeLimit(.minutes(10)))
struct SyncNetworkTests {
    @Test("a relay carries what its neighbours subscribe to, in a chain whose ends do not know each other")
    func relay() async throws {
        let relay = try SyncPeer("relay") { $0.relay = .on(limit: 8) }
        let (left, right) = (try SyncPeer("left"), try SyncPeer("right"))
        let url = try relay.listen()
        try right.cars.insert(["_id": "before", "make": "audi"])
        try right.cars.insert(["_id": "other", "make": "bmw"])
        try left.cars.find("make == 'audi'").subscribe()
        try left.connect(url)
        try right.connect(url)
        try await left.wait(left.cars.findAll()) { $0 == ["before"] }
        try right.cars.insert(["_id": "after", "make": "audi"])
        try await left.wait(left.cars.findAll()) { Set($0) == ["before", "after"] }
        #expect(try relay.cars.find(id: "other") == nil)
        try left.cars.find("make == 'bmw'").subscribe()
        try await left.wait(left.cars.findAll()) { $0.contains("other") }
    }

    @Test("a database that is no relay passes nothing on")
    func noRelay() async throws {
        let middle = try SyncPeer("middle")
        let (left, right) = (try SyncPeer("left"), try SyncPeer("right"))
        let url = try middle.listen()
        try right.cars.insert(["_id": 1])
        let subscription = try left.cars.findAll().subscribe()
        try left.connect(url)
        try right.connect(url)
        await subscription.waitUntilCaughtUp()
        try await middle.wait { $0.peers.count == 2 }
        #expect(try middle.cars.findAll().count() == 0)
        #expect(try right.sync.explain("cars", 1).peers.allSatisfy { $0.verdict != .held })
    }

    @Test("every peer of a chain sees the whole graph, and sees who leaves it")
    func presence() async throws {
        let middle = try SyncPeer("middle")
        let (left, right) = (try SyncPeer("left"), try SyncPeer("right"))
        let url = try middle.listen()
        try left.connect(url)
        try right.connect(url)
        for await graph in left.sync.presenceUpdates where graph.peers.count == 3 && graph.connections.count == 2 {
            #expect(Set(graph.peers.map(\.name)) == ["left", "middle", "right"])
            #expect(graph.peers.filter(\.isSelf).map(\.name) == ["left"])
            #expect(graph.connections.allSatisfy { $0.kind == .webSocket && $0.first < $0.second })
            #expect(graph.peers.allSatisfy { !$0.operatingSystem.isEmpty && !$0.softwareVersion.isEmpty })
            break
        }
        await right.sync.stop()
        for await graph in left.sync.presenceUpdates where graph.peers.count == 2 {
            #expect(Set(graph.peers.map(\.name)) == ["left", "middle"])
            break
        }
    }

    @Test("documents tell whether a keeper holds them, and why they are not where one looks for them")
    func acknowledgements() async throws {
        let hub = try SyncPeer("hub") { $0.isKeeper = true }
        let device = try SyncPeer("device")
        try hub.cars.find("state == 'for sale'").subscribe()
        try device.cars.insert(["_id": 1, "state": "for sale"])
        try device.cars.insert(["_id": 2, "state": "sold"])
        #expect(try device.sync.isAcknowledged("cars", 1) == false)
        #expect(Set(try device.sync.pendingDocuments().map(\.id)) == [1, 2])
        #expect(errorCode { try device.sync.isAcknowledged("cars", 3) } == .documentNotFound)
        #expect(try device.sync.explain("cars", 1).peers.isEmpty)
        try device.connect(try hub.listen())
        try await SyncPeer.wait(device) { try device.sync.isAcknowledged("cars", 1) }
        #expect(try device.sync.pendingDocuments() == [SyncDocument(collection: "cars", id: 2)])
        let held = try device.sync.explain("cars", 1)
        #expect(held.peers.map(\.verdict) == [.held])
        #expect(held.isAcknowledged)
        #expect(try device.sync.explain("cars", 2).peers.map(\.verdict) == [.noSubscription])
        #expect(try hub.sync.explain("cars", 2).place == .absent)
        #expect(try hub.sync.explain("cars", 2).description.contains("device"))
        #expect(errorCode { try device.sync.revert("cars", 1) } == .documentNotFound)
        #expect(try device.sync.refusals().isEmpty)
    }
}
