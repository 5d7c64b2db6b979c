import DocDB
import DocDBAuth
import DocDBCore
import DocDBHub
import DocDBReplication
import DocDBStorage
import DocDBSync
import DocDBTransport
import Foundation
import Synchronization
import Testing

/// A hub on loopback whose keys are at hand, so that grants of every kind can be made, and users who are honest.
///
/// Its development provider knows alice, who may read what is for sale and her own and write her own, and bob, who may do
/// everything. Goes with this object.
final class AttackHub: Sendable {
    static let appID = "com.example.cars"
    static let honest = """
        "dev": {"type": "static", "developmentOnly": true, "tokens": [
          {"token": "alice-token", "userID": "alice", "permissions": {
            "read": {"queriesByCollection": {"cars": ["state == 'for sale'", "owner == $user.id"]}},
            "write": {"queriesByCollection": {"cars": ["owner == $user.id"]}}}},
          {"token": "bob-token", "userID": "bob", "permissions": {
            "read": {"everything": true}, "write": {"everything": true}}}]}
        """

    let directory: String
    let root: PeerKeyPair
    let keys: HubKeys
    let log = LineLog()
    let files: HubFiles
    var hub: Hub { current.withLock { $0 } }
    private let current: Mutex<Hub>
    private let configuration: @Sendable (_ settings: String) throws -> HubConfiguration

    /// - Parameters:
    ///   - providers: further providers, as members of the configuration's object.
    ///   - settings: further members of the configuration.
    init(
        providers: (HubKeys) throws -> String = { _ in "" }, settings: String = "", loginsPerMinute: Int = 100_000,
        files surroundings: @escaping @Sendable (String) throws -> [UInt8] = { _ in [] }
    ) throws {
        directory = FileManager.default.temporaryDirectory.path + "/docdb-attack-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
        let files = HubFiles(directory: directory + "/hub")
        self.files = files
        try files.prepare()
        root = try PeerKeyPair.generate()
        keys = try HubKeys.new(appID: Self.appID, root: root, now: Self.now)
        try HubFiles.replace(files.keys, with: keys.storedForm())
        let more = try providers(keys)
        configuration = { settings in
            let json = """
                {"appID": "\(Self.appID)", "loginsPerMinute": \(loginsPerMinute)\(settings.isEmpty ? "" : ", " + settings),
                 "providers": {\(Self.honest)\(more.isEmpty ? "" : ", " + more)}}
                """
            return try HubConfiguration(
                Array(json.utf8), Provider.Surroundings(readFile: surroundings, fetchKeys: { _, _ in [] }))
        }
        current = Mutex(try Self.start(files, try configuration(settings), log))
    }

    private static func start(_ files: HubFiles, _ configuration: HubConfiguration, _ log: LineLog) throws -> Hub {
        let hub = try Hub(
            files: files, configuration: configuration,
            listen: ReplicationConfiguration.ListenAddress(host: "127.0.0.1", port: 0),
            log: HubLog(least: .debug, clock: { 0 }, write: { log.append($0) }))
        try hub.start()
        return hub
    }

    /// Stops the hub and starts it on its files again, with other settings and at another port.
    ///
    /// - Parameter meanwhile: is done while it is stopped.
    func restart(settings: String = "", meanwhile: () throws -> Void = {}) throws {
        try hub.stop()
        try meanwhile()
        let hub = try Self.start(files, try configuration(settings), log)
        current.withLock { $0 = hub }
    }

    deinit {
        try? hub.stop()
        try? FileManager.default.removeItem(atPath: directory)
    }

    static var now: UnixTime { UnixTime(seconds: Int64(Date().timeIntervalSince1970)) }

    var address: String { hub.address.map { "\($0)" } ?? "" }
    var port: UInt16 { hub.address?.port ?? 0 }
    var url: String { "http://\(address)" }
    var syncURL: String { "ws://\(address)\(WebSocketURL.syncPath)" }
    var hubDocuments: [String: Value] { get throws { try Self.documents(hub.db) } }

    /// The cars of a database by id.
    static func documents(_ db: Database) throws -> [String: Value] {
        var documents: [String: Value] = [:]
        for document in try db.collection("cars").findAll().documents() {
            documents[document.id.description] = try document.value
        }
        return documents
    }

