import DocDBAuth
import DocDBCore
import DocDBReplication
import DocDBStorage
import DocDBSync
import Synchronization
import Testing

@Suite("Changes that a hub has refused, at those who had taken them", .timeLimit(.minutes(10)))
struct VoidedChangeTests {
    let network = MemoryNetwork()
    let clock = ManualClock(seconds: TestHub.start)
    let hub: TestHub
    let hubAuthenticator: OnlineAuthenticator

    init() throws {
        hub = try TestHub()
        hubAuthenticator = try hub.authenticator()
        hubAuthenticator.sign(with: hub.issuer)
    }

    /// A hub, and devices of alice, who may write her own and asks for nothing, and of bob and carol, who may write everything.
    private struct World {
        let hub: EnginePeer
        let alice: EnginePeer
        let bob: EnginePeer
        let carol: EnginePeer
        var all: [EnginePeer] { [hub, alice, bob, carol] }
    }

    private func peer(
        _ name: String, _ authenticator: OnlineAuthenticator, urls: [String], subscribes: Bool = true
    ) throws -> EnginePeer {
        let peer = try EnginePeer(name, on: network, authenticator: authenticator, clock: clock) { $0.urls = urls }
        if subscribes { try peer.subscribe() }
        return peer
    }

    private func makeHub() throws -> EnginePeer {
        try EnginePeer("hub", on: network, authenticator: hubAuthenticator, clock: clock) {
            $0.isKeeper = true
            $0.wantsEverything = true
        }
    }

