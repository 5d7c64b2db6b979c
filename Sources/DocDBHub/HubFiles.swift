package import DocDBCore
import DocDBStorage

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// The files of a hub, all in one directory beside its store, and for this user alone.
package struct HubFiles: Sendable {
    package let directory: String

    package init(directory: String) { self.directory = directory }

    package var store: String { directory + "/hub.docdb" }
    /// The hub's keys with their certificates, and the app's public root keys.
    package var keys: String { directory + "/hub-keys.json" }
    /// One line for each permission epoch of a user.
    package var epochs: String { directory + "/epochs.jsonl" }
    /// One line for each revocation.
    package var revocations: String { directory + "/revocations.jsonl" }
    /// One line for each certificate of another hub, or of a key that this one has lost, that devices have brought.
    package var certificates: String { directory + "/certificates.jsonl" }
    /// One line for each notice of changes that hubs have refused.
    package var voided: String { directory + "/voided" }

    /// What changes with each change of a file; nil where there is none.
    package struct Stamp: Equatable, Sendable {
        fileprivate var inode: UInt64
        fileprivate var byteCount: Int64
        fileprivate var nanoseconds: Int64
    }

    /// The stamp of a file, by which a change is noticed without reading it.
    package static func stamp(_ path: String) -> Stamp? {
        var status = stat()
        guard stat(path, &status) == 0 else { return nil }
        #if canImport(Darwin)
            let time = status.st_mtimespec
        #else
            let time = status.st_mtim
        #endif
        return Stamp(
            inode: UInt64(status.st_ino), byteCount: Int64(status.st_size),
            nanoseconds: Int64(time.tv_sec) &* 1_000_000_000 &+ Int64(time.tv_nsec))
    }

    /// Creates the directory where there is none, and takes from others what they may do with it, with the files in it and
    /// with those of the store.
    ///
    /// - Returns: how many had looser modes.
    /// - Throws: `storageFailed` where one has a mode that cannot be changed.
    @discardableResult
    package func prepare() throws(DocDBError) -> Int {
        try PrivateFile.makeDirectory(directory)
        var count = 0
        for folder in [directory, store] {
            guard try Self.makePrivate(folder, &count) else { continue }
            for name in SystemFileSystem.shared.directoryEntries(folder) ?? [] {
                _ = try Self.makePrivate(folder + "/" + name, &count)
            }
        }
        return count
    }

    /// Lets nobody but this user reach a file or directory; returns whether there is one. Links are left as they are.
    private static func makePrivate(_ path: String, _ count: inout Int) throws(DocDBError) -> Bool {
        var status = stat()
        guard lstat(path, &status) == 0 else {
            if errno == ENOENT { return false }
            throw DocDBError(
                .storageFailed, "cannot look at \(path): \(String(cString: strerror(errno))); check its path")
        }
        guard status.st_mode & S_IFMT != S_IFLNK, status.st_mode & 0o077 != 0 else { return true }
        guard chmod(path, status.st_mode & 0o700) == 0 else {
            if errno == ENOENT { return false }
            throw DocDBError(
                .storageFailed,
                "others may use \(path), and that cannot be changed (\(String(cString: strerror(errno)))); run "
                    + "'chmod go-rwx' on it as its owner")
        }
        count += 1
        return true
    }

    /// The content of a file, or nil where there is none.
    package static func read(_ path: String, limit: Int = byteLimit) throws(DocDBError) -> [UInt8]? {
        try PrivateFile.content(of: path, byteLimit: limit)
    }

    /// Writes a file anew, durably and at once, for this user alone.
    package static func replace(_ path: String, with bytes: [UInt8]) throws(DocDBError) {
        try PrivateFile.replace(path, with: bytes)
    }

    /// Appends a line to a file, durably, and creates it for this user alone.
    package static func append(_ line: [UInt8], to path: String) throws(DocDBError) {
        try PrivateFile.append(line: line, to: path)
    }

    /// The whole lines of a file; a last one that was not written to its end is left out.
    package static func lines(_ path: String) throws(DocDBError) -> [[UInt8]] {
        try PrivateFile.lines(of: path, byteLimit: byteLimit)
    }

    /// The most bytes of a file of the hub.
    package static let byteLimit = 256 * 1024 * 1024
}
