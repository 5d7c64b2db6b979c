#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// Everything of the outside world that commands touch besides stores and files.
package struct Console {
    /// Standard output; the tool flushes it.
    package var output: any ByteSink
    /// Standard error.
    package var error: any ByteSink
    /// Opens standard input.
    package var openInput: () -> any ByteSource
    package var terminal: Terminal
    /// Seconds since any moment, never going back.
    package var clock: () -> Double
    /// Makes Ctrl-C a request that `isInterrupted` tells of.
    package var catchInterrupts: () -> Void
    package var isInterrupted: () -> Bool
    /// Waits for so many seconds, or until a signal comes.
    package var pause: (Double) -> Void = { usleep(useconds_t($0 * 1_000_000)) }

    package init(
        output: any ByteSink, error: any ByteSink, openInput: @escaping () -> any ByteSource, terminal: Terminal,
        clock: @escaping () -> Double, catchInterrupts: @escaping () -> Void, isInterrupted: @escaping () -> Bool
    ) {
        self.output = output
        self.error = error
        self.openInput = openInput
        self.terminal = terminal
        self.clock = clock
        self.catchInterrupts = catchInterrupts
        self.isInterrupted = isInterrupted
    }

    /// The console of this process.
    package static func standard() -> Console {
        Interruption.ignoreClosedPipes()
        let started = ContinuousClock.now
        return Console(
            output: DescriptorSink(STDOUT_FILENO), error: DescriptorSink(STDERR_FILENO),
            openInput: { DescriptorSource(descriptor: STDIN_FILENO, isInterrupted: { Interruption.isRequested }) },
            terminal: .current(), clock: { (ContinuousClock.now - started) / .seconds(1) },
            catchInterrupts: Interruption.install, isInterrupted: { Interruption.isRequested })
    }
}
