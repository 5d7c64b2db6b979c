import Dispatch
import DocDB
import DocDBAuth
import DocDBCore
import DocDBHub
import DocDBReplication
import DocDBTransport
import Foundation
import Synchronization
import TestSupport
import Testing

/// A hub on loopback with users of a static provider, in a directory of its own that goes with this object.
final class HubFixture: Sendable {
    static let appID = "com.example.cars"

    let directory: String
    let files: HubFiles
    let hub: Hub
    let root: PeerKeyPair
    let certificates: TestCertificates?
    private let logged: LineLog

    var url: String { "\(certificates == nil ? "http" : "https")://\(hub.address.map { "\($0)" } ?? "")" }

    /// - Parameters:
    ///   - aliceSeconds: how long grants of alice last.
    ///   - more: further members of the configuration, with a comma after each.
    ///   - certificates: what it serves TLS with; nil for plain connections.
    init(
        aliceSeconds: Int = 3600, loginsPerMinute: Int = 1000, more: String = "", host: String = "127.0.0.1",
        certificates: TestCertificates? = nil
    ) throws {
        self.certificates = certificates
        directory = FileManager.default.temporaryDirectory.path + "/docdb-hub-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
        files = HubFiles(directory: directory + "/hub")
        try files.prepare()
        let log = LineLog()
        logged = log
        root = try PeerKeyPair.generate()
        let now = UnixTime(seconds: Int64(Date().timeIntervalSince1970))
        let keys = try HubKeys.new(appID: Self.appID, root: root, now: now)
        try HubFiles.replace(files.keys, with: keys.storedForm())
        let json = """
            {"appID": "\(Self.appID)", "loginsPerMinute": \(loginsPerMinute), \(more) "providers": {"dev": {
              "type": "static", "developmentOnly": true, "tokens": [
                {"token": "alice-token", "userID": "alice", "expirationSeconds": \(aliceSeconds),
                 "clientInfo": {"name": "Alice"}, "permissions": {
                  "read": {"queriesByCollection": {"cars": ["state == 'for sale'", "owner == $user.id"]}},
                  "write": {"queriesByCollection": {"cars": ["owner == $user.id"]}}}},
                {"token": "alice-dealer-token", "userID": "alice", "permissions": {
                  "read": {"queriesByCollection": {"cars": ["state == 'sold'", "owner == $user.id"]}},
                  "write": {"queriesByCollection": {"cars": ["true"]}}}},
                {"token": "bob-token", "userID": "bob", "permissions": {
                  "read": {"everything": true}, "write": {"everything": true}}}]}}}
            """
        let configuration = try HubConfiguration(
            Array(json.utf8),
            Provider.Surroundings(readFile: { _ in [] }, fetchKeys: { _, _ in [] }))
        hub = try Hub(
            files: files, configuration: configuration,
            listen: ReplicationConfiguration.ListenAddress(
                host: host, port: 0, certificateFile: certificates?.identity.certificateFile,
                keyFile: certificates?.identity.keyFile),
            log: HubLog(least: .debug, clock: { 0 }, write: { log.append($0) }))
        try hub.start()
    }

    deinit {
        try? hub.stop()
        try? FileManager.default.removeItem(atPath: directory)
    }

    var log: String { logged.text }

    /// Opens a user's database.
    ///
    /// - Parameter executor: one with clocks of its own.
    func open(
        _ name: String, _ delegate: (any AuthenticationDelegate)? = nil, storage: (any CredentialStorage)? = nil,
        executor: (any ReplicationExecutor)? = nil,
        channelBinding: Database.Identity.ChannelBinding = .tlsExporter
    ) throws -> Database {
        var options = Database.Options()
        if let executor {
            options.clock = { executor.wallNanoseconds }
            let transport = try WebSocketTransport()
            options.syncWorld = SyncWorld(executor: executor, connector: transport) {
                transport.listener(ListenOptions(host: $0.host, port: $0.port))
            }
        }
        return try Database(
            at: directory + "/\(name).docdb", options: options,
            identity: .onlineWithAuthentication(
                appID: Self.appID, hub: url, delegate: delegate, storage: storage, channelBinding: channelBinding))
    }

    /// Sends a request to the hub.
    func send(_ path: String, _ body: String? = nil) async throws -> HTTPResponse {
        try await HTTPClient().send(
            HTTPClientRequest(url: url + path, method: body == nil ? "GET" : "POST", body: Array((body ?? "").utf8)),
            limits: HTTPClientLimits())
    }
}

final class LineLog: Sendable {
    private let lines = Lock<[String]>([])
    func append(_ line: String) { lines.withLock { $0.append(line) } }
    var text: String { lines.withLock { $0.joined(separator: "\n") } }
}

/// Records what it is told.
final class RecordingDelegate: AuthenticationDelegate {
    let events = Lock<[String]>([])

    func authenticationRequired(authenticator: DatabaseAuthentication) { events.withLock { $0.append("required") } }
    func authenticationExpiringSoon(authenticator: DatabaseAuthentication, secondsRemaining: Int) {
        events.withLock { $0.append("soon") }
    }
    func count(_ event: String) -> Int { events.withLock { $0.count { $0 == event } } }
}

/// Waits until a condition holds, looking each hundredth of a second.
func eventually(_ condition: @escaping @Sendable () throws -> Bool) async throws {
    let (stream, continuation) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
    let timer = DispatchSource.makeTimerSource()
    timer.setEventHandler { continuation.yield() }
    timer.schedule(deadline: .now(), repeating: .milliseconds(10))
    timer.activate()
    defer { timer.cancel() }
    for await _ in stream where try condition() { return }
    throw CancellationError()
}
