import DocDB
import DocDBAuth
import DocDBCore
import DocDBHub
import DocDBReplication
import DocDBSync
import Foundation
import Testing

@Suite("Attacks on a hub: what a peer writes", .timeLimit(.minutes(10)))
struct WriteAttackTests {
    let forger = Forger()

    /// The actor that a database writes with.
    private func actor(_ db: Database) throws -> ActorID {
        try #require(db.sync.engine.environment.ownActors().last).actor
    }

    @Test("Claims about another peer's actor are refused, and what that peer writes later arrives everywhere")
    func poisoning() async throws {
        let hub = try AttackHub()
        let bob = try await hub.honest("bob")
        let alice = try await hub.honest("alice")
        let cars = bob.collection("cars")
        try cars.insert(["_id": "b1", "state": "for sale", "owner": "dev|bob", "price": 1])
        try await eventually { try AttackHub.documents(alice)["b1"] != nil }
        let victim = try actor(bob)
        // She may write everything, but not in another's name.
        let mallory = try WirePeer(try hub.authenticator("mallory"))
        try await mallory.establish(hub.syncURL)
        let own = try mallory.actor
        let ahead = VersionVector(actor: victim, time: Forger.time(100))
        let mine = try forger.state(["price": 666], by: own)
        let lies: [(String, [UInt8])] = [
            ("seen", try forger.content("b1", forger.claiming(mine, seen: ahead))),
            ("seen of a new document", try forger.content("b2", forger.claiming(mine, seen: ahead))),
            ("deleted", try forger.content("b1", forger.claiming(mine, deleted: ahead))),
            ("deleted and dead", try forger.content("b1", DocumentState(deleted: ahead))),
            ("left, deleted", try forger.content("b1", DocumentState(deleted: ahead), .leftDeleted)),
            ("left by the filter", try forger.content("b1", forger.claiming(mine, seen: ahead), .leftFilter)),
            ("not held", try forger.content("b1", forger.claiming(mine, seen: ahead), .notHeld)),
            (
                "written in its name",
                try forger.content("b1", forger.state(["price": 666], by: victim, at: Forger.time(50)))
            ),
            ("created in its name", try forger.content("b3", forger.state(["price": 666], by: victim))),
            (
                "the hub's name",
                try forger.content("b1", forger.state(["price": 666], by: try actor(hub.hub.db), at: Forger.time(50)))
            ),
            ("nobody's name", try forger.content("b4", forger.state(["price": 666], by: ActorID(high: 1, low: 2)))),
        ]
        // Nor does it help to claim the actor: its nonce would have to come from her key.
        mallory.say(.actors([Hello.OwnedActor(actor: victim, nonce: [UInt8](repeating: 1, count: 16))]))
        let before = try hub.hubDocuments
        for (name, content) in lies { #expect(try await mallory.outcome(content) == .relay, "\(name)") }
        #expect(try hub.hubDocuments == before)
        // Mallory's own are still taken, and so is what the victim writes from now on, by all.
        #expect(
            try await mallory.outcome(forger.content("m1", forger.state(["owner": "test|mallory"], by: own))) == nil)
        for id in ["b1", "b2", "b3", "b4"] {
            try cars.upsert(["_id": .string(id), "state": "for sale", "owner": "dev|bob", "price": 2])
        }
        for db in [hub.hub.db, alice] {
            try await eventually {
                let documents = try AttackHub.documents(db)
                return ["b1", "b2", "b3", "b4"].allSatisfy { documents[$0]?["price"]?.intValue == 2 }
            }
        }
        for db in [alice, bob] { try db.close() }
    }

