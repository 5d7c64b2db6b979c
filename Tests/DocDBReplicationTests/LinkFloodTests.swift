import DocDBCore
import DocDBQuery
import DocDBReplication
import DocDBSync
import DocDBTransport
import Foundation
import Synchronization
import Testing

@Suite("Peers that take without end, or nothing at all", .timeLimit(.minutes(10)))
struct LinkFloodTests {
    /// Keeps what a link tells.
    private final class Listening: LinkHandler {
        let frames = Lock<[[UInt8]]>([])
        let closed = Lock<LinkCloseReason?>(nil)
        let (events, told) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))

        func linkDidOpen(_ link: any Link) {}
        func linkDidDrain(_ link: any Link) {}
        func link(_ link: any Link, didReceive frame: [UInt8]) {
            frames.withLock { $0.append(frame) }
            told.yield()
        }
        func link(_ link: any Link, didClose reason: LinkCloseReason) {
            closed.withLock { $0 = reason }
            told.yield()
        }
        func wait(until condition: () -> Bool) async {
            if condition() { return }
            for await _ in events where condition() { return }
        }
    }

    private func connect(_ network: MemoryNetwork, _ url: String) async throws -> any Link {
        try await withCheckedThrowingContinuation { continuation in
            _ = network.connect(to: url, options: ConnectOptions()) { continuation.resume(with: $0) }
        }
    }

    /// Opens a link, and does the handshake on it; one that a busy machine does not finish in time is begun anew.
    private func established(_ network: MemoryNetwork, _ url: String) async throws -> (any Link, Listening) {
        var hello = Hello()
        hello.appID = "app"
        hello.identityKind = "playground"
        hello.storeID = [UInt8](repeating: 3, count: 16)
        hello.nonce = [UInt8](repeating: 4, count: 16)
        while true {
            let link = try await connect(network, url)
            let listening = Listening()
            link.frameByteLimit = SyncLimits.frameByteCount
            link.start(listening)
            link.send(MessageCodec.frame(.hello(hello), compresses: false))
            link.send(MessageCodec.frame(.proof(Proof(bytes: [], grantHash: [])), compresses: false))
            func hasInterest() -> Bool {
                listening.frames.withLock { frames in
                    frames.contains { if case .interest? = try? MessageCodec.message($0) { true } else { false } }
                }
            }
            await listening.wait { hasInterest() || listening.closed.withLock { $0 != nil } }
            if hasInterest() { return (link, listening) }
        }
    }

    @Test("A peer that asks and does not read is given up before it fills the memory, and others are served")
    func unread() async throws {
        let network = MemoryNetwork()
        let server = try EnginePeer("server", on: network) { $0.outboxByteCount = 64 * 1024 }
        try server.engine.start()
        let (link, listening) = try await established(network, server.url)
        link.setReceiving(false)
        // Each is answered by one of the same size; nothing of it is read.
        for _ in 0..<60_000 { link.send(MessageCodec.frame(.ping, compresses: false)) }
        try await EnginePeer.wait([server]) { server.engine.status.peers.allSatisfy { !$0.isConnected } }
        let error = try #require(server.engine.status.peers.first?.lastError)
        #expect(error.error.context["close"] == CloseCode.limitReached)
        #expect(listening.frames.withLock { $0.count } < 1_000)
        let honest = try EnginePeer("honest", on: network) { $0.urls = [server.url] }
        try honest.subscribe()
        try server.put(#"{"_id": 1}"#)
        try honest.engine.start()
        try await EnginePeer.wait([honest, server]) { try honest.contents().count == 1 }
        link.close(.normal())
        for peer in [honest, server] { await peer.stop() }
    }

    @Test("A peer that reads is never given up for what it is sent")
    func read() async throws {
        let network = MemoryNetwork()
        let server = try EnginePeer("server", on: network) { $0.outboxByteCount = 64 * 1024 }
        for number in 0..<300 {
            try server.put(
                #"{"_id": \#(number), "text": "\#(UUID().uuidString + String(repeating: UUID().uuidString, count: 50))"}"#
            )
        }
        try server.engine.start()
        let reader = try EnginePeer("reader", on: network) { $0.urls = [server.url] }
        try reader.subscribe()
        try reader.engine.start()
        try await EnginePeer.wait([reader, server]) { try reader.contents().count == 300 }
        for peer in [reader, server] { await peer.stop() }
    }

    @Test("More subscriptions than can be asked by are refused, not forgotten")
    func subscriptions() throws {
        let peer = try EnginePeer("peer", on: MemoryNetwork())
        var count = 0
        var code: DocDBError.Code?
        while code == nil, count < 100 {
            let values = (0..<200).map { "x == \(count * 1_000 + $0)" }.joined(separator: " || ")
            do {
                try peer.subscribe(values)
                count += 1
            } catch { code = (error as? DocDBError)?.code }
        }
        #expect(code == .limitReached)
        #expect(count > 1)
        #expect(peer.engine.status.subscriptions.count == count)
    }
}
