/// The stamps that a state's entries carry, each once, in order of time; entries are stored with a small index.
struct StampTable {
    private(set) var stamps: [Stamp] = []
    private var last = 0

    /// Collects the stamps of all entries.
    init(_ state: borrowing DocumentState) {
        guard !state.hasNoEntries else { return }
        for entry in state.assignments { add(entry.stamp) }
        for tally in state.tallies {
            add(tally.base)
            add(Stamp(time: tally.time, actor: tally.actor))
        }
        for entry in state.unknowns {
            add(entry.base)
            add(Stamp(time: entry.time, actor: entry.actor))
        }
        guard stamps.count > 1 else { return }
        stamps.sort(by: Self.isBefore)
        var kept = 1
        for index in 1..<stamps.count where stamps[index] != stamps[kept - 1] {
            stamps[kept] = stamps[index]
            kept += 1
        }
        stamps.removeLast(stamps.count - kept)
    }

    /// The most stamps that are searched before one is added; what is added twice goes after sorting.
    private static let searchedCount = 16

    @inline(__always)
    private mutating func add(_ stamp: Stamp) {
        if let last = stamps.last, last == stamp { return }
        if stamp == .none { return }
        if stamps.count <= Self.searchedCount, stamps.contains(stamp) { return }
        stamps.append(stamp)
    }

    /// The order of the table: times ascend, so that their distances are small.
    static func isBefore(_ left: Stamp, _ right: Stamp) -> Bool {
        if left.time != right.time { return left.time < right.time }
        if left.actor != right.actor { return left.actor < right.actor }
        return !left.isDefault && right.isDefault
    }

    /// The reference of one: the index of a stamp of the table plus one, zero for the stamp of nothing.
    @inline(__always)
    mutating func reference(to stamp: Stamp) -> UInt64 {
        if last < stamps.count, stamps[last] == stamp { return UInt64(last) + 1 }
        if stamp == .none { return 0 }
        var low = 0
        var high = stamps.count
        while low < high {
            let middle = (low + high) / 2
            if Self.isBefore(stamps[middle], stamp) { low = middle + 1 } else { high = middle }
        }
        last = low
        return UInt64(low) + 1
    }
}