    @Test("Of two payloads under one dot all peers come to one; under another's dot none is taken")
    func twoPayloads() async throws {
        let hub = try AttackHub()
        let bob = try await hub.honest("bob")
        let mallory = try WirePeer(try hub.authenticator("mallory"))
        try await mallory.establish(hub.syncURL)
        let time = Forger.time()
        let own = try mallory.actor
        let warnings = LineLog()
        let token = hub.hub.db.sync.engine.warningObservers.add { warnings.append($0.message) }
        for price in [5, 7, 6] {
            let state = try forger.state(["price": .int(Int64(price))], by: own, at: time)
            #expect(try await mallory.outcome(forger.content("m1", state)) == nil)
        }
        for db in [hub.hub.db, bob] {
            try await eventually { try AttackHub.documents(db)["m1"]?["price"]?.intValue == 7 }
        }
        #expect(warnings.text.contains("two values have one stamp"))
        token.cancel()
        // What bob wrote, with other content under the very dot: greater bytes, which would win.
        try bob.collection("cars").insert(["_id": "b1", "owner": "dev|bob", "price": 5])
        try await eventually { try hub.hubDocuments["b1"] != nil }
        let dot = try #require(AttackHub.seen("b1", bob).elements.first)
        let before = try hub.hubDocuments
        let forged = try forger.state(["owner": "dev|bob", "price": 9], by: dot.actor, at: dot.time)
        #expect(try await mallory.outcome(forger.content("b1", forged)) == .relay)
        #expect(try hub.hubDocuments == before)
        try await hub.expectHonestService(bob, unchanged: before)
        try bob.close()
    }

