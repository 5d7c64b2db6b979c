/// What a name leads to.
enum DiskNode {
    case file(FileNode)
    case directory(DirectoryNode)
}

/// A directory on a simulated disk: the names programs see, and those that a power cut leaves.
///
/// Changes of names become durable in their order, as journals of file systems keep them. Guarded by the disk's lock.
final class DirectoryNode: @unchecked Sendable {
    // Unchecked: see above.

    /// Names that change together: what each leads to from then on.
    typealias Change = [(name: String, node: DiskNode?)]

    private var entries: [String: DiskNode] = [:]
    private var durableEntries: [String: DiskNode] = [:]
    private var unsynchronized: [Change] = []

    subscript(name: String) -> DiskNode? { entries[name] }

    var isEmpty: Bool { entries.isEmpty }

    /// The names, in the order of their bytes.
    var names: [String] { entries.keys.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) } }

    func apply(_ change: Change) {
        for (name, node) in change { entries[name] = node }
        unsynchronized.append(change)
    }

    /// Makes all names durable.
    func synchronize() {
        durableEntries = entries
        unsynchronized.removeAll()
    }

    /// Leaves the names that were durable, and the oldest changes since as chance has it.
    func losePower(_ loss: PowerLoss, _ random: inout SimulationRandom) {
        let keptCount = loss.survivalProbability == 0 ? 0 : Int.random(in: 0...unsynchronized.count, using: &random)
        for change in unsynchronized.prefix(keptCount) {
            for (name, node) in change { durableEntries[name] = node }
        }
        entries = durableEntries
        unsynchronized.removeAll()
    }
}
