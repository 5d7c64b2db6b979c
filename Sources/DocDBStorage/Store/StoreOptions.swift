import DocDBCore

/// How durable a commit is when it returns.
package enum StoreDurability: Sendable {
    /// Survives a crash of the process; a power cut may lose the last commits, in order, and never corrupts.
    case normal
    /// On the disk itself before the write returns.
    case full
}

/// What a store is opened with: access, durability, history, and the world outside, passed in.
package struct StoreOptions: Sendable {
    package enum Access: Sendable {
        /// For reading and writing; the store is created where there is none.
        case readWriteCreate
        /// For reading and writing a store that exists.
        case readWrite
        /// For reading, beside a process that may be writing.
        case readOnly
    }

    package var access = Access.readWriteCreate
    package var durability = StoreDurability.normal
    /// The most bytes of compressed change log that are retained.
    package var historyByteCount: Int64 = 64 * 1024 * 1024
    /// The age past which blocks of the change log are cut, or nil for no such bound.
    package var historyAgeNanoseconds: UInt64?
    package var busyTimeoutMilliseconds: Int32 = 5_000
    /// Where the store's files lie.
    package var fileSystem: any StoreFileSystem = SystemFileSystem.shared
    /// The wall clock, in nanoseconds since 1970.
    package var clock: @Sendable () -> UInt64 = { Platform.wallClockNanoseconds() }
    /// The public key of the peer that the store belongs to, which its actors' ids come from; empty without one.
    package var peerKey: [UInt8] = []
    /// A source of random bytes.
    package var randomBytes: @Sendable (Int) -> [UInt8] = { Platform.randomBytes(count: $0) }

    package init() {}
}