    @Test("What a peer may not write is refused, in collections that it does not know too, and leaves no trace")
    func forbidden() async throws {
        let hub = try AttackHub()
        let bob = try await hub.honest("bob")
        try bob.collection("cars").insert(["_id": "b1", "owner": "dev|bob", "price": 5])
        try await eventually { try hub.hubDocuments["b1"] != nil }
        let mallory = try WirePeer(
            try hub.authenticator("mallory", read: ["cars": "true"], write: ["cars": "owner == $user.id"]))
        try await mallory.establish(hub.syncURL)
        let own = try mallory.actor
        let seen = try AttackHub.seen("b1", bob)
        let before = try hub.hubDocuments
        func state(_ value: Value) throws -> DocumentState { try forger.state(value, by: own) }
        let writes: [(String, [UInt8])] = [
            ("another's field", try forger.content("b1", state(["price": 1]))),
            ("another's owner", try forger.content("b1", state(["owner": "test|mallory"]))),
            ("another's deletion", try forger.content("b1", DocumentState(deleted: seen))),
            ("for another", try forger.content("new", state(["owner": "dev|bob"]))),
            ("for nobody", try forger.content("new", state(["price": 1]))),
            ("another collection", try forger.content("new", state(["owner": "test|mallory"]), in: "secrets")),
        ]
        for (name, content) in writes { #expect(try await mallory.outcome(content) == .denied, "\(name)") }
        #expect(try hub.hubDocuments == before)
        // Of collections with nothing but refused documents it makes some, to remember the refusals, and no more.
        var isOpen = true
        for number in 0..<100 where isOpen {
            let content = try forger.content("new", state(["owner": "test|mallory"]), in: "made-up-\(number)")
            isOpen = (try? await mallory.outcome(content)) == .denied
        }
        #expect(mallory.heard.close?.code == CloseCode.limitReached)
        #expect(try hub.hub.db.collectionNames().count <= SyncLimits.refusedCollectionCount + 1)
        #expect(try hub.hubDocuments == before)
        // What it may write is taken.
        let again = try WirePeer(
            try hub.authenticator("again", read: ["cars": "true"], write: ["cars": "owner == $user.id"]))
        try await again.establish(hub.syncURL)
        let permitted = try forger.state(["owner": "test|again"], by: try again.actor)
        #expect(try await again.outcome(forger.content("m1", permitted)) == nil)
        try await eventually { try AttackHub.documents(bob)["m1"] != nil }
        try bob.close()
    }

    @Test("A change that was refused is refused from whoever brings it, also from who may relay")
    func relayed() async throws {
        let hub = try AttackHub()
        let bob = try await hub.honest("bob")
        try bob.collection("cars").insert(["_id": "b1", "owner": "dev|bob", "price": 5])
        try await eventually { try hub.hubDocuments["b1"] != nil }
        let mine: AttackHub.Queries = ["cars": "owner == $user.id"]
        let mallory = try WirePeer(try hub.authenticator("mallory", write: mine))
        try await mallory.establish(hub.syncURL)
        let forged = try forger.content("b1", forger.state(["price": 666], by: try mallory.actor))
        let before = try hub.hubDocuments
        #expect(try await mallory.outcome(forged) == .denied)
        let friend = try WirePeer(try hub.authenticator("friend"))
        try await friend.establish(hub.syncURL)
        #expect(try await friend.outcome(forged) == .relay)
        let relay = try WirePeer(try hub.authenticator("relay", write: mine, isRelay: true))
        try await relay.establish(hub.syncURL)
        #expect(try await relay.outcome(forged) == .denied)
        // Not even from who may write all of it, and is trusted with others' changes.
        let trusted = try WirePeer(try hub.authenticator("trusted", isRelay: true))
        try await trusted.establish(hub.syncURL)
        #expect(try await trusted.outcome(forged) == .denied)
        #expect(try hub.hubDocuments == before)
        try await hub.expectHonestService(bob, unchanged: before)
        try bob.close()
    }

    @Test("What a hub has refused it tells all devices in signed notices, and keeps them over a restart")
    func toldRefusals() async throws {
        let hub = try AttackHub()
        let bob = try await hub.honest("bob")
        let mallory = try WirePeer(try hub.authenticator("mallory", write: ["cars": "owner == $user.id"]))
        try await mallory.establish(hub.syncURL)
        let actor = try mallory.actor
        for (id, price) in [("m1", 1), ("m1", 2), ("m2", 3)] {
            let forged = try forger.state(["owner": "test|bob", "price": .int(Int64(price))], by: actor)
            #expect(try await mallory.outcome(forger.content(DocumentID(id), forged)) == .denied)
        }
        var learnt = GrantVerifier(appID: AttackHub.appID, roots: [hub.root.publicKey])
        for key in hub.keys.keys { try learnt.learn(certificate: key.certificate.text, now: AttackHub.now) }
        let verifier = learnt
        let kept = HubFiles(directory: hub.directory + "/hub").voided
        @Sendable func notices(_ path: String) throws -> Set<VoidedNotice> {
            let texts = try (HubFiles.read(path) ?? []).split(separator: 10).map { String(decoding: $0, as: UTF8.self) }
            return try Set(
                texts.filter { try GrantVerifier.kind(ofNotice: $0) == .voided }.map { try verifier.verify(voided: $0) }
            )
        }
        // Of each document the newest: the third of the changes, and the second upon the first.
        try await eventually { try notices(kept).count == 2 && notices(kept).allSatisfy { $0.after == .zero } }
        let path = hub.directory + "/bob.docdb.credentials/notices"
        try await eventually { try notices(path) == notices(kept) }
        let all = try notices(kept)
        #expect(all.allSatisfy { $0.subject.actor == actor && !$0.isLifted })
        #expect(try !hub.hub.db.collectionNames().contains("cars") || hub.hubDocuments.isEmpty)
        try bob.close()
    }

    @Test("A document whose creation was refused comes from nobody, until its author makes what it may")
    func voidedCreation() async throws {
        let hub = try AttackHub()
        let mallory = try WirePeer(try hub.authenticator("mallory", write: ["cars": "owner == $user.id"]))
        try await mallory.establish(hub.syncURL)
        let actor = try mallory.actor
        let forged = try forger.state(["owner": "test|bob"], by: actor)
        #expect(try await mallory.outcome(forger.content("m1", forged)) == .denied)
        let trusted = try WirePeer(try hub.authenticator("trusted", isRelay: true))
        try await trusted.establish(hub.syncURL)
        #expect(try await trusted.outcome(forger.content("m1", forged)) == .denied)
        // What has nothing to do with it is taken from the same peer.
        let other = try forger.state(["owner": "test|bob"], by: actor)
        #expect(try await trusted.outcome(forger.content("m2", other)) == nil)
        #expect(try Set(hub.hubDocuments.keys) == ["m2"])
        let mended = try forger.state(["owner": "test|mallory"], by: actor)
        #expect(try await mallory.outcome(forger.content("m1", mended)) == nil)
        try await eventually { try hub.hubDocuments["m1"] != nil }
        // Now it is known, and from whom it comes makes no difference.
        #expect(try await trusted.outcome(forger.content("m1", mended)) == nil)
    }
}
