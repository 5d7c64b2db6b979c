package import DocDBCore
import Synchronization

/// The operating system's files.
package final class SystemFileSystem: StoreFileSystem {
    package static let shared = SystemFileSystem()

    private init() {}

    package var sqliteVFSName: String? { nil }

    package func kind(of path: String) -> FileKind { Platform.fileKind(path) }

    package func byteCount(of path: String) -> Int64 { Platform.fileByteCount(path) }

    package func isWritable(_ path: String) -> Bool { Platform.isWritable(path) }

    package func open(_ path: String, writing: Bool, creating: Bool) throws(DocDBError) -> any StoreFile {
        let descriptor = Platform.open(path, writing: writing, creating: creating)
        guard descriptor >= 0 else { throw Platform.error(Platform.lastErrorNumber, while: "open \(path)") }
        return SystemFile(descriptor: descriptor, path: path)
    }

    package func makePrivateFile(_ path: String) {
        let descriptor = Platform.open(path, writing: true, creating: true)
        if descriptor >= 0 { Platform.close(descriptor) }
    }

    package func remove(_ path: String) { Platform.remove(path) }

    package func rename(_ from: String, to: String) throws(DocDBError) { try Platform.rename(from, to: to) }

    package func makeDirectory(_ path: String) throws(DocDBError) { try Platform.makeDirectory(path) }

    package func requireSearchable(_ path: String) throws(DocDBError) {
        if let number = Platform.refusalToSearch(path) { throw Platform.error(number, while: "open \(path)") }
    }

    package func directoryEntries(_ path: String) -> [String]? { Platform.directoryEntries(path) }

    package func synchronizeDirectory(_ path: String) throws(DocDBError) { try Platform.synchronizeDirectory(path) }

    package func removeDirectory(_ path: String) { Platform.removeDirectory(path) }
}

/// A file by its descriptor.
private final class SystemFile: StoreFile {
    private let descriptor: Int32
    private let path: String
    private let isClosed = Atomic<Bool>(false)

    init(descriptor: Int32, path: String) {
        self.descriptor = descriptor
        self.path = path
    }

    deinit { close() }

    func identity() throws(DocDBError) -> FileIdentity {
        guard let identity = Platform.identity(descriptor: descriptor) else {
            throw Platform.error(Platform.lastErrorNumber, while: "read \(path)")
        }
        return identity
    }

    func readStart(limit: Int) -> [UInt8]? { Platform.readStart(descriptor, limit: limit) }

    func read(at offset: Int64, count: Int) throws(DocDBError) -> [UInt8] {
        guard let bytes = Platform.read(descriptor, at: offset, count: count) else {
            throw Platform.error(Platform.lastErrorNumber, while: "read \(path)")
        }
        return bytes
    }

    func replaceContent(with bytes: [UInt8], isDurable: Bool) throws(DocDBError) {
        try Platform.replaceContent(descriptor, with: bytes, path: path, isDurable: isDurable)
    }

    func synchronize() throws(DocDBError) {
        guard Platform.synchronize(descriptor: descriptor) else {
            throw Platform.error(Platform.lastErrorNumber, while: "sync \(path)")
        }
    }

    func tryLock() throws(DocDBError) -> Bool { try Platform.tryLock(descriptor, path: path) }

    func unlock() { Platform.unlock(descriptor) }

    func close() {
        if !isClosed.exchange(true, ordering: .acquiringAndReleasing) { Platform.close(descriptor) }
    }
}
