import DocDBCore
import DocDBTransport
import TestSupport
import Testing

@Suite("HTTPClient", .timeLimit(.minutes(10)))
struct HTTPClientTests {
    private let client = HTTPClient()

    /// A listener that answers by path.
    private func network(isTLS: Bool = false, certificates: TestCertificates? = nil) throws -> TestNetwork {
        try TestNetwork(isTLS: isTLS, certificates: certificates) {
            $0.requestHandler = { request, respond in
                switch request.path {
                case "/echo":
                    let headers = ["x-method": request.method, "x-query": request.query]
                    respond(HTTPResponse(status: 201, headers: headers, body: request.body))
                case "/redirect":
                    respond(HTTPResponse(status: 302, headers: ["location": "/echo"]))
                case "/never":
                    break
                case "/large":
                    respond(HTTPResponse(status: 200, body: [UInt8](repeating: 7, count: 100_000)))
                case "/headers":
                    respond(HTTPResponse(status: 200, headers: ["x": String(repeating: "y", count: 40_000)]))
                default:
                    respond(.text(404, "not here"))
                }
            }
        }
    }

    private func url(_ network: TestNetwork, _ path: String) -> String {
        "\(network.certificates == nil ? "http" : "https")://127.0.0.1:\(network.port)\(path)"
    }

    @Test("Requests are sent with method, headers and body, and answers come with theirs", arguments: [false, true])
    func roundTrip(isTLS: Bool) async throws {
        let network = try network(isTLS: isTLS)
        var request = HTTPClientRequest(
            url: url(network, "/echo?a=1"), method: "POST", headers: ["Content-Type": "application/json"],
            body: patternedBytes(20_000))
        if let certificates = network.certificates {
            request.trust = .authorities(file: certificates.authorityFile)
        }
        let response = try await client.send(request, limits: HTTPClientLimits())
        #expect(response.status == 201)
        #expect(response.headers["x-method"] == "POST")
        #expect(response.headers["x-query"] == "a=1")
        #expect(response.body == request.body)
        for method in ["GET", "PUT", "DELETE", "POST"] {
            request.method = method
            request.body = []
            let response = try await client.send(request, limits: HTTPClientLimits())
            #expect(response.status == 201)
            #expect(response.headers["x-method"] == method)
        }
    }

    @Test("Redirects are handed back, not followed, as are errors")
    func statuses() async throws {
        let network = try network()
        let redirect = try await client.send(
            HTTPClientRequest(url: url(network, "/redirect")), limits: HTTPClientLimits())
        #expect(redirect.status == 302)
        #expect(redirect.headers["location"] == "/echo")
        let missing = try await client.send(HTTPClientRequest(url: url(network, "/x")), limits: HTTPClientLimits())
        #expect(missing.status == 404)
        #expect(missing.body == [UInt8]("not here".utf8))
    }

    @Test("Answers up to the limit arrive; larger ones, and endless headers, are refused")
    func limits() async throws {
        let network = try network()
        let large = HTTPClientRequest(url: url(network, "/large"))
        let response = try await client.send(large, limits: HTTPClientLimits(responseByteCount: 100_000))
        #expect(response.body.count == 100_000)
        let error = await failure { () throws(DocDBError) in
            _ = try await client.send(large, limits: HTTPClientLimits(responseByteCount: 99_999))
        }
        #expect(error?.code == .limitReached)
        let headers = await failure { () throws(DocDBError) in
            _ = try await client.send(HTTPClientRequest(url: url(network, "/headers")), limits: HTTPClientLimits())
        }
        #expect(headers?.code == .limitReached)
    }

    @Test("A server that does not answer in time is given up")
    func timeOut() async throws {
        let network = try network()
        let error = await failure { () throws(DocDBError) in
            _ = try await client.send(
                HTTPClientRequest(url: url(network, "/never")), limits: HTTPClientLimits(timeoutSeconds: 0.2))
        }
        #expect(error?.code == .timedOut)
        #expect(error?.message.contains("127.0.0.1:\(network.port)") == true)
    }

