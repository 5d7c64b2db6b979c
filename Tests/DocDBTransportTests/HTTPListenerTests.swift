import DocDBCore
import DocDBTransport
import Synchronization
import Testing

@Suite("HTTP of a listener", .timeLimit(.minutes(10)))
struct HTTPListenerTests {
    private func network(
        _ change: (inout ListenOptions) -> Void = { _ in }, _ handler: @escaping HTTPRequestHandler
    ) throws -> TestNetwork {
        try TestNetwork {
            $0.requestHandler = handler
            change(&$0)
        }
    }

    private func answer(_ network: TestNetwork, _ request: String) async throws -> String {
        let port = network.port
        return try await blocking {
            let socket = try RawSocket(port: port)
            socket.send(request)
            return socket.readAll()
        }
    }

    @Test("A request arrives with method, path, query, headers and body, and is answered")
    func request() async throws {
        let requests = Inbox<HTTPRequest>()
        let network = try network { request, respond in
            requests.put(request)
            respond(HTTPResponse(status: 200, headers: ["content-type": "application/json"], body: [UInt8]("{}".utf8)))
        }
        let text = try await answer(
            network,
            "POST /v1/log%69n?a=1&b=2 HTTP/1.1\r\nHost: 127.0.0.1:80\r\nAuthorization: Bearer x\r\nX-Other: y\r\n"
                + "Content-Type: application/json\r\nContent-Length: 7\r\n\r\n{\"a\":1}")
        let request = await requests.next()
        #expect(request.method == "POST")
        #expect(request.path == "/v1/login")
        #expect(request.query == "a=1&b=2")
        #expect(
            request.headers == [
                "host": "127.0.0.1:80", "authorization": "Bearer x", "content-type": "application/json",
            ])
        #expect(request.body == [UInt8]("{\"a\":1}".utf8))
        #expect(request.remoteAddress == "127.0.0.1")
        #expect(
            text
                == "HTTP/1.1 200 OK\r\ncontent-length: 2\r\nconnection: close\r\ncontent-type: application/json\r\n\r\n{}"
        )
    }

    @Test("An answer may come later, from another thread, and be large", arguments: [false, true])
    func largeAnswer(isTLS: Bool) async throws {
        let body = patternedBytes(3_000_000)
        let network = try TestNetwork(isTLS: isTLS) {
            $0.requestHandler = { _, respond in startThread { respond(HTTPResponse(status: 200, body: body)) } }
        }
        guard !isTLS else { return }
        let port = network.port
        let bytes = try await blocking { () throws -> [UInt8] in
            let socket = try RawSocket(port: port)
            socket.send("GET /large HTTP/1.1\r\nHost: x\r\n\r\n")
            _ = socket.readHead()
            return socket.readBytes()
        }
        #expect(bytes == body)
    }

    @Test(
        "Bodies of all sizes up to the limit arrive, and larger ones are refused",
        arguments: [0, 1, 8192, 65_536, 65_537])
    func bodies(count: Int) async throws {
        let network = try network { request, respond in
            respond(HTTPResponse(status: 200, body: request.body))
        }
        let body = String(repeating: "x", count: count)
        let text = try await answer(
            network, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: \(count)\r\n\r\n" + (count > 65_536 ? "" : body))
        if count <= 65_536 {
            #expect(text.hasPrefix("HTTP/1.1 200 OK\r\n"))
            #expect(text.hasSuffix("\r\n\r\n" + body))
        } else {
            #expect(text.hasPrefix("HTTP/1.1 413 "))
        }
    }

    @Test("A body of unknown length is refused")
    func unknownLength() async throws {
        let network = try network { _, respond in respond(.text(200, "no")) }
        let chunked = try await answer(
            network, "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n\r\n")
        #expect(chunked.hasPrefix("HTTP/1.1 411 "))
    }

    @Test("Only the first of requests sent at once is answered, and the connection closes")
    func pipelining() async throws {
        let count = Lock(0)
        let network = try network { _, respond in
            count.withLock { $0 += 1 }
            respond(.text(200, "yes"))
        }
        let request = "GET / HTTP/1.1\r\nHost: x\r\n\r\n"
        let text = try await answer(network, request + request + request)
        #expect(text.hasSuffix("yes"))
        #expect(count.withLock { $0 } == 1)
    }

    @Test("Without a handler there is nothing, and the upgrade's path is no page")
    func noHandler() async throws {
        let network = try TestNetwork()
        for path in ["/", "/v1/sync", "/v1/login"] {
            #expect(try await answer(network, "GET \(path) HTTP/1.1\r\nHost: x\r\n\r\n").hasPrefix("HTTP/1.1 404 "))
        }
    }

    @Test("HEAD has the length and no body")
    func head() async throws {
        let network = try network { _, respond in respond(.text(200, "four")) }
        let text = try await answer(network, "HEAD / HTTP/1.1\r\nHost: x\r\n\r\n")
        #expect(text.contains("content-length: 4\r\n"))
        #expect(text.hasSuffix("\r\n\r\n"))
    }

    @Test("Line ends in an answer's headers do not split it")
    func headerInjection() async throws {
        let network = try network { _, respond in
            respond(HTTPResponse(status: 400, headers: ["content-type": "text/plain", "x": "a\r\nevil: b"]))
        }
        let text = try await answer(network, "GET / HTTP/1.1\r\nHost: x\r\n\r\n")
        #expect(!text.contains("\nevil"))
    }

    @Test("A handler that does not answer in time ends the connection, and a late answer does no harm")
    func lateAnswer() async throws {
        let responders = Inbox<@Sendable (HTTPResponse) -> Void>()
        let network = try network({ $0.responseSeconds = 1 }) { _, respond in responders.put(respond) }
        let text = try await answer(network, "GET / HTTP/1.1\r\nHost: x\r\n\r\n")
        #expect(text.isEmpty)
        let respond = await responders.next()
        respond(.text(200, "late"))
        respond(.text(200, "later"))
        while network.listener.connectionCount > 0 { await Task.yield() }
    }

    @Test("A second listener of the same transport has its own routes and no links")
    func secondListener() async throws {
        let network = try network { _, respond in respond(.text(200, "public")) }
        var options = ListenOptions()
        options.acceptsLinks = false
        options.requestHandler = { _, respond in respond(.text(200, "metrics")) }
        let metrics = network.transport.listener(options)
        try metrics.start { _ in }
        defer { metrics.stop() }
        let port = try #require(metrics.boundAddress).port
        let text = try await blocking { () throws -> String in
            let socket = try RawSocket(port: port)
            // A host that is the library's own name of the other listener must not lead there.
            socket.send("GET / HTTP/1.1\r\nHost: server-0\r\n\r\n")
            return socket.readAll()
        }
        #expect(text.hasSuffix("metrics"))
        #expect(try await answer(network, "GET / HTTP/1.1\r\nHost: server-1\r\n\r\n").hasSuffix("public"))
        let error = await failure { () throws(DocDBError) in
            _ = try await network.transport.connect(to: "ws://127.0.0.1:\(port)")
        }
        #expect(error?.context["status"] == "404")
    }
}