    /// All have the car "d" of alice's; the hub, which is away since, has it as bob's; alice has written a price to it, which
    /// bob and carol have taken.
    ///
    /// - Parameters:
    ///   - isRelay: whether alice may bring what others have written, so that the hub judges hers though it is upon theirs.
    ///   - before: what bob writes before he takes that.
    ///   - after: what he writes thereafter.
    private func makeWorld(
        isRelay: Bool = false, before: (EnginePeer) throws -> Void = { _ in },
        after: (EnginePeer) throws -> Void = { _ in }
    ) async throws -> World {
        let world = World(
            hub: try makeHub(),
            alice: try peer(
                "alice", hub.device("alice", read: nil, write: "owner == 'alice'", isRelay: isRelay),
                urls: ["memory://127.hub:1"], subscribes: false),
            bob: try peer(
                "bob", hub.device("bob", read: nil, write: nil), urls: ["memory://127.hub:1", "memory://127.alice:1"]),
            carol: try peer(
                "carol", hub.device("carol", read: nil, write: nil),
                urls: ["memory://127.hub:1", "memory://127.alice:1", "memory://127.bob:1"]))
        try world.alice.put(#"{"_id": "d", "owner": "alice", "price": 1}"#)
        for peer in world.all { try peer.engine.start() }
        try await eventually(world.all) { try [world.hub, world.bob, world.carol].allSatisfy { try price($0) == 1 } }
        await world.hub.stop()
        try before(world.bob)
        try world.hub.put(#"{"_id": "d", "owner": "bob"}"#)
        try world.alice.put(#"{"_id": "d", "price": 666}"#)
        try await eventually(world.all) { try price(world.bob) == 666 && price(world.carol) == 666 }
        try after(world.bob)
        return world
    }

    private func price(_ peer: EnginePeer, _ id: DocumentID = "d") throws -> Int64? {
        try peer.contents()[id]?["price"]?.intValue
    }

    private func field(_ name: String, _ peer: EnginePeer) throws -> String? {
        try peer.contents()["d"]?[name]?.stringValue
    }

    /// What hubs, or this side, have refused, as an app would list it.
    private func refusals(_ peer: EnginePeer, _ side: ApartDocument.Side) throws -> [RefusalCode] {
        try peer.engine.refusals().map(\.document).filter { $0.side == side }.map(\.code)
    }

    private func isVerified(_ peer: EnginePeer) throws -> Bool { try peer.store.verify().isEmpty }

    /// What a peer is told that it has not taken, or has given up.
    private final class Told: Sendable {
        private let codes = Lock<[RefusalCode]>([])
        private let token: Lock<ObserverToken?>

        init(_ peer: EnginePeer) {
            token = Lock(nil)
            let observer = peer.engine.apartObservers.add { [weak self] news in
                if !news.isSettled, news.document.side == .here { self?.add(news.document.code) }
            }
            token.withLock { $0 = observer }
        }

        func add(_ code: RefusalCode) { codes.withLock { $0.append(code) } }
        func count(of code: RefusalCode) -> Int { codes.withLock { $0.count { $0 == code } } }
    }

    /// Starts the hub again, and waits until these devices have reached it.
    private func bringBack(_ hub: EnginePeer, for peers: [EnginePeer]) async throws {
        try hub.engine.start()
        let devices = peers.filter { $0.name != hub.name }
        try await eventually(devices) {
            // Again and again: who is just giving up an attempt waits thereafter by a clock that stands still.
            let away = devices.filter { device in
                !device.engine.status.peers.contains { $0.isConnected && $0.name == hub.name }
            }
            for device in away { device.engine.nudge() }
            return away.isEmpty
        }
    }

    private func stop(_ peers: [EnginePeer]) async throws {
        for peer in peers { await peer.stop() }
        for peer in peers { #expect(try isVerified(peer), "\(peer.name)") }
    }

    @Test("They give it up by themselves, tell so, and have what the hub has; with its author it stays, refused")
    func givenUp() async throws {
        let world = try await makeWorld()
        let told = Told(world.bob)
        try await bringBack(world.hub, for: world.all)
        try await eventually(world.all) {
            try refusals(world.alice, .there).contains(.denied)
                && [world.bob, world.carol].allSatisfy { try price($0) == 1 && field("owner", $0) == "bob" }
        }
        #expect(told.count(of: .voided) == 1)
        #expect(try price(world.alice) == 666)
        #expect(try price(world.hub) == 1)
        // Nothing is left to settle, and all of it is at the hub.
        try await eventually(world.all) {
            try refusals(world.bob, .there).isEmpty
                && world.bob.engine.isAcknowledged(collection: "cars", id: DocumentID("d").wireBytes) == true
        }
        // It does not come again from its author, whoever of the two writes.
        try world.bob.put(#"{"_id": "d", "color": "red"}"#)
        try world.alice.put(#"{"_id": "x", "owner": "alice"}"#)
        try await eventually(world.all) {
            try field("color", world.hub) == "red" && world.bob.contents()["x"] != nil
        }
        #expect(try price(world.bob) == 1)
        try await stop(world.all)
    }

    @Test("Who never meets the hub hears of it from those who do, also after a restart, and goes back by its own log")
    func offline() async throws {
        let world = try await makeWorld()
        // Carol is away while the hub is there.
        await world.carol.stop()
        try await bringBack(world.hub, for: [world.alice, world.bob])
        try await eventually(world.all) { try price(world.bob) == 1 }
        await world.hub.stop()
        await world.alice.stop()
        #expect(try price(world.carol) == 666)
        try world.carol.engine.start()
        try await eventually(world.all) { try price(world.carol) == 1 }
        // What only the hub knows came from nobody: bob may not bring it.
        #expect(try field("owner", world.carol) == "alice")
        try await bringBack(world.hub, for: [world.carol])
        try await eventually(world.all) { try field("owner", world.carol) == "bob" }
        try await stop(world.all)
    }

    @Test("Who has heard of it and was ended before it gave the change up does so at the next session")
    func restarted() async throws {
        let world = try await makeWorld()
        for peer in [world.bob, world.carol] { await peer.stop() }
        try await bringBack(world.hub, for: [world.alice])
        try await eventually(world.all) { hubAuthenticator.voidedTexts.count == 1 }
        await world.hub.stop()
        await world.alice.stop()
        let bobs = try #require(world.bob.engine.environment.authenticator as? OnlineAuthenticator)
        // As a start reads what was kept; carol knows nothing yet.
        bobs.learn(
            notices: bobs.notices + hubAuthenticator.voidedTexts, now: UnixTime(seconds: TestHub.start))
        try world.bob.engine.start()
        try world.carol.engine.start()
        try await eventually(world.all) { try price(world.bob) == 1 && price(world.carol) == 1 }
        try await stop(world.all)
    }

    @Test("What was written here before the refused change survives it, and reaches the hub")
    func ownChangeBefore() async throws {
        let world = try await makeWorld(isRelay: true, before: { try $0.put(#"{"_id": "d", "color": "red"}"#) })
        try await bringBack(world.hub, for: world.all)
        try await eventually(world.all) {
            try [world.hub, world.bob].allSatisfy { try price($0) == 1 && field("color", $0) == "red" }
        }
        try await eventually(world.all) { try refusals(world.bob, .there).isEmpty }
        try await stop(world.all)
    }

    @Test("What was written here upon the refused change is not touched: it stands refused until its user decides")
    func ownChangeAfter() async throws {
        let world = try await makeWorld(isRelay: true, after: { try $0.put(#"{"_id": "d", "color": "red"}"#) })
        let told = Told(world.bob)
        let bobs = try #require(world.bob.engine.environment.authenticator as? OnlineAuthenticator)
        try await bringBack(world.hub, for: world.all)
        try await eventually(world.all) { try bobs.hasVoided && refusals(world.bob, .there).contains(.relay) }
        #expect(try field("color", world.bob) == "red" && price(world.bob) == 666)
        #expect(try field("color", world.hub) == nil)
        #expect(told.count(of: .voided) == 0)
        try world.bob.engine.revert(collection: "cars", id: DocumentID("d").wireBytes)
        try await eventually(world.all) { try price(world.bob) == 1 && field("owner", world.bob) == "bob" }
        try await eventually(world.all) { try refusals(world.bob, .there).isEmpty }
        try await stop(world.all)
    }

    @Test("A document that was refused whole goes; once its author may make it after all, it comes back to all")
    func lifted() async throws {
        let world = try await makeWorld()
        try world.alice.put(#"{"_id": "new", "owner": "alice", "price": 7}"#)
        try await eventually(world.all) { try price(world.bob, "new") == 7 && price(world.carol, "new") == 7 }
        let alices = try #require(world.alice.engine.environment.authenticator as? OnlineAuthenticator)
        func renew(_ write: String?, epoch: Int64) throws {
            try alices.present(
                hub.credentials("alice", for: alices.pair.publicKey, read: nil, write: write, epoch: epoch),
                now: UnixTime(seconds: TestHub.start))
            world.alice.engine.grantRenewed()
        }
        await world.carol.stop()
        try renew("false", epoch: 2)
        try await bringBack(world.hub, for: [world.alice, world.bob])
        try await eventually(world.all) { try world.bob.contents()["new"] == nil && price(world.bob) == 1 }
        // Carol, without the hub, hears of it from bob.
        await world.hub.stop()
        try world.carol.engine.start()
        try await eventually(world.all) { try world.carol.contents()["new"] == nil && price(world.carol) == 1 }
        await world.carol.stop()
        try await bringBack(world.hub, for: [world.alice, world.bob])
        try renew(nil, epoch: 3)
        try await eventually(world.all) {
            try [world.hub, world.bob].allSatisfy { try price($0, "new") == 7 && price($0) == 666 }
        }
        await world.hub.stop()
        try world.carol.engine.start()
        try await eventually(world.all) { try price(world.carol, "new") == 7 }
        try await stop(world.all)
    }

    @Test(
        "Nobody but a hub of the app makes others give anything up: what is forged, foreign, old or edited changes nothing"
    )
    func forged() async throws {
        let world = try await makeWorld()
        let name = Array("cars".utf8) + [0] + DocumentID("d").wireBytes
        let alice = try #require(world.alice.replica.ownActors().last).id
        let subject = VoidedNotice.Subject(
            document: name.withUnsafeBytes { ContentHash.digest($0) }, actor: alice)
        let time = UnixTime(seconds: TestHub.start)
        func notice(
            _ issuer: GrantIssuer, sequence: Int64 = 1, lifted: Bool = false, at time: UnixTime = time
        ) throws -> String {
            let range: (UInt64, UInt64) = lifted ? (9, 9) : (0, 1 << 62)
            let notice = try issuer.void(
                subject, after: HybridTime(rawValue: range.0), through: HybridTime(rawValue: range.1),
                sequence: sequence, now: time)
            return notice.text
        }
        func issuer(_ appID: String, _ pair: PeerKeyPair) throws -> GrantIssuer {
            let certificate = try HubCertificate.issue(
                for: pair.publicKey, appID: appID, validFrom: old, expiresAt: time.adding(1000), root: hub.root)
            return try GrantIssuer(appID: appID, keys: [GrantIssuer.Key(pair: pair, certificate: certificate)])
        }
        let old = time.adding(-AuthenticationLimits.voidedSeconds)
        let bobs = try #require(world.bob.engine.environment.authenticator as? OnlineAuthenticator)
        // Of another root; long over; for another app by the same key; of a key that no certificate at hand names.
        let foreign = [
            try notice(TestHub().issuer), try notice(issuer(TestHub.appID, hub.pair), at: old),
            try notice(issuer("com.example.other", hub.pair)),
            try notice(issuer(TestHub.appID, PeerKeyPair.generate())),
        ]
        for text in foreign { world.carol.engine.tellNotices(NoticeMessage.messages([text])) }
        // What is heard after them shows that they have been: a later notice that nothing is refused, and then an older one.
        let lifted = try notice(hub.issuer, sequence: 2, lifted: true)
        world.carol.engine.tellNotices(NoticeMessage.messages([lifted]))
        world.carol.engine.tellNotices(NoticeMessage.messages([try notice(hub.issuer)]))
        let mark = try hub.issuer.revoke(.user(ExactString("test|dan")), sequence: 1, now: time).text
        world.carol.engine.tellNotices(NoticeMessage.messages([mark]))
        try await eventually(world.all) { bobs.revocations.count == 1 }
        #expect(bobs.voidedTexts == [lifted])
        var parts = try notice(hub.issuer, sequence: 3).split(separator: ".")
        parts[2] = lifted.split(separator: ".")[2]
        world.carol.engine.tellNotices(NoticeMessage.messages([parts.joined(separator: ".")]))
        try await eventually(world.all) {
            world.carol.engine.status.dials.contains {
                $0.lastError?.error.context["close"] == CloseCode.protocolError
            }
        }
        #expect(bobs.voidedTexts == [lifted])
        #expect(try price(world.bob) == 666)
        try await stop(world.all)
    }
}

extension DocumentID {
    /// The canonical CBOR that names a document on the wire.
    fileprivate var wireBytes: [UInt8] {
        var bytes = ByteBuffer()
        appendCBOR(to: &bytes)
        return bytes.array
    }
}
