import DocDBCore

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// A thread that serves sockets for as long as the process lives.
enum BackgroundThread {
    /// Starts a thread that runs `body`, without any signals, so that writing to a socket whose other end has gone does not
    /// kill the process.
    ///
    /// - Throws: `.connectionFailed` where the system gives no further thread.
    static func start(_ body: @escaping @Sendable () -> Void) throws(DocDBError) {
        let argument = Unmanaged.passRetained(ThreadBody(body))
        #if canImport(Darwin)
            var thread: pthread_t?
        #else
            var thread = pthread_t()
        #endif
        let status = pthread_create(&thread, nil, threadMain, argument.toOpaque())
        guard status == 0 else {
            argument.release()
            throw DocDBError(.connectionFailed, "the system gives no further thread: \(SystemErrors.text(status))")
        }
    }
}

/// What a thread runs.
private final class ThreadBody {
    let run: @Sendable () -> Void
    init(_ run: @escaping @Sendable () -> Void) { self.run = run }
}

#if canImport(Darwin)
    private func threadMain(_ argument: UnsafeMutableRawPointer) -> UnsafeMutableRawPointer? {
        runThread(argument)
    }
#else
    private func threadMain(_ argument: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
        guard let argument else { return nil }
        return runThread(argument)
    }
#endif

private func runThread(_ argument: UnsafeMutableRawPointer) -> UnsafeMutableRawPointer? {
    var all = sigset_t()
    sigfillset(&all)
    pthread_sigmask(SIG_BLOCK, &all, nil)
    pthread_detach(pthread_self())
    Unmanaged<ThreadBody>.fromOpaque(argument).takeRetainedValue().run()
    return nil
}
