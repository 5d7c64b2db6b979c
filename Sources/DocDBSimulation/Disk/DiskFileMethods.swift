import CSQLite

/// What SQLite does with an open file of a simulated disk: `sqlite3_io_methods`.
enum DiskFileMethods {
    private typealias File = UnsafeMutablePointer<sqlite3_file>

    /// Makes SQLite's file stand for `opened`, which lives until SQLite closes it.
    static func attach(_ opened: OpenFile, to target: UnsafeMutablePointer<sqlite3_file>) {
        UnsafeMutableRawPointer(target).assumingMemoryBound(to: docdb_sqlite3_file.self).pointee.object =
            Unmanaged.passRetained(opened).toOpaque()
        target.pointee.pMethods = UnsafePointer(table)
    }

    // Unsafe only in name: filled in once, before it is shared, and never changed or freed.
    nonisolated(unsafe) private static let table: UnsafeMutablePointer<sqlite3_io_methods> = {
        let table = UnsafeMutablePointer<sqlite3_io_methods>.allocate(capacity: 1)
        table.initialize(to: sqlite3_io_methods())
        table.pointee.iVersion = 2
        table.pointee.xClose = { DiskFileMethods.close($0) }
        table.pointee.xRead = { DiskFileMethods.read($0, $1, $2, $3) }
        table.pointee.xWrite = { DiskFileMethods.write($0, $1, $2, $3) }
        table.pointee.xTruncate = { DiskFileMethods.truncate($0, $1) }
        table.pointee.xSync = { (file, _) in DiskFileMethods.synchronize(file) }
        table.pointee.xFileSize = { DiskFileMethods.fileSize($0, $1) }
        table.pointee.xLock = { DiskFileMethods.lock($0, $1) }
        table.pointee.xUnlock = { DiskFileMethods.unlock($0, $1) }
        table.pointee.xCheckReservedLock = { DiskFileMethods.checkReservedLock($0, $1) }
        table.pointee.xFileControl = { DiskFileMethods.control($0, $1, $2) }
        table.pointee.xSectorSize = { (_) in 4_096 }
        table.pointee.xDeviceCharacteristics = { (_) in SQLITE_IOCAP_POWERSAFE_OVERWRITE }
        table.pointee.xShmMap = { DiskFileMethods.mapSharedMemory($0, $1, $2, $3, $4) }
        table.pointee.xShmLock = { DiskFileMethods.lockSharedMemory($0, $1, $2, $3) }
        table.pointee.xShmBarrier = { (file) in
            // Taking and leaving a lock orders all that this thread reads and writes.
            if let opened = DiskFileMethods.opened(file) { opened.core.locked {} }
        }
        table.pointee.xShmUnmap = { (file, _) in DiskFileMethods.unmapSharedMemory(file) }
        return table
    }()

    private static func opened(_ file: File?) -> OpenFile? {
        guard let file else { return nil }
        let extended = UnsafeMutableRawPointer(file).assumingMemoryBound(to: docdb_sqlite3_file.self)
        return extended.pointee.object.map { Unmanaged<OpenFile>.fromOpaque($0).takeUnretainedValue() }
    }

    /// Runs `body` on the open file; a failure becomes `code`, or that of a full or read-only disk.
    private static func perform(
        _ file: File?, _ code: Int32, _ body: (OpenFile, DiskCore) throws(DiskFailure) -> Int32
    ) -> Int32 {
        guard let opened = opened(file) else { return SQLITE_MISUSE }
        do throws(DiskFailure) {
            return try opened.use { () throws(DiskFailure) in try body(opened, opened.core) }
        } catch {
            return error == .noSpace && code != SQLiteCode.read ? SQLITE_FULL : code
        }
    }

    private static func close(_ file: File?) -> Int32 {
        guard let file, let opened = opened(file) else { return SQLITE_OK }
        opened.dropLocks()
        if opened.isTemporary {
            _ = try? opened.use { () throws(DiskFailure) in try opened.core.remove(opened.path) }
        }
        UnsafeMutableRawPointer(file).assumingMemoryBound(to: docdb_sqlite3_file.self).pointee.object = nil
        file.pointee.pMethods = nil
        Unmanaged.passUnretained(opened).release()
        return SQLITE_OK
    }

    // MARK: Content

    private static func read(
        _ file: File?, _ buffer: UnsafeMutableRawPointer?, _ count: Int32, _ offset: sqlite3_int64
    ) -> Int32 {
        perform(file, SQLiteCode.read) { (opened, core) throws(DiskFailure) in
            let bytes = UnsafeMutableRawBufferPointer(start: buffer, count: Int(count))
            let filled = try core.read(opened.node, opened.path, into: bytes, at: Int(offset))
            guard filled < bytes.count else { return SQLITE_OK }
            UnsafeMutableRawBufferPointer(rebasing: bytes[filled...]).initializeMemory(as: UInt8.self, repeating: 0)
            return SQLiteCode.shortRead
        }
    }

