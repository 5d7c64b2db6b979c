#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif
package import DocDBCore

/// The few calls to the operating system that the store makes beside SQLite.
package enum Platform {
    /// The wall clock, in nanoseconds since 1970.
    package static func wallClockNanoseconds() -> UInt64 {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        return UInt64(max(0, Int64(time.tv_sec))) &* 1_000_000_000 &+ UInt64(time.tv_nsec)
    }

    /// Random bytes from the system.
    package static func randomBytes(count: Int) -> [UInt8] {
        var generator = SystemRandomNumberGenerator()
        return (0..<count).map { _ in UInt8.random(in: .min ... .max, using: &generator) }
    }

    /// The id of this process and its name, for the lock file.
    static var processDescription: String {
        let name = CommandLine.arguments.first.map { $0.split(separator: "/").last.map(String.init) ?? $0 } ?? "?"
        return "\(getpid()) \(name)"
    }

    static var processID: Int32 { getpid() }

    /// The error number of the last failed system call of this thread.
    static var lastErrorNumber: Int32 { errno }

    /// The error for a failed call, by `errno`.
    package static func error(_ number: Int32, while action: String) -> DocDBError {
        let detail = String(cString: strerror(number))
        let context = ["errno": String(number), "action": action]
        return switch number {
        case ENOSPC, EDQUOT:
            DocDBError(.diskFull, "cannot \(action): the disk is full; free some space and try again", context: context)
        case EACCES, EPERM, EROFS:
            DocDBError(
                .readOnly, "cannot \(action): \(detail); change the permissions or open the store read-only",
                context: context)
        default:
            DocDBError(.storageFailed, "cannot \(action): \(detail); check the path and the disk", context: context)
        }
    }

    /// Waits until the bytes written to an open file are on the disk itself.
    static func synchronize(descriptor: Int32) -> Bool {
        #if canImport(Darwin)
            return fcntl(descriptor, F_FULLFSYNC) == 0 || fsync(descriptor) == 0
        #else
            return fdatasync(descriptor) == 0
        #endif
    }

    static func fileKind(_ path: String) -> FileKind {
        var status = stat()
        guard stat(path, &status) == 0 else { return errno == ENOENT || errno == ENOTDIR ? .missing : .unreadable }
        return status.st_mode & S_IFMT == S_IFDIR ? .directory : .file
    }

    /// The size of a file in bytes, zero where there is none.
    package static func fileByteCount(_ path: String) -> Int64 {
        var status = stat()
        return stat(path, &status) == 0 ? Int64(status.st_size) : 0
    }

    static func identity(descriptor: Int32) -> FileIdentity? {
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { return nil }
        #if canImport(Darwin)
            let time = status.st_ctimespec
        #else
            let time = status.st_ctim
        #endif
        return FileIdentity(
            inode: Int64(bitPattern: UInt64(status.st_ino)),
            changeTime: Int64(time.tv_sec) &* 1_000_000_000 &+ Int64(time.tv_nsec))
    }

    static func isWritable(_ path: String) -> Bool { access(path, W_OK) == 0 }

    static func makeDirectory(_ path: String) throws(DocDBError) {
        guard mkdir(path, 0o700) == 0 || errno == EEXIST else { throw error(errno, while: "create \(path)") }
    }

    /// Opens a file, closed on exec; -1 with `errno` set where that fails.
    static func open(_ path: String, writing: Bool, creating: Bool) -> Int32 {
        var flags = O_CLOEXEC | (writing ? O_RDWR : O_RDONLY)
        if creating { flags |= O_CREAT }
        #if canImport(Darwin)
            return Darwin.open(path, flags, 0o600)
        #elseif canImport(Musl)
            return Musl.open(path, flags, 0o600)
        #else
            return Glibc.open(path, flags, 0o600)
        #endif
    }

    static func close(_ descriptor: Int32) {
        #if canImport(Darwin)
            _ = Darwin.close(descriptor)
        #elseif canImport(Musl)
            _ = Musl.close(descriptor)
        #else
            _ = Glibc.close(descriptor)
        #endif
    }

    /// Reads up to `limit` bytes from the start of an open file, or nil where that fails.
    static func readStart(_ descriptor: Int32, limit: Int) -> [UInt8]? {
        var bytes = [UInt8](repeating: 0, count: limit)
        let count = bytes.withUnsafeMutableBytes { pread(descriptor, $0.baseAddress, limit, 0) }
        return count >= 0 ? Array(bytes[..<count]) : nil
    }

    /// Reads up to `count` bytes of an open file, fewer at its end; nil where that fails.
    static func read(_ descriptor: Int32, at offset: Int64, count: Int) -> [UInt8]? {
        var bytes = [UInt8](repeating: 0, count: count)
        var length = 0
        while length < count {
            let read = bytes.withUnsafeMutableBytes {
                pread(descriptor, $0.baseAddress.map { $0 + length }, count - length, off_t(offset) + off_t(length))
            }
            if read < 0, errno == EINTR { continue }
            guard read >= 0 else { return nil }
            if read == 0 { break }
            length += read
        }
        return length == count ? bytes : Array(bytes[..<length])
    }

    /// Replaces the content of an open file; waits for the disk where that is wanted.
    static func replaceContent(
        _ descriptor: Int32, with bytes: [UInt8], path: String, isDurable: Bool
    ) throws(DocDBError) {
        let count = bytes.withUnsafeBytes { pwrite(descriptor, $0.baseAddress, bytes.count, 0) }
        guard count == bytes.count, ftruncate(descriptor, off_t(bytes.count)) == 0,
            !isDurable || synchronize(descriptor: descriptor)
        else { throw error(errno, while: "write \(path)") }
    }

    /// Takes an exclusive lock on an open file without waiting; false where another holds it.
    static func tryLock(_ descriptor: Int32, path: String) throws(DocDBError) -> Bool {
        if flock(descriptor, LOCK_EX | LOCK_NB) == 0 { return true }
        if errno == EWOULDBLOCK { return false }
        throw error(errno, while: "lock \(path)")
    }

    /// Gives up a lock, also where a child process has inherited the descriptor.
    static func unlock(_ descriptor: Int32) { _ = flock(descriptor, LOCK_UN) }

    /// The names in a directory, or nil where it cannot be read.
    static func directoryEntries(_ path: String) -> [String]? {
        guard let directory = opendir(path) else { return nil }
        defer { closedir(directory) }
        var names: [String] = []
        while let entry = readdir(directory) {
            let name = withUnsafeBytes(of: entry.pointee.d_name) { bytes in
                String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
            }
            if name != ".", name != ".." { names.append(name) }
        }
        return names
    }

    /// The error number where this process may not look into a directory, else nil.
    static func refusalToSearch(_ path: String) -> Int32? { access(path, R_OK | X_OK) == 0 ? nil : errno }

    /// Makes the names in a directory durable.
    ///
    /// Some file systems refuse to sync directories, and some directories may be entered but not opened; an entry is
    /// then as durable as they make it. A disk that fails is an error.
    static func synchronizeDirectory(_ path: String) throws(DocDBError) {
        let descriptor = open(path, writing: false, creating: false)
        guard descriptor >= 0 else { return }
        defer { close(descriptor) }
        guard fsync(descriptor) == 0 || (errno != EIO && errno != ENOSPC && errno != EDQUOT) else {
            throw error(errno, while: "sync \(path)")
        }
    }

    static func removeDirectory(_ path: String) { _ = rmdir(path) }

    static func rename(_ from: String, to: String) throws(DocDBError) {
        #if canImport(Darwin)
            let code = Darwin.rename(from, to)
        #elseif canImport(Musl)
            let code = Musl.rename(from, to)
        #else
            let code = Glibc.rename(from, to)
        #endif
        guard code == 0 else { throw error(errno, while: "rename \(from) to \(to)") }
    }

    static func remove(_ path: String) { _ = unlink(path) }

    /// A number that is the same for all calls from one thread and differs between running threads.
    package static var threadID: UInt {
        #if canImport(Darwin)
            return UInt(bitPattern: pthread_self())
        #else
            return UInt(pthread_self())
        #endif
    }
}
