import Dispatch
import DocDB
import DocDBReplication
import DocDBTransport
import Foundation
import Synchronization

/// Many rounds of what apps do again and again, which must leave memory and open files as they were.
struct FlatRounds {
    private let directory: String
    private let roundCount: Int

    private struct Figures {
        var residentKibibytes: Int
        var openFileCount: Int

        /// What this process holds, after giving back what it has freed.
        init() {
            // The C library's module has no malloc_trim.
            typealias Trim = @convention(c) (Int) -> Int32
            if let trim = dlsym(nil, "malloc_trim") { _ = unsafeBitCast(trim, to: Trim.self)(0) }
            residentKibibytes = ResourceLog.residentKibibytes(getpid()) ?? 0
            openFileCount = ResourceLog.openFileCount(getpid()) ?? 0
        }
    }

    /// What the rounds after the first fifth may add, however many they are.
    private static let grownKibibytes = 6 * 1024
    private static let grownFileCount = 2

    enum Kind: String, CaseIterable {
        case opening, memory, sockets
    }

    /// Runs some kinds of rounds; returns the status that the process is to end with.
    static func run(roundCount: Int, kinds: [Kind]) -> Int32 {
        let directory = FileManager.default.temporaryDirectory.appending(path: "flat-\(UUID().uuidString)").path
        defer { try? FileManager.default.removeItem(atPath: directory) }
        do {
            try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
            let rounds = FlatRounds(directory: directory, roundCount: roundCount)
            for kind in kinds { try rounds.run(kind) }
            return 0
        } catch {
            print("flat: failed: \(error)")
            return 1
        }
    }

    private func run(_ kind: Kind) throws {
        switch kind {
        case .opening: try openAndClose()
        case .memory:
            let network = MemoryNetwork()
            try connectAndDisconnect("in memory", "ws://127.0.0.1:1", network) { _ in network.listener() }
        case .sockets:
            let transport = try WebSocketTransport()
            try connectAndDisconnect("over sockets", nil, transport) {
                transport.listener(ListenOptions(host: $0.host, port: $0.port))
            }
        }
    }

    /// Does it as often as wanted, and compares what the process holds after a fifth of that and in the end.
    private func measure(_ name: String, _ round: (Int) throws -> Void) throws {
        let begin = ContinuousClock.now
        let warm = max(roundCount / 5, 20)
        for number in 0..<warm { try autoreleased { try round(number) } }
        let before = Figures()
        for number in warm..<max(roundCount, warm) { try autoreleased { try round(number) } }
        var after = Figures()
        // Threads that end the last round may not be done yet.
        for _ in 0..<200 where after.openFileCount > before.openFileCount {
            usleep(50_000)
            after = Figures()
        }
        print(
            """
            flat: \(name): after \(warm) rounds \(before.residentKibibytes) KiB and \(before.openFileCount) files, \
            after \(roundCount) \(after.residentKibibytes) KiB and \(after.openFileCount) files, \
            in \(ContinuousClock.now - begin)
            """)
        fflush(nil)
        guard after.openFileCount <= before.openFileCount + Self.grownFileCount else {
            throw SoakFailure("open files grow")
        }
        guard after.residentKibibytes <= before.residentKibibytes + Self.grownKibibytes else {
            throw SoakFailure("memory grows")
        }
    }

    private func autoreleased(_ body: () throws -> Void) rethrows {
        #if canImport(Darwin)
            try autoreleasepool(invoking: body)
        #else
            try body()
        #endif
    }

    private func openAndClose() throws {
        let path = directory + "/opened.docdb"
        let filled = try Database(at: path)
        let cars = filled.collection("cars")
        try cars.createIndex(["price"])
        for number in Int64(0)..<100 { try cars.upsert(["_id": .int(number), "price": .int(number * 7 % 50)]) }
        try filled.close()
        try measure("opening, asking, writing, observing and closing") { number in
            let database = try Database(at: path, identity: .offlinePlayground(appID: SoakWorld.appID))
            let cars = database.collection("cars")
            let seen = DispatchSemaphore(value: 0)
            let observation = try cars.find("price < 10").observe { _, _ in seen.signal() }
            guard try cars.find("price >= 40").count() == 20, try cars.findAll().sort("price").limit(3).ids().count == 3
            else { throw SoakFailure("a query finds something else") }
            try cars.upsert(["_id": .int(Int64(number % 100)), "n": .int(Int64(number))])
            seen.wait()
            observation.cancel()
            try database.close()
        }
    }

    private func connectAndDisconnect(
        _ name: String, _ url: String?, _ connector: any Connector,
        _ listener: @escaping @Sendable (ReplicationConfiguration.ListenAddress) -> any Listener
    ) throws {
        func open(_ path: String) throws -> Database {
            var options = Database.Options()
            options.syncWorld = SyncWorld(
                executor: DispatchExecutor(), connector: connector, makeListener: listener)
            return try Database(
                at: directory + "/" + path, options: options,
                identity: .offlinePlayground(appID: SoakWorld.appID))
        }
        let (hub, device) = (try open("hub \(name).docdb"), try open("device \(name).docdb"))
        for number in Int64(0)..<20 { try hub.collection("cars").upsert(["_id": .int(number)]) }
        hub.sync.configuration.listen = SyncConfiguration.Listen(port: 0)
        try hub.sync.start()
        device.sync.configuration.connect = [url ?? "ws://127.0.0.1:\(hub.sync.status.listeningPort ?? 0)"]
        let subscription = try device.collection("cars").findAll().subscribe()
        try measure("connecting, catching up and disconnecting \(name)") { number in
            try hub.collection("cars").upsert(["_id": .int(Int64(number % 20)), "n": .int(Int64(number))])
            try device.sync.start()
            let caughtUp = DispatchSemaphore(value: 0)
            Task {
                await subscription.waitUntilCaughtUp()
                caughtUp.signal()
            }
            caughtUp.wait()
            device.sync.stop()
            guard try device.collection("cars").find(id: DocumentID(Int64(number % 20)))?["n"] == .int(Int64(number))
            else { throw SoakFailure("a write has not come") }
        }
        try device.close()
        try hub.close()
    }
}

/// Links within this process, to one listener.
private final class MemoryNetwork: Connector {
    private let accepting = Mutex<(@Sendable (any Link) -> Void)?>(nil)

    private final class Attempt: ConnectionAttempt { func cancel() {} }

    func connect(
        to url: String, options: ConnectOptions,
        completion: @escaping @Sendable (Result<any Link, DocDBError>) -> Void
    ) -> any ConnectionAttempt {
        let accept = accepting.withLock { $0 }
        DispatchQueue.global().async {
            guard let accept else {
                return completion(.failure(DocDBError(.connectionFailed, "nobody listens in this process")))
            }
            let (near, far) = InMemoryLink.pair()
            accept(far)
            completion(.success(near))
        }
        return Attempt()
    }

    func listener() -> any Listener { MemoryListener(network: self) }

    private final class MemoryListener: Listener {
        private let network: MemoryNetwork
        init(network: MemoryNetwork) { self.network = network }
        var boundAddress: SocketAddress? { SocketAddress(host: "memory", port: 1) }
        func start(_ accept: @escaping @Sendable (any Link) -> Void) throws(DocDBError) {
            network.accepting.withLock { $0 = accept }
        }
        func stop() { network.accepting.withLock { $0 = nil } }
    }
}
