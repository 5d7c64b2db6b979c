import DocDB

extension BenchmarkCase {
    /// Replication over WebSockets on loopback, both ends in this process.
    ///
    /// The peer is what the same work takes without replication, or the JSON texts that would have to be sent.
    static let sync: [BenchmarkCase] = initial + steady + reconnecting + fanout

    // MARK: First sync

    private static let initial: [BenchmarkCase] = [
        BenchmarkCase(
            name: "sync-initial",
            work: "all documents to an empty peer, until acknowledged; insert-batched of the same documents",
            bars: [.ratio(3.0)], operations: { $0.documents },
            docdb: { bench in
                let pair = try SyncPair(bench, loading: true)
                defer { pair.close() }
                let measurement = try await bench.measureAsync {
                    try await pair.catchUp()
                    try await pair.waitUntilAcknowledged()
                }
                return try pair.checked(measurement)
            },
            peer: { bench in
                let directory = try bench.newDirectory()
                let cars = try DocDBCars(at: directory.file("cars.docdb"))
                let workload = bench.workload
                var measurement = try bench.measure {
                    try cars.insert(workload.documentRange, of: workload, batch: workload.size.batch)
                    return Checksum()
                }
                measurement.checksum = try cars.checksumOfAll()
                return measurement
            }),
        BenchmarkCase(
            name: "sync-bytes-initial", work: "payload bytes of the first sync, both ways; the bytes of the JSON texts",
            quantity: .bytes, bars: [.ratio(0.45)], operations: { $0.documents },
            docdb: { bench in
                let pair = try SyncPair(bench, loading: true)
                defer { pair.close() }
                var measurement = try await bench.measureAsync {
                    try await pair.catchUp()
                    try await pair.waitUntilAcknowledged()
                }
                measurement.bytes = pair.byteCount
                return try pair.checked(measurement)
            },
            peer: { bench in try bench.texts(of: bench.workload.documentRange, checking: true) }),
    ]

    // MARK: Steady state

    private static let steady: [BenchmarkCase] = [
        BenchmarkCase(
            name: "sync-latency", work: "median from a one-field update to the live query of the peer; here alone",
            bars: [.milliseconds(1)], operations: { _ in 1 },
            docdb: { bench in try await latency(bench, percentile: 50) },
            peer: { bench in try await localLatency(bench, percentile: 50) }),
        BenchmarkCase(
            name: "sync-latency-p99", work: "the same, of the slowest hundredth",
            bars: [.milliseconds(5)], operations: { _ in 1 },
            docdb: { bench in try await latency(bench, percentile: 99) },
            peer: { bench in try await localLatency(bench, percentile: 99) }),
        BenchmarkCase(
            name: "sync-bytes-update",
            work: "message bytes of a one-field update, acknowledged; the bytes of a document's JSON text",
            quantity: .bytes, bars: [.bytes(80)], operations: { _ in 1 },
            docdb: { bench in
                let pair = try SyncPair(bench, loading: true, limit: 1_000)
                defer { pair.close() }
                try await pair.catchUp()
                // The first updates of a document introduce it.
                let ids = (0..<100).map(bench.workload.documentID)
                try await pair.updateOneByOne(ids)
                let before = pair.byteCount
                var measurement = try await bench.measureAsync { try await pair.updateOneByOne(ids) }
                measurement.bytes = (pair.byteCount - before) / ids.count
                return measurement
            },
            peer: { bench in try bench.texts(of: 0..<1, checking: false) }),
    ]

    private static func latency(_ bench: Workbench, percentile: Int) async throws -> Measurement {
        let pair = try SyncPair(bench, loading: true, limit: 1_000)
        defer { pair.close() }
        try await pair.catchUp()
        return try await SyncLatency(of: pair.hub.database, at: pair.device.database).measure(
            bench, ids: (0..<1_000).map(bench.workload.documentID), percentile: percentile)
    }

    private static func localLatency(_ bench: Workbench, percentile: Int) async throws -> Measurement {
        let pair = try SyncPair(bench, loading: true, limit: 1_000)
        defer { pair.close() }
        return try await SyncLatency(of: pair.hub.database, at: pair.hub.database).measure(
            bench, ids: (0..<1_000).map(bench.workload.documentID), percentile: percentile)
    }

