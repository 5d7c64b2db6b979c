import DocDBCore
import Dispatch
import DocDB
import DocDBAuth
import DocDBHub
import Foundation
import Observation
import Synchronization
import Testing

@Suite("Logins as apps see them", .timeLimit(.minutes(10)))
struct AuthenticationTests {
    /// A keychain of an app's own.
    private final class Keychain: CredentialStorage {
        let items = Lock<[String: [UInt8]]>([:])
        func load(_ name: String) throws -> [UInt8]? { items.withLock { $0[name] } }
        func save(_ name: String, _ bytes: [UInt8]?) throws { items.withLock { $0[name] = bytes } }
        var names: Set<String> { items.withLock { Set($0.keys) } }
    }

    @Test("An observed status switches between login and home views: it changes once for each login and logout")
    func observed() async throws {
        let hub = try HubFixture()
        let db = try hub.open("alice")
        let observed = ObservedAuthentication(db.auth, on: DispatchQueue(label: "views"))
        #expect(!observed.status.isAuthenticated)
        let changes = Lock(0)
        withObservationTracking {
            _ = observed.status
        } onChange: {
            changes.withLock { $0 += 1 }
        }
        try await db.auth.login(token: "alice-token", provider: "dev")
        try await eventually { observed.status.isAuthenticated }
        #expect(changes.withLock { $0 } == 1)
        guard case .authenticated("dev|alice", let end) = observed.status else {
            Issue.record("another user is logged in")
            return
        }
        let seconds = (Double(end.rawValue) / 1e9) - Date().timeIntervalSince1970
        #expect(seconds > 3000 && seconds < 3700)
        try await db.auth.logout()
        try await eventually { observed.status == .unauthenticated(reason: "logged out") }
        // Not asked to observe again, nobody is told again.
        #expect(changes.withLock { $0 } == 1)
        try db.close()
    }

    @Test("The seconds that remain are observed as they go by, and are nil where nobody is logged in")
    func observedSeconds() async throws {
        let hub = try HubFixture()
        let db = try hub.open("alice")
        let observed = ObservedAuthentication(db.auth, on: DispatchQueue(label: "views"))
        /// Waits for the next change of what a view has read.
        func change() async -> Int? {
            await withCheckedContinuation { continuation in
                withObservationTracking {
                    _ = observed.secondsRemaining
                } onChange: {
                    continuation.resume()
                }
            }
            return observed.secondsRemaining
        }
        #expect(observed.secondsRemaining == nil)
        async let first = change()
        try await db.auth.login(token: "alice-token", provider: "dev")
        _ = await first
        try await eventually { observed.secondsRemaining != nil }
        let start = try #require(observed.secondsRemaining)
        #expect(start > 0 && start <= 3600)
        var last = start
        while last > start - 2 {
            let now = try #require(await change())
            #expect(now <= last)
            last = now
        }
        try await db.auth.logout()
        try await eventually { observed.secondsRemaining == nil }
        try db.close()
    }

    @Test("A delegate that is set after the database was opened is asked, and is not kept")
    func laterDelegate() async throws {
        let hub = try HubFixture()
        let db = try hub.open("alice")
        do {
            let delegate = RecordingDelegate()
            db.auth.delegate = delegate
            try db.sync.start()
            try await eventually { delegate.count("required") == 1 }
            #expect(db.auth.delegate === delegate)
        }
        try await eventually { db.auth.delegate == nil }
        try db.close()
    }

