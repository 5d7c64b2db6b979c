import DocDB
import DocDBAuth
import DocDBCore
import DocDBHub
import DocDBSync
import DocDBTransport
import Foundation
import TestSupport
import Testing

@Suite("A hub over TLS", .timeLimit(.minutes(10)))
struct HubTLSTests {
    private func ids(_ db: Database) throws -> Set<String> {
        Set(try db.collection("cars").findAll().documents().map(\.id.description))
    }

    private func problem(_ db: Database) -> DocDBError? { db.sync.status.connections.first?.lastProblem?.error }

    @Test("Login and replication go over one port inside TLS, verified by the authority that the app trusts")
    func endToEnd() async throws {
        let certificates = try TestCertificates()
        let hub = try HubFixture(certificates: certificates)
        let alice = try hub.open("alice")
        // An authority that the system does not know: neither a token nor a session goes there.
        do {
            try await alice.auth.login(token: "alice-token", provider: "dev")
            Issue.record("a hub was trusted whose certificate nobody vouches for")
        } catch { #expect((error as? DocDBError)?.code == .certificateRejected) }
        guard case .unauthenticated(let reason) = alice.auth.status else {
            Issue.record("somebody is logged in")
            return
        }
        #expect(reason.contains("certificate"))
        // The trust counts for the login, also before the start.
        alice.sync.configuration.trust = .authorities(file: certificates.authorityFile)
        try await alice.auth.login(token: "alice-token", provider: "dev")
        try hub.hub.db.collection("cars").insert(["_id": "1", "state": "for sale"])
        try alice.collection("cars").findAll().subscribe()
        try alice.sync.start()
        try await eventually { try ids(alice) == ["1"] }
        #expect(alice.sync.status.peers.map(\.kind) == [.webSocketTLS])
        await alice.sync.stop()
        let other = try TestCertificates()
        alice.sync.configuration.trust = .authorities(file: other.authorityFile)
        try alice.sync.start()
        try await eventually { problem(alice)?.code == .certificateRejected }
        #expect(problem(alice)?.message.contains("certificate") == true)
        #expect(!alice.sync.status.isConnected)
        try alice.close()
    }

    @Test(
        "A session that somebody in the middle passes on over another TLS session proves nothing, unless told so by name",
        arguments: [true, false])
    func relayed(isBound: Bool) async throws {
        let hub = try HubFixture(
            more: isBound ? "" : "\"channelBinding\": \"none\",", certificates: TestCertificates())
        let certificates = try #require(hub.certificates)
        // The app trusts the one in the middle, as if an authority had been deceived.
        let middle = try Middle(
            to: hub.url.replacingOccurrences(of: "https", with: "wss"), trusting: certificates,
            showing: try TestCertificates())
        let alice = try hub.open("alice", channelBinding: isBound ? .tlsExporter : .none)
        alice.sync.configuration.trust = .authorities(file: certificates.authorityFile)
        try await alice.auth.login(token: "alice-token", provider: "dev")
        alice.sync.configuration.trust = .authorities(file: middle.certificates.authorityFile)
        alice.sync.configuration.connect = [middle.url]
        try alice.sync.start()
        if isBound {
            try await eventually { problem(alice) != nil }
            #expect(problem(alice)?.code == .proofFailed)
            #expect(!alice.sync.status.isConnected && alice.sync.status.peers.isEmpty)
            #expect(hub.hub.db.sync.status.peers.isEmpty)
            // It is no word of the hub's: the grant holds.
            #expect(alice.auth.status.isAuthenticated)
        } else {
            // The same middle, which shows that it was the binding that told.
            try await eventually { alice.sync.status.isConnected }
        }
        try alice.close()
        middle.stop()
    }

    @Test("A side that binds its proof to TLS, and one that does not, do not meet")
    func unequal() async throws {
        let hub = try HubFixture(certificates: TestCertificates())
        let alice = try hub.open("alice", channelBinding: .none)
        alice.sync.configuration.trust = .authorities(file: try #require(hub.certificates).authorityFile)
        try await alice.auth.login(token: "alice-token", provider: "dev")
        try alice.sync.start()
        try await eventually { problem(alice)?.code == .proofFailed }
        try alice.close()
    }
}

/// Somebody in the middle: ends TLS, and passes each frame on over a TLS session of its own.
final class Middle: Sendable {
    let certificates: TestCertificates
    let url: String
    private let transport: WebSocketTransport
    private let listener: WebSocketListener

    init(to hub: String, trusting authority: TestCertificates, showing certificates: TestCertificates) throws {
        self.certificates = certificates
        let transport = try WebSocketTransport()
        self.transport = transport
        listener = transport.listener(ListenOptions(identity: certificates.identity))
        var options = ConnectOptions()
        options.trust = .authorities(file: authority.authorityFile)
        options.link.frameByteLimit = SyncLimits.frameByteCount
        try listener.start { [options] client in
            client.frameByteLimit = SyncLimits.frameByteCount
            transport.connect(to: hub, options: options) { result in
                guard case .success(let server) = result else { return client.close(.goingAway("no hub")) }
                server.start(Passer(to: client))
                client.start(Passer(to: server))
            }
        }
        url = "wss://127.0.0.1:\(listener.boundAddress?.port ?? 0)"
    }

    func stop() {
        listener.stop()
        transport.shutdown()
    }

    private final class Passer: LinkHandler {
        let other: any Link
        init(to other: any Link) { self.other = other }
        func linkDidOpen(_ link: any Link) {}
        func link(_ link: any Link, didReceive frame: [UInt8]) { other.send(frame) }
        func linkDidDrain(_ link: any Link) {}
        func link(_ link: any Link, didClose reason: LinkCloseReason) { other.close(reason) }
    }
}
