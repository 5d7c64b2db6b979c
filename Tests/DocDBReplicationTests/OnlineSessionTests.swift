import Dispatch
import DocDBAuth
import DocDBCore
import DocDBReplication
import DocDBStorage
import DocDBSync
import Synchronization
import Testing

@Suite("Sessions with grants of a hub", .timeLimit(.minutes(10)))
struct OnlineSessionTests {
    let network = MemoryNetwork()
    let clock = ManualClock(seconds: TestHub.start)
    let hub: TestHub

    init() throws { hub = try TestHub() }

    private func startHub() throws -> EnginePeer {
        let peer = try EnginePeer("hub", on: network, authenticator: hub.authenticator(), clock: clock) {
            $0.isKeeper = true
            $0.wantsEverything = true
        }
        try peer.engine.start()
        return peer
    }

    private func startDevice(_ name: String, _ authenticator: OnlineAuthenticator) throws -> EnginePeer {
        let peer = try EnginePeer(name, on: network, authenticator: authenticator, clock: clock) {
            $0.urls = ["memory://127.hub:1"]
        }
        try peer.subscribe()
        try peer.engine.start()
        return peer
    }

    private func ids(_ peer: EnginePeer) throws -> Set<String> {
        Set(try peer.contents().keys.map(\.description))
    }

    private func closeCode(_ peer: EnginePeer) -> String? {
        peer.engine.status.dials.first?.lastError?.error.context["close"]
    }

