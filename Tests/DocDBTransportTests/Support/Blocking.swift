#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// What a thread of its own is to run.
private final class ThreadBody {
    let run: @Sendable () -> Void
    init(_ run: @escaping @Sendable () -> Void) { self.run = run }
}

/// Runs `body` on a thread of its own.
func startThread(_ body: @escaping @Sendable () -> Void) {
    let argument = Unmanaged.passRetained(ThreadBody(body)).toOpaque()
    #if canImport(Darwin)
        var thread: pthread_t?
    #else
        var thread = pthread_t()
    #endif
    let status = pthread_create(&thread, nil, threadMain, argument)
    precondition(status == 0, "no thread: \(status)")
}

#if canImport(Darwin)
    private func threadMain(_ argument: UnsafeMutableRawPointer) -> UnsafeMutableRawPointer? {
        runThread(argument)
    }
#else
    private func threadMain(_ argument: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
        argument.flatMap(runThread)
    }
#endif

private func runThread(_ argument: UnsafeMutableRawPointer) -> UnsafeMutableRawPointer? {
    pthread_detach(pthread_self())
    Unmanaged<ThreadBody>.fromOpaque(argument).takeRetainedValue().run()
    return nil
}

/// Runs what blocks on a thread of its own, so that it takes none from concurrent tests.
func blocking<T: Sendable>(_ body: @escaping @Sendable () throws -> T) async throws -> T {
    try await withCheckedThrowingContinuation { continuation in
        startThread { continuation.resume(with: Result { try body() }) }
    }
}

/// The head of a request that opens a WebSocket.
func upgradeHead(
    path: String = "/v1/sync", host: String = "127.0.0.1", subprotocol: String? = "docdb.1",
    upgrade: String = "websocket",
    further: String = ""
) -> String {
    var head = "GET \(path) HTTP/1.1\r\nHost: \(host)\r\nUpgrade: \(upgrade)\r\nConnection: Upgrade\r\n"
    head += "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n"
    if let subprotocol { head += "Sec-WebSocket-Protocol: \(subprotocol)\r\n" }
    return head + further + "\r\n"
}
