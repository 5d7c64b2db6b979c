import DocDB
import Foundation
import TestSupport
import Testing

@Suite("Starting and stopping replication", .timeLimit(.minutes(10)))
struct SyncLifecycleTests {
    @Test(
        "a port in use, a wrong URL, a wrong address and a missing certificate are told by start, and nothing has begun"
    )
    func wrongConfigurations() throws {
        let first = try SyncPeer("first")
        _ = try first.listen()
        let second = try SyncPeer("second")
        second.sync.configuration.listen = .init(port: try #require(first.sync.status.listeningPort))
        #expect(errorCode { try second.sync.start() } == .addressInUse)
        second.sync.configuration.listen = .init(address: "not an address", port: 0)
        #expect(errorCode { try second.sync.start() } == .connectionRejected)
        second.sync.configuration.listen = .init(address: "0.0.0.0", port: 0)
        #expect(errorCode { try second.sync.start() } == .connectionRejected)
        second.sync.configuration.listen = .init(port: 0, certificateFile: "/nowhere/a.pem", keyFile: "/nowhere/a.key")
        #expect(errorCode { try second.sync.start() } == .certificateInvalid)
        second.sync.configuration.listen = .init(port: 0, certificateFile: "/nowhere/a.pem")
        #expect(errorCode { try second.sync.start() } == .certificateInvalid)
        second.sync.configuration.listen = nil
        for url in ["http://127.0.0.1", "ws://", "cars", "ws://127.0.0.1:99999"] {
            second.sync.configuration.connect = [url]
            #expect(errorCode { try second.sync.start() } == .invalidAddress)
        }
        #expect(second.sync.status.phase == .stopped)
        second.sync.configuration.connect = []
        second.sync.configuration.listen = .init(port: 0)
        try second.sync.start()
        #expect(second.sync.status.phase == .running)
    }

    @Test("a database without an identity says so, and a short key is refused")
    func identities() async throws {
        let place = try TemporaryDatabase()
        for await _ in place.db.sync.statusUpdates { Issue.record("there is no news") }
        let error = docDBError { try place.cars.findAll().subscribe() }
        #expect(error?.code == .misuse)
        #expect(error?.message.contains("identity") == true)
        #expect(errorCode { try place.db.sync.start() } == .misuse)
        #expect(errorCode { try place.db.sync.isAcknowledged("cars", 1) } == .misuse)
        #expect(place.db.sync.status.phase == .stopped)
        await place.db.sync.stop()
        let path = TemporaryDirectory.make() + "/short.docdb"
        #expect(
            errorCode { try Database(at: path, identity: .sharedKey(appID: "a", key: [1, 2, 3])) } == .invalidValue)
        #expect(errorCode { try Database(at: path, identity: .offlinePlayground(appID: "")) } == .misuse)
    }

    @Test("a database that has replicated under a shared key refuses the playground")
    func betrayal() throws {
        let path = TemporaryDirectory.make() + "/secret.docdb"
        let key = [UInt8](repeating: 7, count: 32)
        let db = try Database(at: path, identity: .sharedKey(appID: "a", key: key))
        db.sync.configuration.listen = .init(port: 0)
        try db.sync.start()
        try db.close()
        #expect(errorCode { try Database(at: path, identity: .offlinePlayground(appID: "a")) } == .misuse)
        let again = try Database(at: path, identity: .sharedKey(appID: "a", key: key))
        try again.close()
    }

    @Test("peers that do not fit together say why", arguments: ["key", "app", "kind"])
    func refusals(_ what: String) async throws {
        let key = [UInt8](0..<32)
        let hub = try SyncPeer("hub", identity: .sharedKey(appID: SyncPeer.appID, key: key))
        let identity: Database.Identity
        let code: DocDBError.Code
        switch what {
        case "key": (identity, code) = (.sharedKey(appID: SyncPeer.appID, key: [UInt8](1..<33)), .proofFailed)
        case "app": (identity, code) = (.sharedKey(appID: "another", key: key), .connectionRejected)
        default: (identity, code) = (.offlinePlayground(appID: SyncPeer.appID), .connectionRejected)
        }
        let device = try SyncPeer("device", identity: identity)
        try device.cars.findAll().subscribe()
        try device.connect(try hub.listen())
        try await device.wait { $0.connections.first?.lastProblem?.error.code == code }
        // Also the subscription says what keeps it back.
        try await device.wait { $0.subscriptions.first?.lastProblem?.error.code == code }
        let problem = try #require(device.sync.status.connections.first?.lastProblem)
        #expect(problem.error.message.contains("same"))
        try await hub.wait { $0.lastProblem != nil }
        #expect(!device.sync.status.isConnected)
    }

    @Test("a copy of the database's own files is another database, with which it replicates")
    func copies() async throws {
        let original = try SyncPeer("original")
        try original.cars.insert(["_id": 1])
        try original.db.close()
        let directory = TemporaryDirectory.make()
        try FileManager.default.copyItem(atPath: original.path, toPath: directory + "/copy.docdb")
        let identity = Database.Identity.offlinePlayground(appID: SyncPeer.appID)
        let db = try Database(at: original.path, identity: identity)
        let copy = try Database(at: directory + "/copy.docdb", identity: identity)
        for database in [db, copy] { try database.collection("cars").findAll().subscribe() }
        try db.collection("cars").insert(["_id": 2])
        try copy.collection("cars").insert(["_id": 3])
        db.sync.configuration.listen = .init(port: 0)
        try db.sync.start()
        copy.sync.configuration.connect = ["ws://127.0.0.1:\(try #require(db.sync.status.listeningPort))"]
        try copy.sync.start()
        for database in [db, copy] {
            for try await update in database.collection("cars").findAll().changes where update.documents.count == 3 {
                break
            }
        }
        try copy.close()
        try db.close()
    }

