package import DocDBCore

/// All that a store does to files: the system's own, or a simulated disk.
///
/// The database's own reads and writes go through SQLite, which is told by `sqliteVFSName` where to send them. Nothing here
/// is called on a hot path.
package protocol StoreFileSystem: AnyObject, Sendable {
    /// The registered SQLite VFS that reaches these files, or nil for SQLite's default.
    ///
    /// It stays registered for as long as this object lives; connections keep it.
    var sqliteVFSName: String? { get }

    func kind(of path: String) -> FileKind
    /// The size of a file in bytes, zero where there is none.
    func byteCount(of path: String) -> Int64
    func isWritable(_ path: String) -> Bool
    /// Opens a file that is not a database.
    func open(_ path: String, writing: Bool, creating: Bool) throws(DocDBError) -> any StoreFile
    /// Makes an empty file that this user alone may read, where there is none: for the database, which SQLite would make
    /// readable for all. What goes wrong shows when it is opened.
    func makePrivateFile(_ path: String)
    /// Removes a file where there is one.
    func remove(_ path: String)
    /// Renames a file or directory; only the names change, at once.
    func rename(_ from: String, to: String) throws(DocDBError)

    /// Creates a directory where there is none.
    func makeDirectory(_ path: String) throws(DocDBError)
    /// Checks that this process may look into a directory.
    func requireSearchable(_ path: String) throws(DocDBError)
    /// The names in a directory, or nil where it cannot be read.
    func directoryEntries(_ path: String) -> [String]?
    /// Makes the names in a directory durable.
    func synchronizeDirectory(_ path: String) throws(DocDBError)
    /// Removes a directory where it is empty.
    func removeDirectory(_ path: String)
}

/// An open file of a store that is not a database: the lock, the incarnation, or the write-ahead log to be made durable.
package protocol StoreFile: AnyObject, Sendable {
    /// What tells this file from a copy of it.
    func identity() throws(DocDBError) -> FileIdentity
    /// Reads up to `limit` bytes from the start, or nil where that fails.
    func readStart(limit: Int) -> [UInt8]?
    /// Reads up to `count` bytes at an offset; fewer at the end of the file.
    func read(at offset: Int64, count: Int) throws(DocDBError) -> [UInt8]
    /// Replaces the content; waits for the disk where that is wanted.
    func replaceContent(with bytes: [UInt8], isDurable: Bool) throws(DocDBError)
    /// Waits until the content is on the disk itself.
    func synchronize() throws(DocDBError)
    /// Takes an exclusive lock without waiting; false where another holds it.
    func tryLock() throws(DocDBError) -> Bool
    /// Gives up the lock, also where a child process has inherited it.
    func unlock()
    /// Closes the file; calls after the first do nothing.
    func close()
}

/// What a path names.
package enum FileKind: Sendable {
    case missing, directory, file
    /// Nobody knows: a directory above may not be searched, or the disk fails.
    case unreadable
}

/// What tells an open file from a copy of it, whatever the copy's content.
package struct FileIdentity: Equatable, Sendable {
    package var inode: Int64
    /// When content or inode were changed last, in nanoseconds since 1970; nobody can set it, moving keeps it.
    package var changeTime: Int64

    package init(inode: Int64, changeTime: Int64) {
        self.inode = inode
        self.changeTime = changeTime
    }
}

extension StoreFileSystem {
    package func makePrivateFile(_ path: String) {}

    /// Waits until a whole file is on the disk itself.
    func synchronizeFile(_ path: String) throws(DocDBError) {
        let file = try open(path, writing: true, creating: false)
        defer { file.close() }
        try file.synchronize()
    }
}
