import DocDB
import DocDBInspect
import Testing

@Suite("The peers command", .timeLimit(.minutes(10)))
struct PeersCommandTests {
    @Test("a store that has met nobody lists nobody")
    func nobody() throws {
        let store = try InspectedStore(cars: "{\"_id\":1}")
        #expect(store.run("peers", store.path) == .init(code: 0))
    }

    @Test("a peer is listed with what it asked for, how far it has come, and what it has yet to get")
    func somebody() async throws {
        let (first, second) = (try InspectedStore(), try InspectedStore())
        let identity = Database.Identity.offlinePlayground(appID: "app")
        let shop = try Database(at: first.path, identity: identity)
        let app = try Database(at: second.path, identity: identity)
        try shop.collection("cars").insert(["_id": 1, "state": "new"])
        shop.sync.configuration.listen = .init(port: 0)
        shop.sync.configuration.isKeeper = true
        shop.sync.configuration.peerName = "shop"
        try shop.sync.start()
        let port = try #require(shop.sync.status.listeningPort)
        app.sync.configuration.connect = ["ws://127.0.0.1:\(port)"]
        app.sync.configuration.peerName = "app"
        let subscription = try app.collection("cars").find("state == 'new'").subscribe()
        try app.sync.start()
        await subscription.waitUntilCaughtUp()
        try app.close()
        for number in 2...3 { try shop.collection("cars").insert(["_id": .int(Int64(number)), "state": "new"]) }
        try shop.collection("cars").insert(["_id": 4, "state": "old"])
        try shop.close()

        let line = first.run("peers", first.path).output
        #expect(line.contains(#""name":"app","keeper":false"#))
        #expect(line.contains(#""interest":"cars (some)""#))
        #expect(line.contains(#""unacknowledged":2,"refusedThere":0,"refusedHere":0,"quarantined":0"#))
        let other = second.run("peers", second.path).output
        #expect(other.contains(#""name":"shop","keeper":true"#))
        #expect(other.contains(#""cursor":1,"told":1"#))
        #expect(other.contains(#""interest":"nothing""#))
    }
}
