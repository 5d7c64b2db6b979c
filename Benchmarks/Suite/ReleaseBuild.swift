#if canImport(Darwin)
    import Darwin
#else
    import Glibc
#endif

/// The release build of the benchmarks.
enum ReleaseBuild {
    /// Says that a debug build is never timed, then builds the release build and lets it take this process over.
    ///
    /// - Throws: `BenchmarkError` where there is no `swift` to do so; otherwise it does not return.
    static func takeOver(_ arguments: [String], file: String = #filePath) throws {
        complain(
            "This is a debug build, and debug builds are never timed: building the release build and running it instead."
        )
        let package = file.split(separator: "/").dropLast(3).joined(separator: "/")
        let command =
            ["swift", "run", "-c", "release", "--package-path", "/" + package, "benchmarks"] + arguments
        var pointers = command.map { strdup($0) } + [nil]
        execvp("swift", &pointers)
        throw BenchmarkError("cannot start swift; run: swift run -c release benchmarks")
    }
}
