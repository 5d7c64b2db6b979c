import DocDBHub

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

// A hub ends in order when it is told to: sessions closed, the store checkpointed.
let termination = Termination()
exit(
    HubCommand.run(
        Array(CommandLine.arguments.dropFirst()), output: { print($0) },
        errors: { line in
            let bytes = Array((line + "\n").utf8)
            _ = write(STDERR_FILENO, bytes, bytes.count)
        }, waitForEnd: { termination.wait() }))
