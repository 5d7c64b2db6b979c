/// What somebody does to the files besides the programs that use them: damage, copies and restored backups.
///
/// All of it is durable at once, works whether databases are open or not, and fails never.
extension SimulatedDisk {
    /// The paths of all files beneath a directory, in order.
    public func files(beneath path: String = "/") -> [String] {
        core.locked { core.files(beneath: path).map(\.path) }
    }

    /// The content of a file, or nil where there is none.
    public func content(of path: String) -> [UInt8]? { core.locked { core.file(path)?.content.array } }

    /// Makes a file's content this; creates the file, and the directories on its way, where there are none.
    ///
    /// The file stays itself for those who have it open, and for a store that looks whether it was replaced by a copy.
    public func overwrite(_ path: String, with content: [UInt8]) {
        core.locked {
            guard let file = core.file(path) else { return core.put(content: content, at: path) }
            file.replace(with: content, time: file.changeTime)
            core.countBytes()
        }
    }

    /// Flips one bit of a file; does nothing where the file has no such bit.
    ///
    /// - Parameter index: the bit's number; number 8 is the lowest of the second byte.
    public func flipBit(_ index: Int, of path: String) {
        guard var content = content(of: path), index >= 0, index / 8 < content.count else { return }
        content[index / 8] ^= 1 << UInt8(index % 8)
        overwrite(path, with: content)
    }

    /// Cuts a file to a size; does nothing where it is no longer than that.
    public func truncate(_ path: String, to byteCount: Int) {
        guard let content = content(of: path), byteCount >= 0, byteCount < content.count else { return }
        overwrite(path, with: Array(content.prefix(byteCount)))
    }

    /// Removes a file, or a directory with all that is in it.
    public func remove(_ path: String) { core.locked { core.erase(path) } }

    /// Copies what is beneath a path as it stands.
    ///
    /// - Parameter path: a file or directory; `/` for the whole disk.
    public func snapshot(of path: String = "/") -> DiskSnapshot {
        core.locked {
            let path = DiskCore.canonical(path)
            let prefixCount = path == "/" ? 0 : path.count
            return DiskSnapshot(
                directories: core.directories(beneath: path).map { String($0.dropFirst(prefixCount)) },
                files: core.files(beneath: path).map { (path, file) in
                    DiskSnapshot.File(
                        path: String(path.dropFirst(prefixCount)), number: file.number, changeTime: file.changeTime,
                        content: file.content.array)
                })
        }
    }

    /// Puts a copy where `path` says, instead of what was there.
    ///
    /// - Parameters:
    ///   - snapshot: the copy, of this disk or of another.
    ///   - path: where it goes; `/` for the whole disk.
    ///   - keepsIdentity: false makes every file a new one, as copying a directory or restoring a backup does, so that a
    ///     store in it takes a new actor; true keeps them the files they were, as rolling back a volume does.
    public func restore(_ snapshot: DiskSnapshot, to path: String = "/", keepsIdentity: Bool = false) {
        core.locked {
            let path = DiskCore.canonical(path)
            let prefix = path == "/" ? "" : path
            if path == "/" {
                for name in core.root.names { core.erase("/" + name) }
            } else {
                core.erase(path)
            }
            for directory in snapshot.directories where !(prefix + directory).isEmpty {
                core.putDirectory(prefix + directory)
            }
            for file in snapshot.files {
                let node = keepsIdentity ? FileNode(number: file.number, time: file.changeTime) : core.makeFile()
                node.replace(with: file.content, time: node.changeTime)
                core.put(node, at: prefix + file.path)
            }
        }
    }
}

/// A copy of a simulated disk's files, or of those in one directory.
public struct DiskSnapshot: Sendable {
    /// Paths beneath the directory that was copied, each with its slash.
    let directories: [String]
    let files: [File]

    struct File: Sendable {
        let path: String
        let number: Int64
        let changeTime: Int64
        let content: [UInt8]
    }

    /// The bytes of all files together.
    public var byteCount: Int { files.reduce(0) { $0 + $1.content.count } }
}
