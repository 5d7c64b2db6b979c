import CWebSockets
import Dispatch
import DocDBCore

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// A socket that listens, and what its connections have in common; of the service thread.
final class Acceptor: ServiceConnection, @unchecked Sendable {
    let options: ListenOptions
    let loop: ServiceLoop
    let scope: TransportScope
    let accept: @Sendable (any Link) -> Void
    var handle: OpaquePointer?
    private let descriptor: Int32
    private var vhost: OpaquePointer?
    private var id: UInt = 0
    /// A descriptor to give up when there are none left, so that a waiting connection can be taken and closed.
    private var spare: Int32 = -1
    private(set) var connectionCount = 0
    private var countByAddress: [String: Int] = [:]
    private let hasEnded = DispatchSemaphore(value: 0)

    init(
        descriptor: Int32, options: ListenOptions, loop: ServiceLoop, scope: TransportScope,
        accept: @escaping @Sendable (any Link) -> Void
    ) {
        self.descriptor = descriptor
        self.options = options
        self.loop = loop
        self.scope = scope
        self.accept = accept
    }

    /// Begins to accept; returns why it cannot, and then leaves the descriptor to the caller.
    func begin() -> DocDBError? {
        guard !scope.hasEnded else { return ServiceLoop.ended }
        do throws(DocDBError) {
            vhost = try loop.serverVhost(options.identity)
            // The library closes what it has adopted, also where it then fails; hence the check of all that may fail before.
            let plain = try loop.serverVhost(nil)
            spare = open("/dev/null", O_RDONLY | O_CLOEXEC)
            id = loop.enter(self)
            handle = docdb_lws_adopt(plain, descriptor, 1, nil, UnsafeMutableRawPointer(bitPattern: id))
        } catch {
            return error
        }
        guard handle == nil else { return nil }
        loop.forget(id)
        return DocDBError(.connectionFailed, "the WebSocket library takes no further socket; descriptors may be short")
    }

    /// Stops accepting and returns when the port is free; on the service thread it is so a little later.
    func stop() {
        loop.perform { _ in
            if let handle = self.handle { docdb_lws_kill(handle) }
        }
        if !loop.isOnThread { hasEnded.wait() }
    }

    func handle(_ event: ServiceEvent) -> Int32 {
        if event.reason == LWS_CALLBACK_RAW_RX_FILE { acceptWaiting() }
        return 0
    }

    func sweep(now: Int64) {}

    func didEnd() {
        handle = nil
        if spare >= 0 { close(spare) }
        spare = -1
        hasEnded.signal()
    }

    private func acceptWaiting() {
        for _ in 0..<TransportLimits.acceptCount {
            let accepted = systemAccept(descriptor)
            guard accepted >= 0 else {
                switch errno {
                case EMFILE, ENFILE: turnAway()
                case EINTR, ECONNABORTED: continue
                default: break
                }
                return
            }
            take(accepted)
        }
    }

    /// Takes a connection for which there is no descriptor, and closes it, lest it wake the loop for ever.
    private func turnAway() {
        guard spare >= 0 else { return }
        close(spare)
        let accepted = systemAccept(descriptor)
        if accepted >= 0 { close(accepted) }
        spare = open("/dev/null", O_RDONLY | O_CLOEXEC)
    }

    private func take(_ accepted: Int32) {
        guard let vhost, let address = Resolver.remoteAddress(of: accepted),
            connectionCount < options.connectionLimit + TransportLimits.refusedConnectionCount
        else {
            close(accepted)
            return
        }
        Sockets.configure(accepted)
        let connection = ServerConnection(self, address: address, refusal: refusal(of: address))
        enter(address)
        let id = loop.enter(connection)
        if docdb_lws_adopt(vhost, accepted, 0, nil, UnsafeMutableRawPointer(bitPattern: id)) == nil { loop.forget(id) }
    }

    /// Why a further connection from this address is refused; nil where it is not.
    private func refusal(of address: SocketAddress) -> String? {
        if connectionCount >= options.connectionLimit {
            return "too many connections; the limit is \(options.connectionLimit)"
        }
        let isLimited = options.limitsLoopback || !Resolver.isLoopback(address.host)
        if isLimited, countByAddress[address.host, default: 0] >= options.connectionLimitPerAddress {
            return "too many connections from one address; the limit is \(options.connectionLimitPerAddress)"
        }
        return nil
    }

    private func enter(_ address: SocketAddress) {
        connectionCount += 1
        countByAddress[address.host, default: 0] += 1
    }

    func leave(_ address: SocketAddress) {
        connectionCount -= 1
        let count = countByAddress[address.host, default: 0] - 1
        countByAddress[address.host] = count > 0 ? count : nil
    }
}

/// Accepts a connection; a function of its own, as `accept` means something else in `Acceptor`.
private func systemAccept(_ descriptor: Int32) -> Int32 { accept(descriptor, nil, nil) }
