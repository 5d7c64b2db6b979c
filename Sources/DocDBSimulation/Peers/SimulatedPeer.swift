public import DocDB
import DocDBCore
import DocDBReplication
package import DocDBSync

/// One device or hub of a simulation: a disk, a clock, and a database on it that replicates.
///
/// It can be stopped and started, crash, lose power, and be restored or copied; its subscriptions and observed queries
/// are those of an app, which makes them anew at each start.
public final class SimulatedPeer: @unchecked Sendable {
    // Unchecked: a simulation runs on one thread.

    /// What the peer is called.
    public let name: String
    /// The peer's place among those of the simulation.
    public let number: Int
    /// The peer's clock, which may be wrong.
    public let clock: SimulatedClock
    /// The peer's disk.
    public let disk: SimulatedDisk
    /// The database's directory on the disk.
    public let path: String
    /// The queries that are observed, in the order in which they were made.
    public private(set) var observed: [ObservedResults] = []

    unowned let simulation: Simulation
    let description: PeerDescription
    private var others: [SimulatedPeer] = []
    private(set) var subscriptions: [PeerSubscription] = []
    private var process: SimulatedProcess?
    private var executor: SimulationExecutor?
    private(set) var openDatabase: Database?
    /// The newest time that the peer's wall clock has shown, as far as was looked.
    var newestWallNanoseconds: UInt64 = 0

    init(
        _ name: String, number: Int, _ simulation: Simulation, skew: Duration, _ description: PeerDescription
    ) {
        self.name = name
        self.number = number
        self.simulation = simulation
        self.description = description
        path = "/\(name).docdb"
        clock = simulation.time.makeClock(skew: skew)
        disk = SimulatedDisk(seed: simulation.random.next())
    }

    /// The URL at which others reach the peer.
    public var url: String { "ws://\(SimulatedNetwork.address(of: number))" }

    func keepConnected(to other: SimulatedPeer) { others.append(other) }

    // MARK: Running

    /// Whether the peer's process runs.
    public var isRunning: Bool { openDatabase != nil }

    /// The peer's database.
    ///
    /// - Throws: `DocDBError` with the code `databaseClosed` where the peer does not run.
    public var db: Database {
        get throws {
            guard let openDatabase else {
                throw DocDBError(.databaseClosed, "\(name) does not run; start it")
            }
            return openDatabase
        }
    }

    /// The database's replica, for the auditor.
    package var replica: any Replica { get throws { try db.sync.engine.environment.replica } }

    /// Opens the database, subscribes and observes as before, and begins to replicate; does nothing where it runs.
    public func start() throws {
        guard !isRunning else { return }
        let process = SimulatedProcess(host: number)
        let executor = SimulationExecutor(clock, process, seed: simulation.random.next())
        let network = simulation.network
        var options = Database.Options.simulated(on: disk, clock: clock, seed: simulation.random.next())
        options.durability = description.durability
        if let count = description.historyByteCount { options.historyByteCount = count }
        var world = SyncWorld(
            executor: executor, connector: SimulatedConnector(network, process),
            makeListener: { SimulatedListener(network, process, port: $0.port) })
        world.disabledRules = simulation.disabledRules
        world.protocolVersions = description.protocolVersions
        options.syncWorld = world
        self.process = process
        self.executor = executor
        do {
            let db = try Database(at: path, options: options, identity: description.identity)
            openDatabase = db
            db.sync.configuration = configuration
            for subscription in subscriptions { try subscription.begin(db) }
            for results in observed { try results.begin(db) }
            try simulation.auditor.noteStart(self)
            try db.sync.start()
        } catch {
            end(isHeard: true)
            throw error
        }
    }

    private var configuration: SyncConfiguration {
        var configuration = SyncConfiguration()
        configuration.connect = others.map(\.url)
        configuration.listen = SyncConfiguration.Listen(port: SimulatedNetwork.port(of: number))
        configuration.peerName = name
        configuration.isKeeper = description.isKeeper
        configuration.relay = description.relay
        if let limit = description.connectionLimit { configuration.connectionLimit = limit }
        return configuration
    }

    /// Stops replicating and closes the database, in order; the time passes that this takes.
    public func stop() throws {
        guard let db = openDatabase, let executor else { return }
        let done = Flag()
        db.sync.engine.stop { done.isSet = true }
        while !done.isSet, simulation.time.advanceToNextTimer() {}
        // Nothing is left to wait for: what the database asks of the executor now is answered within the call.
        executor.isImmediate = true
        defer { end(isHeard: true) }
        try db.close()
    }

