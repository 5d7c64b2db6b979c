/// One operation on a simulated disk.
public struct DiskOperation: Sendable, CustomStringConvertible {
    /// What an operation does.
    public enum Kind: String, Sendable, CaseIterable {
        case open, read, fileSize, access, lock, sharedMemory, list
        case create, write, truncate, synchronize, remove, rename, makeDirectory, removeDirectory, synchronizeDirectory

        /// Whether it changes what the disk holds, or what of that is durable.
        public var isChange: Bool {
            switch self {
            case .open, .read, .fileSize, .access, .lock, .sharedMemory, .list: false
            case .create, .write, .truncate, .synchronize, .remove, .rename, .makeDirectory, .removeDirectory,
                .synchronizeDirectory:
                true
            }
        }
    }

    /// The number of operations before this one since the disk was made.
    public let index: Int
    /// What it does.
    public let kind: Kind
    /// The file or directory it is about.
    public let path: String
    /// Where in the file it begins; zero where that says nothing.
    public let offset: Int
    /// How many bytes it reads or writes, or the size that a file is cut to.
    public let byteCount: Int

    /// The operation in one line.
    public var description: String { "#\(index) \(kind.rawValue) \(path) @\(offset)+\(byteCount)" }
}
