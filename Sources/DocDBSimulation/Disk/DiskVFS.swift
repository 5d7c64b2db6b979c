import CSQLite
import Synchronization

/// The SQLite VFS of one simulated disk, registered for as long as this object lives.
///
/// It behaves as SQLite's own for Unix does, whose promises and habits stores rely on: files that are written anew and
/// journals make their names durable with their first synchronisation; what lies around a write is not harmed by it.
final class DiskVFS: @unchecked Sendable {
    // Unchecked: nothing changes after `init`.
    let name: String
    let core: DiskCore
    private let vfs: UnsafeMutablePointer<sqlite3_vfs>
    private let cName: UnsafeMutablePointer<CChar>

    private static let count = Atomic<Int>(0)
    private static let pathByteLimit: Int32 = 1_024

    init(_ core: DiskCore) {
        self.core = core
        let name = "docdb-disk-\(Self.count.add(1, ordering: .relaxed).newValue)"
        self.name = name
        let bytes = name.utf8CString
        cName = .allocate(capacity: bytes.count)
        _ = UnsafeMutableBufferPointer(start: cName, count: bytes.count).initialize(from: bytes)
        vfs = .allocate(capacity: 1)
        vfs.initialize(to: sqlite3_vfs())
        vfs.pointee.iVersion = 2
        vfs.pointee.szOsFile = Int32(MemoryLayout<docdb_sqlite3_file>.size)
        vfs.pointee.mxPathname = Self.pathByteLimit
        vfs.pointee.zName = UnsafePointer(cName)
        vfs.pointee.pAppData = Unmanaged.passUnretained(self).toOpaque()
        vfs.pointee.xOpen = { DiskVFS.open($0, $1, $2, $3, $4) }
        vfs.pointee.xDelete = { DiskVFS.delete($0, $1, $2) }
        vfs.pointee.xAccess = { DiskVFS.access($0, $1, $2, $3) }
        vfs.pointee.xFullPathname = { DiskVFS.fullPathname($1, $2, $3) }
        vfs.pointee.xRandomness = { DiskVFS.randomness($0, $1, $2) }
        vfs.pointee.xSleep = { (_, microseconds) in
            Host.rest(microseconds: microseconds)
            return microseconds
        }
        vfs.pointee.xCurrentTime = { (_, time) in
            time?.pointee = Double(DiskVFS.julianMilliseconds) / 86_400_000
            return SQLITE_OK
        }
        vfs.pointee.xCurrentTimeInt64 = { (_, time) in
            time?.pointee = DiskVFS.julianMilliseconds
            return SQLITE_OK
        }
        vfs.pointee.xGetLastError = { (_, _, _) in 0 }
        sqlite3_vfs_register(vfs, 0)
    }

    deinit {
        sqlite3_vfs_unregister(vfs)
        vfs.deallocate()
        cName.deallocate()
    }

    /// What SQLite's date functions call the present, in milliseconds of Julian days: always the start of 2027.
    private static let julianMilliseconds: sqlite3_int64 = 210_866_760_000_000 + 1_798_761_600_000

    private static func of(_ vfs: UnsafeMutablePointer<sqlite3_vfs>?) -> DiskVFS? {
        vfs?.pointee.pAppData.map { Unmanaged<DiskVFS>.fromOpaque($0).takeUnretainedValue() }
    }

    private static func open(
        _ vfs: UnsafeMutablePointer<sqlite3_vfs>?, _ name: UnsafePointer<CChar>?,
        _ target: UnsafeMutablePointer<sqlite3_file>?, _ flags: Int32, _ outFlags: UnsafeMutablePointer<Int32>?
    ) -> Int32 {
        guard let target, let vfs = of(vfs) else { return SQLITE_CANTOPEN }
        target.pointee.pMethods = nil
        let core = vfs.core
        do throws(DiskFailure) {
            let opened: OpenFile = try core.locked { () throws(DiskFailure) in
                guard let name else {
                    let file = OpenFile(core.makeFile(), path: "", core: core, vfs: vfs)
                    file.node.isLinked = false
                    return file
                }
                let path = String(cString: name)
                if flags & SQLITE_OPEN_EXCLUSIVE != 0, core.node(path) != nil { throw .exists }
                // A file that may not be written is opened for reading.
                let isReadOnly = flags & SQLITE_OPEN_READWRITE == 0 || core.isReadOnly
                let creates = flags & SQLITE_OPEN_CREATE != 0
                let file = OpenFile(
                    try core.open(path, creating: creates && !isReadOnly), path: path, core: core,
                    isReadOnly: isReadOnly, vfs: vfs)
                let journals = SQLITE_OPEN_MAIN_JOURNAL | SQLITE_OPEN_SUPER_JOURNAL | SQLITE_OPEN_WAL
                file.synchronizesName = creates && flags & journals != 0
                file.isTemporary = flags & SQLITE_OPEN_DELETEONCLOSE != 0
                return file
            }
            outFlags?.pointee =
                opened.isReadOnly
                ? flags & ~(SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE) | SQLITE_OPEN_READONLY : flags
            DiskFileMethods.attach(opened, to: target)
            return SQLITE_OK
        } catch {
            return SQLITE_CANTOPEN
        }
    }

