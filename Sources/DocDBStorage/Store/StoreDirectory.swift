import DocDBCore
import Synchronization

/// The layout of a store on disk: one directory that holds the database, the lock and the incarnation nonce.
package struct StoreDirectory: Sendable {
    package let path: String
    /// Where the directory and all that is in it lie.
    package let fileSystem: any StoreFileSystem

    package init(_ path: String, fileSystem: any StoreFileSystem = SystemFileSystem.shared) {
        self.fileSystem = fileSystem
        self.path = path.count > 1 && path.hasSuffix("/") ? String(path.dropLast()) : path
    }

    package var database: String { path + "/store.sqlite" }
    package var writeAheadLog: String { database + "-wal" }
    package var lock: String { path + "/lock" }
    package var incarnation: String { path + "/incarnation" }
    /// The directory that holds this one.
    var parent: String {
        guard let slash = path.lastIndex(of: "/") else { return "." }
        return slash == path.startIndex ? "/" : String(path[..<slash])
    }

    /// Makes the directory ready for a store that is opened for writing: creates it where allowed.
    ///
    /// Returns whether the store is new.
    func prepare(creating: Bool) throws(DocDBError) -> Bool {
        switch fileSystem.kind(of: path) {
        case .file:
            throw DocDBError(.notAStore, "\(path) is a file, not a store; a store is a directory such as cars.docdb")
        case .directory:
            try fileSystem.requireSearchable(path)
            switch fileSystem.kind(of: database) {
            case .file: return false
            case .unreadable: throw unreadable(database)
            case .missing, .directory: break
            }
            // A creation that was cut short leaves at most the lock; anything else is somebody's directory, or a store
            // that has lost its database.
            guard creating, fileSystem.directoryEntries(path)?.allSatisfy({ $0 == "lock" }) == true else {
                throw DocDBError(
                    .notAStore,
                    "\(path) is a directory without a store in it; name an existing store or a path that does not exist yet"
                )
            }
        case .missing:
            guard creating else { throw missing }
            try fileSystem.makeDirectory(path)
        case .unreadable: throw unreadable(path)
        }
        // Before there is a database: where there is one, the directory's own name is durable.
        try fileSystem.synchronizeDirectory(parent)
        return true
    }

    /// Checks that there is a store to open for reading.
    func requireStore() throws(DocDBError) {
        switch fileSystem.kind(of: path) {
        case .missing: throw missing
        case .unreadable: throw unreadable(path)
        case .file:
            throw DocDBError(.notAStore, "\(path) is a file, not a store; a store is a directory such as cars.docdb")
        case .directory:
            try fileSystem.requireSearchable(path)
            switch fileSystem.kind(of: database) {
            case .file: return
            case .unreadable: throw unreadable(database)
            case .missing, .directory:
                throw DocDBError(.notAStore, "\(path) is a directory without a store in it; name an existing store")
            }
        }
    }

    /// Checks that there is nothing yet where something is to be made.
    func requireMissing(_ purpose: String) throws(DocDBError) {
        switch fileSystem.kind(of: path) {
        case .missing: return
        case .unreadable: throw unreadable(path)
        case .file, .directory:
            throw DocDBError(.misuse, "\(path) exists already; name a path for the \(purpose) that does not exist")
        }
    }

    /// A directory in which one with this path is made until it is whole: `path.partial-` and eight random digits.
    func partial(_ randomBytes: (Int) -> [UInt8]) -> StoreDirectory {
        let digits = randomBytes(4).map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
        return StoreDirectory(path + ".partial-" + digits, fileSystem: fileSystem)
    }

    /// Removes what was made of a store that did not come about.
    func discard() {
        for file in [database, database + "-journal", database + "-shm", writeAheadLog, lock, incarnation] {
            fileSystem.remove(file)
        }
        fileSystem.removeDirectory(path)
    }

    private func unreadable(_ path: String) -> DocDBError {
        DocDBError(
            .storageFailed,
            "cannot look at \(path): a directory above it may not be searched, or the disk fails; check permissions and disk"
        )
    }

    private var missing: DocDBError {
        DocDBError(.notAStore, "there is no store at \(path); check the path, or create one by opening it for writing")
    }
}

/// The lock that one writing process holds on a store, released when this object goes.
final class StoreLock: Sendable {
    private let file: any StoreFile
    private let isReleased = Atomic<Bool>(false)

    private static let contentByteLimit = 512

    init(_ directory: StoreDirectory) throws(DocDBError) {
        let file = try directory.fileSystem.open(directory.lock, writing: true, creating: true)
        do throws(DocDBError) {
            guard try file.tryLock() else {
                let holder = Self.holder(file)
                throw DocDBError(
                    .storeLocked,
                    "cannot open \(directory.path): \(holder.text) holds it for writing; open it read-only or \(holder.remedy)",
                    context: ["holder": holder.text])
            }
            // Only for those who find the lock taken, so nobody waits for the disk.
            try file.replaceContent(with: Array((Platform.processDescription + "\n").utf8), isDurable: false)
        } catch {
            file.close()
            throw error
        }
        self.file = file
    }

    deinit { release() }

    /// Lets another open the store for writing.
    func release() {
        guard !isReleased.exchange(true, ordering: .acquiringAndReleasing) else { return }
        // A child process that is just being spawned may share the descriptor: closing it here alone would not unlock.
        file.unlock()
        file.close()
    }

    private static func holder(_ file: any StoreFile) -> (text: String, remedy: String) {
        let content = file.readStart(limit: contentByteLimit).map { String(decoding: $0, as: UTF8.self) }
        let parts = (content ?? "").split(whereSeparator: \.isWhitespace)
        guard let first = parts.first, let process = Int32(first) else {
            return ("another process", "stop that process")
        }
        if process == Platform.processID {
            return ("this process (\(process))", "use the database object that is open already, or close it first")
        }
        let name = parts.dropFirst().first.map { " (\($0))" } ?? ""
        return ("process \(process)\(name)", "stop that process")
    }
}