    private static func write(
        _ file: File?, _ buffer: UnsafeRawPointer?, _ count: Int32, _ offset: sqlite3_int64
    ) -> Int32 {
        perform(file, SQLiteCode.write) { (opened, core) throws(DiskFailure) in
            guard !opened.isReadOnly else { return SQLITE_READONLY }
            try core.write(
                opened.node, opened.path, UnsafeRawBufferPointer(start: buffer, count: Int(count)), at: Int(offset))
            return SQLITE_OK
        }
    }

    private static func truncate(_ file: File?, _ byteCount: sqlite3_int64) -> Int32 {
        perform(file, SQLiteCode.truncate) { (opened, core) throws(DiskFailure) in
            try core.truncate(opened.node, opened.path, to: Int(byteCount))
            return SQLITE_OK
        }
    }

    private static func synchronize(_ file: File?) -> Int32 {
        perform(file, SQLiteCode.synchronize) { (opened, core) throws(DiskFailure) in
            try core.synchronize(opened.node, opened.path)
            if opened.synchronizesName {
                try core.synchronizeDirectory(DiskCore.parent(of: opened.path))
                opened.synchronizesName = false
            }
            return SQLITE_OK
        }
    }

    private static func fileSize(_ file: File?, _ byteCount: UnsafeMutablePointer<sqlite3_int64>?) -> Int32 {
        perform(file, SQLiteCode.fileSize) { (opened, core) throws(DiskFailure) in
            _ = try core.begin(.fileSize, opened.path)
            byteCount?.pointee = sqlite3_int64(opened.node.content.count)
            return SQLITE_OK
        }
    }

    // MARK: Locks

    private static func lock(_ file: File?, _ level: Int32) -> Int32 {
        perform(file, SQLiteCode.lock) { (opened, core) throws(DiskFailure) in
            _ = try core.begin(.lock, opened.path)
            opened.lockLevel = opened.node.locks.lock(opened.number, from: opened.lockLevel, to: level)
            return opened.lockLevel >= level ? SQLITE_OK : SQLITE_BUSY
        }
    }

    private static func unlock(_ file: File?, _ level: Int32) -> Int32 {
        // What a process that has ended held is free already.
        _ = perform(file, SQLITE_OK) { (opened, _) throws(DiskFailure) in
            opened.node.locks.unlock(opened.number, to: level)
            opened.lockLevel = min(opened.lockLevel, level)
            return SQLITE_OK
        }
        return SQLITE_OK
    }

    private static func checkReservedLock(_ file: File?, _ result: UnsafeMutablePointer<Int32>?) -> Int32 {
        perform(file, SQLiteCode.lock) { (opened, _) throws(DiskFailure) in
            result?.pointee = opened.node.locks.isReserved ? 1 : 0
            return SQLITE_OK
        }
    }

    private static func control(_ file: File?, _ operation: Int32, _ argument: UnsafeMutableRawPointer?) -> Int32 {
        guard operation == SQLITE_FCNTL_HAS_MOVED else { return SQLITE_NOTFOUND }
        return perform(file, SQLITE_IOERR) { (opened, core) throws(DiskFailure) in
            argument?.assumingMemoryBound(to: Int32.self).pointee = core.file(opened.path) === opened.node ? 0 : 1
            return SQLITE_OK
        }
    }

    // MARK: Shared memory

    private static func mapSharedMemory(
        _ file: File?, _ index: Int32, _ byteCount: Int32, _ creates: Int32,
        _ result: UnsafeMutablePointer<UnsafeMutableRawPointer?>?
    ) -> Int32 {
        result?.pointee = nil
        return perform(file, SQLiteCode.sharedMemoryMap) { (opened, core) throws(DiskFailure) in
            _ = try core.begin(.sharedMemory, opened.path)
            let shared = opened.sharedMemory ?? opened.node.sharedMemory ?? SharedMemory()
            opened.sharedMemory = shared
            opened.node.sharedMemory = shared
            result?.pointee = shared.region(Int(index), byteCount: Int(byteCount), creating: creates != 0)
            return SQLITE_OK
        }
    }

    private static func lockSharedMemory(_ file: File?, _ first: Int32, _ count: Int32, _ flags: Int32) -> Int32 {
        let range = Int(first)..<Int(first + count)
        let isUnlock = flags & SQLITE_SHM_UNLOCK != 0
        let code = perform(file, SQLiteCode.sharedMemoryLock) { (opened, core) throws(DiskFailure) in
            guard let shared = opened.sharedMemory else { return SQLiteCode.sharedMemoryLock }
            if isUnlock {
                shared.unlock(range, by: opened.number)
                return SQLITE_OK
            }
            _ = try core.begin(.sharedMemory, opened.path)
            let isExclusive = flags & SQLITE_SHM_EXCLUSIVE != 0
            return shared.lock(range, isExclusive: isExclusive, by: opened.number) ? SQLITE_OK : SQLITE_BUSY
        }
        return isUnlock ? SQLITE_OK : code
    }

    private static func unmapSharedMemory(_ file: File?) -> Int32 {
        guard let opened = opened(file) else { return SQLITE_OK }
        opened.core.locked { opened.dropSharedMemory() }
        return SQLITE_OK
    }
}