    @Test("A root key is read as 'keys new' prints it, and pins the hub")
    func rootKey() async throws {
        let hub = try HubFixture()
        let text = Base64URL.encode(hub.root.publicKey.bytes)
        func open(_ name: String, _ key: [UInt8]) throws -> Database {
            try Database(
                at: "\(hub.directory)/\(name).docdb",
                identity: .onlineWithAuthentication(appID: HubFixture.appID, hub: hub.url, rootKeys: [key]))
        }
        let db = try open("alice", try Database.Identity.rootKey(text))
        try await db.auth.login(token: "alice-token", provider: "dev")
        try db.close()
        let other = try open("bob", try PeerKeyPair.generate().publicKey.bytes)
        await #expect(throws: DocDBError.self) { try await other.auth.login(token: "bob-token", provider: "dev") }
        try other.close()
        for wrong in ["", text + "A", String(text.dropLast()), "+" + text.dropFirst(), text + "="] {
            let error = #expect(throws: DocDBError.self) { try Database.Identity.rootKey(wrong) }
            #expect(error?.code == .invalidKey)
        }
    }

    @Test("A sequence of the status begins with the present one and follows logins and logouts")
    func updates() async throws {
        let hub = try HubFixture()
        let db = try hub.open("alice")
        var seen: [Bool] = []
        for await status in db.auth.statusUpdates {
            guard seen.last != status.isAuthenticated else { continue }
            seen.append(status.isAuthenticated)
            if seen.count == 1 { try await db.auth.login(token: "alice-token", provider: "dev") }
            if seen.count == 2 { try await db.auth.logout() }
            if seen.count == 3 { break }
        }
        #expect(seen == [false, true, false])
        try db.close()
    }

    @Test("A login with a completion tells the client info or the error, once")
    func completion() async throws {
        let hub = try HubFixture()
        let db = try hub.open("alice")
        func login(_ token: String) async -> Result<Value, any Error> {
            await withCheckedContinuation { continuation in
                db.auth.login(token: token, provider: "dev") { continuation.resume(returning: $0) }
            }
        }
        guard case .failure(let error) = await login("wrong") else {
            Issue.record("a wrong token was accepted")
            return
        }
        #expect((error as? DocDBError)?.code == .authenticationFailed)
        guard case .unauthenticated(let reason) = db.auth.status else {
            Issue.record("somebody is logged in")
            return
        }
        #expect(reason == (error as? DocDBError)?.message)
        #expect(try await login("alice-token").get()["name"]?.stringValue == "Alice")
        #expect(db.auth.status.isAuthenticated && db.auth.clientInfo["name"]?.stringValue == "Alice")
        try db.close()
    }

    /// Logs in whenever it is asked to, and notes when that was.
    private final class Persistent: AuthenticationDelegate {
        let times = Lock<[ContinuousClock.Instant]>([])
        let failures = Lock<[DocDBError.Code]>([])

        func authenticationRequired(authenticator: DatabaseAuthentication) {
            times.withLock { $0.append(.now) }
            Task {
                do { try await authenticator.login(token: "alice-token", provider: "dev") } catch {
                    if let code = (error as? DocDBError)?.code { failures.withLock { $0.append(code) } }
                }
            }
        }
    }

