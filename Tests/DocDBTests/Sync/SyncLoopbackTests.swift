import DocDB
import DocDBTransport
import TestSupport
import Testing

@Suite("Replicating over WebSockets on loopback", .timeLimit(.minutes(10)))
struct SyncLoopbackTests {
    @Test("two databases converge, also from changes made before they met and on both sides of one document")
    func converge() async throws {
        let hub = try SyncPeer("hub") { $0.isKeeper = true }
        let device = try SyncPeer("device")
        try hub.cars.insert(["_id": 1, "make": "toyota", "views": 0])
        try device.cars.insert(["_id": 2, "make": "audi"])
        try hub.cars.findAll().subscribe()
        let subscription = try device.cars.findAll().subscribe()
        try device.connect(try hub.listen())

        await subscription.waitUntilCaughtUp()
        #expect(try device.cars.find(id: 1)?["make"] == "toyota")
        try await hub.wait(hub.cars.findAll()) { $0.count == 2 }
        try await device.wait { $0.peers.first?.isKeeper == true }

        try hub.cars.update(1) { $0["views"].increment(by: 2) }
        try device.cars.update(1) { $0["views"].increment(by: 3) }
        try await hub.wait(hub.cars.find("views == 5")) { $0 == [1] }
        try await device.wait(device.cars.find("views == 5")) { $0 == [1] }
        try device.cars.remove(2)
        try await hub.wait(hub.cars.findAll()) { $0 == [1] }
        #expect(try hub.contents() == device.contents())
    }

    @Test("a subscription brings what matches, now and later, and no more")
    func scope() async throws {
        let shop = try SyncPeer("shop")
        let app = try SyncPeer("app")
        for number in 0..<20 {
            try shop.cars.insert(["_id": .int(Int64(number)), "state": number % 2 == 0 ? "for sale" : "sold"])
        }
        let subscription = try app.cars.find("state == 'for sale'").subscribe()
        try app.connect(try shop.listen())
        await subscription.waitUntilCaughtUp()
        #expect(try app.cars.findAll().count() == 10)
        try shop.cars.update(1) { $0["state"] = "for sale" }
        try await app.wait(app.cars.find("state == 'for sale'")) { $0.count == 11 }
        try shop.cars.update(0) { $0["state"] = "sold" }
        try await app.wait(app.cars.find("state == 'for sale'")) { $0.count == 10 }
        // The last update came with the leaving, and the document stays.
        #expect(try app.cars.find(id: 0)?["state"] == "sold")
        // The shop asks for nothing.
        try app.cars.insert(["_id": "mine", "state": "for sale"])
        #expect(try app.sync.explain("cars", "mine").peers.first?.verdict == .noSubscription)
    }

    @Test("two databases converge inside TLS, with a shared key, by an authority's name or a pinned key")
    func tls() async throws {
        let certificates = try TestCertificates()
        let identity = Database.Identity.sharedKey(appID: SyncPeer.appID, key: [UInt8](0..<32))
        let hub = try SyncPeer("hub", identity: identity)
        hub.sync.configuration.listen = .init(
            port: 0, certificateFile: certificates.identity.certificateFile, keyFile: certificates.identity.keyFile)
        try hub.sync.start()
        let url = "wss://127.0.0.1:\(try #require(hub.sync.status.listeningPort))"
        try hub.cars.insert(["_id": 1, "make": "toyota"])

        let device = try SyncPeer("device", identity: identity) {
            $0.trust = .authorities(file: certificates.authorityFile)
        }
        try device.cars.findAll().subscribe()
        try device.connect(url)
        try await device.wait(device.cars.findAll()) { $0 == [1] }
        #expect(device.sync.status.peers.map(\.kind) == [.webSocketTLS])

        let doubter = try SyncPeer("doubter", identity: identity)
        try doubter.connect(url)
        try await doubter.wait { $0.connections.first?.lastProblem?.error.code == .certificateRejected }
        #expect(!doubter.sync.status.isConnected)
        let wrong = try SyncPeer("wrong", identity: identity) {
            $0.trust = .pinned(publicKeyHashes: [[UInt8](repeating: 0, count: 32)])
        }
        try wrong.connect(url)
        try await wrong.wait { $0.connections.first?.lastProblem?.error.code == .certificateRejected }
    }
}
