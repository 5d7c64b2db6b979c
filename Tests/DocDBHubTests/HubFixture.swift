import Dispatch
import DocDB
import DocDBAuth
import DocDBCore
import DocDBHub
import DocDBReplication
import DocDBTransport
import Foundation
import Synchronization
import Testing

/// A hub on loopback with users of a static provider, in a directory of its own that goes with this object.
final class HubFixture: Sendable {
    static let appID = "com.example.cars"

    let directory: String
    let files: HubFiles
    let hub: Hub
    private let logged: LineLog

    var url: String { "http://\(hub.address.map { "\($0)" } ?? "")" }

    /// - Parameter aliceSeconds: how long grants of alice last.
    init(aliceSeconds: Int = 3600, loginsPerMinute: Int = 1000) throws {
        directory = FileManager.default.temporaryDirectory.path + "/docdb-hub-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
        files = HubFiles(directory: directory + "/hub")
        try files.prepare()
        let log = LineLog()
        logged = log
        let root = try PeerKeyPair.generate()
        let now = UnixTime(seconds: Int64(Date().timeIntervalSince1970))
        let keys = try HubKeys.new(appID: Self.appID, root: root, now: now)
        try HubFiles.replace(files.keys, with: keys.storedForm())
        let json = """
            {"appID": "\(Self.appID)", "loginsPerMinute": \(loginsPerMinute), "providers": {"dev": {
              "type": "static", "developmentOnly": true, "tokens": [
                {"token": "alice-token", "userID": "alice", "expirationSeconds": \(aliceSeconds),
                 "clientInfo": {"name": "Alice"}, "permissions": {
                  "read": {"queriesByCollection": {"cars": ["state == 'for sale'", "owner == $user.id"]}},
                  "write": {"queriesByCollection": {"cars": ["owner == $user.id"]}}}},
                {"token": "bob-token", "userID": "bob", "permissions": {
                  "read": {"everything": true}, "write": {"everything": true}}}]}}}
            """
        let configuration = try HubConfiguration(
            Array(json.utf8),
            Provider.Surroundings(readFile: { _ in [] }, fetchKeys: { _, _ in [] }))
        hub = try Hub(
            files: files, configuration: configuration,
            listen: ReplicationConfiguration.ListenAddress(host: "127.0.0.1", port: 0),
            log: HubLog(least: .debug, clock: { 0 }, write: { log.append($0) }))
        try hub.start()
    }

    deinit {
        try? hub.stop()
        try? FileManager.default.removeItem(atPath: directory)
    }

    var log: String { logged.text }

    /// Opens a user's database.
    func open(_ name: String, _ delegate: (any AuthenticationDelegate)? = nil) throws -> Database {
        try Database(
            at: directory + "/\(name).docdb",
            identity: .onlineWithAuthentication(appID: Self.appID, hub: url, delegate: delegate))
    }

    /// Sends a request to the hub.
    func send(_ path: String, _ body: String? = nil) async throws -> HTTPResponse {
        try await HTTPClient().send(
            HTTPClientRequest(url: url + path, method: body == nil ? "GET" : "POST", body: Array((body ?? "").utf8)),
            limits: HTTPClientLimits())
    }
}

final class LineLog: Sendable {
    private let lines = Mutex<[String]>([])
    func append(_ line: String) { lines.withLock { $0.append(line) } }
    var text: String { lines.withLock { $0.joined(separator: "\n") } }
}

/// Records what it is told.
final class RecordingDelegate: AuthenticationDelegate {
    let events = Mutex<[String]>([])

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