    @Test("Each user receives what their permissions let them read, and loses what leaves it")
    func reading() async throws {
        let hub = try startHub()
        try hub.put(#"{"_id": "a", "state": "for sale", "price": 1}"#)
        try hub.put(#"{"_id": "b", "state": "sold", "price": 2}"#)
        try hub.put(#"{"_id": "c", "state": "for sale", "price": 3}"#, in: "secrets")
        let alice = try startDevice("alice", self.hub.device("alice", read: "state == 'for sale'", write: "false"))
        let bob = try startDevice("bob", self.hub.device("bob", read: nil, write: "false"))
        try bob.subscribe(in: "secrets")
        try alice.subscribe(in: "secrets")
        try await eventually([alice, bob]) { try bob.contents().count == 2 && bob.contents("secrets").count == 1 }
        try await eventually([alice]) { try alice.contents().count == 1 }
        #expect(try ids(alice) == ["a"])
        #expect(try alice.contents("secrets").isEmpty)
        try hub.put(#"{"_id": "b", "state": "for sale"}"#)
        try await eventually([alice]) { try alice.contents().count == 2 }
        // The content that it has left with never travels: the document goes.
        try hub.put(#"{"_id": "a", "state": "sold", "buyer": "nobody's business"}"#)
        try await eventually([alice]) { try alice.contents().count == 1 }
        #expect(try ids(alice) == ["b"])
        try await eventually([bob]) {
            try bob.contents().values.contains { $0["buyer"]?.stringValue == "nobody's business" }
        }
        for peer in [alice, bob, hub] { await peer.stop() }
    }

    @Test("A write that the permissions do not cover is refused and told, and others proceed")
    func writing() async throws {
        let hub = try startHub()
        try hub.put(#"{"_id": "theirs", "owner": "bob"}"#)
        let alice = try startDevice("alice", self.hub.device("alice", read: nil, write: "owner == 'alice'"))
        try await eventually([alice]) { try alice.contents().count == 1 }
        let refused = Lock<[RefusalCode]>([])
        let token = alice.engine.apartObservers.add { news in
            if !news.isSettled, news.document.side == .there { refused.withLock { $0.append(news.document.code) } }
        }
        try alice.put(#"{"_id": "mine", "owner": "alice"}"#)
        try alice.put(#"{"_id": "stolen", "owner": "bob"}"#)
        // Before the change it is not alice's, whatever it is made into.
        try alice.put(#"{"_id": "theirs", "owner": "alice"}"#)
        try await eventually([alice, hub]) {
            try refused.withLock { $0.count } == 2 && hub.contents().count == 2
        }
        #expect(refused.withLock { $0 } == [.denied, .denied])
        let contents = try hub.contents()
        #expect(Set(contents.keys.map(\.description)) == ["theirs", "mine"])
        #expect(contents.values.compactMap { $0["owner"]?.stringValue }.sorted() == ["alice", "bob"])
        // Nothing vanishes: what was written is still there.
        #expect(try alice.contents().count == 3)
        token.cancel()
        for peer in [alice, hub] { await peer.stop() }
    }

    @Test("Sessions end on both sides in the second of expiry, and a new grant resumes them", arguments: [false, true])
    func expiry(isClockSetBack: Bool) async throws {
        let hub = try startHub()
        let authenticator = try self.hub.device("alice", read: nil, write: nil, seconds: 20)
        let alice = try startDevice("alice", authenticator)
        try hub.put(#"{"_id": "early"}"#)
        try await eventually([alice]) { try alice.contents().count == 1 }
        if isClockSetBack { clock.setBack(seconds: 10) }
        clock.advance(nanoseconds: 19_999_999_999)
        try hub.put(#"{"_id": "in time"}"#)
        try await eventually([alice]) { try alice.contents().count == 2 }
        #expect(alice.engine.status.peers.first?.isConnected == true)
        clock.advance(nanoseconds: 1)
        try hub.put(#"{"_id": "late"}"#)
        try alice.put(#"{"_id": "local"}"#)
        try await eventually([alice, hub]) {
            [alice, hub].allSatisfy { $0.engine.status.peers.allSatisfy { !$0.isConnected } }
        }
        try await eventually([alice]) { closeCode(alice) == CloseCode.expired }
        // Without a new grant nothing is tried.
        clock.advance(nanoseconds: 60_000_000_000)
        try await eventually([alice]) { alice.engine.status.dials.first?.state == .withoutGrant }
        #expect(try ids(alice) == ["early", "in time", "local"])
        #expect(try ids(hub) == ["early", "in time", "late"])
        let now = Int64(clock.wallNanoseconds / 1_000_000_000)
        try authenticator.present(
            self.hub.credentials("alice", for: authenticator.pair.publicKey, read: nil, write: nil, now: now),
            now: UnixTime(seconds: now))
        alice.engine.grantRenewed()
        try await eventually([alice, hub]) { try alice.contents().count == 4 && hub.contents().count == 4 }
        for peer in [alice, hub] { await peer.stop() }
    }

    @Test("A renewal takes effect in the running session: what it adds arrives, what it takes away leaves")
    func renewal() async throws {
        let hub = try startHub()
        for state in ["for sale", "sold", "scrapped"] { try hub.put(#"{"_id": "\#(state)", "state": "\#(state)"}"#) }
        let authenticator = try self.hub.device("alice", read: "state == 'for sale'", write: "false", seconds: 30)
        let alice = try startDevice("alice", authenticator)
        try await eventually([alice]) { try alice.contents().count == 1 }
        let since = alice.engine.status.peers.first?.sinceWallNanoseconds
        clock.advance(nanoseconds: 20_000_000_000)
        func renew(_ read: String?, epoch: Int64) throws {
            let now = Int64(clock.wallNanoseconds / 1_000_000_000)
            try authenticator.present(
                self.hub.credentials(
                    "alice", for: authenticator.pair.publicKey, read: read, write: "false", epoch: epoch, seconds: 30,
                    now: now), now: UnixTime(seconds: now))
            alice.engine.grantRenewed()
        }
        try renew("state in ['for sale', 'sold']", epoch: 2)
        try await eventually([alice]) { try alice.contents().count == 2 }
        clock.advance(nanoseconds: 20_000_000_000)
        #expect(alice.engine.status.peers.first?.isConnected == true)
        try renew("state == 'scrapped'", epoch: 3)
        try await eventually([alice]) { try ids(alice) == ["scrapped"] }
        // What the hub says of it goes by the grant that alice has now.
        var id = ByteBuffer()
        DocumentID("scrapped").appendCBOR(to: &id)
        let explanation = try hub.engine.explain(collection: "cars", id: id.array)
        #expect(explanation.peers.first?.verdict != .notPermitted)
        #expect(alice.engine.status.peers.first?.sinceWallNanoseconds == since)
        for peer in [alice, hub] { await peer.stop() }
    }

    @Test("Who presents no grant, another's, an older or a revoked one, or one of another root, is refused")
    func refusals() async throws {
        let hubAuthenticator = try self.hub.authenticator()
        let hub = try EnginePeer("hub", on: network, authenticator: hubAuthenticator, clock: clock) {
            $0.isKeeper = true
        }
        try hub.put(#"{"_id": "secret"}"#)
        try hub.engine.start()
        let time = UnixTime(seconds: TestHub.start)
        hubAuthenticator.note(epoch: 2, of: "test|old")
        try hubAuthenticator.revoke(
            self.hub.issuer.revoke(.user(ExactString("test|gone")), sequence: 1, now: time).text, now: time)
        func authenticator() throws -> OnlineAuthenticator {
            OnlineAuthenticator(
                pair: try PeerKeyPair.generate(), verifier: GrantVerifier(appID: TestHub.appID, roots: []))
        }
        let another = try authenticator()
        let victim = try PeerKeyPair.generate()
        try another.present(
            self.hub.credentials("alice", for: victim.publicKey, read: nil, write: nil), now: time)
        let cases: [(String, OnlineAuthenticator, String)] = [
            ("another", another, CloseCode.proofFailed),
            ("old", try self.hub.device("old", read: nil, write: nil), CloseCode.proofFailed),
            ("gone", try self.hub.device("gone", read: nil, write: nil), CloseCode.revoked),
            ("root", try TestHub().device("alice", read: nil, write: nil), CloseCode.proofFailed),
        ]
        for (name, authenticator, code) in cases {
            let device = try startDevice(name, authenticator)
            try await eventually([device]) { device.engine.status.dials.first?.lastError != nil }
            #expect(closeCode(device) == code, "\(name)")
            #expect(try device.contents().isEmpty)
            await device.stop()
        }
        await hub.stop()
    }

    @Test("Without a grant nothing is dialed, and with one it is at once")
    func withoutGrant() async throws {
        let hub = try startHub()
        let authenticator = OnlineAuthenticator(
            pair: try PeerKeyPair.generate(), verifier: GrantVerifier(appID: TestHub.appID, roots: []))
        let alice = try startDevice("alice", authenticator)
        try await eventually([alice]) { alice.engine.status.dials.first?.state == .withoutGrant }
        alice.engine.nudge()
        for _ in 0..<10 { clock.advance(nanoseconds: 60_000_000_000) }
        #expect(network.attemptCount == 0)
        let now = Int64(clock.wallNanoseconds / 1_000_000_000)
        try authenticator.present(
            self.hub.credentials("alice", for: authenticator.pair.publicKey, read: nil, write: nil, now: now),
            now: UnixTime(seconds: now))
        alice.engine.grantRenewed()
        try await eventually([alice]) { alice.engine.status.peers.contains { $0.isConnected } }
        #expect(network.attemptCount == 1)
        for peer in [alice, hub] { await peer.stop() }
    }

    private func startNeighbour(
        _ name: String, _ authenticator: OnlineAuthenticator, of other: EnginePeer
    ) throws -> EnginePeer {
        let peer = try EnginePeer(name, on: network, authenticator: authenticator, clock: clock) {
            $0.urls = [other.url]
        }
        try peer.engine.start()
        return peer
    }

    private func isConnected(_ peer: EnginePeer, to name: String) -> Bool {
        peer.engine.status.peers.contains { $0.isConnected && $0.name == name }
    }

    @Test(
        "A revocation goes from device to device: sessions end, and grants are refused where the hub was never met",
        arguments: [false, true])
    func revocation(isByGrant: Bool) async throws {
        let hubAuthenticator = try self.hub.authenticator()
        let hub = try EnginePeer("hub", on: network, authenticator: hubAuthenticator, clock: clock)
        try hub.engine.start()
        let alice = try startDevice("alice", self.hub.device("alice", read: nil, write: nil))
        let bob = try startNeighbour("bob", self.hub.device("bob", read: nil, write: nil), of: alice)
        let carols = try self.hub.device("carol", read: nil, write: nil)
        let carol = try startNeighbour("carol", carols, of: bob)
        try await eventually([alice, bob, carol]) {
            isConnected(alice, to: "hub") && isConnected(bob, to: "alice") && isConnected(carol, to: "bob")
        }
        // An innocent session that must go on.
        let since = try #require(bob.engine.status.peers.first { $0.name == "alice" }).sinceWallNanoseconds
        let time = UnixTime(seconds: TestHub.start + 1)
        let grantID = try #require(carols.ownRights.grant?.id)
        let revocation = try self.hub.issuer.revoke(
            isByGrant ? .grant(ExactString(grantID)) : .user(ExactString("test|carol")), sequence: 1, now: time)
        let news = hubAuthenticator.learn(notices: [revocation.text], now: time)
        #expect(news.count == 1)
        #expect(hubAuthenticator.learn(notices: [revocation.text], now: time).isEmpty)
        hub.engine.tellNotices(news)
        try await eventually([carol]) { closeCode(carol) == CloseCode.revoked }
        try await eventually([carol]) { carol.engine.status.dials.first?.state == .withoutGrant }
        #expect(carols.isOwnGrantRevoked)
        await hub.stop()
        // Who comes later hears of it at the beginning of a session, and refuses who knows nothing yet.
        let dave = try startNeighbour("dave", self.hub.device("dave", read: nil, write: nil), of: alice)
        let daves = try #require(dave.engine.environment.authenticator as? OnlineAuthenticator)
        try await eventually([dave]) { daves.revocations.count == 1 }
        let knowsNothing = OnlineAuthenticator(
            pair: carols.pair, verifier: GrantVerifier(appID: TestHub.appID, roots: []))
        try knowsNothing.present(
            self.hub.credentials("carol", for: carols.pair.publicKey, read: nil, write: nil),
            now: UnixTime(seconds: TestHub.start))
        let again = try startNeighbour("again", knowsNothing, of: dave)
        if isByGrant {
            // Another grant of the same user is as good as ever.
            try await eventually([again]) { isConnected(again, to: "dave") }
        } else {
            try await eventually([again]) { closeCode(again) == CloseCode.revoked }
        }
        #expect(bob.engine.status.peers.first { $0.name == "alice" }?.sinceWallNanoseconds == since)
        for peer in [again, dave, carol, bob, alice] { await peer.stop() }
    }

    @Test("A forged notice ends the session that brought it, and one of a hub unknown here is passed over")
    func forgedNotices() async throws {
        let hub = try startHub()
        let alices = try self.hub.device("alice", read: nil, write: nil)
        let alice = try startDevice("alice", alices)
        try await eventually([alice]) { isConnected(alice, to: "hub") }
        let time = UnixTime(seconds: TestHub.start)
        let foreign = try TestHub().issuer.revoke(.user(ExactString("test|alice")), sequence: 1, now: time)
        alice.engine.tellNotices(NoticeMessage.messages([foreign.text]))
        let good = try self.hub.issuer.revoke(.user(ExactString("test|bob")), sequence: 1, now: time)
        alice.engine.tellNotices(NoticeMessage.messages([good.text]))
        let hubs = try #require(hub.engine.environment.authenticator as? OnlineAuthenticator)
        try await eventually([hub]) { hubs.revocations.count == 1 }
        #expect(isConnected(alice, to: "hub"))
        var parts = try self.hub.issuer.revoke(.user(ExactString("test|dan")), sequence: 2, now: time).text
            .split(separator: ".")
        parts[2] = good.text.split(separator: ".")[2]
        alice.engine.tellNotices(NoticeMessage.messages([parts.joined(separator: ".")]))
        try await eventually([alice]) { closeCode(alice) == CloseCode.protocolError }
        #expect(hubs.revocations.count == 1)
        for peer in [alice, hub] { await peer.stop() }
    }

    @Test(
        "Devices take each other's changes by grants, without the hub, and others' changes from nobody but who relays")
    func devices() async throws {
        let alice = try EnginePeer(
            "hub", on: network, authenticator: hub.device("alice", read: nil, write: nil), clock: clock)
        try alice.subscribe()
        try alice.engine.start()
        let bob = try startDevice("bob", hub.device("bob", read: nil, write: nil))
        try alice.put(#"{"_id": "from alice"}"#)
        try bob.put(#"{"_id": "from bob"}"#)
        try await eventually([alice, bob]) { try alice.contents().count == 2 && bob.contents().count == 2 }
        let carol = try EnginePeer(
            "carol", on: network, authenticator: hub.device("carol", read: nil, write: nil),
            clock: clock
        ) { $0.urls = ["memory://127.hub:1"] }
        let refused = Lock(0)
        let token = carol.engine.apartObservers.add { news in
            if news.document.side == .here, news.document.code == .relay { refused.withLock { $0 += 1 } }
        }
        try carol.subscribe()
        try carol.engine.start()
        try await eventually([carol]) { refused.withLock { $0 } == 1 }
        #expect(try ids(carol) == ["from alice"])
        token.cancel()
        for peer in [carol, bob, alice] { await peer.stop() }
    }
}
