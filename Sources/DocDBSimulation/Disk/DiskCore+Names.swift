/// Names on a simulated disk: absolute paths, of which a relative one is taken for one that lacks its slash.
extension DiskCore {
    /// A directory and a name in it, which need not lead anywhere.
    private struct Place {
        var directory: DirectoryNode
        var name: String
    }

    /// The names on the way to `path`; "." and empty ones do not count.
    static func components(_ path: String) -> [String] {
        path.split(separator: "/").filter { $0 != "." }.map(String.init)
    }

    /// One spelling of a path.
    static func canonical(_ path: String) -> String { "/" + components(path).joined(separator: "/") }

    /// What a path leads to.
    func node(_ path: String) -> DiskNode? {
        var node = DiskNode.directory(root)
        for name in Self.components(path) {
            guard case .directory(let directory) = node, let next = directory[name] else { return nil }
            node = next
        }
        return node
    }

    func file(_ path: String) -> FileNode? {
        if case .file(let file) = node(path) { file } else { nil }
    }

    func directory(_ path: String) throws(DiskFailure) -> DirectoryNode {
        switch node(path) {
        case .directory(let directory): return directory
        case .file: throw .notDirectory
        case nil: throw .missing
        }
    }

    private func place(_ path: String) throws(DiskFailure) -> Place {
        var components = Self.components(path)
        guard let name = components.popLast() else { throw .isDirectory }
        return Place(directory: try directory(components.joined(separator: "/")), name: name)
    }

    /// Opens a file, or creates it where there is none and that is wanted.
    func open(_ path: String, creating: Bool) throws(DiskFailure) -> FileNode {
        let place = try place(path)
        switch place.directory[place.name] {
        case .directory: throw .isDirectory
        case .file(let file):
            _ = try begin(.open, path)
            return file
        case nil:
            guard creating else { throw .missing }
            _ = try begin(.create, path)
            let file = makeFile()
            place.directory.apply([(place.name, .file(file))])
            return file
        }
    }

    /// A new file that no name leads to yet.
    func makeFile() -> FileNode {
        FileNode(number: Int64(truncatingIfNeeded: random.next() >> 16) + 1, time: time)
    }

    /// Removes a file's name; who has the file open keeps it.
    func remove(_ path: String) throws(DiskFailure) {
        let place = try place(path)
        guard let node = place.directory[place.name] else { throw .missing }
        guard case .file(let file) = node else { throw .isDirectory }
        _ = try begin(.remove, path)
        place.directory.apply([(place.name, nil)])
        unlink(file)
    }

    private func unlink(_ file: FileNode) {
        guard file.isLinked else { return }
        file.isLinked = false
        usedByteCount -= file.content.count
    }

    /// Renames within one directory, over a file that has the new name.
    func rename(_ from: String, to: String) throws(DiskFailure) {
        let source = try place(from)
        let target = try place(to)
        guard let node = source.directory[source.name] else { throw .missing }
        // Stores rename within a directory; between two, journals give weaker promises.
        guard source.directory === target.directory else { throw .ioError }
        switch target.directory[target.name] {
        case .directory(let directory) where !directory.isEmpty: throw .notEmpty
        case .file, .directory, nil: break
        }
        _ = try begin(.rename, from)
        if case .file(let replaced) = target.directory[target.name] { unlink(replaced) }
        source.directory.apply([(source.name, nil), (target.name, node)])
    }

    func makeDirectory(_ path: String) throws(DiskFailure) {
        let place = try place(path)
        guard place.directory[place.name] == nil else { throw .exists }
        _ = try begin(.makeDirectory, path)
        place.directory.apply([(place.name, .directory(DirectoryNode()))])
    }

    func removeDirectory(_ path: String) throws(DiskFailure) {
        let place = try place(path)
        guard case .directory(let directory) = place.directory[place.name] else { throw .missing }
        guard directory.isEmpty else { throw .notEmpty }
        _ = try begin(.removeDirectory, path)
        place.directory.apply([(place.name, nil)])
    }

    func synchronizeDirectory(_ path: String) throws(DiskFailure) {
        let directory = try directory(path)
        if try begin(.synchronizeDirectory, path) != .ignored { directory.synchronize() }
    }

    /// The directory that a path lies in.
    static func parent(of path: String) -> String { canonical(components(path).dropLast().joined(separator: "/")) }

    /// Puts a file with this content, durable, in its place; creates the directories on the way.
    func put(content: [UInt8], at path: String) {
        let file = makeFile()
        file.replace(with: content, time: time)
        put(file, at: path)
    }

    /// Puts a file, durable, in its place.
    func put(_ file: FileNode, at path: String) { put(.file(file), at: path) }

    /// Puts an empty directory, durable, where there is none.
    func putDirectory(_ path: String) {
        if node(path) == nil { put(.directory(DirectoryNode()), at: path) }
    }

    private func put(_ node: DiskNode, at path: String) {
        var directory = root
        let components = Self.components(path)
        for (index, name) in components.enumerated() {
            if index == components.count - 1 {
                directory.apply([(name, node)])
            } else if case .directory(let next) = directory[name] {
                directory = next
                continue
            } else {
                let next = DirectoryNode()
                directory.apply([(name, .directory(next))])
                directory.synchronize()
                directory = next
                continue
            }
            directory.synchronize()
        }
        changeCount += 1
        countBytes()
    }

    /// Takes a name and what is beneath it away, durably.
    func erase(_ path: String) {
        guard let place = try? place(path) else { return }
        forEachFile(at: path) { $0.isLinked = false }
        place.directory.apply([(place.name, nil)])
        place.directory.synchronize()
        changeCount += 1
        countBytes()
    }

    /// Every file beneath a path, and its path.
    func files(beneath path: String) -> [(path: String, file: FileNode)] {
        let path = Self.canonical(path)
        switch node(path) {
        case .file(let file): return [(path, file)]
        case .directory(let directory):
            let prefix = path == "/" ? path : path + "/"
            return directory.names.flatMap { files(beneath: prefix + $0) }
        case nil: return []
        }
    }

    private func forEachFile(at path: String, _ body: (FileNode) -> Void) {
        for (_, file) in files(beneath: path) { body(file) }
    }

    /// Every directory beneath a path, itself included, parents first.
    func directories(beneath path: String) -> [String] {
        let path = Self.canonical(path)
        guard case .directory(let directory) = node(path) else { return [] }
        let prefix = path == "/" ? path : path + "/"
        return [path] + directory.names.flatMap { directories(beneath: prefix + $0) }
    }
}
