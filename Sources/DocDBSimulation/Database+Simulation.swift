public import DocDB

extension Database.Options {
    /// The options of a database on a simulated disk.
    ///
    /// - Parameters:
    ///   - disk: where the database lies.
    ///   - clock: what the database takes the time from; nil for the system's.
    ///   - seed: what replays the database's ids and random numbers; nil for the system's.
    public static func simulated(
        on disk: SimulatedDisk, clock: SimulatedClock? = nil, seed: UInt64? = nil
    ) -> Database.Options {
        var options = Database.Options()
        options.fileSystem = disk.fileSystem
        if let clock { options.clock = { clock.wallNanoseconds } }
        if let seed {
            let source = SharedRandom(seed: seed)
            options.randomBytes = { source.bytes(count: $0) }
        }
        return options
    }
}
