import DocDB
import DocDBAuth
import DocDBHub
import DocDBReplication
import DocDBTransport

#if canImport(Darwin)
    import Darwin
#else
    import Glibc
#endif

/// A hub on loopback whose users bring ES256 tokens of a made-up identity provider.
final class BenchmarkHub {
    /// What a user may do, by a claim of the token.
    enum Plan: String {
        /// Everything.
        case all
        /// What a predicate on two fields matches, which is every car.
        case twoFields
        /// What belongs to the user.
        case own
    }

    let hub: Hub
    let signer: TokenSigner
    private let directory: TemporaryDirectory

    static let provider = "login"

    init(_ bench: Workbench) throws {
        directory = try bench.newDirectory()
        signer = try TokenSigner()
        let keySet = signer.keySet
        let files = HubFiles(directory: directory.file("hub"))
        try files.prepare()
        let keys = try HubKeys.new(
            appID: DocDBCars.appID, root: try PeerKeyPair.generate(), now: UnixTime(seconds: Self.now))
        try HubFiles.replace(files.keys, with: keys.storedForm())
        let configuration = try HubConfiguration(
            try StrictJSON.text(Self.configuration),
            Provider.Surroundings(readFile: { _ in keySet }, fetchKeys: { _, _ in keySet }))
        hub = try Hub(
            files: files, configuration: configuration,
            listen: ReplicationConfiguration.ListenAddress(host: "127.0.0.1", port: 0),
            log: HubLog(least: .error, clock: { 0 }, write: { complain($0) }))
        try hub.start()
    }

    deinit { try? hub.stop() }

    private static var now: Int64 { Int64(time(nil)) }

    private static var configuration: [String: Value] {
        func rule(_ plan: Plan, _ rules: Value) -> Value {
            [
                "when": ["claim": "plan", "value": .string(plan.rawValue)],
                "permissions": ["read": rules, "write": rules],
            ]
        }
        func cars(_ predicate: String) -> Value { ["queriesByCollection": ["cars": [.string(predicate)]]] }
        return [
            "appID": .string(DocDBCars.appID), "loginsPerMinute": 1_000_000, "connectionLimit": 4_000,
            "providers": [
                provider: [
                    "type": "jwt", "issuer": .string(TokenSigner.issuer), "audience": .string(TokenSigner.audience),
                    "jwks": "keys.json", "algorithms": ["ES256"],
                    "permissions": [
                        "rules": [
                            rule(.all, ["everything": true]), rule(.twoFields, cars("year >= 1900 && price >= 0")),
                            rule(.own, cars("owner == $user.id")),
                        ]
                    ],
                ]
            ],
        ]
    }

    /// The port on loopback.
    var port: UInt16 { hub.address?.port ?? 0 }

    func token(user: String, plan: Plan) throws -> String {
        try signer.token(user: user, plan: plan.rawValue, seconds: Self.now)
    }

    /// The id that a user has in documents.
    static func userID(_ user: String) -> String { "\(provider)|\(user)" }

    /// Opens a database of a user who has logged in; replication has not begun.
    func open(_ name: String, plan: Plan) async throws -> Database {
        let database = try Database(
            at: directory.file("\(name).docdb"),
            identity: .onlineWithAuthentication(appID: DocDBCars.appID, hub: "http://127.0.0.1:\(port)"))
        try await database.auth.login(token: try token(user: name, plan: plan), provider: Self.provider)
        return database
    }
}
