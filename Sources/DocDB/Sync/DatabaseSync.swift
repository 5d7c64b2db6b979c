import Dispatch
import DocDBCore
package import DocDBReplication
import DocDBStorage
import DocDBSync
import DocDBTransport
import Synchronization

/// The replication of one database: ``Database/sync``.
///
/// A database that was opened with an identity replicates from ``start()`` on with the peers that it connects to and those
/// that connect to it. What it asks them for are its subscriptions; what they may have of it is what they ask for.
///
/// ```swift
/// let db = try Database(at: "cars.docdb", identity: .offlinePlayground(appID: "com.example.cars"))
/// db.sync.configuration.connect = ["ws://127.0.0.1:4430"]
/// try db.sync.start()
/// let subscription = try db.collection("cars").find("state == 'for sale'").subscribe()
/// ```
///
/// The rules, of which <doc:Replicating> tells more:
///
/// 1. Writes never wait for peers. What is written offline is sent when a peer is reached.
/// 2. Subscriptions may be made and cancelled at any time, before the start too. To change one, subscribe anew, then cancel
///    the old one: what both match is not sent again.
/// 3. A peer that cannot be reached is tried again and again, after waits that grow to a minute; ``status`` says why it
///    cannot be.
/// 4. Closing the database, or letting it go, stops its replication.
public final class DatabaseSync: Sendable {
    /// Nil where the database was opened without an identity.
    private let made: ReplicationEngine?
    let store: Store
    private let identityKind: String?
    private let authentication: DatabaseAuthentication?
    private let settings = Lock(SyncConfiguration())
    private let networkWatch = Lock<NetworkWatch?>(nil)
    /// Whether it works over the machine's own network.
    private let isLive: Bool

    init(
        store: Store, identity: Database.Identity?, authenticator: (any SessionAuthenticator)?,
        authentication: DatabaseAuthentication?, world: SyncWorld?
    ) throws {
        self.store = store
        identityKind = authenticator?.kind
        self.authentication = authentication
        isLive = world == nil
        guard let identity, let authenticator else {
            made = nil
            return
        }
        try Self.check(identity, store)
        let world = world ?? .live()
        if let authentication {
            settings.withLock { $0.connect = [authentication.address.syncURL] }
        }
        let reporter = EngineReporter()
        let replica = try StoreReplica(store) { reporter.report($0) }
        made = ReplicationEngine(
            ReplicationEnvironment(
                replica: replica, executor: world.executor, connector: world.connector,
                makeListener: world.makeListener, authenticator: authenticator, policy: identity.policy,
                randomBytes: store.options.randomBytes,
                ownActors: {
                    // A store that cannot tell names none: then the peer takes none for its own.
                    ((try? replica.ownActors()) ?? []).map { Hello.OwnedActor(actor: $0.id, nonce: $0.nonce) }
                },
                watchCommits: { [weak store] router, isWatching in
                    guard let store else { return 0 }
                    if isWatching { return try store.observe(.everything, by: router) }
                    try store.endObserving(by: router)
                    return 0
                }, disabledRules: world.disabledRules, protocolVersions: world.protocolVersions))
        reporter.engine.withLock { $0 = EngineReporter.Weak(engine: made) }
        if let made {
            authentication?.attach(made, http: world.http) { [weak store] in
                guard let store else { return false }
                return try !Self.pendingDocuments(store, limit: 1).isEmpty
            }
        }
    }

    /// The engine of a database that has an identity.
    package var engine: ReplicationEngine {
        guard let made else { preconditionFailure(Self.withoutIdentity.message) }
        return made
    }

    /// The engine, where the database has an identity.
    func requireEngine() throws -> ReplicationEngine {
        guard let made else { throw Self.withoutIdentity }
        return made
    }

    // MARK: Starting and stopping

    /// What to connect to, where to listen, and what to do for peers; changes count from the next ``start()`` on.
    public var configuration: SyncConfiguration {
        get { settings.withLock { $0 } }
        set {
            settings.withLock { $0 = newValue }
            // Logins verify the hub by it, also before the start.
            made?.configure(newValue.replication)
        }
    }

