import DocDBCore
import DocDBTransport
import Testing

@Suite("WebSocketListener", .timeLimit(.minutes(10)))
struct WebSocketListenerTests {
    /// The answer to a request, as text.
    private func answer(_ network: TestNetwork, _ request: String) async throws -> String {
        let port = network.port
        return try await blocking {
            let socket = try RawSocket(port: port)
            socket.send(request)
            return socket.readHead()
        }
    }

    @Test("A port in use is reported, and free again when the listener has stopped")
    func portInUse() async throws {
        let network = try TestNetwork()
        let other = network.transport.listener(ListenOptions(port: network.port))
        let error = #expect(throws: DocDBError.self) { try other.start { _ in } }
        #expect(error?.code == .addressInUse)
        #expect(error?.message.contains("127.0.0.1:\(network.port)") == true)
        #expect(other.boundAddress == nil)
        network.listener.stop()
        try other.start { _ in }
        #expect(other.boundAddress?.port == network.port)
        other.stop()
        #expect(other.boundAddress == nil)
    }

    @Test(
        "Addresses that are none, or not of this machine, are reported", arguments: ["localhost", "192.0.2.1", "1.2.3"])
    func badAddress(host: String) throws {
        let listener = try WebSocketTransport().listener(ListenOptions(host: host))
        let error = #expect(throws: DocDBError.self) { try listener.start { _ in } }
        #expect(error?.code == .invalidAddress)
        #expect(error?.message.contains(host) == true)
    }

    @Test("Links outlive the listener that accepted them")
    func stop() async throws {
        let network = try TestNetwork()
        let client = Recorder()
        let server = Recorder { link, frame in link.send(frame) }
        let (link, _) = try await network.open(client, server)
        await server.wait { $0.openCount == 1 }
        network.listener.stop()
        link.send([1, 2, 3])
        let state = await client.wait { !$0.frames.isEmpty }
        #expect(state.frames == [[1, 2, 3]])
    }

    @Test("Connections beyond the limit are refused with status and reason, until others have gone")
    func connectionLimit() async throws {
        let network = try TestNetwork { $0.connectionLimit = 3 }
        var links: [(any Link, Recorder)] = []
        for _ in 0..<3 {
            let recorder = Recorder()
            links.append((try await network.open(recorder, Recorder()).client, recorder))
        }
        let error = await failure { () throws(DocDBError) in _ = try await network.transport.connect(to: network.url) }
        #expect(error?.code == .connectionRejected)
        #expect(error?.context["status"] == "503")
        #expect(error?.context["reason"] == "too many connections; the limit is 3")
        for (link, recorder) in links {
            link.close(.normal())
            await recorder.wait { !$0.closes.isEmpty }
        }
        while network.listener.connectionCount > 0 { await Task.yield() }
        _ = try await network.transport.connect(to: network.url)
    }

    @Test("Connections beyond the limit for one address are refused with a reason")
    func connectionLimitPerAddress() async throws {
        let network = try TestNetwork {
            $0.connectionLimitPerAddress = 1
            $0.limitsLoopback = true
        }
        let first = try await network.transport.connect(to: network.url)
        let error = await failure { () throws(DocDBError) in _ = try await network.transport.connect(to: network.url) }
        #expect(error?.context["status"] == "503")
        #expect(error?.context["reason"] == "too many connections from one address; the limit is 1")
        #expect(first.info.isLoopback)
    }

