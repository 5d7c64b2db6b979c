import DocDBInspect

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

exit(Inspector.run(Array(CommandLine.arguments.dropFirst()), on: .standard()))
