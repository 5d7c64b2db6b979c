import DocDBCore
import DocDBStorage

/// A file that a process has open; of no effect any more once the process has ended.
final class OpenFile: @unchecked Sendable {
    // Unchecked: all that changes is used within the disk's lock.
    let core: DiskCore
    let node: FileNode
    let path: String
    let number: Int
    private let generation: Int
    /// The level of its lock on a database.
    var lockLevel: Int32 = 0
    /// The memory it shares with the database's other connections, once it has asked for it.
    var sharedMemory: SharedMemory?
    /// Whether the next synchronisation makes its name durable too, as it does for journals.
    var synchronizesName = false
    /// Whether the file goes when it is closed.
    var isTemporary = false
    let isReadOnly: Bool
    /// Keeps the VFS registered for as long as SQLite has files of it.
    let vfs: DiskVFS?

    /// Within the disk's lock.
    init(_ node: FileNode, path: String, core: DiskCore, isReadOnly: Bool = false, vfs: DiskVFS? = nil) {
        self.core = core
        self.node = node
        self.path = path
        self.isReadOnly = isReadOnly
        self.vfs = vfs
        number = core.nextFileNumber()
        generation = core.generation
    }

    /// Whether the process that opened it has ended.
    var isStale: Bool { generation != core.generation }

    /// Runs `body` within the disk's lock, while the process that opened the file lives.
    func use<R>(_ body: () throws(DiskFailure) -> R) throws(DiskFailure) -> R {
        try core.locked { () throws(DiskFailure) in
            guard !isStale else { throw .ioError }
            return try body()
        }
    }

    /// Gives up all locks, and the memory it shares.
    func dropLocks() {
        core.locked {
            dropSharedMemory()
            guard !isStale else { return }
            node.locks.unlock(number, to: 0)
            if node.exclusiveHolder == number { node.exclusiveHolder = 0 }
        }
    }

    /// Gives up the memory it shares; within the disk's lock.
    func dropSharedMemory() {
        sharedMemory?.unlockAll(by: number)
        sharedMemory = nil
    }
}