    private static func delete(
        _ vfs: UnsafeMutablePointer<sqlite3_vfs>?, _ name: UnsafePointer<CChar>?, _ synchronizes: Int32
    ) -> Int32 {
        guard let name, let vfs = of(vfs) else { return SQLITE_MISUSE }
        let path = String(cString: name)
        do throws(DiskFailure) {
            try vfs.core.locked { () throws(DiskFailure) in
                try vfs.core.remove(path)
                if synchronizes != 0 { try vfs.core.synchronizeDirectory(DiskCore.parent(of: path)) }
            }
            return SQLITE_OK
        } catch {
            return error == .missing ? SQLiteCode.deleteMissing : SQLiteCode.delete
        }
    }

    private static func access(
        _ vfs: UnsafeMutablePointer<sqlite3_vfs>?, _ name: UnsafePointer<CChar>?, _ flags: Int32,
        _ result: UnsafeMutablePointer<Int32>?
    ) -> Int32 {
        guard let name, let vfs = of(vfs) else { return SQLITE_MISUSE }
        let path = String(cString: name)
        do throws(DiskFailure) {
            let isThere = try vfs.core.locked { () throws(DiskFailure) in
                _ = try vfs.core.begin(.access, path)
                return switch vfs.core.node(path) {
                case .directory: true
                // As on Unix, a file without content is none.
                case .file(let file):
                    flags == SQLITE_ACCESS_EXISTS
                        ? file.content.count > 0 : flags == SQLITE_ACCESS_READ || !vfs.core.isReadOnly
                case nil: false
                }
            }
            result?.pointee = isThere ? 1 : 0
            return SQLITE_OK
        } catch {
            return SQLiteCode.access
        }
    }

    private static func fullPathname(
        _ name: UnsafePointer<CChar>?, _ limit: Int32, _ output: UnsafeMutablePointer<CChar>?
    ) -> Int32 {
        guard let name, let output else { return SQLITE_MISUSE }
        let path = DiskCore.canonical(String(cString: name)).utf8CString
        guard path.count <= Int(limit) else { return SQLITE_CANTOPEN }
        _ = UnsafeMutableBufferPointer(start: output, count: path.count).update(from: path)
        return SQLITE_OK
    }

    private static func randomness(
        _ vfs: UnsafeMutablePointer<sqlite3_vfs>?, _ count: Int32, _ output: UnsafeMutablePointer<CChar>?
    ) -> Int32 {
        guard let output, let vfs = of(vfs) else { return 0 }
        let bytes = vfs.core.locked { vfs.core.random.bytes(count: Int(count)) }
        for (index, byte) in bytes.enumerated() { output[index] = CChar(bitPattern: byte) }
        return Int32(bytes.count)
    }
}

/// SQLite's extended result codes, which the importer leaves out.
enum SQLiteCode {
    static let read = SQLITE_IOERR | 1 << 8
    static let shortRead = SQLITE_IOERR | 2 << 8
    static let write = SQLITE_IOERR | 3 << 8
    static let synchronize = SQLITE_IOERR | 4 << 8
    static let truncate = SQLITE_IOERR | 6 << 8
    static let fileSize = SQLITE_IOERR | 7 << 8
    static let delete = SQLITE_IOERR | 10 << 8
    static let access = SQLITE_IOERR | 13 << 8
    static let lock = SQLITE_IOERR | 15 << 8
    static let sharedMemoryLock = SQLITE_IOERR | 20 << 8
    static let sharedMemoryMap = SQLITE_IOERR | 21 << 8
    static let deleteMissing = SQLITE_IOERR | 23 << 8
}
