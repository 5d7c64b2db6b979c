import DocDBAuth
package import DocDBCore

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

    /// Creates the directory where there is none, for this user alone.
    package func prepare() throws(DocDBError) {
        guard mkdir(directory, 0o700) == 0 || errno == EEXIST else { throw Self.failure("create", directory) }
    }

    /// The content of a file, or nil where there is none.
    package static func read(_ path: String, limit: Int = 256 * 1024 * 1024) throws(DocDBError) -> [UInt8]? {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else {
            if errno == ENOENT { return nil }
            throw failure("read", path)
        }
        defer { close(descriptor) }
        var content: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 64 * 1024)
        while true {
            let count = systemRead(descriptor, &chunk, chunk.count)
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { throw failure("read", path) }
            if count == 0 { return content }
            content += chunk[..<count]
            guard content.count <= limit else {
                throw DocDBError(.limitReached, "the file \(path) is larger than \(limit) bytes")
            }
        }
    }

    /// Writes a file anew, durably and at once, for this user alone.
    package static func replace(_ path: String, with bytes: [UInt8]) throws(DocDBError) {
        let temporary = path + ".new"
        unlink(temporary)
        let descriptor = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw failure("create", temporary) }
        let isWritten = write(bytes, to: descriptor) && fsync(descriptor) == 0
        close(descriptor)
        guard isWritten, rename(temporary, path) == 0 else {
            unlink(temporary)
            throw failure("write", path)
        }
    }

    /// Appends a line to a file, durably, and creates it for this user alone.
    package static func append(_ line: [UInt8], to path: String) throws(DocDBError) {
        let descriptor = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw failure("open", path) }
        defer { close(descriptor) }
        guard write(line + [0x0A], to: descriptor), fsync(descriptor) == 0 else { throw failure("write", path) }
    }

    /// The whole lines of a file; a last one that was not written to its end is left out.
    package static func lines(_ path: String) throws(DocDBError) -> [[UInt8]] {
        guard let content = try read(path) else { return [] }
        var lines = content.split(separator: 0x0A, omittingEmptySubsequences: false).map { Array($0) }
        lines.removeLast()
        return lines.filter { !$0.isEmpty }
    }

    private static func write(_ bytes: [UInt8], to descriptor: Int32) -> Bool {
        bytes.withUnsafeBytes { buffer in
            var offset = 0
            while offset < buffer.count {
                guard let base = buffer.baseAddress else { return true }
                let count = systemWrite(descriptor, base + offset, buffer.count - offset)
                if count < 0, errno == EINTR { continue }
                guard count > 0 else { return false }
                offset += count
            }
            return true
        }
    }

    private static func failure(_ action: String, _ path: String) -> DocDBError {
        DocDBError(
            .storageFailed, "cannot \(action) \(path): \(String(cString: strerror(errno))); check path and permissions")
    }
}

/// `read` of the system, which a method's name hides.
private func systemRead(_ descriptor: Int32, _ bytes: UnsafeMutableRawPointer, _ count: Int) -> Int {
    read(descriptor, bytes, count)
}

/// `write` of the system.
private func systemWrite(_ descriptor: Int32, _ bytes: UnsafeRawPointer, _ count: Int) -> Int {
    write(descriptor, bytes, count)
}
