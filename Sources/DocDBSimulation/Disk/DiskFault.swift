/// A failure that a simulated disk has in store.
///
/// ```swift
/// // The third write to a write-ahead log fails, once.
/// disk.inject(DiskFault(.ioError, on: [.write], path: "-wal", after: 2))
/// ```
public struct DiskFault: Sendable {
    /// What happens to an operation instead of what it was to do.
    public enum Effect: Sendable {
        /// It fails with an I/O error. Of a write, some part from its start may have been made.
        case ioError
        /// It fails because there is no space.
        case noSpace
        /// A read gives half of the bytes that are there, and zeros.
        case shortRead
        /// A read gives bytes of which one bit is wrong. What the disk holds stays as it is.
        case flippedBit
        /// A write or synchronisation does nothing, and says that it succeeded.
        case ignored
    }

    /// What happens.
    public var effect: Effect
    /// The kinds of operations it happens to; empty for all.
    public var kinds: Set<DiskOperation.Kind>
    /// What the paths it happens to end in; empty for all.
    public var pathSuffix: String
    /// How many operations that it could happen to come before the first it happens to.
    public var skippedCount: Int
    /// How often it happens, or nil for ever after.
    public var count: Int?

    /// Creates a fault.
    ///
    /// - Parameters:
    ///   - effect: what happens.
    ///   - kinds: the kinds of operations it happens to; empty for all.
    ///   - pathSuffix: what the paths it happens to end in, such as `-wal`; empty for all.
    ///   - skippedCount: how many such operations are spared before.
    ///   - count: how often it happens, or nil for ever after.
    public init(
        _ effect: Effect, on kinds: Set<DiskOperation.Kind> = [], path pathSuffix: String = "",
        after skippedCount: Int = 0, count: Int? = 1
    ) {
        self.effect = effect
        self.kinds = kinds
        self.pathSuffix = pathSuffix
        self.skippedCount = skippedCount
        self.count = count
    }

    /// Tells whether it happens to this operation, and counts.
    mutating func happens(to kind: DiskOperation.Kind, _ path: String) -> Bool {
        guard count != 0, kinds.isEmpty || kinds.contains(kind), path.hasSuffix(pathSuffix) else { return false }
        if skippedCount > 0 {
            skippedCount -= 1
            return false
        }
        if let left = count { count = left - 1 }
        return true
    }
}

/// What a power cut leaves of what was not synchronised.
public struct PowerLoss: Sendable {
    /// The probability that a write survives, or nil for one that is drawn anew for each file, 0 and 1 among them.
    public var survivalProbability: Double?
    /// Whether each sector of 512 bytes meets its own fate, so that pages are torn.
    public var tearsSectors: Bool

    /// Creates what a power cut leaves.
    public init(survivalProbability: Double?, tearsSectors: Bool) {
        self.survivalProbability = survivalProbability
        self.tearsSectors = tearsSectors
    }

    /// Nothing survives that was not synchronised.
    public static let losesUnsynchronized = PowerLoss(survivalProbability: 0, tearsSectors: false)
    /// Any of the writes survive, each whole.
    public static let keepsSomeWrites = PowerLoss(survivalProbability: nil, tearsSectors: false)
    /// Any of the sectors that were written survive.
    public static let tearsPages = PowerLoss(survivalProbability: nil, tearsSectors: true)
}

/// Why an operation does not succeed, as an operating system would say it.
enum DiskFailure: Error {
    case ioError, noSpace, readOnly, missing, exists, notDirectory, isDirectory, notEmpty
}