    private final class Flag: @unchecked Sendable {
        // Unchecked: a simulation runs on one thread.
        var isSet = false
    }

    /// Ends the peer's process as a crash does: nothing that was written is lost, and nothing is closed.
    public func crash() {
        guard isRunning else { return }
        disk.endProcess()
        end(isHeard: true)
    }

    /// Cuts the peer's power: what was not synchronised may be lost, and nobody hears of it.
    public func cutPower(_ loss: PowerLoss = .tearsPages) {
        disk.cutPower(loss)
        end(isHeard: false)
        simulation.auditor.noteLoss(self)
    }

    private func end(isHeard: Bool) {
        if let process { simulation.network.end(process, isHeard: isHeard) }
        for subscription in subscriptions { subscription.end() }
        for results in observed { results.end() }
        openDatabase = nil
        executor = nil
        process = nil
    }

    /// How much work of replication waits.
    var waitingWorkCount: Int { executor?.waitingCount ?? 0 }

    /// Lets the disk succeed in everything.
    func healDisk() {
        disk.clearFaults()
        disk.byteLimit = nil
        disk.isReadOnly = false
    }

    // MARK: What an app does

    /// Runs a transaction, of which the auditor takes note; all of a peer's writes must go this way.
    @discardableResult
    public func write<R>(durability: Durability? = nil, _ body: (Transaction) throws -> R) throws -> R {
        let db = try db
        let before = try replica.read { $0.sequence }
        let wall = clock.wallNanoseconds
        newestWallNanoseconds = max(newestWallNanoseconds, wall)
        let result = try db.write(durability: durability, body)
        try simulation.auditor.noteWrite(self, after: before)
        return result
    }

    /// Subscribes to what matches a predicate, now and after each start.
    @discardableResult
    public func subscribe(
        _ collection: String, _ predicate: String = "true", whenLeaving policy: SyncSubscription.LeavingPolicy = .keep
    ) throws -> PeerSubscription {
        let subscription = PeerSubscription(collection, predicate, policy)
        if policy == .evict { simulation.auditor.noteEviction(self) }
        subscriptions.append(subscription)
        if let openDatabase { try subscription.begin(openDatabase) }
        return subscription
    }

    /// The subscriptions, in the order in which they were made.
    public var subscriptionList: [PeerSubscription] { subscriptions }

    /// Whether the peer keeps what it gets.
    public var isKeeper: Bool { description.isKeeper }

    /// Cancels a subscription.
    public func cancel(_ subscription: PeerSubscription) {
        subscription.cancel()
        subscriptions.removeAll { $0 === subscription }
    }

    /// Evicts a document; the auditor takes note of it.
    @discardableResult
    public func evict(_ collection: String, _ id: DocumentID, force: Bool = false) throws -> Bool {
        simulation.auditor.noteEviction(self)
        return try db.collection(collection).evict(id, force: force)
    }

    /// Observes a query, now and after each start; the auditor checks each event and the results.
    @discardableResult
    public func observe(
        _ collection: String, _ query: @escaping @Sendable (Collection) throws -> Query
    ) throws -> ObservedResults {
        let results = ObservedResults(self, collection, query)
        observed.append(results)
        if let openDatabase { try results.begin(openDatabase) }
        return results
    }
}

/// A subscription of a simulated peer, which is made anew at each start.
public final class PeerSubscription: @unchecked Sendable {
    // Unchecked: a simulation runs on one thread.

    /// The collection's name.
    public let collection: String
    /// What is subscribed to.
    public let predicate: String
    /// What becomes of documents that no subscription matches any more.
    public let policy: SyncSubscription.LeavingPolicy
    /// The subscription itself; nil while the peer does not run.
    public private(set) var subscription: SyncSubscription?

    init(_ collection: String, _ predicate: String, _ policy: SyncSubscription.LeavingPolicy) {
        self.collection = collection
        self.predicate = predicate
        self.policy = policy
    }

    var isEverything: Bool { predicate == "true" }

    func begin(_ db: Database) throws { subscription = try query(db).subscribe(whenLeaving: policy) }

    func query(_ db: Database) throws -> Query {
        isEverything ? db.collection(collection).findAll() : try db.collection(collection).find(predicate)
    }

    func cancel() {
        subscription?.cancel()
        subscription = nil
    }

    func end() { subscription = nil }
}
