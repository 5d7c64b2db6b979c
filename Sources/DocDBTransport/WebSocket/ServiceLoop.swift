import CWebSockets
import Dispatch
import DocDBCore
import Synchronization

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// What the service loop calls for one socket; on the service thread only.
protocol ServiceConnection: AnyObject {
    /// The library's handle, while it lives.
    var handle: OpaquePointer? { get set }
    /// Acts on an event; a negative result closes the socket.
    func handle(_ event: ServiceEvent) -> Int32
    /// Whose connection it is.
    var scope: TransportScope { get }
    /// Looks after time-outs, about once a second.
    func sweep(now: Int64)
    /// The library has forgotten the socket.
    func didEnd()
}

/// An event of one socket, with what came with it.
struct ServiceEvent {
    var reason: lws_callback_reasons
    var handle: OpaquePointer
    var input: UnsafeMutableRawPointer?
    var count: Int
}

/// What belongs to one transport, so that it can be cut off from the others.
final class TransportScope: Sendable {
    /// Entered by each connection for as long as it lives.
    let connections = DispatchGroup()
    private let hasEndedFlag = Atomic(false)

    /// Whether the transport has been shut down.
    var hasEnded: Bool { hasEndedFlag.load(ordering: .acquiring) }

    func end() { hasEndedFlag.store(true, ordering: .releasing) }
}

/// The one thread of the process that serves all sockets, and the event loop of the WebSocket library it runs.
///
/// There is one since the library holds OpenSSL's index of its own data in a global variable, which each further event loop would
/// change under the others. It starts with the first transport and then waits, at no cost, for the next.
///
/// Whatever is marked as of the service thread is touched by it alone; other threads queue jobs and wake it.
final class ServiceLoop: @unchecked Sendable {
    /// What other threads hand over; the lock is held for moments only.
    private struct Inbox {
        var jobs: [@Sendable (ServiceLoop) -> Void] = []
        var writable: [WebSocketLink] = []
        var isWaking = false

        /// Notes that the service thread is woken; returns whether it had not been.
        mutating func setWaking() -> Bool {
            guard !isWaking else { return false }
            isWaking = true
            return true
        }
    }

    private let inbox = Lock(Inbox())

    /// The service thread; set before anyone can ask.
    private var thread = pthread_self()

    // Of the service thread, once it runs.
    private(set) var context: OpaquePointer?
    /// The loop of libuv under it, where there is one.
    private var uvLoop: UnsafeMutableRawPointer?
    var connections: [UInt: any ServiceConnection] = [:]
    var attempts: [ObjectIdentifier: ClientAttempt] = [:]
    var serverVhosts: [TLSServerKey: OpaquePointer] = [:]
    var clientVhosts: [CertificateTrustKey: OpaquePointer] = [:]
    var clientContexts: [TLSClientContext] = []
    var lastID: UInt = 0
    var isSweeping = false
    /// The identity that the virtual host being created takes.
    var identity: TLSIdentity?
    let timer: UnsafeMutablePointer<docdb_lws_timer>
    let protocols: UnsafeMutablePointer<lws_protocols>
    private var names: [UnsafeMutablePointer<CChar>] = []
    /// Room for one piece of a frame behind the headroom that the library wants.
    let scratch: UnsafeMutablePointer<UInt8>
    /// The seconds of a clock that never goes back, as of the last sweep or event that asked.
    var now: Int64 = ServiceLoop.currentSeconds

    /// The subprotocol that peers must agree on.
    static let subprotocol = "docdb.1"

    static var currentSeconds: Int64 { Int64(lws_now_usecs() / 1_000_000) }

    private static let running = Lock<ServiceLoop?>(nil)

    /// The process's loop, which is started with the first call.
    ///
    /// - Throws: `.connectionFailed` where the system is out of memory, descriptors or threads.
    static func shared() throws(DocDBError) -> ServiceLoop {
        let result = running.withLock { running -> Result<ServiceLoop, DocDBError> in
            if let running { return .success(running) }
            let started = Result { () throws(DocDBError) in try ServiceLoop() }
            running = try? started.get()
            return started
        }
        return try result.get()
    }

