import DocDBCore
import DocDBTransport
import Testing

@Suite("WebSocketTransport as Connector", .timeLimit(.minutes(10)))
struct ConnectorTests {
    @Test("A URL that is none is refused without a connection")
    func badURL() async throws {
        let transport = try WebSocketTransport()
        let error = await failure { () throws(DocDBError) in _ = try await transport.connect(to: "http://x") }
        #expect(error?.code == .invalidAddress)
    }

    @Test("A port where nobody listens is reported with the address")
    func refused() async throws {
        let port = try await freePort()
        let transport = try WebSocketTransport()
        let error = await failure { () throws(DocDBError) in
            _ = try await transport.connect(to: "ws://127.0.0.1:\(port)")
        }
        #expect(error?.code == .connectionFailed)
        // A server that answers something else is another matter.
        #expect(error?.message.contains("nothing listens there") == true)
        #expect(error?.message.contains("127.0.0.1:\(port)") == true)
    }

    @Test("A name that does not exist is reported as such")
    func unknownName() async throws {
        let transport = try WebSocketTransport()
        let error = await failure { () throws(DocDBError) in
            _ = try await transport.connect(to: "ws://nowhere.invalid")
        }
        #expect(error?.code == .connectionFailed)
        #expect(error?.message.contains("nowhere.invalid") == true)
    }

    @Test("A name with several addresses leads to the one that answers")
    func severalAddresses() async throws {
        let network = try TestNetwork()
        let link = try await network.transport.connect(to: "ws://localhost:\(network.port)")
        #expect(link.info.isLoopback)
    }

    @Test("IPv6 addresses are connected to and listened on", arguments: [false, true])
    func internetProtocol6(isTLS: Bool) async throws {
        let network = try TestNetwork(isTLS: isTLS) { $0.host = "::1" }
        #expect(network.listener.boundAddress?.description == "[::1]:\(network.port)")
        let scheme = isTLS ? "wss" : "ws"
        let link = try await network.transport.connect(
            to: "\(scheme)://[::1]:\(network.port)", network.connectOptions)
        #expect(link.info.remoteAddress == "[::1]:\(network.port)")
        #expect(link.info.isLoopback)
    }

    @Test("A server that says nothing is given up after the time-out")
    func timeOut() async throws {
        // A plain listener never answers the greeting of TLS, which is no request.
        let silent = try SilentServer()
        let transport = try WebSocketTransport()
        var options = ConnectOptions()
        options.timeoutSeconds = 1
        let error = await failure { () throws(DocDBError) in
            _ = try await transport.connect(to: "wss://127.0.0.1:\(silent.port)", options)
        }
        #expect(error?.code == .timedOut)
    }

    @Test("An attempt that is cancelled completes as cancelled")
    func cancel() async throws {
        let silent = try SilentServer()
        let transport = try WebSocketTransport()
        let outcome = Inbox<Result<any Link, DocDBError>>()
        let attempt = transport.connect(to: "ws://127.0.0.1:\(silent.port)", options: ConnectOptions()) {
            outcome.put($0)
        }
        attempt.cancel()
        let error = await failure { () throws(DocDBError) in _ = try await outcome.next().get() }
        #expect(error?.code == .cancelled)
    }

    @Test("A wrong path is reported with status and reason")
    func wrongPath() async throws {
        let network = try TestNetwork()
        let error = await failure { () throws(DocDBError) in
            _ = try await network.transport.connect(to: network.url + "/elsewhere")
        }
        #expect(error?.code == .connectionRejected)
        #expect(error?.context["status"] == "404")
        #expect(error?.context["reason"] == "there is nothing here")
    }

    @Test("A redirect is not followed")
    func redirect() async throws {
        let network = try TestNetwork()
        let answer = "HTTP/1.1 302 Found\r\nlocation: \(network.url)/v1/sync\r\ncontent-length: 0\r\n\r\n"
        let server = try SilentServer(answering: answer)
        let error = await failure { () throws(DocDBError) in
            _ = try await network.transport.connect(to: "ws://127.0.0.1:\(server.port)")
        }
        #expect(error?.code == .connectionRejected)
        #expect(error?.context["status"] == "302")
    }

    @Test("A server that closes at once, or answers nonsense, is reported", arguments: ["", "SSH-2.0-x\r\n\r\n"])
    func nonsense(answer: String) async throws {
        let server = try SilentServer(answering: answer)
        let transport = try WebSocketTransport()
        let error = await failure { () throws(DocDBError) in
            _ = try await transport.connect(to: "ws://127.0.0.1:\(server.port)")
        }
        #expect(error?.code == .connectionFailed)
    }

    @Test("After the transport has been shut down nothing connects or listens")
    func afterShutdown() async throws {
        let transport = try WebSocketTransport()
        transport.shutdown()
        let error = await failure { () throws(DocDBError) in
            _ = try await transport.connect(to: "ws://127.0.0.1:9")
        }
        #expect(error?.code == .cancelled)
        let listener = transport.listener(ListenOptions())
        let refusal = #expect(throws: DocDBError.self) { try listener.start { _ in } }
        #expect(refusal?.code == .cancelled)
    }

    @Test("Shutting a transport down cuts its links and frees its port, and leaves other transports alone")
    func shutdown() async throws {
        let network = try TestNetwork()
        let other = try WebSocketTransport()
        let client = Recorder()
        let server = Recorder()
        let link = try await other.connect(to: network.url)
        link.start(client)
        await network.accepted.next().start(server)
        await server.wait { $0.openCount == 1 }
        network.transport.shutdown()
        #expect(server.current.closes.count == 1)
        let state = await client.wait { !$0.closes.isEmpty }
        #expect(state.closes == [.lost()])
        let again = other.listener(ListenOptions(port: network.port))
        try again.start { _ in }
        again.stop()
    }

    /// A port that nobody listens on any more.
    private func freePort() async throws -> UInt16 {
        let network = try TestNetwork()
        network.listener.stop()
        return network.port
    }
}
