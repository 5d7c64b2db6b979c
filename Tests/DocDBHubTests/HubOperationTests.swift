import DocDB
import DocDBAuth
import DocDBCore
import DocDBHub
import DocDBTransport
import Foundation
import Testing

@Suite("How a hub is run", .timeLimit(.minutes(10)))
struct HubOperationTests {
    @Test("Metrics keep to the rules of their format and count what has happened")
    func metrics() async throws {
        let fixture = try HubFixture()
        let alice = try fixture.open("alice")
        try await alice.auth.login(token: "alice-token", provider: "dev")
        try alice.sync.start()
        _ = try alice.collection("cars").findAll().subscribe()
        try fixture.hub.db.collection("cars").insert(["_id": "offer", "state": "for sale"])
        try alice.collection("cars").insert(["_id": "mine", "owner": "dev|alice"])
        try alice.collection("cars").insert(["_id": "forged", "owner": "dev|bob"])
        try await eventually {
            try alice.sync.refusals().contains { $0.side == .peer } && alice.collection("cars").findAll().count() == 3
                && fixture.hub.db.collection("cars").findAll().count() == 2
        }
        let response = try await fixture.send("/metrics")
        #expect(response.status == 200)
        #expect(response.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8")
        let families = try MetricsParser.families(String(decoding: response.body, as: UTF8.self))
        func value(_ name: String, _ labels: [String: String] = [:]) throws -> Double {
            try #require(families[name]?.samples.first { $0.name == name && $0.labels == labels }, "\(name) \(labels)")
                .value
        }
        #expect(try value("docdb_sessions") == 1)
        #expect(try value("docdb_documents_in_total") == 1)
        #expect(try value("docdb_documents_out_total") >= 1)
        #expect(try value("docdb_bytes_in_total") > 0 && value("docdb_bytes_out_total") > 0)
        #expect(try value("docdb_documents_refused_total", ["code": "denied"]) == 1)
        #expect(try value("docdb_logins_total", ["result": "accepted"]) == 1)
        let lag = try value("docdb_lag_seconds")
        #expect(lag >= 0 && lag < 600)
        for name in ["docdb_commit_seconds", "docdb_login_seconds"] {
            let family = try #require(families[name])
            #expect(family.type == "histogram")
            #expect(family.samples.first { $0.name == name + "_count" }?.value == 1, "\(name)")
            #expect((family.samples.first { $0.name == name + "_sum" }?.value ?? 0) > 0, "\(name)")
        }
        try alice.close()
    }

    @Test("Metrics that have a port of their own are on loopback unless told otherwise, and nothing else is there")
    func metricsListener() async throws {
        let fixture = try HubFixture(more: "\"metrics\": 0,")
        let address = try #require(fixture.hub.metricsAddress)
        #expect(address.host == "127.0.0.1")
        #expect(address.port != fixture.hub.address?.port)
        #expect(try await fixture.send("/metrics").status == 404)
        for (path, status) in [("/metrics", 200), ("/v1/login", 404), ("/healthz", 404)] {
            let response = try await HTTPClient().send(
                HTTPClientRequest(url: "http://\(address)\(path)"), limits: HTTPClientLimits())
            #expect(response.status == status, "\(path)")
        }
    }

    @Test("A hub listens for other machines without TLS only where it is told so by name, and shows them no metrics")
    func plainNetwork() throws {
        #expect {
            try HubFixture(host: "0.0.0.0")
        } throws: {
            ($0 as? DocDBError)?.code == .connectionRejected && ($0 as? DocDBError)?.message.contains("TLS") == true
        }
        let fixture = try HubFixture(more: "\"permitsPlainNetwork\": true,", host: "0.0.0.0")
        #expect(fixture.hub.address != nil && fixture.hub.metricsAddress == nil)
    }

    @Test("The log has lines of one JSON object with a level, and no token, user, id or content")
    func log() async throws {
        let fixture = try HubFixture()
        let secrets = [
            "alice-token", "hush-token", "secret-provider", "alice", "secret-id", "secret-field", "secret-content",
            "secret-collection", "4711",
        ]
        let alice = try fixture.open("device")
        _ = try? await alice.auth.login(token: "hush-token", provider: "dev")
        _ = try? await alice.auth.login(token: "hush-token", provider: "secret-provider")
        for body in ["{\"token\": \"hush-token\"", "{\"appID\": \"secret-content\"}", "secret-content"] {
            _ = try await fixture.send("/v1/login", body)
        }
        _ = try await fixture.send("/secret-content?secret-id")
        try await alice.auth.login(token: "alice-token", provider: "dev")
        try alice.sync.start()
        _ = try alice.collection("secret-collection").find("`secret-field` == 4711").subscribe()
        _ = try alice.collection("cars").find("`secret-field` == 'secret-content'").subscribe()
        for (id, owner) in [("secret-id", "dev|alice"), ("secret-id-2", "dev|bob")] {
            try alice.collection("cars").insert([
                "_id": .string(id), "owner": .string(owner), "secret-field": "secret-content",
            ])
        }
        try await eventually { try alice.sync.refusals().contains { $0.side == .peer } }
        try HubLedger(fixture.files).revoke(
            user: "dev|alice", HubKeys.load(fixture.files),
            now: UnixTime(seconds: Int64(Date().timeIntervalSince1970)))
        try await eventually { fixture.log.contains("\"revoked\"") }
        try alice.close()
        try fixture.hub.stop()
        let lines = fixture.log.split(separator: "\n")
        #expect(lines.count >= 6)
        var levels: Set<String> = []
        for line in lines {
            let members = try StrictJSON.object(Array(line.utf8))
            levels.insert(members["level"]?.stringValue ?? "")
            #expect(members["event"]?.stringValue != nil && members["time"]?.intValue != nil)
            for secret in secrets { #expect(!line.contains(secret), "\(secret) in \(line)") }
        }
        #expect(levels == ["info", "warning"])
    }

    @Test("A log writes its level and what is above it")
    func levels() {
        let lines = LineLog()
        let log = HubLog(least: .warning, clock: { 0 }, write: { lines.append($0) })
        for level in HubLog.Level.allCases { log.note(level, level.name) }
        #expect(
            lines.text.split(separator: "\n").map { $0.contains("warning") || $0.contains("error") } == [true, true])
    }
}
