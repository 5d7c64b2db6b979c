import DocDB
import DocDBAuth
import DocDBCore
import DocDBHub
import DocDBReplication
import Foundation
import Testing

@Suite("A second user of one database", .timeLimit(.minutes(10)))
struct OwnerAttackTests {
    private func code(_ db: Database, _ token: String) async -> DocDBError.Code? {
        do {
            try await db.auth.login(token: token, provider: "dev")
            return nil
        } catch { return (error as? DocDBError)?.code }
    }

    @Test("Changes of one user that the hub has not got never travel under another's grant")
    func pending() async throws {
        let hub = try AttackHub()
        let db = try hub.open("shared")
        try await db.auth.login(token: "alice-token", provider: "dev")
        try db.collection("cars").insert(["_id": "a1", "owner": "dev|alice", "state": "for sale"])
        // Without a clean-up, and with one that keeps what the hub has not got.
        try await db.auth.logout()
        #expect(await code(db, "bob-token") == .anotherUser)
        try await db.auth.logout {}
        #expect(try AttackHub.documents(db)["a1"] != nil)
        #expect(await code(db, "bob-token") == .anotherUser)
        #expect(!db.auth.status.isAuthenticated)
        try db.sync.start()
        await db.sync.stop()
        #expect(try hub.hubDocuments.isEmpty)
        // The same user still may, and it arrives.
        try await db.auth.login(token: "alice-token", provider: "dev")
        try db.sync.start()
        try await eventually { try hub.hubDocuments["a1"] != nil && db.sync.isAcknowledged("cars", "a1") }
        // Then another may come.
        try await db.auth.logout { _ = try db.collection("cars").findAll().evict() }
        #expect(await code(db, "bob-token") == nil)
        try db.close()
    }

    @Test("Who logs in after another gets what they may read, and nothing that was told to the other")
    func following() async throws {
        let hub = try AttackHub()
        let cars = hub.hub.db.collection("cars")
        try cars.insert(["_id": "sale", "state": "for sale", "owner": "dev|x"])
        try cars.insert(["_id": "sold", "state": "sold", "owner": "dev|x"])
        let db = try hub.open("shared")
        try await db.auth.login(token: "alice-token", provider: "dev")
        try db.sync.start()
        let subscription = try db.collection("cars").findAll().subscribe()
        try await eventually { try AttackHub.documents(db).keys.sorted() == ["sale"] }
        try await db.auth.logout { _ = try db.collection("cars").findAll().evict(force: true) }
        #expect(try AttackHub.documents(db).isEmpty)
        try await db.auth.login(token: "bob-token", provider: "dev")
        try db.sync.start()
        try await eventually { try AttackHub.documents(db).keys.sorted() == ["sale", "sold"] }
        // And back to the one who may read less.
        try await db.auth.logout { _ = try db.collection("cars").findAll().evict(force: true) }
        try await db.auth.login(token: "alice-token", provider: "dev")
        try db.sync.start()
        try await eventually { try AttackHub.documents(db).keys.sorted() == ["sale"] }
        subscription.cancel()
        try db.close()
    }
}