    // MARK: Reconnecting

    private static let reconnecting: [BenchmarkCase] = [
        reconnect("sync-resume-idle", "reconnecting with nothing changed: time", bars: [.milliseconds(20)]),
        reconnect("sync-resume-idle-bytes", "the same: bytes both ways", quantity: .bytes, bars: [.bytes(700)]),
        reconnect(
            "sync-reconcile-equal", "cursor lost, equal sets: bytes beyond those of reconnecting", quantity: .bytes,
            bars: [.bytes(1_000)], losingCursor: true),
        reconnect(
            "sync-reconcile-10", "cursor lost, 10 scattered differences: bytes beyond those of reconnecting",
            quantity: .bytes, bars: [.bytes(20_000)], losingCursor: true, differences: 10),
        reconnect(
            "sync-reconcile-1000", "cursor lost, 1,000 scattered differences: bytes beyond those of reconnecting",
            quantity: .bytes, bars: [.bytes(500_000)], losingCursor: true, differences: 1_000),
    ]

    private static func reconnect(
        _ name: String, _ work: String, quantity: Quantity = .time, bars: [Bar], losingCursor: Bool = false,
        differences: Int = 0
    ) -> BenchmarkCase {
        BenchmarkCase(
            name: name, work: work + "; all JSON texts", quantity: quantity, bars: bars, operations: { _ in 1 },
            docdb: { bench in
                let pair = try SyncPair(bench, loading: true)
                defer { pair.close() }
                try await pair.catchUp()
                try await pair.waitUntilAcknowledged()
                // The first reconnection tells each side what the other has told meanwhile; the second one is idle.
                try await pair.disconnect()
                try await pair.catchUp()
                let idle = try await pair.reconnectionByteCount()
                try await pair.disconnect()
                if losingCursor { try pair.loseCursor() }
                for id in bench.readIDs.prefix(min(differences, bench.readIDs.count)) {
                    try pair.hub.cars.update(id) { $0["price"] = 77_777 }
                }
                let before = pair.byteCount
                var measurement = try await bench.measureAsync { try await pair.catchUp() }
                try await pair.waitUntilQuiet()
                measurement.bytes = pair.byteCount - before - (losingCursor ? idle : 0)
                try pair.checkEquality(of: bench.readIDs.prefix(max(10, differences)))
                return measurement
            },
            peer: { bench in try bench.texts(of: bench.workload.documentRange, checking: false) })
    }

    // MARK: Many sessions

    private static let fanout: [BenchmarkCase] = [
        BenchmarkCase(
            name: "sync-fanout", work: "commits with 1,000 sessions of which one matches, received there; with 10",
            bars: [.ratio(1.5)], operations: { SyncCrowd.commitCount($0) },
            docdb: { bench in
                let crowd = try await bench.crowd(SyncCrowd.largeCount(bench.workload.size))
                return try await crowd.measure(bench)
            },
            peer: { bench in try await bench.crowd(10).measure(bench) }),
        BenchmarkCase(
            name: "sync-session-memory", work: "resident bytes of an idle session with its link; a JSON text",
            quantity: .bytes, bars: [.bytes(65_535)], operations: { _ in 1 },
            docdb: { bench in
                let crowd = try await bench.crowd(SyncCrowd.largeCount(bench.workload.size))
                var measurement = try bench.measure { Checksum() }
                measurement.bytes = crowd.sessionByteCount
                return measurement
            },
            peer: { bench in try bench.texts(of: 0..<1, checking: false) }),
    ]
}

extension Workbench {
    /// What it would take to hand over these documents as JSON texts: their bytes, no time.
    func texts(of positions: Range<Int>, checking: Bool) throws -> Measurement {
        var measurement = try measure { Checksum() }
        measurement.bytes = positions.reduce(0) { $0 + workload.texts[$1].count }
        if checking { measurement.checksum = try sharedDocDB(.none).checksumOfAll() }
        return measurement
    }
}
