import DocDB
import Testing

@Suite("Subscriptions", .timeLimit(.minutes(10)))
struct SyncSubscriptionTests {
    @Test("a subscription is a predicate: sorting, limits and offsets are refused with the remedy")
    func predicates() throws {
        let peer = try SyncPeer("peer")
        let all = peer.cars.findAll()
        for query in [all.sort("price"), all.limit(3), all.offset(1)] {
            let error = docDBError { try query.subscribe() }
            #expect(error?.code == .misuse)
            #expect(error?.message.contains("leave out sort, limit and offset") == true)
        }
        try peer.db.read { snapshot in
            #expect(errorCode { try snapshot.collection("cars").findAll().subscribe() } == .misuse)
        }
        #expect(errorCode { try peer.cars.find("a ==").subscribe() } == .invalidPredicate)
        #expect(errorCode { try peer.db.collection("__x").findAll().subscribe() } == .invalidCollectionName)
    }

    @Test("a subscription can be made while running, changed and cancelled; what it brought stays")
    func change() async throws {
        let shop = try SyncPeer("shop")
        let app = try SyncPeer("app")
        for make in ["audi", "bmw", "toyota"] { try shop.cars.insert(["_id": .string(make), "make": .string(make)]) }
        try app.connect(try shop.listen())
        try await app.wait(\.isConnected)
        let first = try app.cars.find("make == 'audi'").subscribe()
        await first.waitUntilCaughtUp()
        #expect(try app.cars.findAll().ids() == ["audi"])
        let second = try app.cars.find("make == 'bmw'").subscribe()
        await second.waitUntilCaughtUp()
        first.cancel()
        await second.waitUntilCaughtUp()
        #expect(first.status == nil)
        #expect(try Set(app.cars.findAll().ids()) == ["audi", "bmw"])
        try await shop.db.write { transaction in
            try transaction.collection("cars").update("audi") { $0["price"] = 1 }
            try transaction.collection("cars").update("bmw") { $0["price"] = 1 }
        }
        try await app.wait(app.cars.find("price == 1")) { !$0.isEmpty }
        #expect(try app.cars.find("price == 1").ids() == ["bmw"])
        #expect(app.sync.status.subscriptions.map(\.predicate) == ["make == 'bmw'"])
    }

    @Test("a handle that is let go ends nothing")
    func handles() async throws {
        let shop = try SyncPeer("shop")
        let app = try SyncPeer("app")
        try app.cars.findAll().subscribe()
        try app.connect(try shop.listen())
        try shop.cars.insert(["_id": 1])
        try await app.wait(app.cars.findAll()) { $0 == [1] }
        #expect(app.sync.status.subscriptions.count == 1)
    }

    @Test("a document that leaves an evicting subscription goes once a keeper holds its changes")
    func evicting() async throws {
        let hub = try SyncPeer("hub") { $0.isKeeper = true }
        let device = try SyncPeer("device")
        try hub.cars.findAll().subscribe()
        for number in 1...3 { try hub.cars.insert(["_id": .int(Int64(number)), "state": "for sale"]) }
        let subscription = try device.cars.find("state == 'for sale'").subscribe(whenLeaving: .evict)
        let url = try hub.listen()
        try device.connect(url)
        await subscription.waitUntilCaughtUp()
        // What the keeper changes itself goes at once.
        try hub.cars.update(1) { $0["state"] = "sold" }
        try await device.wait(device.cars.findAll()) { Set($0) == [2, 3] }
        #expect(try device.sync.explain("cars", 1).place == .evicted)
        // What is changed here while offline stays until the keeper has it.
        await device.sync.stop()
        try device.cars.update(2) { $0["state"] = "sold" }
        #expect(try device.sync.isAcknowledged("cars", 2) == false)
        #expect(try device.cars.find(id: 2) != nil)
        try device.sync.start()
        try await device.wait(device.cars.findAll()) { $0 == [3] }
        #expect(try hub.cars.find(id: 2)?["state"] == "sold")
        // It comes back when it matches again.
        try hub.cars.update(1) { $0["state"] = "for sale" }
        try await device.wait(device.cars.findAll()) { Set($0) == [1, 3] }
    }

    @Test("the initial sync tells how far it has come")
    func progress() async throws {
        let shop = try SyncPeer("shop")
        let app = try SyncPeer("app")
        try await shop.db.write { transaction in
            for number in 0..<5_000 {
                try transaction.collection("cars").insert(
                    ["_id": .int(Int64(number)), "text": .string(String(repeating: "x", count: 200))])
            }
        }
        let subscription = try app.cars.findAll().subscribe()
        let seen = Task {
            var counts: [Int] = []
            for await status in subscription.statusUpdates {
                guard let progress = status?.peers.first?.progress else { continue }
                if case .receiving(let received, let expected) = progress {
                    counts.append(received)
                    if let expected { #expect(received <= expected && expected <= 5_000) }
                }
                if progress.isCaughtUp { break }
            }
            return counts
        }
        try app.connect(try shop.listen())
        let counts = await seen.value
        // A busy consumer gets the newest status: how many there are is left to chance.
        #expect(counts == counts.sorted())
        #expect(try app.cars.findAll().count() == 5_000)
    }
}
