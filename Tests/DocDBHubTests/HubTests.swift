import DocDB
import DocDBAuth
import DocDBCore
import DocDBHub
import DocDBReplication
import DocDBSync
import DocDBTransport
import Foundation
import Synchronization
import Testing

@Suite("A hub over loopback", .timeLimit(.minutes(10)))
struct HubTests {
    private func ids(_ db: Database) throws -> Set<String> {
        Set(try db.collection("cars").findAll().documents().map(\.id.description))
    }

    /// The code that a login throws.
    private func code(_ db: Database, _ token: String, _ provider: String) async -> DocDBError.Code? {
        do {
            try await db.auth.login(token: token, provider: provider)
            return nil
        } catch { return (error as? DocDBError)?.code }
    }

    @Test("Two users log in; each sees what they may, and a write they may not make is refused and shown")
    func twoUsers() async throws {
        let hub = try HubFixture()
        let alice = try hub.open("alice")
        let bob = try hub.open("bob")
        #expect(!alice.auth.status.isAuthenticated)
        let info = try await alice.auth.login(token: "alice-token", provider: "dev")
        #expect(info["name"]?.stringValue == "Alice")
        try await bob.auth.login(token: "bob-token", provider: "dev")
        guard case .authenticated("dev|alice", _) = alice.auth.status else {
            Issue.record("alice is not logged in")
            return
        }
        let subscriptions = try [alice, bob].map { db in
            try db.sync.start()
            return try db.collection("cars").findAll().subscribe()
        }
        try bob.collection("cars").insert(["_id": "b1", "state": "for sale", "owner": "dev|bob"])
        try bob.collection("cars").insert(["_id": "b2", "state": "sold", "owner": "dev|bob"])
        try alice.collection("cars").insert(["_id": "a1", "state": "sold", "owner": "dev|alice"])
        try await eventually { try ids(alice) == ["a1", "b1"] && ids(bob) == ["a1", "b1", "b2"] }
        try alice.collection("cars").insert(["_id": "forged", "state": "for sale", "owner": "dev|bob"])
        try await eventually { try alice.sync.refusals().contains { $0.reason == .denied && $0.side == .peer } }
        #expect(try ids(alice).contains("forged"))
        #expect(try !ids(bob).contains("forged"))
        // What it leaves the permitted set with is not told.
        try bob.collection("cars").upsert(["_id": "b1", "state": "sold"])
        try await eventually { try ids(alice) == ["a1", "forged"] }
        for subscription in subscriptions { subscription.cancel() }
        try alice.close()
        try bob.close()
        #expect(!hub.log.contains("token\""))
        #expect(!hub.log.contains("alice"))
        #expect(hub.log.contains("login accepted"))
    }

    @Test("A wrong token, provider or request is refused with its reason, and floods are held back")
    func refusals() async throws {
        let hub = try HubFixture(loginsPerMinute: 8)
        let db = try hub.open("alice")
        for (token, provider) in [("wrong", "dev"), ("alice-token", "nobody")] {
            #expect(await code(db, token, provider) == .authenticationFailed)
        }
        guard case .unauthenticated(let reason) = db.auth.status else {
            Issue.record("somebody is logged in")
            return
        }
        #expect(!reason.isEmpty)
        #expect(try await hub.send("/v1/login", "{").status == 401)
        #expect(try await hub.send("/v1/login", #"{"appID": "another"}"#).status == 401)
        #expect(try await hub.send("/v1/login").status == 405)
        #expect(try await hub.send("/healthz").status == 200)
        #expect(try await hub.send("/else").status == 404)
        var statuses: [Int] = []
        for _ in 0..<8 { statuses.append(try await hub.send("/v1/login", "{").status) }
        #expect(statuses.contains(429))
        let metrics = String(decoding: try await hub.send("/metrics").body, as: UTF8.self)
        #expect(metrics.contains("docdb_logins_total{result=\"authenticationFailed\"} 3"))
        #expect(metrics.contains("docdb_sessions 0"))
        try db.close()
    }