    @Test(
        "A logout whose clean-up throws is none: the user stays logged in, replication goes on and brings back what went"
    )
    func failedLogout() async throws {
        struct Failure: Error {}
        let hub = try HubFixture()
        let db = try hub.open("alice")
        try await db.auth.login(token: "alice-token", provider: "dev")
        try db.sync.start()
        let cars = db.collection("cars")
        _ = try cars.findAll().subscribe()
        for id in ["a", "b"] { try cars.insert(["_id": .string(id), "owner": "dev|alice"]) }
        try await eventually { try db.sync.pendingDocuments().isEmpty }
        await #expect(throws: Failure.self) {
            try await db.auth.logout {
                _ = try cars.evict("a")
                throw Failure()
            }
        }
        #expect(db.auth.status.isAuthenticated && db.auth.userID == "dev|alice")
        try await eventually { try cars.findAll().count() == 2 && db.sync.status.isConnected }
        // What no hub has keeps the logout from succeeding, unless it is forced.
        await db.sync.stop()
        try cars.insert(["_id": "c", "owner": "dev|alice"])
        await #expect(throws: DocDBError.self) { try await db.auth.logout { _ = try cars.findAll().evict() } }
        #expect(db.auth.status.isAuthenticated && !db.sync.status.isConnected)
        #expect(try cars.find(id: "c") != nil)
        try db.sync.start()
        try await eventually { try hub.hub.db.collection("cars").findAll().count() == 3 }
        try await eventually { try db.sync.pendingDocuments().isEmpty }
        try await db.auth.logout { _ = try cars.findAll().evict() }
        #expect(db.auth.status == .unauthenticated(reason: "logged out"))
        try await db.auth.login(token: "bob-token", provider: "dev")
        try db.close()
    }

    @Test("While the hub cannot be reached the delegate is asked again after a wait that grows, never twice at once")
    func backOff() async throws {
        let hub = try HubFixture()
        let delegate = Persistent()
        let db = try hub.open("alice", delegate)
        try hub.hub.stop()
        try db.sync.start()
        try await eventually { delegate.failures.withLock { $0.count } == 2 }
        let times = delegate.times.withLock { $0 }
        #expect(times.count == 2 && times[1] - times[0] >= .seconds(2))
        #expect(delegate.failures.withLock { $0 } == [.connectionFailed, .connectionFailed])
        #expect(db.sync.status.connections.map(\.state) == [.loginRequired])
        guard case .unauthenticated(let reason) = db.auth.status else {
            Issue.record("somebody is logged in")
            return
        }
        #expect(reason.contains("connect"))
        try db.close()
    }

    @Test("With a keychain of the app's own nothing of a login is in files, and it survives a restart")
    func keychain() async throws {
        let hub = try HubFixture()
        let keychain = Keychain()
        let first = try hub.open("alice", storage: keychain)
        try await first.auth.login(token: "alice-token", provider: "dev")
        try first.close()
        #expect(keychain.names == ["peer-key", "grant", "memory", "notices"])
        let files = try FileManager.default.contentsOfDirectory(atPath: hub.directory)
        #expect(!files.contains { $0.hasSuffix(".credentials") })
        let second = try hub.open("alice", storage: keychain)
        try await eventually { second.auth.status.isAuthenticated }
        try second.sync.start()
        try await eventually { second.sync.status.isConnected }
        try await second.auth.logout()
        #expect(keychain.names == ["peer-key", "memory", "notices"])
        try second.close()
        // Another's key opens no session with the grant that was meant for this one.
        let third = try hub.open("other", storage: Keychain())
        #expect(!third.auth.status.isAuthenticated)
        try third.close()
    }

    @Test("Credentials lie in files for this user alone; what others may read is not taken")
    func files() throws {
        let directory = FileManager.default.temporaryDirectory.path + "/docdb-credentials-\(UUID().uuidString)"
        defer { try? FileManager.default.removeItem(atPath: directory) }
        let files = CredentialFiles(directory: directory)
        #expect(try files.load("grant") == nil)
        try files.save("grant", [1, 2, 3])
        try files.save("grant", [4])
        #expect(try files.load("grant") == [4])
        func mode(_ path: String) throws -> Int? {
            try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
        }
        #expect(try mode(directory) == 0o700)
        #expect(try mode(directory + "/grant") == 0o600)
        #expect(try FileManager.default.contentsOfDirectory(atPath: directory) == ["grant"])
        try FileManager.default.setAttributes([.posixPermissions: 0o640], ofItemAtPath: directory + "/grant")
        #expect(throws: DocDBError.self) { try files.load("grant") }
        try files.save("grant", nil)
        try files.save("grant", nil)
        #expect(try files.load("grant") == nil)
        // A link that somebody has put there leads nowhere.
        try FileManager.default.createSymbolicLink(atPath: directory + "/grant", withDestinationPath: "/etc/passwd")
        #expect(throws: DocDBError.self) { try files.load("grant") }
    }
}