    /// Begins to listen and to connect, as ``configuration`` says; does nothing while replication runs.
    ///
    /// Returns once this database listens. Connections are opened meanwhile; ``status`` tells of them, also where they
    /// fail.
    ///
    /// - Throws: `DocDBError` with the code `invalidAddress` where a URL or the address to listen at is wrong;
    ///   `addressInUse` where another program listens there; `certificateInvalid` where the certificate or its key is;
    ///   `connectionRejected` where the identity forbids listening there; `databaseClosed`; `misuse` where the database was
    ///   opened without an identity or for reading only, or replication is being stopped. Nothing has begun then.
    public func start() throws {
        try store.checkIsObservable()
        guard let identityKind, let engine = made else { throw Self.withoutIdentity }
        let configuration = configuration
        try configuration.check()
        engine.configure(configuration.replication)
        try Self.note(identityKind, store)
        try engine.start()
        watchNetwork(engine)
        authentication?.syncDidStart()
    }

    /// Ends all sessions in order and returns when that is done, after ten seconds at most; does nothing where
    /// replication does not run.
    ///
    /// Subscriptions stay, and count again from the next ``start()`` on. Within a write it does not wait, as the sessions'
    /// end may wait for that write.
    public func stop() {
        guard let engine = made else { return }
        networkWatch.withLock { $0 = nil }
        guard (try? store.checkMayClose()) != nil else { return engine.stop() }
        let done = DispatchSemaphore(value: 0)
        engine.stop { done.signal() }
        done.wait()
    }

    /// Ends all sessions in order; the task is suspended until that is done.
    public func stop() async {
        guard let engine = made else { return }
        networkWatch.withLock { $0 = nil }
        await withCheckedContinuation { continuation in engine.stop { continuation.resume() } }
    }

    /// Tries all URLs again at once: for apps that know better than the system that the network has come back.
    ///
    /// Not needed otherwise: while replication runs, changes of the machine's interfaces, addresses and routes do the same.
    public func networkDidChange() { made?.nudge() }

    /// Tries all URLs at once when the network changes; in a world of its own there is no such thing.
    private func watchNetwork(_ engine: ReplicationEngine) {
        guard isLive else { return }
        networkWatch.withLock { watch in
            if watch == nil { watch = NetworkWatch { [weak engine] in engine?.nudge() } }
        }
    }

    /// Ends replication for good, when the database closes.
    func close() {
        stop()
        authentication?.close()
        made?.endObserving()
    }

    /// Ends replication without waiting, when nobody holds the database any more.
    func abandon() {
        guard let engine = made else { return }
        engine.stop { engine.endObserving() }
    }

    // MARK: How it stands

    /// How replication stands: connections, peers, subscriptions and what went wrong last.
    public var status: SyncStatus { SyncStatus(made?.status ?? ReplicationStatus()) }

    /// The status as it changes, beginning with the present one; a busy consumer gets the newest.
    ///
    /// ```swift
    /// for await status in db.sync.statusUpdates where status.isConnected { ... }
    /// ```
    public var statusUpdates: SyncUpdates<SyncStatus> {
        guard let engine = made else { return .none }
        return .newest(engine.statusObservers, of: engine, now: { engine.status }, { SyncStatus($0) })
    }

    /// Who is connected to whom, as far as this database hears of it.
    public var presence: PresenceGraph {
        PresenceGraph(made?.reachablePeers ?? [], own: made?.ownStoreID ?? store.storeID)
    }

    /// The graph of presence as it changes, beginning with the present one; a busy consumer gets the newest.
    public var presenceUpdates: SyncUpdates<PresenceGraph> {
        guard let engine = made else { return .none }
        return .newest(
            engine.presenceObservers, of: engine, now: { engine.reachablePeers },
            { PresenceGraph($0, own: engine.ownStoreID) })
    }

    // MARK: Identities

    /// Checks that a store may be used with an identity.
    private static func check(_ identity: Database.Identity, _ store: Store) throws {
        guard case .playground = identity.kind, let former = try store.identityKind(),
            former != PlaygroundAuthenticator(appID: "").kind
        else { return }
        throw DocDBError(
            .misuse,
            "the database at \(store.directory.path) has replicated under an identity with secrets, and an offline playground would give them away; use that identity, or another database"
        )
    }

    /// Keeps in the store under which kind of identity it was used.
    private static func note(_ kind: String, _ store: Store) throws {
        if try store.identityKind() != kind { try store.setIdentityKind(kind) }
    }
}

/// Takes what a replica reports to the engine over it, which is made after it.
private final class EngineReporter: Sendable {
    struct Weak {
        weak var engine: ReplicationEngine?
    }

    let engine = Lock(Weak())

    func report(_ warning: DocDBError) { engine.withLock { $0.engine }?.report(warning) }
}