    @Test("A cancelled task ends its request")
    func cancel() async throws {
        let network = try network()
        let request = HTTPClientRequest(url: url(network, "/never"))
        let task = Task { [client] () -> DocDBError.Code? in
            do throws(DocDBError) {
                _ = try await client.send(request, limits: HTTPClientLimits(timeoutSeconds: 50))
                return nil
            } catch {
                return error.code
            }
        }
        while network.listener.connectionCount == 0 { await Task.yield() }
        task.cancel()
        #expect(await task.value == .cancelled)
    }

    @Test("A task that is cancelled already ends its request before it begins", arguments: 0..<20)
    func cancelledBefore(_ round: Int) async throws {
        let network = try network()
        let request = HTTPClientRequest(url: url(network, "/never"))
        let task = Task { [client] () -> DocDBError.Code? in
            withUnsafeCurrentTask { $0?.cancel() }
            do throws(DocDBError) {
                _ = try await client.send(request, limits: HTTPClientLimits(timeoutSeconds: 50))
                return nil
            } catch {
                return error.code
            }
        }
        #expect(await task.value == .cancelled)
    }

    @Test("Certificates are verified by the authorities and the host's name, or by pins")
    func certificates() async throws {
        let wrongName = try TestCertificates(names: "DNS:elsewhere")
        let other = try TestCertificates()
        let network = try network(isTLS: true, certificates: wrongName)
        let hash = try wrongName.publicKeyHash()
        var request = HTTPClientRequest(url: url(network, "/echo"))
        let refused: [CertificateTrust] = [
            .system, .authorities(file: wrongName.authorityFile), .authorities(file: other.authorityFile),
            .pinned(publicKeyHashes: []), .pinned(publicKeyHashes: [[UInt8](repeating: 7, count: 32)]),
        ]
        for trust in refused {
            request.trust = trust
            let sent = request
            let error = await failure { () throws(DocDBError) in
                _ = try await client.send(sent, limits: HTTPClientLimits())
            }
            #expect(error?.code == .certificateRejected, "\(trust): \(error?.message ?? "")")
        }
        request.trust = .pinned(publicKeyHashes: [[UInt8](repeating: 7, count: 32), hash])
        #expect(try await client.send(request, limits: HTTPClientLimits()).status == 201)
        request.trust = .authorities(file: "/nowhere/authorities.pem")
        let sent = request
        let error = await failure { () throws(DocDBError) in
            _ = try await client.send(sent, limits: HTTPClientLimits())
        }
        #expect(error?.code == .certificateInvalid)
    }

    @Test(
        "What is no URL of a web server, or would split the request, is refused",
        arguments: [
            "", "host", "ftp://host/", "file:///etc/passwd", "https://", "https:///x", "https://user:secret@host/",
            "https://ho st/", "https://host/\r\nEvil: 1",
        ])
    func badURL(_ url: String) async {
        let error = await failure { () throws(DocDBError) in
            _ = try await client.send(HTTPClientRequest(url: url), limits: HTTPClientLimits())
        }
        #expect(error?.code == .invalidAddress)
        #expect(error?.message.contains("secret") == false)
    }

    @Test("Headers with line ends are refused")
    func badHeader() async {
        let request = HTTPClientRequest(url: "http://127.0.0.1:9/", headers: ["x": "a\r\nEvil: 1"])
        let error = await failure { () throws(DocDBError) in
            _ = try await client.send(request, limits: HTTPClientLimits())
        }
        #expect(error?.code == .misuse)
    }

    @Test("Nobody listening is reported with the host")
    func refused() async throws {
        let network = try network()
        network.listener.stop()
        let request = HTTPClientRequest(url: url(network, "/"))
        let error = await failure { () throws(DocDBError) in
            _ = try await client.send(request, limits: HTTPClientLimits())
        }
        #expect(error?.code == .connectionFailed)
        #expect(error?.message.contains("127.0.0.1:\(network.port)") == true)
    }
}
