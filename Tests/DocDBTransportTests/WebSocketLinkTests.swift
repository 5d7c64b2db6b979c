import DocDBCore
import DocDBTransport
import Testing

@Suite("WebSocketLink", .timeLimit(.minutes(10)))
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
        let frame = patternedBytes(65_536)
        for _ in 0..<64 { link.send(frame) }
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

    @Test(
        "A side that does not receive stops the sender, whose queue keeps what the systems between do not",
        arguments: [false, true])
    func flowControl(isTLS: Bool) async throws {
        let network = try TestNetwork(isTLS: isTLS)
        let client = Recorder()
        let server = Recorder(keepsFrames: false)
        let (link, other) = try await network.open(client, server)
        await server.wait { $0.openCount == 1 }
        other.setReceiving(false)
        let frame = patternedBytes(1_048_576)
        for _ in 0..<64 { link.send(frame) }

        // Another link's frames go to and fro on the same thread meanwhile, so this one has had every chance.
        let pinger = Recorder()
        let (first, _) = try await network.open(pinger, Recorder { link, frame in link.send(frame) })
        for count in 1...200 {
            first.send([0])
            await pinger.wait { $0.frames.count == count }
        }
        #expect(link.queuedByteCount > 32 * 1_048_576)
        #expect(server.current.byteCount < 32 * 1_048_576)

        other.setReceiving(true)
        await server.wait { $0.byteCount == 64 * 1_048_576 }
        await client.wait { $0.drainCount > 0 }
        #expect(link.queuedByteCount == 0)
        #expect(server.current.closes.isEmpty)
    }

    @Test("Frames sent from many threads each arrive once and whole")
    func manyThreads() async throws {
        let network = try TestNetwork()
        let server = Recorder()
        let (link, _) = try await network.open(Recorder(), server)
        await withTaskGroup(of: Void.self) { group in
            for task in 0..<8 {
                group.addTask { for index in 0..<250 { link.send([UInt8(task), UInt8(index)]) } }
            }
        }
        let state = await server.wait { $0.frames.count == 2000 }
        for task in 0..<8 {
            #expect(state.frames.filter { $0[0] == UInt8(task) }.map { $0[1] } == (0..<250).map { UInt8($0) })
        }
    }

    @Test("A link that nobody starts takes nothing, and one that starts late has lost nothing")
    func lateStart() async throws {
        let network = try TestNetwork()
        let client = Recorder()
        let first = try await network.transport.connect(to: network.url)
        first.start(client)
        for index in 0..<100 { first.send([UInt8(index)]) }
        let second = await network.accepted.next()
        let server = Recorder()
        second.start(server)
        let state = await server.wait { $0.frames.count == 100 }
        #expect(state.frames == (0..<100).map { [UInt8($0)] })
        #expect(state.misplacedCount == 0)
    }

    @Test("An end whose other end does not read closes after the time-out, with the reason it was given")
    func stalledClose() async throws {
        let network = try TestNetwork()
        let client = Recorder()
        let (link, other) = try await network.open(client, Recorder(keepsFrames: false))
        other.setReceiving(false)
        let frame = patternedBytes(1_048_576)
        for _ in 0..<32 { link.send(frame) }
        link.close(.goingAway())
        let state = await client.wait { !$0.closes.isEmpty }
        #expect(state.closes == [.goingAway()])
    }
}