    /// What a database has seen of a car.
    static func seen(_ id: DocumentID, _ db: Database) throws -> VersionVector {
        let replica = db.sync.engine.environment.replica
        return try replica.read { reader in
            let collection = try #require(try reader.collection(named: "cars"))
            let reference = try id.wireBytes.withUnsafeBytes {
                try #require(try reader.reference(collection: collection, id: $0))
            }
            var seen = VersionVector()
            try reader.withDocument(reference) { document in
                seen = try DocumentState(body: document.body, state: document.state, actors: replica.actors).seen
            }
            return seen
        }
    }

    /// Opens the database of an honest user, logs in and replicates all cars.
    func honest(
        _ user: String, _ configure: (inout SyncConfiguration) -> Void = { _ in }
    ) async throws -> Database {
        let db = try open(user)
        try await db.auth.login(token: "\(user)-token", provider: "dev")
        configure(&db.sync.configuration)
        try db.sync.start()
        _ = try db.collection("cars").findAll().subscribe()
        try await eventually { db.sync.status.isConnected }
        return db
    }

    func open(_ name: String) throws -> Database {
        try Database(
            at: directory + "/\(name).docdb",
            identity: .onlineWithAuthentication(appID: Self.appID, hub: url, delegate: nil))
    }

    /// What a grant that the hub has signed may say of one direction: predicates by collection, nil for everything.
    typealias Queries = [String: String]

    /// Issues a grant past the login, for permissions, times and peers of every kind.
    func grant(
        _ user: String, _ peer: PeerPublicKey, read: Queries? = nil, write: Queries? = nil, epoch: Int64 = 1,
        seconds: Int64 = 3600, isRelay: Bool = false, now: UnixTime = AttackHub.now,
        keys: HubKeys? = nil
    ) throws -> LoginAnswer.Accepted {
        let keys = keys ?? self.keys
        let issuer = try GrantIssuer(appID: keys.appID, keys: keys.keys)
        let identity = try ProviderIdentity(
            userID: try UserID.make(provider: "test", subject: user), expiresAt: nil,
            permissions: Permissions(read: Self.rules(read), write: Self.rules(write)))
        let bound = try identity.boundPermissions()
        let issued = try issuer.issue(
            GrantIssuer.Request(
                identity: identity, permissions: bound, epoch: PermissionEpoch(number: epoch, hash: try bound.hash()),
                peer: peer, isRelay: isRelay, maxGrantSeconds: seconds), now: now)
        return LoginAnswer.Accepted(
            grant: issued.text, certificates: issuer.certificates(now: now), roots: keys.roots, time: now)
    }

    private static func rules(_ queries: Queries?) -> Rules {
        guard let queries else { return .everything }
        var rules: [ExactString: [String]] = [:]
        for (collection, predicate) in queries { rules[ExactString(collection)] = [predicate] }
        return .queriesByCollection(rules)
    }

    /// An authenticator that presents a grant of the hub's, as an honest login would leave it.
    func authenticator(
        _ user: String, read: Queries? = nil, write: Queries? = nil, epoch: Int64 = 1, isRelay: Bool = false
    ) throws -> OnlineAuthenticator {
        let pair = try PeerKeyPair.generate()
        let authenticator = OnlineAuthenticator(
            pair: pair, verifier: GrantVerifier(appID: Self.appID, roots: [root.publicKey]))
        let accepted = try grant(user, pair.publicKey, read: read, write: write, epoch: epoch, isRelay: isRelay)
        try authenticator.present(
            try Credentials(accepted, appID: Self.appID, peer: pair.publicKey, pinnedRoots: []), now: Self.now)
        return authenticator
    }

    /// Checks that an honest user is still served in both directions, and that nothing but that has changed at the hub.
    func expectHonestService(_ db: Database, unchanged before: [String: Value]) async throws {
        let id = UUID().uuidString
        try db.collection("cars").insert(["_id": .string(id), "state": "for sale", "owner": "dev|bob"])
        try await eventually { try self.hubDocuments[id] != nil }
        let mark = UUID().uuidString
        try hub.db.collection("cars").upsert(["_id": .string(id), "mark": .string(mark)])
        try await eventually { try Self.documents(db)[id]?["mark"]?.stringValue == mark }
        var after = try hubDocuments
        after[id] = nil
        #expect(after == before)
        _ = try hub.db.collection("cars").remove(DocumentID(id))
    }
}
