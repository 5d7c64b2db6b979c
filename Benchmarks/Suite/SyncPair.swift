import DocDB
import DocDBReplication
import DocDBSync

/// A hub that listens on loopback, and a device that pulls all cars from it.
final class SyncPair {
    let hub: DocDBCars
    let device: DocDBCars
    private let directory: TemporaryDirectory
    private let subscription: SyncSubscription
    private let lastID: DocumentID

    /// - Parameter limit: how many of the workload's documents the hub has; nil for all.
    init(_ bench: Workbench, loading: Bool, limit: Int? = nil) throws {
        directory = try bench.newDirectory()
        let workload = bench.workload
        hub = try DocDBCars(at: directory.file("hub.docdb"), replicating: true)
        device = try DocDBCars(at: directory.file("device.docdb"), replicating: true)
        let positions = workload.documentRange.prefix(limit ?? workload.documentRange.count)
        try hub.insert(positions, of: workload, batch: workload.size.batch)
        try hub.checkpoint()
        lastID = workload.documentID(positions.upperBound - 1)
        subscription = try device.cars.findAll().subscribe()
        hub.database.sync.configuration.listen = .init(port: 0)
        device.database.sync.configuration.isKeeper = true
        try hub.database.sync.start()
        guard let port = hub.database.sync.status.listeningPort else { throw BenchmarkError("the hub has no port") }
        device.database.sync.configuration.connect = ["ws://127.0.0.1:\(port)"]
    }

    func close() {
        try? device.close()
        try? hub.close()
    }

    /// Connects, and returns when the device has all that the hub has.
    func catchUp() async throws {
        try device.database.sync.start()
        await subscription.waitUntilCaughtUp()
    }

    func disconnect() async throws {
        await device.database.sync.stop()
        for await status in hub.database.sync.statusUpdates where !status.isConnected { return }
    }

    /// Disconnects, and returns what it takes to connect again.
    func reconnectionByteCount() async throws -> Int {
        try await disconnect()
        let before = byteCount
        try await catchUp()
        try await waitUntilQuiet()
        return byteCount - before
    }

    /// Returns when no message has come for a while: when all is said that one event leads to.
    func waitUntilQuiet() async throws {
        var last = -1
        while byteCount != last {
            last = byteCount
            try await Task.sleep(for: .milliseconds(200))
        }
    }

    /// Returns when the hub knows that the device, a keeper, holds all documents.
    func waitUntilAcknowledged() async throws {
        while try !hub.database.sync.isAcknowledged("cars", lastID) { await Task.yield() }
    }

    /// Messages both ways, before WebSocket framing.
    var byteCount: Int {
        let traffic = hub.database.sync.engine.traffic
        return traffic.sentByteCount + traffic.receivedByteCount
    }

    /// Makes the device forget how far it has come.
    func loseCursor() throws {
        try device.database.sync.engine.environment.replica.write { writer in
            for var peer in try writer.peers() {
                peer.cursor = nil
                _ = try writer.setPeer(peer)
            }
        }
    }

    /// Updates one field of each document, in a commit of its own that has arrived before the next.
    func updateOneByOne(_ ids: [DocumentID]) async throws {
        for id in ids {
            let before = hub.database.sync.engine.traffic.receivedFrameCount
            try hub.cars.increment("views", id: id)
            // The acknowledgement.
            while hub.database.sync.engine.traffic.receivedFrameCount == before { await Task.yield() }
        }
    }

    /// Adds to a measurement what the device holds, for comparison.
    func checked(_ measurement: Measurement) throws -> Measurement {
        var measurement = measurement
        measurement.checksum = try device.checksumOfAll()
        return measurement
    }

    func checkEquality(of ids: some Swift.Collection<DocumentID>) throws {
        for id in ids where try hub.price(of: id) != device.price(of: id) {
            throw BenchmarkError("the device has caught up, and has another price than the hub")
        }
    }
}

/// Measures the time from an update to the event of a live query, at the same database or another.
struct SyncLatency {
    private let source: Database
    private let target: Database

    init(of source: Database, at target: Database) {
        self.source = source
        self.target = target
    }

    func measure(_ bench: Workbench, ids: [DocumentID], percentile: Int) async throws -> Measurement {
        let arrivals = Arrivals()
        let observation = try target.collection("cars").findAll().observe { _, _ in arrivals.signal() }
        defer { observation.cancel() }
        arrivals.wait()
        let cars = source.collection("cars")
        // The first ones warm up.
        for id in ids.prefix(50) {
            try cars.increment("views", id: id)
            arrivals.wait()
        }
        var milliseconds: [Double] = []
        var processor = 0.0
        for number in 0..<Self.updateCount(bench.workload.size) {
            let watch = Stopwatch()
            try cars.increment("views", id: ids[number % ids.count])
            arrivals.wait()
            let elapsed = watch.elapsed()
            milliseconds.append(elapsed.wall)
            processor += elapsed.processor
        }
        milliseconds.sort()
        return Measurement(
            wall: milliseconds[(milliseconds.count - 1) * percentile / 100],
            processor: processor / Double(milliseconds.count), checksum: Checksum())
    }

    private static func updateCount(_ size: CarsWorkload.Size) -> Int { size.extraDocuments }
}
