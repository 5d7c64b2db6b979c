import DocDBCore
import DocDBStorage

/// A simulated disk as stores see it.
final class DiskFileSystem: StoreFileSystem {
    private let core: DiskCore
    private let vfs: DiskVFS

    init(_ core: DiskCore) {
        self.core = core
        vfs = DiskVFS(core)
    }

    var sqliteVFSName: String? { vfs.name }

    private func perform<R>(_ action: String, _ body: () throws(DiskFailure) -> R) throws(DocDBError) -> R {
        do throws(DiskFailure) {
            return try core.locked(body)
        } catch {
            throw Host.error(error, while: action)
        }
    }

    func kind(of path: String) -> FileKind {
        core.locked {
            guard core.succeeds(.access, path) else { return .unreadable }
            return switch core.node(path) {
            case .file: .file
            case .directory: .directory
            case nil: .missing
            }
        }
    }

    func byteCount(of path: String) -> Int64 { core.locked { Int64(core.file(path)?.content.count ?? 0) } }

    func isWritable(_ path: String) -> Bool { core.locked { !core.isReadOnly && core.node(path) != nil } }

    func open(_ path: String, writing: Bool, creating: Bool) throws(DocDBError) -> any StoreFile {
        try perform("open \(path)") { () throws(DiskFailure) in
            if writing, core.isReadOnly { throw .readOnly }
            return DiskStoreFile(OpenFile(try core.open(path, creating: creating), path: path, core: core))
        }
    }

    func remove(_ path: String) { try? perform("remove \(path)") { () throws(DiskFailure) in try core.remove(path) } }

    func rename(_ from: String, to: String) throws(DocDBError) {
        try perform("rename \(from) to \(to)") { () throws(DiskFailure) in try core.rename(from, to: to) }
    }

    func makeDirectory(_ path: String) throws(DocDBError) {
        try perform("create \(path)") { () throws(DiskFailure) in
            if case .directory = core.node(path) { return }
            try core.makeDirectory(path)
        }
    }

    func requireSearchable(_ path: String) throws(DocDBError) {
        _ = try perform("open \(path)") { () throws(DiskFailure) in try core.directory(path) }
    }

    func directoryEntries(_ path: String) -> [String]? {
        core.locked {
            guard core.succeeds(.list, path) else { return nil }
            return (try? core.directory(path))?.names
        }
    }

    func synchronizeDirectory(_ path: String) throws(DocDBError) {
        try perform("sync \(path)") { () throws(DiskFailure) in try core.synchronizeDirectory(path) }
    }

    func removeDirectory(_ path: String) {
        try? perform("remove \(path)") { () throws(DiskFailure) in try core.removeDirectory(path) }
    }
}

/// A file on a simulated disk that is not a database.
private final class DiskStoreFile: StoreFile {
    private let file: OpenFile

    init(_ file: OpenFile) { self.file = file }

    deinit { close() }

    private func perform<R>(_ action: String, _ body: () throws(DiskFailure) -> R) throws(DocDBError) -> R {
        do throws(DiskFailure) {
            return try file.use(body)
        } catch {
            throw Host.error(error, while: "\(action) \(file.path)")
        }
    }

    func identity() throws(DocDBError) -> FileIdentity {
        try perform("read") { () throws(DiskFailure) in
            _ = try file.core.begin(.access, file.path)
            return FileIdentity(inode: file.node.number, changeTime: file.node.changeTime)
        }
    }

    func readStart(limit: Int) -> [UInt8]? {
        try? perform("read") { () throws(DiskFailure) in
            let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: limit, alignment: 1)
            defer { buffer.deallocate() }
            return Array(buffer[..<(try file.core.read(file.node, file.path, into: buffer, at: 0))])
        }
    }

    func read(at offset: Int64, count: Int) throws(DocDBError) -> [UInt8] {
        try perform("read") { () throws(DiskFailure) in
            let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: count, alignment: 1)
            defer { buffer.deallocate() }
            return Array(buffer[..<(try file.core.read(file.node, file.path, into: buffer, at: Int(offset)))])
        }
    }

    func replaceContent(with bytes: [UInt8], isDurable: Bool) throws(DocDBError) {
        try perform("write") { () throws(DiskFailure) in
            let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: bytes.count, alignment: 1)
            defer { buffer.deallocate() }
            bytes.withUnsafeBytes { buffer.copyMemory(from: $0) }
            try file.core.write(file.node, file.path, UnsafeRawBufferPointer(buffer), at: 0)
            try file.core.truncate(file.node, file.path, to: bytes.count)
            if isDurable { try file.core.synchronize(file.node, file.path) }
        }
    }

    func synchronize() throws(DocDBError) {
        try perform("sync") { () throws(DiskFailure) in try file.core.synchronize(file.node, file.path) }
    }

    func tryLock() throws(DocDBError) -> Bool {
        try perform("lock") { () throws(DiskFailure) in
            _ = try file.core.begin(.lock, file.path)
            guard file.node.exclusiveHolder == 0 || file.node.exclusiveHolder == file.number else { return false }
            file.node.exclusiveHolder = file.number
            return true
        }
    }

    func unlock() { file.dropLocks() }

    func close() { file.dropLocks() }
}