    /// Creates the event loop and starts its thread.
    private init() throws(DocDBError) {
        timer = .allocate(capacity: 1)
        memset(timer, 0, MemoryLayout<docdb_lws_timer>.size)
        protocols = .allocate(capacity: 2)
        memset(protocols, 0, MemoryLayout<lws_protocols>.size * 2)
        scratch = .allocate(capacity: Int(docdb_lws_pre) + TransportLimits.chunkByteCount)
        timer.pointee.owner = Unmanaged.passUnretained(self).toOpaque()
        protocols[0].name = UnsafePointer(copy(Self.subprotocol))
        protocols[0].callback = serviceCallback
        protocols[0].rx_buffer_size = TransportLimits.receiveByteCount
        guard let context = createContext() else {
            throw DocDBError(
                .connectionFailed, "the WebSocket library does not start; memory or descriptors may be short")
        }
        self.context = context
        // Being woken is reported to the protocols of virtual hosts, so there must be one.
        _ = try serverVhost(nil)
        try startThread()
    }

    deinit {
        timer.deallocate()
        protocols.deallocate()
        scratch.deallocate()
        for name in names { free(name) }
    }

    /// Creates the library's context, whose callbacks run already; the process's way with SIGPIPE is left as it was.
    private func createContext() -> OpaquePointer? {
        docdb_lws_silence()
        var before = sigaction()
        sigaction(SIGPIPE, nil, &before)
        defer { sigaction(SIGPIPE, &before, nil) }
        // `poll` looks at every socket each time, which a thousand links make slow; without libuv it has to do.
        uvLoop = docdb_uv_create()
        if let uvLoop {
            if let context = createContext(over: uvLoop) { return context }
            docdb_uv_destroy(uvLoop)
            self.uvLoop = nil
        }
        return createContext(over: nil)
    }

    private func createContext(over uvLoop: UnsafeMutableRawPointer?) -> OpaquePointer? {
        docdb_lws_create_context(
            Unmanaged.passUnretained(self).toOpaque(), protocols, Int32(TransportLimits.requestSeconds),
            Int32(TransportLimits.requestHeadByteCount), Int32(TransportLimits.chunkByteCount), uvLoop)
    }

    func copy(_ text: String) -> UnsafeMutablePointer<CChar> {
        guard let copy = strdup(text) else { preconditionFailure("out of memory") }
        names.append(copy)
        return copy
    }
}

// The thread.
extension ServiceLoop {
    private func startThread() throws(DocDBError) {
        let hasStarted = DispatchSemaphore(value: 0)
        do {
            try BackgroundThread.start { [self] in
                thread = pthread_self()
                hasStarted.signal()
                if let uvLoop { while true { docdb_uv_run(uvLoop) } }
                while lws_service(context, 0) >= 0 { drain() }
            }
        } catch {
            lws_context_destroy(context)
            context = nil
            throw error
        }
        hasStarted.wait()
    }

    /// Whether the caller runs on the service thread.
    var isOnThread: Bool { pthread_equal(pthread_self(), thread) != 0 }
}

// What other threads ask for.
extension ServiceLoop {
    /// Runs `job` on the service thread, soon.
    func perform(_ job: @escaping @Sendable (ServiceLoop) -> Void) {
        let wakes = inbox.withLock { inbox in
            inbox.jobs.append(job)
            return inbox.setWaking()
        }
        if wakes { lws_cancel_service(context) }
    }

    /// Runs `job` on the service thread and returns its result.
    func performAndWait<T: Sendable>(_ job: @escaping @Sendable (ServiceLoop) -> T) -> T {
        if isOnThread { return job(self) }
        let box = ResultBox<T>()
        perform { loop in box.put(job(loop)) }
        return box.wait()
    }

    /// Asks for a call of `link` when its socket can be written to.
    func schedule(_ link: WebSocketLink) {
        if isOnThread {
            link.requestWritable()
            return
        }
        let wakes = inbox.withLock { inbox in
            inbox.writable.append(link)
            return inbox.setWaking()
        }
        if wakes { lws_cancel_service(context) }
    }

    /// Does what other threads asked for.
    func drain() {
        let (jobs, writable) = inbox.withLock { inbox in
            let taken = (inbox.jobs, inbox.writable)
            inbox.jobs = []
            inbox.writable = []
            inbox.isWaking = false
            return taken
        }
        for link in writable { link.requestWritable() }
        for job in jobs { job(self) }
    }
}

/// A result that another thread waits for.
private final class ResultBox<T: Sendable>: Sendable {
    private let value = Lock<T?>(nil)
    private let done = DispatchSemaphore(value: 0)

    func put(_ value: T) {
        self.value.withLock { $0 = value }
        done.signal()
    }

    func wait() -> T {
        done.wait()
        guard let value = value.withLock({ $0 }) else { preconditionFailure("signalled without a result") }
        return value
    }
}
