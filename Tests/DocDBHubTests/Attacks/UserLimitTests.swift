import Dispatch
import DocDB
import DocDBAuth
import DocDBCore
import DocDBHub
import DocDBReplication
import DocDBStorage
import DocDBSync
import DocDBTransport
import Foundation
import TestSupport
import Testing

/// What one user may take of a hub over all devices: each limit is reached by two devices of mallory, while bob is served.
@Suite("Attacks on a hub: one user with many devices", .timeLimit(.minutes(10)))
struct UserLimitTests {
    let forger = Forger()

    private func hits(_ hub: AttackHub, _ limit: UserLimit) -> Int { hub.hub.db.sync.engine.userLimitHits[limit] }

    private func predicates(_ count: Int) -> Interest {
        .collections((0..<count).map { Interest.Element(collection: "c\($0)", predicate: "true") })
    }

    /// A value of random bytes, which do not compress.
    private func noise(_ byteCount: Int) -> Value { .bytes(Platform.randomBytes(count: byteCount)) }

    /// Connects a device, and waits until its session has ended; a handshake that a busy machine does not finish in time is
    /// begun anew.
    private func expectEnd(of device: WirePeer, _ hub: AttackHub) async throws {
        repeat {
            device.forget()
            try await device.connect(hub.syncURL)
            try await eventually { device.heard.close != nil }
        } while device.heard.close?.code == CloseCode.timeout
    }

    private func nanoseconds() -> UInt64 { DispatchTime.now().uptimeNanoseconds }

