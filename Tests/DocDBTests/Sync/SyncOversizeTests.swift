import DocDB
import Testing

@Suite("A document that grows too large by a merge", .timeLimit(.minutes(10)))
struct SyncOversizeTests {
    @Test("is kept whole at both ends, and the status tells of it")
    func isKept() async throws {
        let hub = try SyncPeer("hub") { $0.isKeeper = true }
        let device = try SyncPeer("device")
        let half = String(repeating: "x", count: 3 * 1024 * 1024)
        try hub.cars.insert(["_id": 1, "front": .string(half)])
        try device.cars.insert(["_id": 1, "back": .string(half)])
        try hub.cars.findAll().subscribe()
        try device.cars.findAll().subscribe()
        try device.connect(try hub.listen())

        try await device.wait { $0.lastProblem?.error.code == .documentTooLarge }
        try await hub.wait { $0.lastProblem?.error.code == .documentTooLarge }
        for peer in [hub, device] {
            let document = try #require(try peer.cars.find(id: 1))
            #expect(document["front"] == .string(half) && document["back"] == .string(half))
        }
    }
}
