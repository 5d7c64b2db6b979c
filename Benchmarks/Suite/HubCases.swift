import Dispatch
import DocDB
import DocDBAuth
import DocDBHub
import DocDBReplication

extension BenchmarkCase {
    /// Logins, and sessions with grants, at a hub in this process.
    static let hub: [BenchmarkCase] = logins + sessions + gate

    // MARK: Logins

    private static let logins: [BenchmarkCase] = [
        BenchmarkCase(
            name: "hub-login",
            work:
                "CPU of the hub for a login over HTTP: nonce, ES256 token, grant, of a new user each, the client's CPU "
                + "taken off (200/s on a core are 5 ms); verifying the token's signature alone, whose share is 1/ratio",
            bars: [.milliseconds(5)], operations: { loginCount($0) },
            docdb: { bench in try await onThread(bench) { try measureLogins($0) } },
            peer: { bench in try await onThread(bench) { try measureVerifications($0) } })
    ]

    private static func loginCount(_ size: CarsWorkload.Size) -> Int { size.extraDocuments / 4 }

    private static func measureLogins(_ bench: Workbench) throws -> Measurement {
        let hub = try BenchmarkHub(bench)
        let client = LoginClient(port: hub.port, provider: BenchmarkHub.provider)
        var users: [(token: String, pair: PeerKeyPair)] = []
        for number in 0..<loginCount(bench.workload.size) {
            users.append((try hub.token(user: "user\(number)", plan: .own), try PeerKeyPair.generate()))
        }
        // The first one makes what all share.
        try client.logIn(token: hub.token(user: "first", plan: .own), pair: PeerKeyPair.generate())
        var clientTime = 0.0
        let measurement = try bench.measure {
            let begin = Stopwatch.threadMilliseconds()
            for user in users { try client.logIn(token: user.token, pair: user.pair) }
            clientTime = Stopwatch.threadMilliseconds() - begin
            return Checksum(count: users.count)
        }
        return measurement.each(users.count, processor: measurement.processor - clientTime)
    }

    private static func measureVerifications(_ bench: Workbench) throws -> Measurement {
        let count = loginCount(bench.workload.size)
        let signer = try TokenSigner()
        guard case .array(let list) = try StrictJSON.object(signer.keySet)["keys"], let first = list.first,
            let key = try VerificationKey.read(jsonWebKey: first)
        else { throw BenchmarkError("the set of keys has none") }
        let token = try JSONWebSignature(signer.token(user: "user", plan: "own", seconds: 1_800_000_000))
        let measurement = try bench.measure {
            for _ in 0..<count { try token.verify(with: key) }
            return Checksum(count: count)
        }
        return measurement.each(count, processor: measurement.processor)
    }

    /// Runs work that blocks on a thread of its own, as the hub needs those of the tasks.
    private static func onThread(
        _ bench: Workbench, _ work: @escaping @Sendable (Workbench) throws -> Measurement
    ) async throws -> Measurement {
        // Nobody else touches it while the thread runs.
        nonisolated(unsafe) let bench = bench
        return try await withCheckedThrowingContinuation { continuation in
            DispatchQueue(label: "docdb.benchmarks").async { continuation.resume(with: Result { try work(bench) }) }
        }
    }

    // MARK: Sessions

    private static let sessions: [BenchmarkCase] = [
        BenchmarkCase(
            name: "hub-sessions",
            work: "commits with 1,000 sessions of logged-in users of whom one may read them, received there; with 10",
            bars: [.ratio(1.5)], operations: { SyncCrowd.commitCount($0) },
            docdb: { bench in
                try await bench.hubCrowd(SyncCrowd.largeCount(bench.workload.size)).measure(bench)
            },
            peer: { bench in try await bench.hubCrowd(10).measure(bench) }),
        BenchmarkCase(
            name: "hub-session-memory",
            work:
                "resident bytes of such a session, idle, with its link and grant, for each of its two ends; a JSON text",
            quantity: .bytes, bars: [.bytes(65_535)], operations: { _ in 1 },
            docdb: { bench in
                let crowd = try await bench.hubCrowd(SyncCrowd.largeCount(bench.workload.size))
                var measurement = try bench.measure { Checksum() }
                measurement.bytes = crowd.sessionByteCount
                return measurement
            },
            peer: { bench in try bench.texts(of: 0..<1, checking: false) }),
    ]

    // MARK: Permissions

    private static let gate: [BenchmarkCase] = [
        gateCost(
            "gate-cost", "first sync from a hub of a user who may read what matches two fields, which is all",
            { try await GatedSync.pull($0, plan: $1) }),
        gateCost(
            "gate-cost-write", "first sync to a hub of a user who may write what matches two fields, which is all",
            { try await GatedSync.push($0, plan: $1) }),
    ]

    private static func gateCost(
        _ name: String, _ work: String,
        _ sync: @escaping @Sendable (Workbench, BenchmarkHub.Plan) async throws -> Measurement
    ) -> BenchmarkCase {
        BenchmarkCase(
            name: name, work: work + "; of one who may everything", bars: [.ratio(1.15)],
            operations: { $0.documents }, docdb: { try await sync($0, .twoFields) }, peer: { try await sync($0, .all) })
    }
}

extension Measurement {
    /// This measurement of several operations, for one of them: all time is the processor's.
    fileprivate func each(_ count: Int, processor: Double) -> Measurement {
        Measurement(
            wall: processor / Double(count), processor: processor / Double(count), allocations: allocations,
            checksum: checksum)
    }
}

/// The first replication between a hub and the database of a user, all cars on one side.
enum GatedSync {
    /// From the hub to the user.
    static func pull(_ bench: Workbench, plan: BenchmarkHub.Plan) async throws -> Measurement {
        let hub = try BenchmarkHub(bench)
        try DocDBCars(hub.hub.db).load(bench.workload)
        let device = DocDBCars(try await hub.open("alice", plan: plan))
        defer { try? device.close() }
        // The hub asks for all that the device has, too: that is done before, or it would fall into the time by chance.
        try device.database.sync.start()
        let engine = hub.hub.db.sync.engine
        for await _ in hub.hub.db.sync.statusUpdates
        where engine.status.peers.contains(where: { $0.caughtUpSinceWallNanoseconds != nil }) { break }
        var measurement = try await bench.measureAsync {
            await (try device.cars.findAll().subscribe()).waitUntilCaughtUp()
        }
        measurement.checksum = try device.checksumOfAll()
        return measurement
    }

    /// From the user to the hub.
    static func push(_ bench: Workbench, plan: BenchmarkHub.Plan) async throws -> Measurement {
        let hub = try BenchmarkHub(bench)
        let device = DocDBCars(try await hub.open("alice", plan: plan))
        defer { try? device.close() }
        try device.load(bench.workload)
        let sync = device.database.sync
        let lastID = bench.workload.documentID(bench.workload.documentRange.upperBound - 1)
        var measurement = try await bench.measureAsync {
            try sync.start()
            for await _ in sync.statusUpdates where try sync.isAcknowledged("cars", lastID) { break }
        }
        measurement.checksum = try DocDBCars(hub.hub.db).checksumOfAll()
        return measurement
    }
}
