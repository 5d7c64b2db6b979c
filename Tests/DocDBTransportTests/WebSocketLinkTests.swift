import DocDBCore
import DocDBTransport
import Testing

@Suite("WebSocketLink", .timeLimit(.minutes(1)))
struct WebSocketLinkTests {
    static let frameSizes = [
        0, 1, 125, 126, 127, 4096, 8191, 8192, 8193, 65_535, 65_536, 65_537, 131_072, 1_048_576,
    ]

    @Test("Frames of all sizes travel whole and in order, both ways", arguments: [false, true])
    func roundTrip(isTLS: Bool) async throws {
        let network = try TestNetwork(isTLS: isTLS)
        let client = Recorder()
        let server = Recorder { link, frame in link.send(frame) }
        let (link, _) = try await network.open(client, server)
        let frames = Self.frameSizes.map { patternedBytes($0, seed: UInt8(truncatingIfNeeded: $0)) }
        for frame in frames { link.send(frame) }
        let state = await client.wait { $0.frames.count == frames.count }
        #expect(state.frames == frames)
        #expect(server.current.frames == frames)
        #expect(state.misplacedCount == 0 && server.current.misplacedCount == 0)
        #expect(link.queuedByteCount == 0)
    }

    @Test("Both ends know what carries them and who is there", arguments: [false, true])
    func info(isTLS: Bool) async throws {
        let network = try TestNetwork(isTLS: isTLS)
        let (client, server) = try await network.open(Recorder(), Recorder())
        #expect(client.info.kind == .webSocket(isTLS: isTLS))
        #expect(server.info.kind == .webSocket(isTLS: isTLS))
        #expect(client.info.isInitiator && !server.info.isInitiator)
        #expect(client.info.isLoopback && server.info.isLoopback)
        #expect(client.info.remoteAddress == "127.0.0.1:\(network.port)")
        #expect(client.info.channelBinding == server.info.channelBinding)
        #expect((client.info.channelBinding?.count == 32) == isTLS)
        #expect((client.info.peerCertificate?.subject == "CN=Test Server") == isTLS)
        #expect(server.info.peerCertificate == nil)
    }

    @Test("The other side hears the code and the text of a close, after all that was sent", arguments: [false, true])
    func orderlyClose(isTLS: Bool) async throws {
        let network = try TestNetwork(isTLS: isTLS)
        let client = Recorder(keepsFrames: false)
        let server = Recorder(keepsFrames: false)
        let (link, _) = try await network.open(client, server)
        for _ in 0..<64 { link.send(patternedBytes(65_536)) }
        link.close(LinkCloseReason(code: 4321, text: "done for today"))
        link.send([1])
        let there = await server.wait { !$0.closes.isEmpty }
        #expect(there.closes == [LinkCloseReason(code: 4321, text: "done for today", isRemote: true)])
        #expect(there.byteCount == 64 * 65_536)
        let here = await client.wait { !$0.closes.isEmpty }
        #expect(here.closes == [LinkCloseReason(code: 4321, text: "done for today")])
    }

    @Test("A frame beyond the limit closes the link with a reason, and one within it does not")
    func frameLimit() async throws {
        let network = try TestNetwork()
        let client = Recorder()
        let server = Recorder(keepsFrames: false)
        let (link, other) = try await network.open(client, server, frameByteLimit: 100_000)
        link.send(patternedBytes(100_000))
        await server.wait { $0.byteCount == 100_000 }
        other.frameByteLimit = 200_000
        link.send(patternedBytes(200_000))
        await server.wait { $0.byteCount == 300_000 }
        link.send(patternedBytes(200_001))
        let there = await server.wait { !$0.closes.isEmpty }
        #expect(there.byteCount == 300_000)
        #expect(there.closes == [.frameTooLarge(limit: 200_000)])
        let here = await client.wait { !$0.closes.isEmpty }
        #expect(here.closes.first?.code == 1009)
        #expect(here.closes.first?.isRemote == true)
    }
}
