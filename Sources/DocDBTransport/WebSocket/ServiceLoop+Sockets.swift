import CWebSockets
import Dispatch
import DocDBCore

// Sockets and what they share; on the service thread.
extension ServiceLoop {
    /// Brings `now` up to date; for what sets time-outs, as `now` stands still while there is nothing to sweep.
    @discardableResult
    func refreshNow() -> Int64 {
        now = Self.currentSeconds
        return now
    }

    /// Enters a connection and gives it the number by which the library names it.
    func enter(_ connection: any ServiceConnection) -> UInt {
        lastID += 1
        connections[lastID] = connection
        connection.scope.connections.enter()
        startSweeping()
        return lastID
    }

    /// Forgets a connection that the library has given up or never took.
    func forget(_ id: UInt) {
        guard let connection = connections.removeValue(forKey: id) else { return }
        connection.didEnd()
        connection.scope.connections.leave()
    }

    /// Cuts all connections of a transport and ends its attempts.
    func cut(_ scope: TransportScope) {
        for attempt in Array(attempts.values) where attempt.scope === scope { attempt.fail(Self.ended) }
        for connection in Array(connections.values) where connection.scope === scope {
            if let handle = connection.handle { docdb_lws_kill(handle) }
        }
    }

    func enter(_ attempt: ClientAttempt) {
        attempts[ObjectIdentifier(attempt)] = attempt
        startSweeping()
    }

    func forget(_ attempt: ClientAttempt) { attempts[ObjectIdentifier(attempt)] = nil }

    /// Looks after time-outs once a second for as long as there is something to look after.
    private func startSweeping() {
        guard !isSweeping, let context else { return }
        isSweeping = true
        lws_sul_schedule(context, 0, timerList, sweepCallback, 1_000_000)
    }

    fileprivate func sweep() {
        isSweeping = false
        refreshNow()
        for connection in Array(connections.values) { connection.sweep(now: now) }
        for attempt in Array(attempts.values) { attempt.sweep(now: now) }
        if !connections.isEmpty || !attempts.isEmpty { startSweeping() }
    }

    private var timerList: UnsafeMutablePointer<lws_sorted_usec_list_t> {
        UnsafeMutableRawPointer(timer).assumingMemoryBound(to: lws_sorted_usec_list_t.self)
    }

    /// The virtual host of plain connections, or of those that show `identity`.
    ///
    /// One that was created is kept: a certificate that was renewed gets a new one, as the contents of the files count.
    func serverVhost(_ identity: TLSIdentity?) throws(DocDBError) -> OpaquePointer {
        guard let context else { throw Self.failed }
        let key = try TLSServerKey(identity)
        if let vhost = serverVhosts[key] { return vhost }
        self.identity = identity
        defer { self.identity = nil }
        let name = copy("server-\(serverVhosts.count)")
        guard
            let vhost = docdb_lws_create_vhost(
                context, name, protocols, 1, identity == nil ? 0 : 1, nil, Int32(TransportLimits.requestSeconds))
        else { throw DocDBError(.connectionFailed, "the WebSocket library refuses to serve; memory may be short") }
        serverVhosts[key] = vhost
        return vhost
    }

    /// The virtual host of connections to servers that are verified in this way.
    func clientVhost(_ trust: CertificateTrust, isTLS: Bool) throws(DocDBError) -> OpaquePointer {
        guard let context else { throw Self.failed }
        let key = try CertificateTrustKey(isTLS ? trust : nil)
        if let vhost = clientVhosts[key] { return vhost }
        let client = isTLS ? try TLSClientContext(trust) : nil
        let name = copy("client-\(clientVhosts.count)")
        guard
            let vhost = docdb_lws_create_vhost(
                context, name, protocols, 0, isTLS ? 1 : 0, client?.pointer, Int32(TransportLimits.requestSeconds))
        else { throw DocDBError(.connectionFailed, "the WebSocket library refuses to connect; memory may be short") }
        if let client { clientContexts.append(client) }
        clientVhosts[key] = vhost
        return vhost
    }

    /// Gives the context of a virtual host that is being created its certificate.
    fileprivate func configureServer(_ context: OpaquePointer) -> Int32 {
        docdb_ssl_configure(context)
        guard let identity else { return -1 }
        do {
            try identity.load(into: context)
            return 0
        } catch {
            return -1
        }
    }

    private static let failed = DocDBError(.connectionFailed, "the WebSocket library has not been started")
    static let ended = DocDBError(.cancelled, "the transport has been shut down")
}

// The library's calls.
extension ServiceLoop {
    fileprivate func handle(
        _ reason: lws_callback_reasons, _ handle: OpaquePointer, _ user: UnsafeMutableRawPointer?,
        _ input: UnsafeMutableRawPointer?, _ count: Int
    ) -> Int32 {
        switch reason {
        case LWS_CALLBACK_EVENT_WAIT_CANCELLED:
            drain()
            return 0
        case LWS_CALLBACK_OPENSSL_LOAD_EXTRA_SERVER_VERIFY_CERTS:
            guard let user else { return -1 }
            return configureServer(OpaquePointer(user))
        default:
            break
        }
        let id = UInt(bitPattern: lws_get_opaque_user_data(handle))
        guard id != 0, let connection = connections[id] else { return 0 }
        if connection.handle == nil { connection.handle = handle }
        switch reason {
        case LWS_CALLBACK_WSI_DESTROY:
            connection.handle = nil
            forget(id)
            return 0
        case LWS_CALLBACK_OPENSSL_PERFORM_SERVER_CERT_VERIFICATION:
            // Here the library passes the store where elsewhere the user's data are.
            return connection.handle(ServiceEvent(reason: reason, handle: handle, input: user, count: count))
        default:
            return connection.handle(ServiceEvent(reason: reason, handle: handle, input: input, count: count))
        }
    }
}

/// What the library calls for every event.
func serviceCallback(
    _ handle: OpaquePointer?, _ reason: lws_callback_reasons, _ user: UnsafeMutableRawPointer?,
    _ input: UnsafeMutableRawPointer?, _ count: Int
) -> Int32 {
    guard let handle, let context = lws_get_context(handle), let owner = lws_context_user(context) else { return 0 }
    let loop = Unmanaged<ServiceLoop>.fromOpaque(owner).takeUnretainedValue()
    return loop.handle(reason, handle, user, input, count)
}

private func sweepCallback(_ list: UnsafeMutablePointer<lws_sorted_usec_list_t>?) {
    guard let list else { return }
    let timer = UnsafeMutableRawPointer(list).assumingMemoryBound(to: docdb_lws_timer.self)
    guard let owner = timer.pointee.owner else { return }
    Unmanaged<ServiceLoop>.fromOpaque(owner).takeUnretainedValue().sweep()
}

/// What tells the virtual hosts of servers apart: the bytes of certificate and key.
struct TLSServerKey: Hashable {
    private var contents: [[UInt8]] = []

    init(_ identity: TLSIdentity?) throws(DocDBError) {
        guard let identity else { return }
        contents = [
            try PEMFile.bytes(identity.certificateFile, "certificate"), try PEMFile.bytes(identity.keyFile, "key"),
        ]
    }
}

/// What tells the virtual hosts of clients apart: whom they trust.
struct CertificateTrustKey: Hashable {
    private var trust: CertificateTrust?
    private var contents: [UInt8] = []

    init(_ trust: CertificateTrust?) throws(DocDBError) {
        self.trust = trust
        if case .authorities(let file) = trust { contents = try PEMFile.bytes(file, "certificate authorities") }
    }
}