    @Test("a connection to itself is refused")
    func itself() async throws {
        let peer = try SyncPeer("itself")
        let url = try peer.listen()
        let port = try #require(peer.sync.status.listeningPort)
        await peer.sync.stop()
        peer.sync.configuration.listen = SyncConfiguration.Listen(port: port)
        try peer.connect(url)
        try await peer.wait { $0.connections.first?.lastProblem?.error.context["close"] == "sameStore" }
    }

    @Test("a peer comes back by itself when its listener does")
    func reconnect() async throws {
        let hub = try SyncPeer("hub")
        let device = try SyncPeer("device")
        try device.cars.findAll().subscribe()
        let url = try hub.listen()
        try device.connect(url)
        try await device.wait(\.isConnected)
        let port = try #require(hub.sync.status.listeningPort)
        await hub.sync.stop()
        try await device.wait { !$0.isConnected && $0.peers.count == 1 }
        try hub.cars.insert(["_id": 1])
        hub.sync.configuration.listen = .init(port: port)
        try hub.sync.start()
        try await device.wait(device.cars.findAll()) { $0 == [1] }
        #expect(device.sync.status.connections.first?.lastProblem == nil)
    }

    @Test("closing a database ends its replication and its updates")
    func close() async throws {
        let hub = try SyncPeer("hub")
        let device = try SyncPeer("device")
        try device.connect(try hub.listen())
        try await hub.wait(\.isConnected)
        let updates = device.sync.statusUpdates
        let ended = Task { for await _ in updates {} }
        try device.db.close()
        try await hub.wait { !$0.isConnected }
        await ended.value
        #expect(errorCode { try device.sync.start() } == .databaseClosed)
    }

    @Test("more peers than the limit are refused with a reason")
    func limit() async throws {
        let hub = try SyncPeer("hub") { $0.connectionLimit = 1 }
        let url = try hub.listen()
        let (first, second) = (try SyncPeer("first"), try SyncPeer("second"))
        try first.connect(url)
        try await first.wait(\.isConnected)
        try second.connect(url)
        try await second.wait { $0.connections.first?.lastProblem != nil }
        let problem = try #require(second.sync.status.connections.first?.lastProblem)
        #expect(problem.error.message.contains("limit"))
        #expect(problem.error.code == .connectionRejected)
        #expect(hub.sync.status.lastProblem?.error.code == .limitReached)
        await first.sync.stop()
        try await second.wait(\.isConnected)
    }

    @Test("two databases that connect to each other keep one of the two links")
    func duplicates() async throws {
        let (first, second) = (try SyncPeer("first"), try SyncPeer("second"))
        let firstURL = try first.listen()
        let secondURL = try second.listen()
        await first.sync.stop()
        await second.sync.stop()
        func port(_ url: String) throws -> UInt16 { try #require(UInt16(url.split(separator: ":").last ?? "")) }
        first.sync.configuration.listen = .init(port: try port(firstURL))
        second.sync.configuration.listen = .init(port: try port(secondURL))
        first.sync.configuration.connect = [secondURL]
        second.sync.configuration.connect = [firstURL]
        try first.sync.start()
        try second.sync.start()
        try await SyncPeer.wait(first, second) {
            let states = [first, second].compactMap { $0.sync.status.connections.first?.state }
            let redundant = states.filter { if case .redundant = $0 { true } else { false } }
            let connected = states.filter { if case .connected = $0 { true } else { false } }
            return redundant.count == 1 && connected.count == 1
        }
        try first.cars.insert(["_id": 1])
        try second.cars.findAll().subscribe()
        try await second.wait(second.cars.findAll()) { $0 == [1] }
        #expect(first.sync.status.peers.filter(\.isConnected).count == 1)
    }

    /// In a process of its own, as the files of other suites would be counted with its own.
    @Test("rounds of opening, connecting and disconnecting leave nothing behind", .timeLimit(.minutes(10)))
    func rounds() async throws {
        let log = TemporaryDirectory.make() + "/flat.log"
        let process = try ChildProcess(BuiltProgram.path("soak"), ["flat", "60"], outputPath: log)
        let status = await process.end()
        let printed = try String(contentsOfFile: log, encoding: .utf8)
        #expect(status == 0, "\(printed)")
        #expect(printed.split(separator: "\n").count == 3)
        try FileManager.default.removeItem(atPath: log)
    }

    @Test("stopping and cancelling within a write wait for nothing")
    func withinWrite() async throws {
        let hub = try SyncPeer("hub")
        let device = try SyncPeer("device")
        let subscription = try device.cars.findAll().subscribe(whenLeaving: .evict)
        try device.connect(try hub.listen())
        await subscription.waitUntilCaughtUp()
        let (sync, cars) = (device.sync, device.cars)
        try await device.db.write { transaction in
            try transaction.collection("cars").insert(["_id": 1])
            subscription.cancel()
            sync.stop()
            #expect(errorCode { try cars.findAll().subscribe() } == .misuse)
        }
        try await device.wait { $0.phase == .stopped }
        #expect(try device.cars.findAll().count() == 1)
    }
}
