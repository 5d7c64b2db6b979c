import DocDB
import DocDBAuth
import DocDBCore
import DocDBHub
import DocDBReplication
import DocDBStorage
import DocDBSync
import DocDBTransport
import Foundation
import Testing

@Suite("Attacks on a hub: who a peer is", .timeLimit(.minutes(10)))
struct HandshakeAttackTests {
    /// Changes one member of a token's payload, and keeps its signature.
    private func edited(_ token: String, _ change: (inout [String: Value]) -> Void) throws -> String {
        var parts = token.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
        var members = try StrictJSON.object(try #require(Base64URL.decode(parts[1])))
        change(&members)
        parts[1] = Base64URL.encode(try StrictJSON.text(members))
        return parts.joined(separator: ".")
    }

    /// A token with another header, signed anew by a key.
    private func resigned(_ token: String, header: [String: Value], _ pair: PeerKeyPair) throws -> String {
        let payload = token.split(separator: ".", omittingEmptySubsequences: false)[1]
        let signed = Base64URL.encode(try StrictJSON.text(header)) + "." + payload
        return signed + "." + Base64URL.encode(try pair.signature(of: Array(signed.utf8)))
    }

    /// Tries to establish a session, and returns why that failed.
    private func refusal(_ authenticator: any SessionAuthenticator, _ hub: AttackHub) async throws -> String? {
        let peer = try WirePeer(authenticator, interest: .everything)
        try await peer.connect(hub.syncURL)
        try await eventually { peer.heard.close != nil || peer.heard.number != nil }
        #expect(peer.heard.number == nil)
        #expect(!peer.heard.contains("secret-content"))
        return peer.heard.close?.code
    }

    @Test("Grants that were edited, stolen, outdated, or are none, and keys that prove nothing, open no session")
    func grants() async throws {
        let hub = try AttackHub()
        try hub.hub.db.collection("cars").insert(["_id": "1", "state": "sold", "note": "secret-content"])
        let bob = try await hub.honest("bob")
        let before = try hub.hubDocuments
        let (pair, victim) = (try PeerKeyPair.generate(), try PeerKeyPair.generate())
        let good = try hub.grant("mallory", pair.publicKey, read: ["cars": "false"], write: [:])
        let stolen = try hub.grant("victim", victim.publicKey)
        func lying(_ text: String) -> LyingAuthenticator { LyingAuthenticator(pair, presenting: text) }
        let now = AttackHub.now
        // Known to the hub: a newer epoch of the same user.
        let newer = try hub.authenticator("twice", epoch: 5)
        let first = try WirePeer(newer)
        try await first.establish(hub.syncURL)
        let strangers = try HubKeys.new(appID: AttackHub.appID, root: try PeerKeyPair.generate(), now: now)
        let others = try HubKeys.new(appID: "com.example.boats", root: hub.root, now: now)
        let everything: Value = .object(["everything": .bool(true)])
        let header: [String: Value] = [
            "alg": "EdDSA", "typ": "docdb-grant+jwt", "kid": .string(pair.publicKey.thumbprint),
        ]
        var none = good.grant.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
        none[0] = Base64URL.encode(Array(#"{"alg":"none","typ":"docdb-grant+jwt"}"#.utf8))
        none[2] = ""
        let identityPoint = [1] + [UInt8](repeating: 0, count: 31)
        let cases: [(String, LyingAuthenticator, String)] = [
            (
                "permissions edited",
                lying(
                    try edited(good.grant) { $0["permissions"] = .object(["read": everything, "write": everything]) }),
                CloseCode.proofFailed
            ),
            (
                "expiry edited", lying(try edited(good.grant) { $0["exp"] = .int(now.seconds + 9_999_999) }),
                CloseCode.proofFailed
            ),
            ("made a relay", lying(try edited(good.grant) { $0["relay"] = .bool(true) }), CloseCode.proofFailed),
            ("signed by its own key", lying(try resigned(good.grant, header: header, pair)), CloseCode.proofFailed),
            ("alg none", lying(none.joined(separator: ".")), CloseCode.proofFailed),
            ("another peer's", lying(stolen.grant), CloseCode.proofFailed),
            (
                "another peer's, and its key named",
                LyingAuthenticator(pair, presenting: stolen.grant, peerKey: victim.publicKey.bytes),
                CloseCode.proofFailed
            ),
            (
                "proven one, shown another", LyingAuthenticator(pair, presenting: stolen.grant, proven: good.grant),
                CloseCode.proofFailed
            ),
            ("older epoch", lying(try hub.grant("twice", pair.publicKey, epoch: 4).grant), CloseCode.proofFailed),
            (
                "expired", lying(try hub.grant("late", pair.publicKey, seconds: 60, now: now.adding(-61)).grant),
                CloseCode.expired
            ),
            (
                "from the future", lying(try hub.grant("early", pair.publicKey, now: now.adding(600)).grant),
                CloseCode.proofFailed
            ),
            (
                "another root's", lying(try hub.grant("mallory", pair.publicKey, keys: strangers).grant),
                CloseCode.proofFailed
            ),
            (
                "another app's", lying(try hub.grant("mallory", pair.publicKey, keys: others).grant),
                CloseCode.proofFailed
            ),
            ("the hub's certificate", lying(hub.keys.keys[0].certificate.text), CloseCode.proofFailed),
            ("a token of a provider", lying("alice-token"), CloseCode.proofFailed),
            ("nothing", lying(""), CloseCode.proofFailed),
            (
                "the identity point",
                LyingAuthenticator(
                    pair, presenting: good.grant, peerKey: identityPoint,
                    signature: [UInt8](repeating: 0, count: 64)), CloseCode.proofFailed
            ),
            (
                "the identity point signs all",
                LyingAuthenticator(
                    pair, presenting: good.grant, peerKey: identityPoint,
                    signature: identityPoint + [UInt8](repeating: 0, count: 32)), CloseCode.proofFailed
            ),
            (
                "no key", LyingAuthenticator(pair, presenting: good.grant, peerKey: [], signature: []),
                CloseCode.proofFailed
            ),
            (
                "another app", LyingAuthenticator(pair, presenting: good.grant, appID: "com.example.boats"),
                CloseCode.appMismatch
            ),
        ]
        for (name, authenticator, code) in cases {
            #expect(try await refusal(authenticator, hub) == code, "\(name)")
        }
        // What all of them were made from opens one, so that it is the lie that was refused.
        let honest = try WirePeer(lying(good.grant + "\n" + good.certificates.joined(separator: "\n")))
        try await honest.establish(hub.syncURL)
        try await hub.expectHonestService(bob, unchanged: before)
        try bob.close()
    }

    @Test("A handshake that was recorded opens no second session")
    func replay() async throws {
        let hub = try AttackHub()
        let authenticator = try hub.authenticator("victim")
        let victim = try WirePeer(authenticator)
        try await victim.establish(hub.syncURL)
        let recorded = victim.heard.sent
        victim.cut()
        let attacker = try WirePeer(authenticator)
        try await attacker.connect(hub.syncURL, hasSession: false)
        for frame in recorded { attacker.say(frame) }
        try await eventually { attacker.heard.close != nil }
        #expect(attacker.heard.close?.code == CloseCode.proofFailed)
        #expect(attacker.heard.number == nil)
        let connected = hub.hub.db.sync.status.peers.count { $0.isConnected }
        #expect(connected == 0)
    }

    @Test("A proof that was made for one peer, and is forwarded to the hub, is worth nothing there")
    func forwarded() async throws {
        let hub = try AttackHub()
        let bob = try await hub.honest("bob")
        // Mallory, who has a grant, lets the victim connect to a database of hers, and shows the hub what it says.
        let listening = try await hub.honest("alice") { $0.listen = SyncConfiguration.Listen(port: 0) }
        let port = try #require(listening.sync.engine.status.listening).port
        let authenticator = try hub.authenticator("victim")
        let victim = try WirePeer(authenticator)
        try await victim.establish("ws://127.0.0.1:\(port)/v1/sync")
        let attacker = try WirePeer(authenticator)
        try await attacker.connect(hub.syncURL, hasSession: false)
        for frame in victim.heard.sent.prefix(3) { attacker.say(frame) }
        try await eventually { attacker.heard.close != nil }
        #expect(attacker.heard.close?.code == CloseCode.proofFailed)
        #expect(attacker.heard.number == nil)
        try listening.close()
        try bob.close()
    }

    @Test("The store of another peer cannot be taken over by naming its id")
    func anothersStore() async throws {
        let hub = try AttackHub()
        let bob = try await hub.honest("bob")
        let before = try hub.hubDocuments
        func victims() -> [PeerStatus] { hub.hub.db.sync.engine.status.peers.filter { $0.name != "mallory" } }
        let since = try #require(victims().first).sinceWallNanoseconds
        for id in try [#require(victims().first).storeID, bob.sync.engine.ownStoreID, bob.store.storeID] {
            let attacker = try WirePeer(try hub.authenticator("mallory"), storeID: id)
            try await attacker.connect(hub.syncURL)
            try await eventually { !attacker.heard.acknowledgements.isEmpty || attacker.heard.close != nil }
            #expect(victims().map(\.sinceWallNanoseconds) == [since])
            #expect(victims().map(\.isConnected) == [true])
            attacker.cut()
            try await eventually { !attacker.isOpen }
        }
        try await hub.expectHonestService(bob, unchanged: before)
        try bob.close()
    }
}
