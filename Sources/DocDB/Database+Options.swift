package import DocDBStorage

extension Database {
    /// How a database is opened: access, durability, and how much history it keeps.
    ///
    /// ```swift
    /// var options = Database.Options()
    /// options.access = .readOnly
    /// let db = try Database(at: "cars.docdb", options: options)
    /// ```
    public struct Options: Sendable {
        /// What a database is opened for.
        public enum Access: Sendable {
            /// For reading and writing; the database is created where there is none.
            case readWrite
            /// For reading and writing a database that exists.
            case existing
            /// For reading a database that exists, also beside a process that writes to it.
            case readOnly
        }

        /// What the database is opened for; ``Access/readWrite`` unless set.
        public var access = Access.readWrite
        /// How durable commits are when they return; ``Durability/normal`` unless set.
        public var durability = Durability.normal
        /// The most bytes of compressed change log that are kept, of which the oldest go first; 64 MiB unless set.
        ///
        /// The log serves ``Collection/history(of:limit:)``, ``Database/asOf(sequence:)`` and
        /// ``Database/log(since:limit:)``.
        public var historyByteCount: Int64 = 64 * 1024 * 1024
        /// The age past which the change log is cut; nil, as it is unless set, for no such bound.
        public var historyAge: Duration?
        /// How many milliseconds a call waits for a lock that another process holds before it throws
        /// `busy`; 5,000 unless set.
        public var busyTimeoutMilliseconds = 5_000

        /// Where the database's files lie; a simulation sets its own disk.
        package var fileSystem: any StoreFileSystem = SystemFileSystem.shared
        /// The wall clock, in nanoseconds since 1970; a simulation sets its own.
        package var clock: (@Sendable () -> UInt64)?
        /// A source of random bytes; a simulation sets its own.
        package var randomBytes: (@Sendable (Int) -> [UInt8])?
        /// The network, threads and clocks of replication; a simulation sets its own.
        package var syncWorld: SyncWorld?

        /// Creates the options that a database is opened with unless told otherwise.
        public init() {}

        var stored: StoreOptions {
            var stored = StoreOptions()
            switch access {
            case .readWrite: stored.access = .readWriteCreate
            case .existing: stored.access = .readWrite
            case .readOnly: stored.access = .readOnly
            }
            stored.durability = durability.stored
            stored.historyByteCount = max(historyByteCount, 0)
            stored.historyAgeNanoseconds = historyAge.map(Self.nanoseconds)
            stored.busyTimeoutMilliseconds = Int32(clamping: max(busyTimeoutMilliseconds, 0))
            stored.fileSystem = fileSystem
            if let clock { stored.clock = clock }
            if let randomBytes { stored.randomBytes = randomBytes }
            return stored
        }

        private static func nanoseconds(_ duration: Duration) -> UInt64 {
            let (seconds, attoseconds) = duration.components
            guard seconds >= 0, attoseconds >= 0 else { return 0 }
            let (whole, isBeyond) = UInt64(seconds).multipliedReportingOverflow(by: 1_000_000_000)
            let (sum, isSumBeyond) = whole.addingReportingOverflow(UInt64(attoseconds / 1_000_000_000))
            return isBeyond || isSumBeyond ? .max : sum
        }
    }
}

/// How durable a commit is when the call that made it returns.
public enum Durability: Sendable {
    /// Survives a crash of the process. A power cut may lose the last commits, in order, and never damages the database.
    case normal
    /// Has reached the disk itself.
    case full

    var stored: StoreDurability {
        switch self {
        case .normal: .normal
        case .full: .full
        }
    }
}
