import CWebSockets
import DocDBCore

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// A connection that was accepted: first HTTP, then perhaps a link; of the service thread.
///
/// A connection serves one request and is closed.
final class ServerConnection: ServiceConnection {
    let acceptor: Acceptor
    let address: SocketAddress
    var scope: TransportScope { acceptor.scope }
    /// Why all that is asked here is refused.
    private let refusal: String?
    var handle: OpaquePointer?
    private var link: WebSocketLink?
    var exchange: HTTPExchange?
    private var deadline: Int64?

    init(_ acceptor: Acceptor, address: SocketAddress, refusal: String?) {
        self.acceptor = acceptor
        self.address = address
        self.refusal = refusal
        deadline = acceptor.loop.refreshNow() + acceptor.options.requestSeconds
    }

    func handle(_ event: ServiceEvent) -> Int32 {
        if let link, let result = link.act(on: event) { return result }
        switch event.reason {
        case LWS_CALLBACK_HTTP_CONFIRM_UPGRADE:
            return confirmUpgrade(event)
        case LWS_CALLBACK_ESTABLISHED:
            return open(event.handle)
        case LWS_CALLBACK_HTTP, LWS_CALLBACK_HTTP_BODY, LWS_CALLBACK_HTTP_BODY_COMPLETION,
            LWS_CALLBACK_HTTP_WRITEABLE:
            return serve(event)
        case LWS_CALLBACK_RAW_ADOPT, LWS_CALLBACK_RAW_RX, LWS_CALLBACK_RAW_WRITEABLE:
            // What CONNECT leads to.
            return -1
        default:
            return 0
        }
    }

    func sweep(now: Int64) {
        if let link {
            link.sweep(now: now)
        } else if let handle, let deadline, now >= deadline {
            docdb_lws_kill(handle)
        }
    }

    func didEnd() {
        handle = nil
        link?.didEnd()
        acceptor.leave(address)
        exchange?.didEnd()
    }

    /// Allows the wish for a WebSocket, or answers it with why not.
    private func confirmUpgrade(_ event: ServiceEvent) -> Int32 {
        guard exchange == nil else { return -1 }
        let head = HTTPHead(event.handle)
        if let response = refusal(of: head, event) { return HTTPExchange.answer(response, event.handle) }
        return 0
    }

    private func refusal(of head: HTTPHead, _ event: ServiceEvent) -> HTTPResponse? {
        let kind = event.input.map { String(cString: $0.assumingMemoryBound(to: CChar.self)) } ?? ""
        if let response = refusal(of: head) { return response }
        guard kind.lowercased() == "websocket" else { return .text(400, "the only upgrade is to websocket") }
        guard acceptor.options.acceptsLinks, head.path == WebSocketURL.syncPath else {
            return .text(404, "there is nothing here")
        }
        let offered = head.value(WSI_TOKEN_PROTOCOL)?.split(separator: ",").map { $0.filter { $0 != " " } } ?? []
        guard offered.contains(ServiceLoop.subprotocol) else {
            return .text(400, "the subprotocol must be \(ServiceLoop.subprotocol)")
        }
        return nil
    }

    /// The answer to what may not be asked, whatever it is.
    private func refusal(of head: HTTPHead) -> HTTPResponse? {
        if let refusal { return .text(503, refusal) }
        let options = acceptor.options
        if let origin = head.value(WSI_TOKEN_ORIGIN), !options.allowedOrigins.contains(where: { $0.equals(origin) }) {
            return .text(403, "this origin may not connect")
        }
        if !options.allowedHosts.isEmpty {
            let host = head.value(WSI_TOKEN_HOST).map(HTTPHead.hostName) ?? ""
            guard options.allowedHosts.contains(where: { $0.equals(host) }) else {
                return .text(403, "this host name is not served here")
            }
        }
        return nil
    }

    private func serve(_ event: ServiceEvent) -> Int32 {
        if event.reason == LWS_CALLBACK_HTTP {
            // A connection serves one request; further ones are read and come to nothing.
            guard exchange == nil else { return 0 }
            let head = HTTPHead(event.handle)
            if let response = refusal(of: head) { return HTTPExchange.answer(response, event.handle) }
            exchange = HTTPExchange(acceptor: acceptor, remoteAddress: address.host)
            return limited(exchange?.begin(head, event.handle) ?? -1)
        }
        let wasComplete = exchange?.isComplete ?? true
        let result = exchange?.handle(event) ?? -1
        return wasComplete ? result : limited(result)
    }

    /// Sets the time that what comes next may take: the rest of the request, or the answer.
    private func limited(_ result: Int32) -> Int32 {
        guard exchange?.isComplete == true else { return result }
        deadline = acceptor.loop.now + acceptor.options.responseSeconds
        return result
    }

    private func open(_ handle: OpaquePointer) -> Int32 {
        deadline = nil
        let session = lws_get_ssl(handle)
        let info = LinkInfo(
            kind: .webSocket(isTLS: session != nil), isInitiator: false, remoteAddress: address.description,
            isLoopback: Resolver.isLoopback(address.host),
            peerCertificate: session.flatMap(TLSSession.peerCertificate),
            channelBinding: session.flatMap(TLSSession.channelBinding))
        if session != nil, info.channelBinding == nil { return -1 }
        let link = WebSocketLink(info: info, handle: handle, loop: acceptor.loop, options: acceptor.options.link)
        self.link = link
        acceptor.accept(link)
        return 0
    }
}

extension String {
    /// Whether two names are the same but for the case of their ASCII letters.
    fileprivate func equals(_ other: String) -> Bool { lowercased() == other.lowercased() }
}
