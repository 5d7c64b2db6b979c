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

@Suite("Attacks on a device: a peer that is no hub", .timeLimit(.minutes(10)))
struct EvictionAttackTests {
    /// A device of alice's that listens and does not reach the hub, with a change that no hub has.
    private func lonely(_ hub: AttackHub) async throws -> (Database, url: String) {
        let alice = try hub.open("alice")
        try await alice.auth.login(token: "alice-token", provider: "dev")
        alice.sync.configuration.connect = []
        alice.sync.configuration.listen = SyncConfiguration.Listen(port: 0)
        try alice.sync.start()
        _ = try alice.collection("cars").findAll().subscribe()
        try alice.collection("cars").insert(["_id": "a1", "owner": "dev|alice", "state": "for sale", "price": 1])
        let port = try #require(alice.sync.engine.status.listening).port
        return (alice, "ws://127.0.0.1:\(port)/v1/sync")
    }

    @Test("Its acknowledgements let nothing be evicted, whatever it says to be")
    func acknowledging() async throws {
        let hub = try AttackHub()
        let (alice, url) = try await lonely(hub)
        let mallory = try WirePeer(try hub.authenticator("mallory"), interest: .everything) { $0.isKeeper = true }
        try await mallory.establish(url)
        try await eventually { mallory.heard.contains("dev|alice") }
        // The session has acknowledged; and once more, for all that there may be.
        for snapshot in 0..<20 {
            mallory.say(.acknowledge(Acknowledge(number: 1, snapshot: UInt64(snapshot), except: [])))
        }
        mallory.say(.ping)
        try await eventually { mallory.heard.messages.contains { if case .pong = $0 { true } else { false } } }
        #expect(try !alice.sync.isAcknowledged("cars", "a1"))
        #expect(throws: DocDBError.self) { try alice.collection("cars").findAll().evict() }
        #expect(try AttackHub.documents(alice)["a1"] != nil)
        #expect(try alice.sync.pendingDocuments().count == 1)
        try alice.close()
    }

    @Test("What it says has left, was deleted or is not held stays", arguments: [false, true])
    func leaving(_ mayWrite: Bool) async throws {
        let hub = try AttackHub()
        let (alice, url) = try await lonely(hub)
        let mallory = try WirePeer(
            try hub.authenticator("mallory", write: mayWrite ? ["cars": "owner == $user.id"] : [:]),
            interest: .everything)
        try await mallory.establish(url)
        try await eventually { mallory.heard.contains("dev|alice") }
        let forger = Forger()
        for kind in [WireDocumentKind.leftAccess, .leftFilter, .leftDeleted, .notHeld] {
            _ = try await mallory.offer(try forger.content([("a1", nil, kind)]))
        }
        let deleted = DocumentState(deleted: try AttackHub.seen("a1", alice))
        for kind in [WireDocumentKind.leftDeleted, .inScope, .leftFilter, .leftAccess, .notHeld] {
            let outcome = try await mallory.outcome(try forger.content("a1", deleted, kind))
            #expect(outcome == .denied, "\(kind)")
        }
        #expect(try AttackHub.documents(alice)["a1"]?["price"]?.intValue == 1)
        // What it refuses is shown, and stays.
        let name = DocumentName(collection: "cars", id: ("a1" as DocumentID).wireBytes)
        for snapshot in 1..<20 {
            mallory.say(
                .acknowledge(
                    Acknowledge(
                        number: 1, snapshot: UInt64(snapshot),
                        except: [DocumentOutcome(name: name, code: .denied, epoch: .max, reason: "because")])))
        }
        mallory.say(.ping)
        try await eventually { mallory.heard.messages.contains { if case .pong = $0 { true } else { false } } }
        #expect(try AttackHub.documents(alice)["a1"] != nil)
        // The hub still gets it.
        await alice.sync.stop()
        alice.sync.configuration.connect = [hub.syncURL]
        try alice.sync.start()
        try await eventually { try hub.hubDocuments["a1"] != nil }
        try alice.close()
    }

    @Test("A peer that gives itself out for the hub's store changes nothing of what is known of the hub")
    func posing() async throws {
        let hub = try AttackHub()
        let bob = try await hub.honest("bob")
        try bob.collection("cars").insert(["_id": "b1", "owner": "dev|bob"])
        try await eventually { try hub.hubDocuments["b1"] != nil && bob.sync.isAcknowledged("cars", "b1") }
        await bob.sync.stop()
        bob.sync.configuration.connect = []
        bob.sync.configuration.listen = SyncConfiguration.Listen(port: 0)
        try bob.sync.start()
        try bob.collection("cars").insert(["_id": "b2", "owner": "dev|bob"])
        let url = "ws://127.0.0.1:\(try #require(bob.sync.engine.status.listening).port)/v1/sync"
        let replica = bob.sync.engine.environment.replica
        let before = try replica.read { try $0.peers() }
        #expect(before.map(\.isKeeper) == [true])
        for id in [before[0].storeID, hub.hub.db.store.storeID] {
            let mallory = try WirePeer(
                try hub.authenticator("mallory"), interest: .everything, storeID: id
            ) { $0.isKeeper = true }
            try await mallory.connect(url)
            try await eventually { mallory.heard.contains("dev|bob") || mallory.heard.close != nil }
            #expect(try replica.read { try $0.peers() }.filter { $0.number == before[0].number } == before)
            mallory.cut()
            try await eventually { !mallory.isOpen }
        }
        #expect(try !bob.sync.isAcknowledged("cars", "b2"))
        #expect(try bob.sync.isAcknowledged("cars", "b1"))
        try bob.close()
    }
}
