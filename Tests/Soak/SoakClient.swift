import DocDB
import DocDBReplication
import DocDBSimulation
import DocDBTransport
import Foundation
import Synchronization

/// One client, in a process of its own that is killed and started again.
final class SoakClient: Sendable {
    struct Settings {
        var path: String
        var client: Int
        /// Counts the starts of this client, so that its numbers rise over all of them.
        var start: Int64
        var seed: UInt64
        var url: String
        var offsetSeconds: Int64

        var arguments: [String] { ["client", path, "\(client)", "\(start)", "\(seed)", url, "\(offsetSeconds)"] }

        init(path: String, client: Int, start: Int64, seed: UInt64, url: String, offsetSeconds: Int64) {
            (self.path, self.client, self.start, self.seed) = (path, client, start, seed)
            (self.url, self.offsetSeconds) = (url, offsetSeconds)
        }

        init?(_ arguments: [String]) {
            guard arguments.count == 7, let client = Int(arguments[2]), let start = Int64(arguments[3]),
                let seed = UInt64(arguments[4]), let offset = Int64(arguments[6])
            else { return nil }
            self.init(
                path: arguments[1], client: client, start: start, seed: seed, url: arguments[5], offsetSeconds: offset)
        }
    }

    let db: Database
    let settings: Settings
    var user: String { SoakWorld.user(of: settings.client) }
    private let executor: JumpingExecutor
    private let transport: WebSocketTransport
    private let isSettling = Atomic<Bool>(false)
    private let writerHasEnded = DispatchSemaphore(value: 0)
    /// What an observation of all items has delivered last.
    private let observed = Mutex<LiveDocuments>(LiveDocuments())
    private let observation = Mutex<LiveObservation?>(nil)

    init(_ settings: Settings) throws {
        self.settings = settings
        let executor = JumpingExecutor(offsetSeconds: settings.offsetSeconds)
        let transport = try WebSocketTransport()
        (self.executor, self.transport) = (executor, transport)
        var options = Database.Options()
        options.clock = { executor.wallNanoseconds }
        options.historyByteCount = 1024 * 1024
        options.syncWorld = SyncWorld(executor: executor, connector: transport) {
            transport.listener(ListenOptions(host: $0.host, port: $0.port))
        }
        db = try Database(
            at: settings.path, options: options,
            identity: .onlineWithAuthentication(appID: SoakWorld.appID, hub: settings.url))
    }

    /// Works until the process is killed, or told to end.
    func run() throws -> Never {
        db.sync.configuration.peerName = "client-\(settings.client)"
        let live = try db.collection(SoakWorld.items).findAll().observe(
            onError: { ClientLine.failed("observation: \($0)").tell() },
            { [self] documents, _ in observed.withLock { $0 = documents } })
        observation.withLock { $0 = live }
        try db.sync.start()
        Task { await keepLoggedIn() }
        begin { [self] in
            defer { writerHasEnded.signal() }
            var writer = ClientWriter(self)
            while !isSettling.load(ordering: .acquiring) { try writer.step() }
        }
        let parent = getppid()
        begin {
            while getppid() == parent { sleep(1) }
            exit(1)
        }
        while let line = readLine() {
            switch ClientCommand(line) {
            case .jump(let seconds): executor.jump(toOffsetSeconds: seconds)
            case .settle: begin { [self] in try settle() }
            case .close:
                observation.withLock { $0 = nil }
                try db.close()
                exit(0)
            case nil: ClientLine.failed("unknown command").tell()
            }
        }
        exit(1)
    }

    private func begin(_ body: @escaping @Sendable () throws -> Void) {
        Thread.detachNewThread {
            do { try body() } catch { ClientLine.failed("\(error)").tell() }
        }
    }

    /// Renews the grant from half of its time on, and again and again where that is refused.
    private func keepLoggedIn() async {
        var last = ""
        while true {
            if (db.auth.secondsRemaining ?? 0) <= SoakWorld.grantSeconds / 2 {
                do {
                    try await db.auth.login(token: user, provider: SoakWorld.provider)
                    last = ""
                } catch {
                    let code = (error as? DocDBError)?.code.description ?? "\(error)"
                    if code != last { ClientLine.noted("login \(code)").tell() }
                    last = code
                }
            }
            try? await Task.sleep(for: .milliseconds(500))
        }
    }

    // MARK: Coming to rest

    private func settle() throws {
        isSettling.store(true, ordering: .releasing)
        writerHasEnded.wait()
        executor.jump(toOffsetSeconds: 0)
        let subscriptions = try SoakWorld.collections.map { try db.collection($0).findAll().subscribe() }
        for collection in SoakWorld.collections {
            let fence: Value = [
                "_id": SoakWorld.fence(of: settings.client).value, "owner": .string(SoakWorld.owner(user)), "level": 0,
            ]
            try db.collection(collection).upsert(fence)
        }
        while true {
            revertRefusals()
            ClientLine.tell(restlessness: try restlessness(subscriptions))
            usleep(500_000)
        }
    }

    private func revertRefusals() {
        guard let refusals = try? db.sync.refusals() else { return }
        for refusal in refusals where SoakWorld.mayRevert(refusal, client: settings.client) {
            try? db.sync.revert(refusal.document.collection, refusal.document.id)
        }
    }

    /// Why this client has not come to rest; nil where it has.
    private func restlessness(_ subscriptions: [SyncSubscription]) throws -> String? {
        guard db.auth.status.isAuthenticated else { return "not logged in" }
        let refusals = try db.sync.refusals()
        if let first = refusals.first {
            return "\(refusals.count) refused, such as \(first.document.id) by \(first.side), \(first.reason)"
        }
        let pending = try db.sync.pendingDocuments(limit: 1_000)
        if let first = pending.first { return "\(pending.count) pending, such as \(first.collection) \(first.id)" }
        guard subscriptions.allSatisfy({ $0.status?.isCaughtUp ?? false }) else {
            return "not caught up: \(db.sync.status.connections.map(\.state))"
        }
        for collection in SoakWorld.collections {
            for client in 0..<SoakWorld.clientCount
            where try db.collection(collection).find(id: SoakWorld.fence(of: client)) == nil {
                return "lacks fence \(client) of \(collection)"
            }
        }
        let fresh = try db.collection(SoakWorld.items).findAll().documents()
        let seen = observed.withLock { $0 }
        guard try fresh.count == seen.count && zip(fresh, seen).allSatisfy({ try $0.json() == $1.json() }) else {
            return "the observation is not what a query finds"
        }
        return nil
    }
}

extension ClientLine {
    fileprivate static func tell(restlessness: String?) {
        (restlessness.map { ClientLine.unsettled($0) } ?? .settled).tell()
    }
}
