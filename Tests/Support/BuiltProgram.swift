package import DocDBCore
import Foundation

/// The programs of this package, which are built with its tests and lie beside them.
package enum BuiltProgram {
    /// The path of a program by its name.
    package static func path(_ name: String) throws(DocDBError) -> String {
        let tests =
            Bundle.allBundles.first { $0.bundlePath.hasSuffix(".xctest") }?.bundleURL ?? Bundle.main.executableURL
        guard let url = tests?.deletingLastPathComponent().appending(path: name),
            FileManager.default.isExecutableFile(atPath: url.path)
        else {
            throw DocDBError(
                .invalidConfiguration, "there is no program \(name) beside the tests; run 'swift build' first")
        }
        return url.path
    }
}