    @Test("An expired grant stops replication and not local work; a new login resumes it")
    func expiry() async throws {
        let hub = try HubFixture(aliceSeconds: 10)
        let delegate = RecordingDelegate()
        let alice = try hub.open("alice", delegate)
        let cars = hub.hub.db.collection("cars")
        // On a busy machine a grant of ten seconds may be over before what it is for is done, so that another is needed.
        func logIn(until condition: @escaping @Sendable () throws -> Bool) async throws {
            while try !condition() {
                try await alice.auth.login(token: "alice-token", provider: "dev")
                try await eventually { try condition() || alice.auth.status == .expired }
            }
        }
        try alice.sync.start()
        try await eventually { delegate.count("required") == 1 }
        try alice.collection("cars").insert(["_id": "1", "owner": "dev|alice"])
        try await logIn { try cars.findAll().count() == 1 }
        try await logIn { delegate.count("soon") >= 1 }
        try await eventually { alice.auth.status == .expired && delegate.count("required") >= 2 }
        try alice.collection("cars").insert(["_id": "2", "owner": "dev|alice"])
        try await eventually { !alice.sync.status.isConnected }
        #expect(try cars.findAll().count() == 1)
        try await logIn { try cars.findAll().count() == 2 }
        try alice.close()
    }

    @Test("Who is listed as a relay gets a grant that says so, and nobody else does")
    func relays() async throws {
        let hub = try HubFixture(more: #""relays": ["dev|bob"],"#)
        for (name, isRelay) in [("alice", false), ("bob", true)] {
            let database = try hub.open(name)
            try await database.auth.login(token: "\(name)-token", provider: "dev")
            let stored = try StrictJSON.object(
                try #require(try HubFiles.read(hub.directory + "/\(name).docdb.credentials/grant")))
            let token = try JSONWebSignature(try #require(stored["grant"]?.stringValue))
            #expect(try StrictJSON.object(token.payload)["relay"] == (isRelay ? true : nil))
            try database.close()
        }
    }

    @Test("A revoked user's sessions end, and a new login is needed")
    func revocation() async throws {
        let hub = try HubFixture()
        let delegate = RecordingDelegate()
        let alice = try hub.open("alice", delegate)
        try await alice.auth.login(token: "alice-token", provider: "dev")
        try alice.sync.start()
        try await eventually { alice.sync.status.isConnected }
        let now = UnixTime(seconds: Int64(Date().timeIntervalSince1970))
        try HubLedger(hub.files).revoke(user: "dev|alice", HubKeys.load(hub.files), now: now)
        try await eventually { !alice.auth.status.isAuthenticated && delegate.count("required") == 1 }
        #expect(!alice.sync.status.isConnected)
        try alice.close()
    }

    /// Logs in at once whenever it is asked to.
    private final class Eager: AuthenticationDelegate {
        let logins = Mutex(0)

        func authenticationRequired(authenticator: DatabaseAuthentication) {
            Task {
                try await authenticator.login(token: "alice-token", provider: "dev")
                logins.withLock { $0 += 1 }
            }
        }
    }

    @Test("Who logs in again as soon as a revocation is heard of stays logged in: the grant before it was meant")
    func loginAfterRevocation() async throws {
        let hub = try HubFixture()
        let delegate = Eager()
        let alice = try hub.open("alice", delegate)
        try alice.sync.start()
        try await eventually { alice.sync.status.isConnected }
        @Sendable func second() -> Int64 { Int64(Date().timeIntervalSince1970) }
        var last: Int64 = 0
        for count in 1...3 {
            // A grant that follows a revocation is of the second after it: one within that would revoke nothing.
            try await eventually { [last] in second() > last + 1 }
            last = second()
            try HubLedger(hub.files).revoke(
                user: "dev|alice", HubKeys.load(hub.files), now: UnixTime(seconds: last))
            try await eventually {
                delegate.logins.withLock { $0 } > count && alice.sync.status.isConnected
                    && alice.auth.status.isAuthenticated
            }
            // Had the end of the former session been taken for the new grant's, there would have been one login more.
            #expect(delegate.logins.withLock { $0 } == count + 1)
        }
        try alice.close()
    }

    @Test("Keys are rotated while the hub runs: sessions and grants go on, new grants are of the new key")
    func rotation() async throws {
        let hub = try HubFixture()
        func signer(_ name: String) throws -> String? {
            let path = hub.directory + "/\(name).docdb.credentials/grant"
            let stored = try StrictJSON.object(try #require(try HubFiles.read(path)))
            return try JSONWebSignature(try #require(stored["grant"]?.stringValue)).keyID
        }
        @Sendable func notices(_ name: String) throws -> String {
            let bytes = try HubFiles.read(hub.directory + "/\(name).docdb.credentials/notices") ?? []
            return String(decoding: bytes, as: UTF8.self)
        }
        let alice = try hub.open("alice")
        try await alice.auth.login(token: "alice-token", provider: "dev")
        try alice.sync.start()
        try await eventually { alice.sync.status.isConnected }
        let since = alice.sync.status.peers.map(\.since)
        var keys = try HubKeys.load(hub.files)
        let old = try signer("alice")
        #expect(old == keys.keys.last?.pair.publicKey.thumbprint)
        let root = hub.root
        try keys.rotate(root: root, now: UnixTime(seconds: Int64(Date().timeIntervalSince1970)))
        try HubFiles.replace(hub.files.keys, with: keys.storedForm())
        // Devices learn the new key in the running session, long before the old one ends.
        let certificate = try #require(keys.keys.last).certificate.text
        try await eventually { try notices("alice").contains(certificate) }
        #expect(hub.log.contains("keys changed"))
        let bob = try hub.open("bob")
        try await bob.auth.login(token: "bob-token", provider: "dev")
        let new = keys.keys.last?.pair.publicKey.thumbprint
        #expect(try signer("bob") == new && new != old)
        // The session went on, and the old grant opens another one.
        #expect(alice.sync.status.peers.map(\.since) == since)
        await alice.sync.stop()
        try alice.sync.start()
        try await eventually { alice.sync.status.isConnected }
        #expect(alice.auth.status.isAuthenticated)
        // What is signed with the new key holds at devices that have learnt it.
        let now = UnixTime(seconds: Int64(Date().timeIntervalSince1970))
        try HubLedger(hub.files).revoke(user: "dev|bob", keys, now: now)
        try await eventually { try notices("alice").split(separator: "\n").count == 4 }
        try alice.close()
        try bob.close()
    }

    @Test("Who has heard of a revocation refuses the revoked user without the hub, also after a restart")
    func revocationOffline() async throws {
        let hub = try HubFixture()
        let (alice, bob) = (try hub.open("alice"), try hub.open("bob"))
        try await alice.auth.login(token: "alice-token", provider: "dev")
        try await bob.auth.login(token: "bob-token", provider: "dev")
        try bob.sync.start()
        try await eventually { bob.sync.status.isConnected }
        let now = UnixTime(seconds: Int64(Date().timeIntervalSince1970))
        try HubLedger(hub.files).revoke(user: "dev|alice", HubKeys.load(hub.files), now: now)
        let notices = hub.directory + "/bob.docdb.credentials/notices"
        try await eventually { try HubFiles.lines(notices).count + 1 == 3 }
        try bob.close()
        let again = try hub.open("bob")
        again.sync.configuration.connect = []
        again.sync.configuration.listen = SyncConfiguration.Listen(port: 0)
        try again.sync.start()
        let port = try #require(again.sync.status.listeningPort)
        alice.sync.configuration.connect = ["ws://127.0.0.1:\(port)"]
        try alice.sync.start()
        try await eventually { alice.sync.status.connections.first?.lastProblem?.error.code == .grantRevoked }
        #expect(again.sync.status.peers.isEmpty)
        // What another device says of it does not end the grant: only the hub's own word does.
        #expect(alice.auth.status.isAuthenticated)
        try alice.close()
        try again.close()
    }

    @Test(
        "A login survives a restart, in files for this user alone, and belongs to one user until a logout that cleans up"
    )
    func restart() async throws {
        let hub = try HubFixture()
        let first = try hub.open("shared")
        try await first.auth.login(token: "alice-token", provider: "dev")
        try first.close()
        let credentials = hub.directory + "/shared.docdb.credentials"
        for name in try FileManager.default.contentsOfDirectory(atPath: credentials) {
            let attributes = try FileManager.default.attributesOfItem(atPath: credentials + "/" + name)
            #expect((attributes[.posixPermissions] as? Int) == 0o600, "\(name)")
        }
        let db = try hub.open("shared")
        try await eventually { db.auth.status.isAuthenticated }
        try db.collection("cars").insert(["_id": "1", "owner": "dev|alice"])
        #expect(await code(db, "bob-token", "dev") == .anotherUser)
        // A change that waits because of its times is the user's, too.
        let replica = db.sync.engine.environment.replica
        let (peer, waiting) = try replica.write { writer in
            let peer = try writer.setPeer(PeerRecord(storeID: [UInt8](repeating: 9, count: 16))).number
            let collection = try writer.makeCollection(named: "cars")
            let reference = try [9].withUnsafeBytes { try writer.makeReference(collection: collection, id: $0) }
            try writer.setTold(peer: peer, reference, StateDigest(high: 1, low: 1))
            _ = try writer.setQuarantined(
                QuarantinedDelta(
                    peer: peer, reference: reference, newestTime: HybridTime(rawValue: .max), bytes: [1, 2, 3]))
            return (peer, reference)
        }
        try await db.auth.logout { _ = try db.collection("cars").findAll().evict(force: true) }
        #expect(try replica.read { try $0.quarantine(peer: nil) }.isEmpty)
        #expect(try replica.read { try $0.told(peer: peer, waiting) } == nil)
        #expect(!db.auth.status.isAuthenticated)
        #expect(try db.collection("cars").findAll().count() == 0)
        try await db.auth.login(token: "bob-token", provider: "dev")
        #expect(db.auth.userID == "dev|bob")
        try db.close()
    }
}

@Suite("When a grant is renewed")
struct AuthenticationScheduleTests {
    @Test(
        "Reminders begin at half of the validity and come at every tenth of what remains; the end comes once it is there"
    )
    func steps() {
        let second: UInt64 = 1_000_000_000
        var schedule = AuthenticationSchedule(issued: 0, expires: 1000 * second)
        func step(_ seconds: UInt64) -> AuthenticationSchedule.Step { schedule.step(now: seconds * second) }
        let early = [0, 499, 500, 500, 550, 551].map { step($0) }
        #expect(
            early == [
                .wait(until: 500 * second), .wait(until: 500 * second), .remind(secondsRemaining: 500),
                .wait(until: 550 * second), .remind(secondsRemaining: 450), .wait(until: 595 * second),
            ])
        schedule.putOff(until: 700 * second)
        let late = [step(699), schedule.step(now: 1000 * second - 1), step(1000)]
        #expect(late == [.wait(until: 700 * second), .remind(secondsRemaining: 1), .expire])
    }
}

@Suite("Limits of logins by address")
struct RateLimiterTests {
    @Test("An address has its turns of a minute, which come back with time, apart from other addresses")
    func turns() {
        var limiter = RateLimiter(perMinute: 2, capacity: 2)
        let turns = (0..<3).map { _ in limiter.take("a", at: 0) }
        #expect(turns == [true, true, false])
        let other = limiter.take("b", at: 0)
        let third = limiter.take("c", at: 0)
        #expect(other && !third)
        let later = limiter.take("a", at: 30_000_000_000)
        let again = limiter.take("a", at: 30_000_000_000)
        #expect(later && !again)
    }
}
