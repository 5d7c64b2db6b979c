import Dispatch
import DocDB
import DocDBHub

/// Counts events that threads wait for.
final class Arrivals: Sendable {
    private let semaphore = DispatchSemaphore(value: 0)

    func signal() { semaphore.signal() }
    func wait() { semaphore.wait() }
}

/// A hub with many connected peers; one of them, and no other, is concerned by one car.
final class SyncCrowd {
    private let hub: Database
    private let members: [Database]
    /// What goes with the crowd.
    private let owner: AnyObject
    private let id: DocumentID = "the one"
    private let arrivals = Arrivals()
    private var observation: LiveObservation?
    /// What each session takes of the process's memory; both ends of each link are here, and each has a session.
    private(set) var sessionByteCount: Int?

    static func largeCount(_ size: CarsWorkload.Size) -> Int { size.extraDocuments / 2 }
    static func commitCount(_ size: CarsWorkload.Size) -> Int { size.extraDocuments / 4 }

    /// Peers without secrets, each interested in one price that no car has; the first one is in the car instead.
    static func playground(_ bench: Workbench, count: Int) async throws -> SyncCrowd {
        let directory = try bench.newDirectory()
        let hub = try Database(at: directory.file("hub.docdb"), identity: .offlinePlayground(appID: DocDBCars.appID))
        try hub.collection("cars").insert(["_id": "the one", "views": 0])
        hub.sync.configuration.listen = .init(port: 0)
        hub.sync.configuration.connectionLimit = count
        try hub.sync.start()
        guard let port = hub.sync.status.listeningPort else { throw BenchmarkError("the hub has no port") }
        var members: [Database] = []
        for number in 0..<count {
            let member = try Database(
                at: directory.file("\(number).docdb"), identity: .offlinePlayground(appID: DocDBCars.appID))
            try member.collection("cars").find(number == 0 ? "_id == 'the one'" : "price == \(-1 - number)").subscribe()
            member.sync.configuration.connect = ["ws://127.0.0.1:\(port)"]
            members.append(member)
        }
        return try await SyncCrowd(hub, members, owner: directory)
    }

    /// Users who have logged in, each interested in all cars and permitted to read their own; the car is the first one's.
    static func loggedIn(_ bench: Workbench, count: Int) async throws -> SyncCrowd {
        let owner = try BenchmarkHub(bench)
        let hub = owner.hub.db
        try hub.collection("cars").insert([
            "_id": "the one", "views": 0, "owner": .string(BenchmarkHub.userID("user0")),
        ])
        var members: [Database] = []
        for number in 0..<count {
            let member = try await owner.open("user\(number)", plan: .own)
            try member.collection("cars").findAll().subscribe()
            members.append(member)
        }
        return try await SyncCrowd(hub, members, owner: owner)
    }

    private init(_ hub: Database, _ members: [Database], owner: AnyObject) async throws {
        (self.hub, self.members, self.owner) = (hub, members, owner)
        for member in members { _ = try member.collection("cars").findAll().count() }
        let before = ResidentMemory.current()
        for member in members { try member.sync.start() }
        for member in members {
            for await status in member.sync.statusUpdates where status.subscriptions.first?.isCaughtUp == true { break }
        }
        if let before, let after = ResidentMemory.current() {
            sessionByteCount = max(0, after - before) / (2 * members.count)
        }
        observation = try members[0].collection("cars").findAll().observe { [arrivals] _, _ in arrivals.signal() }
        arrivals.wait()
    }

    /// Commits one update after another, each received by the one peer that it concerns before the next.
    func measure(_ bench: Workbench) async throws -> Measurement {
        let cars = hub.collection("cars")
        let count = Self.commitCount(bench.workload.size)
        for _ in 0..<10 {
            try cars.increment("views", id: id)
            arrivals.wait()
        }
        return try bench.measure {
            for _ in 0..<count {
                try cars.increment("views", id: id)
                arrivals.wait()
            }
            return Checksum(count: count)
        }
    }

    func close() {
        observation?.cancel()
        for member in members { try? member.close() }
        try? hub.close()
    }

    deinit { close() }
}
