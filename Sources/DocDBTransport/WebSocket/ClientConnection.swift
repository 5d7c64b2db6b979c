import CWebSockets
import DocDBCore

/// A connection to one address of a server, then the link over it; of the service thread.
final class ClientConnection: ServiceConnection {
    private weak var attempt: ClientAttempt?
    private let loop: ServiceLoop
    let scope: TransportScope
    private let options: ConnectOptions
    private let url: WebSocketURL
    private let verifier: CertificateVerifier
    private let addressDeadline: Int64?
    var handle: OpaquePointer?
    /// Whether the attempt has ended without this connection.
    var isAbandoned = false
    private var link: WebSocketLink?
    /// Why the server's certificate does not verify.
    private var certificateFailure: String?
    private var hasReported = false

    init(_ attempt: ClientAttempt, url: WebSocketURL, addressDeadline: Int64?) {
        self.attempt = attempt
        loop = attempt.loop
        scope = attempt.scope
        options = attempt.options
        self.url = url
        self.addressDeadline = addressDeadline
        verifier = CertificateVerifier(trust: attempt.options.trust, address: url.isIPv6 ? url.host : nil)
    }

    func handle(_ event: ServiceEvent) -> Int32 {
        if let link, let result = link.act(on: event) { return result }
        switch event.reason {
        case LWS_CALLBACK_OPENSSL_PERFORM_SERVER_CERT_VERIFICATION:
            return verify(event)
        case LWS_CALLBACK_CLIENT_HTTP_REDIRECT:
            return 1
        case LWS_CALLBACK_CLIENT_ESTABLISHED:
            return open(event.handle)
        case LWS_CALLBACK_CLIENT_CONNECTION_ERROR:
            failed(event)
            return 0
        default:
            return isAbandoned ? -1 : 0
        }
    }

    func sweep(now: Int64) { link?.sweep(now: now) }

    /// Gives an address up that does not answer, where there is another.
    func sweepAddress(now: Int64) {
        guard link == nil, let addressDeadline, now >= addressDeadline, let handle else { return }
        docdb_lws_kill(handle)
    }

    func didEnd() {
        handle = nil
        link?.didEnd()
        if link == nil { report(unreachable, isFinal: false) }
    }

    private var unreachable: DocDBError {
        DocDBError(
            .connectionFailed,
            "cannot connect to \(url.hostHeader): nothing listens there, or the network does not lead to it")
    }

    private func report(_ error: DocDBError, isFinal: Bool) {
        guard !hasReported else { return }
        hasReported = true
        attempt?.connectionFailed(self, error, isFinal: isFinal)
    }

    /// Judges a certificate; the store comes as the event's input, OpenSSL's own verdict as its count.
    private func verify(_ event: ServiceEvent) -> Int32 {
        guard let input = event.input else { return -1 }
        let store = OpaquePointer(input)
        switch verifier.verdict(store, isVerified: event.count == 1) {
        case .accepted:
            X509_STORE_CTX_set_error(store, X509_V_OK)
            return 0
        case .refused(let reason):
            certificateFailure = certificateFailure ?? reason
            if X509_STORE_CTX_get_error(store) == X509_V_OK {
                X509_STORE_CTX_set_error(store, X509_V_ERR_APPLICATION_VERIFICATION)
            }
            return -1
        }
    }

    private func failed(_ event: ServiceEvent) {
        let status = Int(lws_http_client_http_response(event.handle))
        if let certificateFailure {
            report(
                DocDBError(
                    .certificateRejected,
                    "the certificate of \(url.hostHeader) does not verify: \(certificateFailure); "
                        + "check the server's name and certificate, and whom this peer trusts",
                    context: ["reason": certificateFailure]), isFinal: true)
        } else if status != 0 {
            report(rejection(status, event.handle), isFinal: true)
        } else {
            let text = event.input.map { input in
                String(decoding: UnsafeRawBufferPointer(start: input, count: event.count), as: UTF8.self)
            }
            report(failure(text ?? ""), isFinal: false)
        }
    }

    /// What the library's own words mean.
    private func failure(_ text: String) -> DocDBError {
        if text.contains("SSL") || text.contains("tls") || text.contains("SYSCALL") {
            return DocDBError(
                .connectionFailed,
                "\(url.hostHeader) does not agree on TLS 1.3; check that it serves wss on this port")
        }
        if text.isEmpty || text.hasPrefix("Unable to connect") { return unreachable }
        // Over libuv the library says the same of a port that refuses and of a server that hangs up.
        if text.hasPrefix("closed before established") {
            return DocDBError(
                .connectionFailed,
                "cannot connect to \(url.hostHeader): nothing listens there, or what does closes without an answer; "
                    + "check host and port, and that the server runs")
        }
        return DocDBError(
            .connectionFailed,
            "\(url.hostHeader) was reached and does not answer as a WebSocket server; check host, port and path")
    }

    private func rejection(_ status: Int, _ handle: OpaquePointer) -> DocDBError {
        var line = [CChar](repeating: 0, count: 256)
        let count = lws_hdr_copy(handle, &line, Int32(line.count), WSI_TOKEN_HTTP)
        let bytes = line.prefix(max(0, Int(count))).map { UInt8(bitPattern: $0) }
        let reason = String(decoding: bytes.drop { $0 != UInt8(ascii: " ") }.dropFirst(), as: UTF8.self)
        guard status != 101 else {
            return DocDBError(
                .connectionFailed, "\(url.hostHeader) answers as a WebSocket server of another kind; check the URL")
        }
        return DocDBError(
            .connectionRejected, "\(url.hostHeader) refuses the connection (HTTP \(status)): \(reason)",
            context: ["status": "\(status)", "reason": reason])
    }

    private func open(_ handle: OpaquePointer) -> Int32 {
        let session = lws_get_ssl(handle)
        guard (session != nil) == url.isTLS else { return -1 }
        let address = Resolver.remoteAddress(of: lws_get_socket_fd(handle)) ?? SocketAddress(host: "", port: url.port)
        let info = LinkInfo(
            kind: .webSocket(isTLS: session != nil), isInitiator: true, remoteAddress: address.description,
            isLoopback: Resolver.isLoopback(address.host),
            peerCertificate: session.flatMap(TLSSession.peerCertificate),
            channelBinding: session.flatMap(TLSSession.channelBinding))
        if session != nil {
            guard info.channelBinding != nil, let certificate = info.peerCertificate else { return -1 }
            // The pins have been checked while verifying; this holds whatever the libraries do.
            if case .pinned(let hashes) = options.trust, !hashes.contains(certificate.publicKeyHash) { return -1 }
        }
        let link = WebSocketLink(info: info, handle: handle, loop: loop, options: options.link)
        guard let attempt, attempt.connectionOpened(self, link) else { return -1 }
        self.link = link
        return 0
    }
}
