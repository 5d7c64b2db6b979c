// The replication of the README and the examples of doc comments, as code that is run.
import DocDB
import Testing

@Suite("Examples of replication", .timeLimit(.minutes(10))) struct SyncExamplesTests {
    @Test("the README's two databases replicate, and the documentation's examples show it")
    func readme() async throws {
        let directory = TemporaryDirectory.make()
        let shop = try Database(at: directory + "/shop.docdb", identity: .offlinePlayground(appID: "com.example.cars"))
        shop.sync.configuration.listen = SyncConfiguration.Listen(port: 0)
        shop.sync.configuration.peerName = "front desk"
        try shop.sync.start()
        let port = try #require(shop.sync.status.listeningPort)

        let app = try Database(at: directory + "/app.docdb", identity: .offlinePlayground(appID: "com.example.cars"))
        app.sync.configuration.connect = ["ws://127.0.0.1:\(port)"]
        try app.sync.start()
        try shop.collection("cars").insert(["_id": "car-000001", "state": "for sale"])
        let cars = app.collection("cars")
        let subscription = try cars.find("state == 'for sale'").subscribe(whenLeaving: .evict)
        await subscription.waitUntilCaughtUp()
        #expect(try cars.findAll().ids() == ["car-000001"])

        for await status in app.sync.statusUpdates where status.isConnected {
            #expect(status.peers.first?.name == "front desk")
            break
        }
        for await status in subscription.statusUpdates {
            #expect(status?.predicate == "state == 'for sale'")
            break
        }
        let explanation = try app.sync.explain("cars", "car-000001").description
        #expect(explanation.hasPrefix("stored here, its changes are at no keeper yet\nfront desk: "))
        let observed = ObservedSyncStatus(app.sync)
        #expect(observed.status.isConnected)
        subscription.cancel()
        try app.close()
        try shop.close()
    }
}
