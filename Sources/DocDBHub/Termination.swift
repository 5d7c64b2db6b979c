import Dispatch

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// Waits until the process is told to end, by SIGTERM or SIGINT.
package final class Termination: @unchecked Sendable {
    // Unchecked: dispatch sources and semaphores may be used from any thread.
    private let semaphore = DispatchSemaphore(value: 0)
    private var sources: [any DispatchSourceSignal] = []

    /// Takes the signals over; a closed pipe is an error of a write from now on, and no signal.
    package init() {
        signal(SIGPIPE, SIG_IGN)
        // Files that change are noticed by themselves.
        signal(SIGHUP, SIG_IGN)
        let queue = DispatchQueue(label: "docdb.hub.signals")
        for number in [SIGTERM, SIGINT] {
            signal(number, SIG_IGN)
            let source = DispatchSource.makeSignalSource(signal: number, queue: queue)
            source.setEventHandler { [semaphore] in semaphore.signal() }
            source.activate()
            sources.append(source)
        }
    }

    deinit { for source in sources { source.cancel() } }

    package func wait() { semaphore.wait() }
}
