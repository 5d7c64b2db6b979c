import DocDBCore
import DocDBTransport
import Testing

@Suite("Hostile bytes", .timeLimit(.minutes(10)))
struct HostileBytesTests {
    /// Whether the listener still carries a frame there and back.
    private func serves(_ network: TestNetwork) async throws -> Bool {
        let client = Recorder()
        // On a busy machine a connection may not make it within the second that requests have here.
        var link = try? await network.transport.connect(to: network.url, network.connectOptions)
        while link == nil { link = try? await network.transport.connect(to: network.url, network.connectOptions) }
        guard let link else { return false }
        link.start(client)
        link.send([1, 2, 3])
        let state = await client.wait { !$0.frames.isEmpty || !$0.closes.isEmpty }
        link.close(.normal())
        return state.frames == [[1, 2, 3]]
    }

    private func network(isTLS: Bool = false) throws -> TestNetwork {
        let network = try TestNetwork(isTLS: isTLS) { $0.requestSeconds = 1 }
        let server = Recorder(keepsFrames: false) { link, frame in link.send(frame) }
        Task { [accepted = network.accepted] in while true { await accepted.next().start(server) } }
        return network
    }

    static let requestSamples: [String] = [
        "", "\r\n\r\n", "GET", "GET /v1/sync", "GET /v1/sync HTTP/1.1\r\n", "GET /v1/sync HTTP/1.1\r\nHost: x\r\n",
        "BREW /pot HTCPCP/1.0\r\n\r\n", "CONNECT 127.0.0.1:22 HTTP/1.1\r\n\r\n", "GET http://x/ HTTP/1.1\r\n\r\n",
        "GET /%00%zz/../../etc/passwd HTTP/1.1\r\nHost: x\r\n\r\n", "POST / HTTP/1.1\r\nContent-Length: -1\r\n\r\n",
        "POST / HTTP/1.1\r\nContent-Length: 99999999999999999999\r\n\r\n",
        "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\n",
        "GET / HTTP/1.1\r\n" + String(repeating: "X-Header: value\r\n", count: 2000) + "\r\n",
        "GET /" + String(repeating: "a", count: 100_000) + " HTTP/1.1\r\n\r\n",
        "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "\u{16}\u{3}\u{1}\u{2}\u{0}\u{1}\u{0}",
        "GET /v1/sync HTTP/1.1\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n",
        upgradeHead(upgrade: "something"),
    ]

    @Test("Requests that are none, or half ones, end and leave the listener serving", arguments: [false, true])
    func requests(isTLS: Bool) async throws {
        let network = try network(isTLS: isTLS)
        let port = network.port
        try await withThrowingTaskGroup(of: Void.self) { group in
            for request in Self.requestSamples {
                group.addTask {
                    let answer = try await blocking { () throws -> String in
                        let socket = try RawSocket(port: port)
                        socket.send(request)
                        return socket.readAll()
                    }
                    #expect(!answer.hasPrefix("HTTP/1.1 200"), "\(request.prefix(60))")
                }
            }
            try await group.waitForAll()
        }
        #expect(try await serves(network))
        while network.listener.connectionCount > 1 { await Task.yield() }
    }

    @Test("Random bytes, before and after the upgrade, leave the listener serving", arguments: [UInt64(1), 2, 3])
    func random(seed: UInt64) async throws {
        let network = try network()
        let port = network.port
        var generator = SeededGenerator(seed: seed)
        for _ in 0..<20 {
            let bytes = (0..<Int.random(in: 1...3000, using: &generator)).map { _ in
                UInt8.random(in: .min ... .max, using: &generator)
            }
            let isUpgraded = Bool.random(using: &generator)
            _ = try await blocking {
                let socket = try RawSocket(port: port)
                if isUpgraded {
                    socket.send(upgradeHead())
                    _ = socket.readHead()
                }
                socket.send(bytes)
                socket.finish()
                return socket.readAll()
            }
        }
        #expect(try await serves(network), "seed \(seed)")
    }

    struct Frames: Sendable, CustomTestStringConvertible {
        var testDescription: String
        var bytes: [UInt8]
        /// The code the server closes with; nil where it just hangs up.
        var code: UInt16?
    }

    static let mask: [UInt8] = [0, 0, 0, 0]
    static let frameSamples: [Frames] = [
        Frames(testDescription: "text", bytes: [0x81, 0x81] + mask + [0x61], code: 1003),
        Frames(
            testDescription: "length of 63 bits",
            bytes: [0x82, 0xFF, 0x7F] + [UInt8](repeating: 0xFF, count: 7) + mask
                + [UInt8](repeating: 7, count: 20_000), code: 1009),
        Frames(
            testDescription: "length of 64 bits",
            bytes: [0x82, 0xFF, 0xFF] + [UInt8](repeating: 0xFF, count: 7) + mask, code: nil),
        Frames(
            testDescription: "100 MB",
            bytes: [0x82, 0xFF, 0, 0, 0, 0, 5, 0xF5, 0xE1, 0] + mask + [UInt8](repeating: 7, count: 20_000), code: 1009),
        Frames(
            testDescription: "endless fragments",
            bytes: [0x02, 0xFE, 0x20, 0] + mask + [UInt8](repeating: 7, count: 8192) + [0, 0xFE, 0x20, 0] + mask
                + [UInt8](repeating: 7, count: 8192) + [0x80, 0x81] + mask + [7], code: 1009),
        Frames(testDescription: "reserved bits", bytes: [0xF2, 0x81] + mask + [1], code: nil),
        Frames(testDescription: "unknown kind", bytes: [0x83, 0x81] + mask + [1], code: nil),
        Frames(testDescription: "continuation of nothing", bytes: [0x80, 0x81] + mask + [1], code: nil),
        Frames(
            testDescription: "long ping", bytes: [0x89, 0xFE, 0x10, 0] + mask + [UInt8](repeating: 7, count: 4096),
            code: nil),
        Frames(
            testDescription: "a frame within a frame", bytes: [0x02, 0x81] + mask + [1, 0x82, 0x81] + mask + [1],
            code: nil),
    ]

    @Test("Frames that break the protocol or the limit end the link and nothing else", arguments: frameSamples)
    func frames(_ sample: Frames) async throws {
        let network = try network()
        let port = network.port
        let answer = try await blocking { () throws -> [UInt8] in
            let socket = try RawSocket(port: port)
            socket.send(upgradeHead())
            _ = socket.readHead()
            socket.send(sample.bytes)
            return socket.read(count: 4)
        }
        if let code = sample.code {
            #expect(answer.first == 0x88)
            #expect(answer.dropFirst(2).prefix(2) == [UInt8(code >> 8), UInt8(code & 0xFF)])
        } else {
            #expect(answer.isEmpty || answer.first == 0x88)
        }
        #expect(try await serves(network))
    }

    @Test("A client that drips its request is cut off in time", arguments: [false, true])
    func slowLoris(isTLS: Bool) async throws {
        let network = try network(isTLS: isTLS)
        let port = network.port
        // Bytes go on until the server has had enough; each waits for the one before to be taken.
        let isCut = try await blocking { () throws -> Bool in
            let socket = try RawSocket(port: port)
            socket.send("GET / HTTP/1.1\r\nX: ")
            return socket.dripUntilClosed()
        }
        #expect(isCut)
        #expect(try await serves(network))
    }
}

/// SplitMix64 (Steele, Lea, Flood, 2014).
struct SeededGenerator: RandomNumberGenerator {
    private var state: UInt64
    init(seed: UInt64) { state = seed }
    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var z = state
        z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
        z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
        return z ^ (z >> 31)
    }
}
