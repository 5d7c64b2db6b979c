#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif
package import DocDBCore

/// Small files of a program beside its stores, such as keys and ledgers: for this user alone, and changed durably.
package enum PrivateFile {
    /// The content of a file, or nil where there is none.
    ///
    /// - Parameter isSecret: whether the file must be this user's alone, and no link.
    /// - Throws: `storageFailed`; `limitReached` beyond the limit; `invalidKey` where others may read or own a secret.
    package static func content(
        of path: String, byteLimit: Int, isSecret: Bool = false
    ) throws(DocDBError) -> [UInt8]? {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | (isSecret ? O_NOFOLLOW : 0))
        guard descriptor >= 0 else {
            if errno == ENOENT { return nil }
            throw failure("read", path)
        }
        defer { close(descriptor) }
        if isSecret {
            var status = stat()
            guard fstat(descriptor, &status) == 0 else { throw failure("read", path) }
            guard status.st_mode & 0o077 == 0, status.st_uid == geteuid() else {
                throw DocDBError(
                    .invalidKey,
                    "others may read or own the credentials at \(path); give them mode 0600 and this owner")
            }
        }
        var content: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 64 * 1024)
        while true {
            let count = read(descriptor, &chunk, chunk.count)
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { throw failure("read", path) }
            if count == 0 { return content }
            content += chunk[..<count]
            guard content.count <= byteLimit else {
                throw DocDBError(.limitReached, "the file \(path) is larger than \(byteLimit) bytes")
            }
        }
    }

    /// Writes a file anew: after a crash it has its old or its new content, and after this returns its new one.
    package static func replace(_ path: String, with bytes: [UInt8]) throws(DocDBError) {
        let temporary = path + ".new"
        unlink(temporary)
        let descriptor = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard descriptor >= 0 else { throw failure("create", temporary) }
        let isWritten = writeAll(bytes, to: descriptor) && Platform.synchronize(descriptor: descriptor)
        close(descriptor)
        guard isWritten, rename(temporary, path) == 0 else {
            let error = failure("write", path)
            unlink(temporary)
            throw error
        }
        try Platform.synchronizeDirectory(directory(of: path))
    }

    /// Removes a file where there is one.
    package static func remove(_ path: String) throws(DocDBError) {
        guard unlink(path) == 0 else {
            if errno == ENOENT { return }
            throw failure("remove", path)
        }
        try Platform.synchronizeDirectory(directory(of: path))
    }

    /// Creates a directory where there is none.
    package static func makeDirectory(_ path: String) throws(DocDBError) {
        guard mkdir(path, 0o700) == 0 || errno == EEXIST else { throw failure("create", path) }
    }

    /// Appends a line to a file, which is created where there is none.
    ///
    /// What an earlier append left unfinished, as of a process that was killed or a disk that was full, is cut off first.
    /// Processes that append at once do so one after the other.
    package static func append(line: [UInt8], to path: String) throws(DocDBError) {
        let descriptor = open(path, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw failure("open", path) }
        // Closing gives the lock up.
        defer { close(descriptor) }
        while flock(descriptor, LOCK_EX) != 0 {
            guard errno == EINTR else { throw failure("lock", path) }
        }
        guard let end = endOfWholeLines(descriptor), ftruncate(descriptor, end) == 0,
            writeAll(line + [lineFeed], to: descriptor), Platform.synchronize(descriptor: descriptor)
        else { throw failure("write", path) }
        if end == 0 { try Platform.synchronizeDirectory(directory(of: path)) }
    }

    /// The whole lines of a file; a last one that was not written to its end is left out.
    package static func lines(of path: String, byteLimit: Int) throws(DocDBError) -> [[UInt8]] {
        guard let content = try content(of: path, byteLimit: byteLimit) else { return [] }
        var lines = content.split(separator: lineFeed, omittingEmptySubsequences: false).map { Array($0) }
        lines.removeLast()
        return lines.filter { !$0.isEmpty }
    }

    private static let lineFeed: UInt8 = 0x0A

    /// Where the last whole line ends; nil where the file cannot be read.
    private static func endOfWholeLines(_ descriptor: Int32) -> off_t? {
        var end = lseek(descriptor, 0, SEEK_END)
        guard end >= 0 else { return nil }
        while end > 0 {
            let count = min(end, 4096)
            guard let bytes = Platform.read(descriptor, at: Int64(end - count), count: Int(count)),
                bytes.count == Int(count)
            else { return nil }
            if let last = bytes.lastIndex(of: lineFeed) { return end - count + off_t(last) + 1 }
            end -= count
        }
        return 0
    }

    private static func writeAll(_ bytes: [UInt8], to descriptor: Int32) -> Bool {
        bytes.withUnsafeBytes { buffer in
            var offset = 0
            while offset < buffer.count, let base = buffer.baseAddress {
                let count = write(descriptor, base + offset, buffer.count - offset)
                if count < 0, errno == EINTR { continue }
                guard count > 0 else { return false }
                offset += count
            }
            return true
        }
    }

    private static func directory(of path: String) -> String {
        guard let slash = path.lastIndex(of: "/") else { return "." }
        return slash == path.startIndex ? "/" : String(path[..<slash])
    }

    private static func failure(_ action: String, _ path: String) -> DocDBError {
        DocDBError(
            .storageFailed, "cannot \(action) \(path): \(String(cString: strerror(errno))); check path and permissions")
    }
}
