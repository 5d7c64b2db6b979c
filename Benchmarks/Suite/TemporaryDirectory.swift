#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

#if canImport(Darwin)
    import Darwin
#else
    import Glibc
#endif

/// A new directory that goes away with this object.
final class TemporaryDirectory {
    let path: String

    /// Makes a directory inside `parent`, which must exist.
    init(in parent: String) throws {
        path = parent + "/docdb-benchmarks-" + UUID().uuidString
        do {
            try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
        } catch {
            throw BenchmarkError("cannot make a directory in \(parent); choose another with --directory")
        }
    }

    deinit { try? FileManager.default.removeItem(atPath: path) }

    /// The path of a file of this name in the directory.
    func file(_ name: String) -> String { path + "/" + name }

    /// The bytes of all files in the directory and beneath it.
    func byteCount() throws -> Int {
        try FileManager.default.subpathsOfDirectory(atPath: path).reduce(0) { sum, name in
            var status = stat()
            guard lstat(file(name), &status) == 0, status.st_mode & S_IFMT == S_IFREG else { return sum }
            return sum + Int(status.st_size)
        }
    }
}
