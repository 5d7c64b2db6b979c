import DocDBAuth
import DocDBCore

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// Where a database with the online identity keeps its key and its grant: files unless an app names a keychain.
public protocol CredentialStorage: Sendable {
    /// The bytes saved last under a name, or nil where there are none.
    func load(_ name: String) throws -> [UInt8]?
    /// Saves bytes under a name, durably and for this user alone; nil removes them.
    func save(_ name: String, _ bytes: [UInt8]?) throws
}

/// Credentials in files of mode 0600 in a directory of mode 0700, outside the database, so that no copy has them.
public struct CredentialFiles: CredentialStorage {
    /// The directory of the files.
    public let directory: String

    /// Creates the storage; the directory is made when something is saved.
    public init(directory: String) { self.directory = directory }

    /// Reads a file, which must be this user's alone.
    public func load(_ name: String) throws -> [UInt8]? {
        let path = "\(directory)/\(name)"
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW)
        guard descriptor >= 0 else {
            if errno == ENOENT { return nil }
            throw Self.failure("read", path)
        }
        defer { close(descriptor) }
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { throw Self.failure("read", path) }
        guard status.st_mode & 0o077 == 0, status.st_uid == geteuid() else {
            throw DocDBError(
                .invalidKey, "others may read or own the credentials at \(path); give them mode 0600 and this owner")
        }
        var content = [UInt8](repeating: 0, count: Self.byteLimit + 1)
        var count = 0
        while count < content.count {
            let read = content.withUnsafeMutableBytes { buffer -> Int in
                guard let base = buffer.baseAddress else { return 0 }
                return systemRead(descriptor, base + count, buffer.count - count)
            }
            if read < 0, errno == EINTR { continue }
            guard read >= 0 else { throw Self.failure("read", path) }
            if read == 0 { break }
            count += read
        }
        guard count <= Self.byteLimit else { throw DocDBError(.limitReached, "the file \(path) is too large") }
        return Array(content[..<count])
    }

    /// Writes a file anew, at once and durably, or removes it.
    public func save(_ name: String, _ bytes: [UInt8]?) throws {
        let path = "\(directory)/\(name)"
        guard let bytes else {
            guard unlink(path) == 0 || errno == ENOENT else { throw Self.failure("remove", path) }
            return
        }
        guard mkdir(directory, 0o700) == 0 || errno == EEXIST else { throw Self.failure("create", directory) }
        let temporary = path + ".new"
        unlink(temporary)
        let descriptor = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard descriptor >= 0 else { throw Self.failure("create", temporary) }
        let isWritten = Self.write(bytes, descriptor) && fsync(descriptor) == 0
        close(descriptor)
        guard isWritten, rename(temporary, path) == 0 else {
            unlink(temporary)
            throw Self.failure("write", path)
        }
    }

    /// Enough for as many revocations as there can be.
    private static let byteLimit = 16 * 1024 * 1024

    private static func write(_ bytes: [UInt8], _ descriptor: Int32) -> Bool {
        bytes.withUnsafeBytes { buffer in
            var offset = 0
            while offset < buffer.count, let base = buffer.baseAddress {
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

/// The key of a database in its storage.
struct StoredPeerKey: KeyStorage {
    let storage: any CredentialStorage
    func load() throws -> [UInt8]? { try storage.load("peer-key") }
    func save(_ bytes: [UInt8]) throws { try storage.save("peer-key", bytes) }
}

/// `read` of the system, which a method's name hides.
private func systemRead(_ descriptor: Int32, _ bytes: UnsafeMutableRawPointer, _ count: Int) -> Int {
    read(descriptor, bytes, count)
}

/// `write` of the system.
private func systemWrite(_ descriptor: Int32, _ bytes: UnsafeRawPointer, _ count: Int) -> Int {
    write(descriptor, bytes, count)
}
