import DocDB

/// Counts the allocations of this process; the executable brings it where the platform allows.
package struct AllocationCounter: Sendable {
    let start: @Sendable () -> Void
    let stop: @Sendable () -> Int
    /// Gives free memory back to the system.
    let trim: @Sendable () -> Void

    package init(
        start: @escaping @Sendable () -> Void, stop: @escaping @Sendable () -> Int, trim: @escaping @Sendable () -> Void
    ) {
        self.start = start
        self.stop = stop
        self.trim = trim
    }
}

/// What one run of one side of a case took and found.
struct Measurement {
    /// Milliseconds of one execution.
    var wall: Double
    /// Milliseconds of processor time of one execution, all threads together.
    var processor: Double
    /// Allocations of one execution; nil where this run did not count.
    var allocations: Double?
    /// Bytes, for the cases that look at them.
    var bytes: Int?
    var checksum: Checksum
}

/// The indexes that a store of the reading cases has.
enum Indexing {
    case none, stateAndPrice, price
}

/// What the cases run on: the workload, directories, and the stores that several cases read.
final class Workbench {
    let workload: CarsWorkload
    private let parentDirectory: String
    private let counter: AllocationCounter?
    /// How often a short case executes its work in one run; one in the tiny mode.
    private let repeatsShortWork: Bool
    /// Whether runs count allocations; such runs are not timed.
    var counts = false

    fileprivate var sqliteStores: [Indexing: (directory: TemporaryDirectory, cars: SQLiteCars)] = [:]
    fileprivate var docdbStores: [Indexing: (directory: TemporaryDirectory, cars: DocDBCars)] = [:]
    fileprivate var crowds: [Int: SyncCrowd] = [:]
    fileprivate var hubCrowds: [Int: SyncCrowd] = [:]
    /// The ids of all documents in the order in which they are read, and of those updated in the order of the updates.
    let readIDs: [DocumentID]
    let updateIDs: [DocumentID]

    init(_ workload: CarsWorkload, in directory: String, counter: AllocationCounter?, repeatsShortWork: Bool) {
        self.workload = workload
        self.parentDirectory = directory
        self.counter = counter
        self.repeatsShortWork = repeatsShortWork
        readIDs = workload.readOrder.map(workload.documentID)
        updateIDs = workload.updates.map { workload.documentID($0.position) }
    }

    var canCount: Bool { counter != nil }

    /// Measures by how much the resident memory of the process grows while `work` runs.
    func measurePeakMemory(_ work: () throws -> Checksum) throws -> Measurement {
        counter?.trim()
        let before = ResidentMemory.resetPeak()
        var measurement = try measure(work)
        if let before, let peak = ResidentMemory.peak() { measurement.bytes = max(0, peak - before) }
        return measurement
    }

    func newDirectory() throws -> TemporaryDirectory { try TemporaryDirectory(in: parentDirectory) }

    /// Executes `work`, several times where it is short, and measures it.
    func measure(repeats: Int = 1, _ work: () throws -> Checksum) throws -> Measurement {
        let executions = repeatsShortWork ? repeats : 1
        var checksum = Checksum()
        let run = begin()
        for _ in 0..<executions { checksum = try work() }
        return end(run, executions: executions, checksum: checksum)
    }

    /// Executes asynchronous `work` once and measures it.
    func measureAsync(_ work: () async throws -> Void) async throws -> Measurement {
        let run = begin()
        try await work()
        return end(run, executions: 1, checksum: Checksum())
    }

    private func begin() -> Stopwatch {
        if counts { counter?.start() }
        return Stopwatch()
    }

    private func end(_ run: Stopwatch, executions: Int, checksum: Checksum) -> Measurement {
        let (wall, processor) = run.elapsed()
        let allocations = counts ? counter?.stop() : nil
        let scale = Double(executions)
        return Measurement(
            wall: wall / scale, processor: processor / scale, allocations: allocations.map { Double($0) / scale },
            checksum: checksum)
    }
}

// MARK: Stores

extension Workbench {
    /// Returns a new store with the workload's documents, its write-ahead log empty.
    func loadedDocDB() throws -> (directory: TemporaryDirectory, cars: DocDBCars) {
        let directory = try newDirectory()
        let cars = try DocDBCars(at: directory.file("cars.docdb"))
        try cars.insert(workload.documentRange, of: workload, batch: workload.size.batch)
        try cars.checkpoint()
        return (directory, cars)
    }

    /// Returns the store that the reading cases share.
    func sharedDocDB(_ indexing: Indexing) throws -> DocDBCars {
        if let known = docdbStores[indexing] { return known.cars }
        let made = try loadedDocDB()
        switch indexing {
        case .none: break
        case .stateAndPrice: try made.cars.cars.createIndex(["state", "price"])
        case .price: try made.cars.cars.createIndex(["price"])
        }
        try made.cars.checkpoint()
        docdbStores[indexing] = made
        return made.cars
    }

    /// Returns the hub with this many connected peers that the cases share.
    func crowd(_ count: Int) async throws -> SyncCrowd {
        if let known = crowds[count] { return known }
        let made = try await SyncCrowd.playground(self, count: count)
        crowds[count] = made
        return made
    }

    /// Returns the hub with this many users' sessions that the cases share.
    func hubCrowd(_ count: Int) async throws -> SyncCrowd {
        if let known = hubCrowds[count] { return known }
        // Whose cases are over; each peer has files open.
        crowds = [:]
        let made = try await SyncCrowd.loggedIn(self, count: count)
        hubCrowds[count] = made
        return made
    }

    /// Returns a new database of the peer with the workload's documents, its write-ahead log empty.
    func loadedSQLite(synchronous: String = "NORMAL") throws -> (directory: TemporaryDirectory, cars: SQLiteCars) {
        let directory = try newDirectory()
        let cars = try SQLiteCars(at: directory.file("cars.sqlite"), synchronous: synchronous)
        try cars.insert(workload.documentRange, of: workload, batch: workload.size.batch)
        try cars.checkpoint()
        return (directory, cars)
    }

    /// Returns the database of the peer that the reading cases share.
    func sharedSQLite(_ indexing: Indexing) throws -> SQLiteCars {
        if let known = sqliteStores[indexing] { return known.cars }
        let made = try loadedSQLite()
        switch indexing {
        case .none: break
        case .stateAndPrice: try made.cars.createStateAndPriceIndex()
        case .price: try made.cars.createPriceIndex()
        }
        try made.cars.checkpoint()
        sqliteStores[indexing] = made
        return made.cars
    }
}
