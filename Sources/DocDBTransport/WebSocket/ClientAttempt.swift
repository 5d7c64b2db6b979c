import CWebSockets
import Dispatch
import DocDBCore
import Synchronization

/// A link that is being opened: looks the name up, then tries its addresses one after the other.
final class ClientAttempt: ConnectionAttempt, @unchecked Sendable {
    typealias Completion = @Sendable (Result<any Link, DocDBError>) -> Void

    let options: ConnectOptions
    let loop: ServiceLoop
    let scope: TransportScope
    private let text: String

    // Of the service thread.
    private var completion: Completion?
    private var url: WebSocketURL?
    private var addresses: ArraySlice<String> = []
    private var connection: ClientConnection?
    private var deadline: Int64 = .max

    init(
        url: String, options: ConnectOptions, loop: ServiceLoop, scope: TransportScope,
        completion: @escaping Completion
    ) {
        text = url
        self.options = options
        self.loop = loop
        self.scope = scope
        self.completion = completion
    }

    func begin() {
        loop.perform { _ in self.resolve() }
    }

    func cancel() {
        loop.perform { _ in self.fail(DocDBError(.cancelled, "the attempt to connect was cancelled")) }
    }

    /// Completes the attempt; what comes later does not count.
    private func finish(_ result: Result<any Link, DocDBError>) {
        guard let completion else { return }
        self.completion = nil
        loop.forget(self)
        connection = nil
        completion(result)
    }

    func fail(_ error: DocDBError) {
        let handle = connection?.handle
        connection?.isAbandoned = true
        finish(.failure(error))
        if let handle { docdb_lws_kill(handle) }
    }

    func sweep(now: Int64) {
        if now >= deadline {
            fail(
                DocDBError(
                    .timedOut,
                    "cannot connect to \(place) within \(options.timeoutSeconds) seconds; check address and network"))
        } else {
            connection?.sweepAddress(now: now)
        }
    }

    private var place: String { url?.hostHeader ?? "the URL" }

    private func resolve() {
        guard completion != nil else { return }
        let url: WebSocketURL
        do throws(DocDBError) {
            guard !scope.hasEnded else { throw ServiceLoop.ended }
            url = try WebSocketURL(text)
            // What is wrong with the trust shows before anything is sent.
            _ = try loop.clientVhost(options.trust, isTLS: url.isTLS)
        } catch {
            finish(.failure(error))
            return
        }
        self.url = url
        deadline = loop.refreshNow() + Int64(max(1, min(options.timeoutSeconds, 86_400)).rounded(.up))
        loop.enter(self)
        if let numeric = try? Resolver.addresses(of: url.host, port: url.port, isNumeric: true) {
            addresses = numeric[...]
            connectNext(after: nil)
            return
        }
        let loop = loop
        DispatchQueue.global().async {
            let found = Result { () throws(DocDBError) in
                try Resolver.addresses(of: url.host, port: url.port, isNumeric: false)
            }
            loop.perform { _ in self.resolved(found) }
        }
    }

    private func resolved(_ found: Result<[String], DocDBError>) {
        switch found {
        case .success(let addresses):
            self.addresses = addresses[...]
            connectNext(after: nil)
        case .failure(let error):
            finish(.failure(error))
        }
    }

    /// Tries the next address; without one, the attempt fails as the last one did.
    private func connectNext(after error: DocDBError?) {
        guard completion != nil, let url, let context = loop.context else { return }
        guard let address = addresses.popFirst() else {
            finish(.failure(error ?? DocDBError(.connectionFailed, "'\(url.host)' has no address")))
            return
        }
        do throws(DocDBError) {
            let vhost = try loop.clientVhost(options.trust, isTLS: url.isTLS)
            let deadline = addresses.isEmpty ? nil : loop.now + TransportLimits.addressSeconds
            let connection = ClientConnection(self, url: url, addressDeadline: deadline)
            self.connection = connection
            let id = loop.enter(connection)
            let isPinned = if case .pinned = options.trust { true } else { false }
            let handle = docdb_lws_connect(
                context, vhost, address, Int32(url.port), url.path, url.hostHeader, ServiceLoop.subprotocol,
                url.isTLS ? 1 : 0, isPinned || url.isIPv6 ? 0 : 1, UnsafeMutableRawPointer(bitPattern: id))
            // The library may have reported and forgotten it by now.
            if handle == nil { loop.forget(id) }
        } catch {
            finish(.failure(error))
        }
    }

    /// A connection of this attempt has failed, before the other side had a say or after.
    func connectionFailed(_ connection: ClientConnection, _ error: DocDBError, isFinal: Bool) {
        guard connection === self.connection else { return }
        self.connection = nil
        if isFinal || addresses.isEmpty {
            finish(.failure(error))
        } else {
            loop.perform { _ in self.connectNext(after: error) }
        }
    }

    func connectionOpened(_ connection: ClientConnection, _ link: WebSocketLink) -> Bool {
        guard connection === self.connection, completion != nil else { return false }
        finish(.success(link))
        return true
    }
}
