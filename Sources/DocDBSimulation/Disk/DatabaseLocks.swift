import CSQLite

/// The locks of one database file, as SQLite defines them; open files are known by their numbers.
struct DatabaseLocks {
    private var sharedHolders: Set<Int> = []
    private var reservedHolder: Int?
    private var pendingHolder: Int?
    private var exclusiveHolder: Int?

    /// Whether a connection is about to write, or writes.
    var isReserved: Bool { reservedHolder != nil || pendingHolder != nil || exclusiveHolder != nil }

    /// Raises a file's lock to `level` and returns the level it has then, which is lower where others are in the way.
    mutating func lock(_ file: Int, from held: Int32, to level: Int32) -> Int32 {
        guard level > held else { return held }
        let isFreeOfWriters = [reservedHolder, pendingHolder, exclusiveHolder].allSatisfy { $0 == nil || $0 == file }
        switch level {
        case SQLITE_LOCK_SHARED:
            guard pendingHolder == nil, exclusiveHolder == nil else { return held }
            sharedHolders.insert(file)
        case SQLITE_LOCK_RESERVED:
            guard isFreeOfWriters else { return held }
            reservedHolder = file
        default:
            guard isFreeOfWriters else { return held }
            pendingHolder = file
            guard sharedHolders.isEmpty || sharedHolders == [file] else { return SQLITE_LOCK_PENDING }
            exclusiveHolder = file
        }
        return level
    }

    /// Lowers a file's lock to shared or none.
    mutating func unlock(_ file: Int, to level: Int32) {
        if reservedHolder == file { reservedHolder = nil }
        if pendingHolder == file { pendingHolder = nil }
        if exclusiveHolder == file { exclusiveHolder = nil }
        if level == SQLITE_LOCK_NONE { sharedHolders.remove(file) }
    }
}

/// The memory that the connections to one database share for its write-ahead log, and the locks on it.
///
/// The locks are guarded by the disk's lock; the memory is SQLite's own affair.
final class SharedMemory: @unchecked Sendable {
    // Unchecked: see above.
    private var regions: [UnsafeMutableRawPointer] = []
    private var sharedHolders = [Set<Int>](repeating: [], count: Int(SQLITE_SHM_NLOCK))
    private var exclusiveHolders = [Int?](repeating: nil, count: Int(SQLITE_SHM_NLOCK))

    deinit { for region in regions { region.deallocate() } }

    /// The region with this index, or nil where there is none and none shall be made.
    func region(_ index: Int, byteCount: Int, creating: Bool) -> UnsafeMutableRawPointer? {
        while creating, regions.count <= index {
            let region = UnsafeMutableRawPointer.allocate(byteCount: byteCount, alignment: 64)
            region.initializeMemory(as: UInt8.self, repeating: 0, count: byteCount)
            regions.append(region)
        }
        return index < regions.count ? regions[index] : nil
    }

    /// Takes locks for an open file; false where another is in the way.
    func lock(_ range: Range<Int>, isExclusive: Bool, by file: Int) -> Bool {
        guard range.upperBound <= exclusiveHolders.count else { return false }
        for slot in range {
            guard exclusiveHolders[slot] == nil || exclusiveHolders[slot] == file else { return false }
            guard !isExclusive || sharedHolders[slot].isEmpty || sharedHolders[slot] == [file] else { return false }
        }
        for slot in range {
            if isExclusive { exclusiveHolders[slot] = file } else { sharedHolders[slot].insert(file) }
        }
        return true
    }

    func unlockAll(by file: Int) { unlock(exclusiveHolders.indices, by: file) }

    func unlock(_ range: Range<Int>, by file: Int) {
        for slot in range where slot < exclusiveHolders.count {
            if exclusiveHolders[slot] == file { exclusiveHolders[slot] = nil }
            sharedHolders[slot].remove(file)
        }
    }
}