    @Test("A user has so many sessions; a further device gets in once another has gone")
    func sessions() async throws {
        let hub = try AttackHub(settings: #""limits": {"sessions": 2}"#)
        let bob = try await hub.honest("bob")
        let devices = try (0..<3).map { _ in try WirePeer(try hub.authenticator("mallory")) }
        try await devices[0].establish(hub.syncURL)
        try await devices[1].establish(hub.syncURL)
        try await expectEnd(of: devices[2], hub)
        #expect(devices[2].heard.close?.code == CloseCode.limitReached)
        #expect(devices[2].heard.close?.message.contains("'sessions'") == true)
        #expect(hits(hub, .sessions) == 1)
        try await hub.expectHonestService(bob, unchanged: [:])
        devices[0].cut()
        try await eventually {
            hub.hub.db.sync.status.peers.count { $0.isConnected } == 2
        }
        let late = try WirePeer(try hub.authenticator("mallory"))
        try await late.establish(hub.syncURL)
        try bob.close()
    }

    @Test("A user's devices ask by so many predicates together, and what one gives up another may use")
    func predicateCounts() async throws {
        let hub = try AttackHub(settings: #""limits": {"predicates": 10}"#)
        let bob = try await hub.honest("bob")
        let first = try WirePeer(try hub.authenticator("mallory"), interest: predicates(6))
        try await first.establish(hub.syncURL)
        try await eventually { first.heard.isCurrent }
        let second = try WirePeer(try hub.authenticator("mallory"), interest: predicates(5))
        try await expectEnd(of: second, hub)
        #expect(second.heard.close?.code == CloseCode.limitReached)
        #expect(second.heard.close?.message.contains("'predicates'") == true)
        #expect(hits(hub, .predicates) == 1)
        let third = try WirePeer(try hub.authenticator("mallory"), interest: predicates(4))
        try await third.establish(hub.syncURL)
        try await eventually { third.heard.isCurrent }
        // One session more than one's share does not take what the others have.
        var message = InterestMessage()
        message.number = 1_000
        message.origins = [
            AnnouncedInterest(origin: third.replica.storeID, version: 2, hops: 0, interest: predicates(5))
        ]
        third.say(.interest(message))
        try await eventually { third.heard.close != nil }
        try await hub.expectHonestService(bob, unchanged: [:])
        let fourth = try WirePeer(try hub.authenticator("mallory"), interest: predicates(4))
        try await fourth.establish(hub.syncURL)
        try await eventually { fourth.heard.isCurrent }
        try bob.close()
    }

    /// A device that proves to have so many actors.
    private func device(_ hub: AttackHub, actorCount: Int) throws -> (WirePeer, [ActorID]) {
        let authenticator = try hub.authenticator("mallory")
        let owned = (0..<actorCount).map { _ in
            OwnActor(peerKey: authenticator.peerKey, nonce: Platform.randomBytes(count: 16))
        }
        let peer = try WirePeer(
            authenticator,
            hello: { hello in hello.actors += owned.map { Hello.OwnedActor(actor: $0.id, nonce: $0.nonce) } })
        return (peer, owned.map(\.id))
    }

    @Test("A user brings so many actors into a hub's table, also over a restart, and refused changes bring none")
    func actors() async throws {
        let hub = try AttackHub(settings: #""limits": {"actors": 3}"#)
        let bob = try await hub.honest("bob")
        let (first, actors) = try device(hub, actorCount: 3)
        try await first.establish(hub.syncURL)
        func content(_ id: DocumentID, _ actor: ActorID) throws -> [UInt8] {
            try forger.content(id, try forger.state(["owner": "test|mallory"], by: actor))
        }
        let table = hub.hub.db.sync.engine.environment.replica.actors
        let before = table.count
        #expect(try await first.outcome(content("1", actors[0])) == nil)
        #expect(try await first.outcome(content("2", actors[1])) == nil)
        // What is known costs nothing.
        #expect(try await first.outcome(content("3", actors[0])) == nil)
        let (second, others) = try device(hub, actorCount: 2)
        try await second.establish(hub.syncURL)
        #expect(try await second.outcome(content("4", others[0])) == nil)
        let answer = try await second.offer(content("5", others[1]))
        #expect(answer.except.first?.code == .userLimit)
        #expect(answer.except.first?.reason.contains("'actors'") == true)
        #expect(try await first.outcome(content("6", actors[2])) == .userLimit)
        // Neither do changes of others, which are refused for what they are.
        for _ in 0..<3 {
            let stranger = try #require(ActorID(bytes: Platform.randomBytes(count: 16)))
            #expect(try await second.outcome(content("7", stranger)) == .relay)
        }
        #expect(table.count == before + 3)
        #expect(hits(hub, .actors) == 2)
        try await hub.expectHonestService(bob, unchanged: try hub.hubDocuments)
        try bob.close()
        try hub.restart(settings: #""limits": {"actors": 3}"#)
        let (third, more) = try device(hub, actorCount: 1)
        try await third.establish(hub.syncURL)
        #expect(try await third.outcome(content("5", more[0])) == .userLimit)
        try hub.restart(settings: #""limits": {"actors": 4}"#)
        let (fourth, last) = try device(hub, actorCount: 2)
        try await fourth.establish(hub.syncURL)
        #expect(try await fourth.outcome(content("5", last[0])) == nil)
        #expect(try await fourth.outcome(content("8", last[1])) == .userLimit)
    }

    @Test("What a user's clocks hold up fills its own share of the quarantine, also over a restart")
    func quarantine() async throws {
        let settings = #""limits": {"quarantined": 3}"#
        let hub = try AttackHub(settings: settings)
        let bob = try await hub.honest("bob")
        let devices = try (0..<2).map { _ in try WirePeer(try hub.authenticator("mallory")) }
        func early(_ id: DocumentID, _ device: WirePeer) throws -> [UInt8] {
            try forger.content(id, try forger.state(["a": 1], by: try device.actor, at: Forger.time(600)))
        }
        for device in devices { try await device.establish(hub.syncURL) }
        #expect(try await devices[0].outcome(early("1", devices[0])) == .clock)
        #expect(try await devices[0].outcome(early("2", devices[0])) == .clock)
        #expect(try await devices[1].outcome(early("3", devices[1])) == .clock)
        for device in devices {
            let answer = try await device.offer(early("4", device))
            #expect(answer.except.first?.code == .userLimit)
            #expect(answer.except.first?.reason.contains("'quarantined'") == true)
        }
        // What replaces what waits needs no room, and what is in time waits for nothing.
        #expect(try await devices[0].outcome(early("2", devices[0])) == .clock)
        let inTime = try forger.content("5", try forger.state(["a": 1], by: try devices[0].actor))
        #expect(try await devices[0].outcome(inTime) == nil)
        let replica = hub.hub.db.sync.engine.environment.replica
        #expect(try replica.read { try $0.quarantine(peer: nil) }.count == 3)
        #expect(hits(hub, .quarantined) == 2)
        // Others have shares of their own.
        let eve = try WirePeer(try hub.authenticator("eve"))
        try await eve.establish(hub.syncURL)
        #expect(try await eve.outcome(early("6", eve)) == .clock)
        try await hub.expectHonestService(bob, unchanged: try hub.hubDocuments)
        try bob.close()
        try hub.restart(settings: settings)
        let again = try WirePeer(try hub.authenticator("mallory"))
        try await again.establish(hub.syncURL)
        #expect(try await again.outcome(early("7", again)) == .userLimit)
    }

    @Test("Field names beyond a user's share stay with their documents, and come once the limit is raised")
    func fieldNames() async throws {
        let hub = try AttackHub(settings: #""limits": {"fieldNames": 4}"#)
        let names = hub.hub.db.sync.engine.environment.replica.names
        let before = names.count
        let bob = try await hub.honest("bob")
        let first = try await hub.honest("alice")
        let cars = first.collection("cars")
        try cars.insert(["_id": "1", "owner": "dev|alice", "price": 1])
        try await eventually { try hub.hubDocuments["1"] != nil }
        try cars.insert(["_id": "2", "owner": "dev|alice", "price": 2, "colour": "red", "doors": 5])
        try await eventually { try hub.hubDocuments["2"] != nil }
        // Together with the first device, a second one of the same user has none left; a map in a list counts as well.
        let second = try hub.open("alice-2")
        try await second.auth.login(token: "alice-token", provider: "dev")
        try second.sync.start()
        try second.collection("cars").insert([
            "_id": "3", "owner": "dev|alice", "price": [["wheels": 4]],
        ])
        try cars.upsert(["_id": "1", "engine": "electric"])
        try await eventually {
            try [first, second].allSatisfy { try $0.sync.refusals().contains { $0.reason == .userLimit } }
        }
        let refusal = try #require(try first.sync.refusals().first)
        #expect(refusal.side == .peer && refusal.document.id == "1" && refusal.explanation.contains("'fieldNames'"))
        // Nothing is lost: here all is as written, there as before.
        #expect(try AttackHub.documents(first)["1"]?["engine"] == "electric")
        #expect(try hub.hubDocuments["1"]?["engine"] == nil && hub.hubDocuments["3"] == nil)
        #expect(names.count == before + 4)
        #expect(hits(hub, .fieldNames) >= 2)
        // What needs no new name goes on, and so do others with theirs.
        try cars.insert(["_id": "4", "owner": "dev|alice", "doors": 3])
        try await eventually { try hub.hubDocuments["4"] != nil }
        try bob.collection("cars").insert(["_id": "5", "horsepower": 300])
        try await eventually { try hub.hubDocuments["5"] != nil }
        for db in [first, second, bob] { try db.close() }
        try hub.restart(settings: #""limits": {"fieldNames": 4}"#)
        let still = try await reopened(hub, "alice-2")
        try still.collection("cars").insert(["_id": "6", "owner": "dev|alice", "gears": 6])
        try await eventually {
            try Set(still.sync.refusals().map(\.document.id)) == ["3", "6"]
        }
        try still.close()
        try hub.restart(settings: #""limits": {"fieldNames": 40}"#)
        let devices = [try await reopened(hub, "alice"), try await reopened(hub, "alice-2")]
        try await eventually {
            let documents = try hub.hubDocuments
            return documents["1"]?["engine"] == "electric" && documents["3"] != nil && documents["6"] != nil
        }
        try await eventually { try devices.allSatisfy { try $0.sync.refusals().isEmpty } }
        for device in devices { try device.close() }
    }

    private func reopened(_ hub: AttackHub, _ name: String) async throws -> Database {
        let db = try hub.open(name)
        try db.sync.start()
        return db
    }

    @Test("A user's devices send so many bytes a second together; the rest waits, and nothing of it is lost")
    func receivingRate() async throws {
        let rate = 512 * 1024
        let hub = try AttackHub(settings: #""limits": {"bytesPerSecond": \#(rate)}"#)
        let bob = try await hub.honest("bob")
        let devices = try (0..<2).map { _ in try WirePeer(try hub.authenticator("mallory")) }
        for device in devices { try await device.establish(hub.syncURL) }
        let begin = nanoseconds()
        let byteCount = 300_000
        try await withThrowingTaskGroup(of: Void.self) { group in
            for (number, device) in devices.enumerated() {
                group.addTask {
                    for round in 0..<3 {
                        // A new session has no more than the one before.
                        let device = round == 0 ? device : try WirePeer(hub.authenticator("mallory"))
                        if round > 0 { try await device.establish(hub.syncURL) }
                        defer { device.cut() }
                        let state = try forger.state(["a": noise(byteCount)], by: try device.actor)
                        let id = try DocumentID("\(number)-\(round)")
                        #expect(try await device.outcome(forger.content(id, state)) == nil)
                    }
                }
            }
            // Meanwhile others are not held up: this ends, or the test does not.
            group.addTask {
                for round in 0..<3 {
                    try bob.collection("cars").insert(["_id": .string("bob-\(round)")])
                    try await eventually { try hub.hubDocuments["bob-\(round)"] != nil }
                }
            }
            try await group.waitForAll()
        }
        // A second's worth goes at once.
        let least = Double(6 * byteCount - rate) / Double(rate)
        // The last frame of each device is taken in before it counts.
        let free = Double(2 * byteCount) / Double(rate)
        #expect(Double(nanoseconds() - begin) / 1e9 >= least - free)
        #expect(try hub.hubDocuments.count == 9)
        try bob.close()
    }

    @Test("A user's devices are sent so many bytes a second together, and get all of it")
    func sendingRate() async throws {
        let rate = 1024 * 1024
        let hub = try AttackHub(settings: #""limits": {"bytesPerSecond": \#(rate)}"#)
        let value = (0..<40).map { _ in noise(50_000) }
        try await hub.hub.db.write { transaction in
            for (number, noise) in value.enumerated() {
                try transaction.collection("cars").insert(["_id": .int(Int64(number)), "a": noise])
            }
        }
        let begin = nanoseconds()
        let devices = try (0..<3).map { _ in try WirePeer(try hub.authenticator("mallory"), interest: .everything) }
        for device in devices { try await device.establish(hub.syncURL) }
        try await eventually { devices.allSatisfy { $0.heard.isCurrent } }
        // Six megabytes in all, of which a second's worth goes at once, and to each device in the end what fills a link.
        let free = rate + 3 * (SyncLimits.linkBacklogByteCount + 256 * 1024)
        #expect(Double(nanoseconds() - begin) / 1e9 >= Double(6_000_000 - free) / Double(rate))
        for device in devices {
            let count = try device.replica.read { reader -> Int in
                var count = 0
                let cars = try #require(try reader.collection(named: "cars"))
                try reader.forEachDocument(collection: cars, after: 0) { _ in
                    count += 1
                    return true
                }
                return count
            }
            #expect(count == 40)
        }
    }

    @Test("What reached limits is counted for the metrics, and a configuration says what it does not know")
    func configuration() async throws {
        let hub = try AttackHub(settings: #""limits": {"sessions": 1, "quarantinedBytes": 5}"#)
        let devices = try (0..<2).map { _ in try WirePeer(try hub.authenticator("mallory")) }
        try await devices[0].establish(hub.syncURL)
        try await expectEnd(of: devices[1], hub)
        let response = try await HTTPClient().send(
            HTTPClientRequest(url: hub.url + "/metrics"), limits: HTTPClientLimits())
        let families = try MetricsParser.families(String(decoding: response.body, as: UTF8.self))
        let family = try #require(families["docdb_user_limit_reached_total"])
        #expect(family.type == "counter")
        let values = Dictionary(uniqueKeysWithValues: family.samples.map { ($0.labels["limit"] ?? "", $0.value) })
        #expect(Set(values.keys) == Set(UserLimit.allCases.map(\.rawValue)))
        #expect(values["sessions"] == 1 && values["actors"] == 0)
        for wrong in [
            #""limits": {"session": 1}"#, #""limits": 5"#, #""limits": {"sessions": 0}"#,
            #""limits": {"bytesPerSecond": 100}"#, #""limits": {"actors": 1.5}"#,
        ] {
            #expect { try AttackHub(settings: wrong) } throws: {
                ($0 as? DocDBError)?.code == .invalidConfiguration
            }
        }
    }

    @Test("The limits that the page about the configuration shows are those that there are unless others are set")
    func page() throws {
        let file = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().deletingLastPathComponent().appending(path: "docs/providers.md")
        let page = String(decoding: try Data(contentsOf: file), as: UTF8.self)
        let begin = try #require(page.range(of: #"{"limits": {"#))
        let end = try #require(page.range(of: "}}", range: begin.upperBound..<page.endIndex))
        let limits = page[begin.lowerBound..<end.upperBound].dropFirst().dropLast()
        let json = #"{"appID": "a", "providers": {\#(AttackHub.honest)}, \#(limits)}"#
        let configuration = try HubConfiguration(
            Array(json.utf8), Provider.Surroundings(readFile: { _ in [] }, fetchKeys: { _, _ in [] }))
        #expect(configuration.userLimits == UserLimits())
    }
}
