import CWebSockets
package import DocDBCore
import Synchronization

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// Listens on one port, for WebSockets and plain requests.
package final class WebSocketListener: Listener {
    private enum State {
        case idle
        case listening(Acceptor, SocketAddress)
    }

    private let options: ListenOptions
    private let loop: ServiceLoop
    private let scope: TransportScope
    private let state = Lock(State.idle)

    init(_ options: ListenOptions, loop: ServiceLoop, scope: TransportScope) {
        self.options = options
        self.loop = loop
        self.scope = scope
    }

    deinit { stop() }

    package var boundAddress: SocketAddress? {
        state.withLock { state in
            if case .listening(_, let address) = state { address } else { nil }
        }
    }

    /// Connections that are open at the moment, links and requests together.
    package var connectionCount: Int {
        let acceptor = state.withLock { state in
            if case .listening(let acceptor, _) = state { acceptor } else { nil as Acceptor? }
        }
        guard let acceptor else { return 0 }
        return loop.performAndWait { _ in acceptor.connectionCount }
    }

    package func start(_ accept: @escaping @Sendable (any Link) -> Void) throws(DocDBError) {
        guard boundAddress == nil else {
            throw DocDBError(.misuse, "this listener has been started already; stop it first, or create another")
        }
        try options.identity?.check()
        let (descriptor, address) = try listen()
        let acceptor = Acceptor(descriptor: descriptor, options: options, loop: loop, scope: scope, accept: accept)
        if let failure = loop.performAndWait({ _ in acceptor.begin() }) {
            close(descriptor)
            throw failure
        }
        state.withLock { $0 = .listening(acceptor, address) }
    }

    package func stop() {
        let acceptor = state.withLock { state in
            defer { state = .idle }
            return if case .listening(let acceptor, _) = state { acceptor } else { nil as Acceptor? }
        }
        acceptor?.stop()
    }

    /// Opens the socket that listens.
    private func listen() throws(DocDBError) -> (Int32, SocketAddress) {
        var failure: DocDBError?
        let found = try Resolver.first(
            host: options.host, port: options.port, isNumeric: true, isPassive: true
        ) { (info) throws(DocDBError) -> (Int32, SocketAddress)? in
            do throws(DocDBError) {
                return try open(info)
            } catch {
                failure = failure ?? error
                return nil
            }
        }
        if let found { return found }
        throw failure ?? DocDBError(.invalidAddress, "'\(options.host)' names no address to listen on")
    }

    private func open(_ info: UnsafePointer<addrinfo>) throws(DocDBError) -> (Int32, SocketAddress) {
        let place = SocketAddress(host: options.host.isEmpty ? "*" : options.host, port: options.port)
        let descriptor = socket(info.pointee.ai_family, info.pointee.ai_socktype, info.pointee.ai_protocol)
        guard descriptor >= 0 else { throw Self.failure(errno, place) }
        Sockets.configure(descriptor)
        Sockets.set(descriptor, SOL_SOCKET, SO_REUSEADDR, 1)
        if info.pointee.ai_family == AF_INET6 {
            Sockets.set(descriptor, Int32(IPPROTO_IPV6), IPV6_V6ONLY, options.host.isEmpty ? 0 : 1)
        }
        guard bind(descriptor, info.pointee.ai_addr, info.pointee.ai_addrlen) == 0,
            Sockets.listen(descriptor) == 0,
            let address = Resolver.localAddress(of: descriptor)
        else {
            let code = errno
            close(descriptor)
            throw Self.failure(code, place)
        }
        return (descriptor, address)
    }

    private static func failure(_ code: Int32, _ place: SocketAddress) -> DocDBError {
        let reason = SystemErrors.text(code)
        return switch code {
        case EADDRINUSE:
            DocDBError(
                .addressInUse, "cannot listen on \(place): another program does; stop it, or choose another port")
        case EADDRNOTAVAIL:
            DocDBError(
                .invalidAddress, "cannot listen on \(place): no interface of this machine has that address")
        case EACCES, EPERM:
            DocDBError(
                .connectionFailed,
                "cannot listen on \(place): \(reason); ports below 1024 may need privileges, so choose a higher one")
        default:
            DocDBError(.connectionFailed, "cannot listen on \(place): \(reason)")
        }
    }
}
