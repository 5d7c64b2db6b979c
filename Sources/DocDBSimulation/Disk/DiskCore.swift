import DocDBCore
import Synchronization

/// What a simulated disk holds and has in store, shared by all who have it open.
///
/// Every member but `locked` and `lock` is used within `locked` only.
final class DiskCore: @unchecked Sendable {
    // Unchecked: see above.
    private let lock = Lock<Void>(())
    let root = DirectoryNode()
    var random: SimulationRandom
    /// Files that were opened before belong to a process that is no more; nothing they are asked for has any effect.
    private(set) var generation = 0
    /// Whether everything fails, because the planned end of the process or of the power has come.
    private(set) var isStopped = false
    /// After how many changes that comes.
    var remainingChangeCount: Int?
    var isReadOnly = false
    var byteLimit: Int?
    var usedByteCount = 0
    var faults: [DiskFault] = []
    var operationCount = 0
    var changeCount = 0
    /// The operations since recording began, or nil while nothing is recorded.
    var recorded: [DiskOperation]?
    private var fileCount = 0

    init(seed: UInt64) { random = SimulationRandom(seed: seed) }

    func locked<R, E: Error>(_ body: () throws(E) -> R) throws(E) -> R {
        try lock.withLock { (_) throws(E) in try body() }
    }

    /// A time that no change had before.
    var time: Int64 { Int64(changeCount + 1) * 1_000_000 + Int64(operationCount) }

    /// A number for an open file; never zero.
    func nextFileNumber() -> Int {
        fileCount += 1
        return fileCount
    }

    // MARK: Operations

    /// Counts an operation and lets happen to it what is to happen; returns what its caller has to do to it.
    func begin(
        _ kind: DiskOperation.Kind, _ path: String, offset: Int = 0, byteCount: Int = 0
    ) throws(DiskFailure) -> DiskFault.Effect? {
        guard !isStopped else { throw .ioError }
        recorded?.append(
            DiskOperation(index: operationCount, kind: kind, path: path, offset: offset, byteCount: byteCount))
        operationCount += 1
        if kind.isChange {
            guard !isReadOnly else { throw .readOnly }
            if let remaining = remainingChangeCount {
                if remaining == 0 {
                    isStopped = true
                    throw .ioError
                }
                remainingChangeCount = remaining - 1
            }
            changeCount += 1
        }
        for index in faults.indices where faults[index].happens(to: kind, path) {
            switch faults[index].effect {
            case .ioError: throw .ioError
            case .noSpace: throw .noSpace
            case .shortRead, .flippedBit, .ignored: return faults[index].effect
            }
        }
        return nil
    }

    /// Counts an operation that has no way to say why it fails; false where it does.
    func succeeds(_ kind: DiskOperation.Kind, _ path: String) -> Bool {
        do throws(DiskFailure) {
            _ = try begin(kind, path)
            return true
        } catch {
            return false
        }
    }

    func read(
        _ node: FileNode, _ path: String, into buffer: UnsafeMutableRawBufferPointer, at offset: Int
    ) throws(DiskFailure) -> Int {
        let effect = try begin(.read, path, offset: offset, byteCount: buffer.count)
        var count = max(0, min(buffer.count, node.content.count - offset))
        if effect == .shortRead { count /= 2 }
        if count > 0 {
            buffer.copyMemory(from: UnsafeRawBufferPointer(rebasing: node.content.bytes[offset..<offset + count]))
        }
        if effect == .flippedBit, count > 0 {
            buffer[Int.random(in: 0..<count, using: &random)] ^= 1 << UInt8.random(in: 0..<8, using: &random)
        }
        return count
    }

    func write(
        _ node: FileNode, _ path: String, _ bytes: UnsafeRawBufferPointer, at offset: Int
    ) throws(DiskFailure) {
        let wasStopped = isStopped
        do throws(DiskFailure) {
            let effect = try begin(.write, path, offset: offset, byteCount: bytes.count)
            if effect == .ignored { return }
        } catch {
            // What is cut short leaves some of its bytes.
            if error == .ioError, !wasStopped {
                let count = Int.random(in: 0...bytes.count, using: &random)
                put(UnsafeRawBufferPointer(rebasing: bytes[..<count]), at: offset, node)
            }
            throw error
        }
        if let byteLimit, node.isLinked {
            let freeCount = max(0, byteLimit - usedByteCount)
            let possible = min(bytes.count, max(0, node.content.count + freeCount - offset))
            if possible < bytes.count {
                put(UnsafeRawBufferPointer(rebasing: bytes[..<possible]), at: offset, node)
                throw .noSpace
            }
        }
        put(bytes, at: offset, node)
    }

    private func put(_ bytes: UnsafeRawBufferPointer, at offset: Int, _ node: FileNode) {
        guard bytes.count > 0 else { return }
        let before = node.content.count
        node.write(bytes, at: offset, time: time)
        if node.isLinked { usedByteCount += node.content.count - before }
    }

    func truncate(_ node: FileNode, _ path: String, to byteCount: Int) throws(DiskFailure) {
        if try begin(.truncate, path, byteCount: byteCount) == .ignored { return }
        let growth = byteCount - node.content.count
        if let byteLimit, node.isLinked, growth > 0, usedByteCount + growth > byteLimit { throw .noSpace }
        node.truncate(to: byteCount, time: time)
        if node.isLinked { usedByteCount += growth }
    }

    func synchronize(_ node: FileNode, _ path: String) throws(DiskFailure) {
        if try begin(.synchronize, path) != .ignored { node.synchronize() }
    }

    // MARK: The ends of a process and of the power

    /// Ends the process: what it had open is no more, what it wrote remains.
    func endProcess() {
        revive()
        forEachFile(in: root) { $0.dropHolders() }
    }

    /// Cuts the power: what was not synchronised is as chance has it.
    func losePower(_ loss: PowerLoss, _ random: inout SimulationRandom) {
        revive()
        losePower(loss, &random, in: root)
        countBytes()
    }

    private func revive() {
        generation += 1
        isStopped = false
        remainingChangeCount = nil
    }

    private func losePower(_ loss: PowerLoss, _ random: inout SimulationRandom, in directory: DirectoryNode) {
        directory.losePower(loss, &random)
        for name in directory.names {
            switch directory[name] {
            case .file(let file): file.losePower(loss, &random)
            case .directory(let child): losePower(loss, &random, in: child)
            case nil: break
            }
        }
    }

    /// Counts the bytes anew after names have come and gone.
    func countBytes() {
        usedByteCount = 0
        forEachFile(in: root) { file in
            file.isLinked = true
            usedByteCount += file.content.count
        }
    }

    private func forEachFile(in directory: DirectoryNode, _ body: (FileNode) -> Void) {
        for name in directory.names {
            switch directory[name] {
            case .file(let file): body(file)
            case .directory(let child): forEachFile(in: child, body)
            case nil: break
            }
        }
    }
}