    @Test("Two hundred links open at once, and all work", arguments: [false, true])
    func manyLinks(isTLS: Bool) async throws {
        let network = try TestNetwork(isTLS: isTLS)
        let count = 200
        let server = Recorder { link, frame in link.send(frame) }
        let echo = Task { for _ in 0..<count { await network.accepted.next().start(server) } }
        let client = Recorder()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for index in 0..<count {
                group.addTask {
                    let link = try await network.transport.connect(to: network.url, network.connectOptions)
                    link.start(client)
                    link.send(patternedBytes(1000, seed: UInt8(index)))
                }
            }
            try await group.waitForAll()
        }
        await echo.value
        let state = await client.wait { $0.frames.count == count }
        #expect(Set(state.frames) == Set((0..<count).map { patternedBytes(1000, seed: UInt8($0)) }))
        #expect(network.listener.connectionCount == count)
    }

    @Test("An origin that is not listed is refused; one that is, and none, are not")
    func origins() async throws {
        let network = try TestNetwork { $0.allowedOrigins = ["https://app.example.com"] }
        let samples = [
            ("Origin: https://app.example.com\r\n", "101"), ("Origin: HTTPS://APP.example.com\r\n", "101"), ("", "101"),
            ("Origin: https://evil.example.com\r\n", "403"), ("Origin: null\r\n", "403"),
            ("Origin: https://app.example.com.evil.net\r\n", "403"),
        ]
        for (header, status) in samples {
            let head = try await answer(network, upgradeHead(further: header))
            #expect(head.hasPrefix("HTTP/1.1 \(status) "), "\(header)")
        }
    }

    @Test("A host name that is not listed is refused")
    func hosts() async throws {
        let network = try TestNetwork { $0.allowedHosts = ["hub.example.com", "127.0.0.1"] }
        for (host, status) in [
            ("hub.example.com", "101"), ("HUB.example.com:4430", "101"), ("127.0.0.1", "101"),
            ("evil.example.com", "403"), ("hub.example.com.evil.net", "403"),
        ] {
            let head = try await answer(network, upgradeHead(host: host))
            #expect(head.hasPrefix("HTTP/1.1 \(status) "), "\(host)")
        }
    }

    @Test("A WebSocket needs the path, the subprotocol and the name of the upgrade")
    func upgrades() async throws {
        let network = try TestNetwork()
        let samples = [
            (upgradeHead(), "101"), (upgradeHead(subprotocol: "other, docdb.1"), "101"),
            (upgradeHead(path: "/"), "404"), (upgradeHead(path: "/v1/sync/x"), "404"),
            (upgradeHead(subprotocol: nil), "400"), (upgradeHead(subprotocol: "docdb.2"), "400"),
            (upgradeHead(upgrade: "h2c", further: "HTTP2-Settings: AAMAAABkAARAAAAAAAIAAAAA\r\n"), "400"),
        ]
        for (request, status) in samples {
            let head = try await answer(network, request)
            #expect(head.hasPrefix("HTTP/1.1 \(status) "), "\(request)")
            if status == "101" { #expect(head.lowercased().contains("sec-websocket-protocol: docdb.1")) }
        }
    }

    @Test("A peer that is reset ends the link as lost")
    func resetPeer() async throws {
        let network = try TestNetwork()
        let port = network.port
        let server = Recorder()
        let peer = try await blocking { () throws -> RawSocket in
            let socket = try RawSocket(port: port)
            socket.send(upgradeHead())
            _ = socket.readHead()
            return socket
        }
        await network.accepted.next().start(server)
        await server.wait { $0.openCount == 1 }
        peer.reset()
        let state = await server.wait { !$0.closes.isEmpty }
        #expect(state.closes == [.lost()])
    }

    @Test("A peer that no longer answers ends the link as silent")
    func silentPeer() async throws {
        let network = try TestNetwork {
            $0.link.pingSeconds = 1
            $0.link.silenceSeconds = 2
        }
        let port = network.port
        let server = Recorder()
        let peer = try await blocking { () throws -> RawSocket in
            let socket = try RawSocket(port: port)
            socket.send(upgradeHead())
            _ = socket.readHead()
            return socket
        }
        await network.accepted.next().start(server)
        let state = await server.wait { !$0.closes.isEmpty }
        #expect(state.closes == [.silent])
        _ = try await blocking { peer.readAll() }
    }

    @Test("A quiet peer that answers pings stays")
    func quietPeer() async throws {
        let network = try TestNetwork {
            $0.link.pingSeconds = 2
            $0.link.silenceSeconds = 7
        }
        let port = network.port
        let server = Recorder()
        async let pings = blocking { () throws -> Int in
            let socket = try RawSocket(port: port)
            socket.send(upgradeHead())
            _ = socket.readHead()
            // Each ping takes two seconds, so that four pass the time of silence.
            for count in 0..<4 {
                guard socket.read(count: 3) == [0x89, 0x01, UInt8(ascii: "d")] else { return count }
                socket.send([0x8A, 0x81, 0, 0, 0, 0, UInt8(ascii: "d")])
            }
            return 4
        }
        await network.accepted.next().start(server)
        #expect(try await pings == 4)
        let state = await server.wait { !$0.closes.isEmpty }
        #expect(state.closes == [.lost()])
    }
}
