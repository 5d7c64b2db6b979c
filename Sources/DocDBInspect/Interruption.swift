import Synchronization

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// Ctrl-C while something runs that can end well by itself.
package enum Interruption {
    private static let requested = Atomic<Bool>(false)

    /// Whether an interrupt has come since `install`.
    package static var isRequested: Bool { requested.load(ordering: .relaxed) }

    /// Makes the first SIGINT or SIGTERM a request; a second one ends the process as ever.
    package static func install() {
        requested.store(false, ordering: .relaxed)
        for signal in [SIGINT, SIGTERM] {
            var action = sigaction()
            #if canImport(Darwin)
                action.__sigaction_u.__sa_handler = { _ in Interruption.requested.store(true, ordering: .relaxed) }
            #else
                action.__sigaction_handler.sa_handler = { _ in Interruption.requested.store(true, ordering: .relaxed) }
            #endif
            // No SA_RESTART: a read that waits for input returns and sees the request.
            action.sa_flags = Int32(bitPattern: UInt32(SA_RESETHAND))
            sigaction(signal, &action, nil)
        }
    }

    /// Makes a closed pipe an error of `write` in place of a signal that kills.
    package static func ignoreClosedPipes() { signal(SIGPIPE, SIG_IGN) }
}
