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

    @Test("Users whose ids differ in Unicode normalisation alone are two, also to a database that is one's")
    func normalisation() async throws {
        let hub = try AttackHub(providers: { _ in
            let everything = #""permissions": {"read": {"everything": true}, "write": {"everything": true}}"#
            return """
                "names": {"type": "static", "developmentOnly": true, "tokens": [
                  {"token": "composed", "userID": "zo\u{E9}", \(everything)},
                  {"token": "decomposed", "userID": "zoe\u{301}", \(everything)}]}
                """
        })
        let db = try hub.open("shared")
        try await db.auth.login(token: "composed", provider: "names")
        try db.collection("cars").insert(["_id": "mine"])
        try await db.auth.logout()
        let error = await #expect(throws: DocDBError.self) {
            try await db.auth.login(token: "decomposed", provider: "names")
        }
        #expect(error?.code == .anotherUser)
        // After a clean-up it is the other's, and both are remembered.
        try await db.auth.logout { _ = try db.collection("cars").findAll().evict(force: true) }
        try await db.auth.login(token: "decomposed", provider: "names")
        try db.close()
        let again = try hub.open("shared")
        try await eventually { again.auth.status.isAuthenticated }
        try again.close()
    }

    /// Keeps credentials in files, but forgets whose they are, as a process that ends before it has written that down.
    private struct Forgetful: CredentialStorage {
        let files: CredentialFiles
        func load(_ name: String) throws -> [UInt8]? { try files.load(name) }
        func save(_ name: String, _ bytes: [UInt8]?) throws { if name != "memory" { try files.save(name, bytes) } }
    }

    @Test("A database whose process ended in the midst of a login is that user's")
    func interruptedLogin() async throws {
        let hub = try AttackHub()
        let storage = Forgetful(files: CredentialFiles(directory: hub.directory + "/forgetful"))
        func open() throws -> Database {
            try Database(
                at: hub.directory + "/shared.docdb",
                identity: .onlineWithAuthentication(
                    appID: AttackHub.appID, hub: hub.url, delegate: nil, storage: storage))
        }
        let db = try open()
        try await db.auth.login(token: "alice-token", provider: "dev")
        try db.collection("cars").insert(["_id": "a1", "owner": "dev|alice", "state": "for sale"])
        try db.close()
        let again = try open()
        #expect(await code(again, "bob-token") == .anotherUser)
        #expect(await code(again, "alice-token") == nil)
        try again.close()
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
