/// A file on a simulated disk: what programs read, and what a power cut leaves.
///
/// All of it is guarded by the lock of its disk.
final class FileNode: @unchecked Sendable {
    // Unchecked: see above.

    /// What was done to the content since it was synchronised last.
    enum Change {
        case write(offset: Int, bytes: [UInt8])
        case truncate(Int)
    }

    let number: Int64
    private(set) var content = FileContent()
    /// When the content was changed last.
    private(set) var changeTime: Int64
    private var durableContent = FileContent()
    private var durableChangeTime: Int64
    private var unsynchronized: [Change] = []
    /// Whether a name leads here, so that the bytes count.
    var isLinked = true
    var locks = DatabaseLocks()
    /// The open file that holds the lock for writers, or zero.
    var exclusiveHolder = 0
    /// What connections to this database share, for as long as one of them holds it.
    weak var sharedMemory: SharedMemory?

    /// What the probability that a write survives is drawn from.
    private static let probabilities = [0, 0.1, 0.5, 0.9, 1]
    /// The unit in which disks write.
    static let sectorByteCount = 512

    init(number: Int64, time: Int64) {
        self.number = number
        changeTime = time
        durableChangeTime = time
    }

    func write(_ bytes: UnsafeRawBufferPointer, at offset: Int, time: Int64) {
        content.write(bytes, at: offset)
        unsynchronized.append(.write(offset: offset, bytes: FileContent.array(bytes)))
        changeTime = time
    }

    func truncate(to byteCount: Int, time: Int64) {
        content.resize(to: byteCount)
        unsynchronized.append(.truncate(byteCount))
        changeTime = time
    }

    /// Makes all that was written durable.
    func synchronize() {
        for change in unsynchronized { Self.apply(change, to: &durableContent) }
        unsynchronized.removeAll(keepingCapacity: true)
        durableChangeTime = changeTime
    }

    /// Takes this content as if it had always been there.
    func replace(with bytes: [UInt8], time: Int64) {
        durableContent = FileContent()
        bytes.withUnsafeBytes { durableContent.write($0, at: 0) }
        content = FileContent(copying: durableContent)
        unsynchronized = []
        changeTime = time
        durableChangeTime = time
    }

    /// Forgets who had the file open.
    func dropHolders() {
        locks = DatabaseLocks()
        exclusiveHolder = 0
        sharedMemory = nil
    }

    /// Leaves what was durable, and of the rest what chance spares.
    func losePower(_ loss: PowerLoss, _ random: inout SimulationRandom) {
        let probability = loss.survivalProbability ?? Self.probabilities.randomElement(using: &random) ?? 0
        if !unsynchronized.isEmpty, !random.chance(probability) { changeTime = durableChangeTime }
        for change in unsynchronized {
            guard loss.tearsSectors, case .write(let offset, let bytes) = change else {
                if random.chance(probability) { Self.apply(change, to: &durableContent) }
                continue
            }
            bytes.withUnsafeBytes { bytes in
                var position = 0
                while position < bytes.count {
                    let sectorEnd =
                        (offset + position) / Self.sectorByteCount * Self.sectorByteCount
                        + Self.sectorByteCount
                    let end = min(bytes.count, sectorEnd - offset)
                    if random.chance(probability) {
                        let sector = UnsafeRawBufferPointer(rebasing: bytes[position..<end])
                        durableContent.write(sector, at: offset + position)
                    }
                    position = end
                }
            }
        }
        content = FileContent(copying: durableContent)
        unsynchronized = []
        durableChangeTime = changeTime
        dropHolders()
    }

    private static func apply(_ change: Change, to content: inout FileContent) {
        switch change {
        case .write(let offset, let bytes): bytes.withUnsafeBytes { content.write($0, at: offset) }
        case .truncate(let byteCount): content.resize(to: byteCount)
        }
    }
}
