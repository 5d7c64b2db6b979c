package import DocDBCore
import DocDBQuery
package import DocDBSync
import DocDBTransport
import Synchronization

/// Replicates one database: owns its links and the sessions on them, and everything that is decided across sessions.
///
/// What the protocol says is decided in `Session`, which knows neither links nor clocks. The engine connects the two: it
/// dials, accepts, watches commits, keeps time, merges the interests of subscriptions, and tells how all stands.
///
/// All of it runs on one serial executor, so that it is deterministic where the executor, the connector, the listener and
/// the random bytes are. Calls from outside enqueue, but for `start`, which listens at once to be able to throw, and for
/// questions that only read the store.
package final class ReplicationEngine: @unchecked Sendable {
    // Unchecked: the variables without a lock are touched by work on the executor only.

    enum Phase {
        case stopped, running, stopping
    }

    struct Lifecycle {
        var phase = Phase.stopped
        var configuration = ReplicationConfiguration()
        var stopped: [@Sendable () -> Void] = []
        /// In the order in which they were made.
        var subscriptions: [Subscription] = []
        var nextSubscription: UInt64 = 1

        /// Whether documents that leave a subscription are to be evicted, which is watched for while stopped, too.
        var hasEvictingSubscription: Bool { subscriptions.contains { $0.policy == .evict } }
    }

    struct Subscription {
        var id: UInt64
        var collection: String
        var filter: Filter
        /// Canonical.
        var predicate: String
        var policy: LeavingPolicy
    }

    package let environment: ReplicationEnvironment
    let lifecycle = Lock(Lifecycle())
    /// Whether commits are watched; held while the store is told.
    let isWatching = Lock(false)
    let published = Lock(ReplicationStatus())
    let publishedPresence = Lock<[PresenceRecord]>([])
    /// Held while the router is told what is subscribed to.
    let subscribing = Lock<Void>(())
    /// What connected peers may do, by store id.
    let peerRights = Lock<[[UInt8]: PeerRights]>([:])

    /// The accounts of the users of peers, since the last start.
    let accounts = Lock(UserAccounts(UserLimits()))

    /// Frames and bytes that went out and came in since the engine was made.
    package let traffic = ReplicationTraffic()

    /// Told of each new status, on the executor.
    package let statusObservers = Observers<ReplicationStatus>()
    /// Told of each new graph of presence, on the executor.
    package let presenceObservers = Observers<[PresenceRecord]>()
    /// Told of documents that were not joined, or are settled, on the executor.
    package let apartObservers = Observers<ApartNews>()
    /// Told of things that went wrong and were repaired, on the executor.
    package let warningObservers = Observers<DocDBError>()
    /// Told when a peer brought notices of the hubs that are news, on the executor.
    package let noticeObservers = Observers<Void>()

    // Touched on the executor only.
    private(set) var router: CommitRouter!
    var configuration = ReplicationConfiguration()
    var isRunning = false
    var listener: (any Listener)?
    var earlyLinks: [any Link] = []
    var dialers: [Dialer] = []
    var connections: [UInt64: Connection] = [:]
    var lastNumber: UInt64 = TimerKey.firstFree
    /// The newest subscription that this peer's own interest includes.
    var newestSubscription: UInt64 = 0
    var interests: InterestTable
    var presence: PresenceTable
    var isPresenceScheduled = false
    /// Counts this peer's grants: what was tried with an older one is tried again at once.
    var grantNumber = 0
    /// Peers that were connected and are not, newest last.
    var formerPeers: [PeerStatus] = []
    var lastError: StatusError?
    var events: [(connection: Connection, event: SessionEvent)] = []
    var isDraining = false
    var isStatusDirty = false
    var isStatusScheduled = false
    var publishedNanoseconds: UInt64 = 0
    /// What the observers were told last.
    var toldStatus = ReplicationStatus()
    /// Whether documents may wait to be evicted.
    var hasDeferredEvictions = true

    /// The keys of timers that belong to no link and no dialer.
    enum TimerKey {
        static let heartbeat: UInt64 = 0
        static let presence: UInt64 = 1
        static let status: UInt64 = 2
        static let stop: UInt64 = 3
        static let authentication: UInt64 = 4
        static let firstFree: UInt64 = 15
    }

    package init(_ environment: ReplicationEnvironment) {
        self.environment = environment
        let storeID = environment.replica.storeID
        interests = InterestTable(ownID: storeID, relayLimit: 0, wallNanoseconds: 0)
        presence = PresenceTable(own: PresenceRecord(peer: storeID, sequence: 0))
        router = CommitRouter(replica: environment.replica) { [weak self] in self?.enqueue { $0.pump() } }
    }

    package var executor: any ReplicationExecutor { environment.executor }
    var replica: any Replica { environment.replica }
    var ownID: [UInt8] { environment.replica.storeID }
    /// The 16 bytes that name this peer's store.
    package var ownStoreID: [UInt8] { environment.replica.storeID }

    // MARK: Running on the executor

    /// Runs work on the executor, if the engine is still there by then.
    func enqueue(_ work: @escaping @Sendable (ReplicationEngine) -> Void) {
        executor.enqueue { [weak self] in self?.run(work) }
    }

    /// Runs work on the executor at a time, in place of what was scheduled under the key.
    func schedule(
        key: UInt64, atNanoseconds time: UInt64, _ work: @escaping @Sendable (ReplicationEngine) -> Void
    ) {
        executor.schedule(key: key, atNanoseconds: time) { [weak self] in self?.run(work) }
    }

    private func run(_ work: (ReplicationEngine) -> Void) {
        work(self)
        drain()
        publishIfNeeded()
    }

    func newNumber() -> UInt64 {
        lastNumber += 1
        return lastNumber
    }

    /// A random number of at least 0 and less than 1.
    func random() -> Double {
        let bits = environment.randomBytes(8).reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        return Double(bits >> 11) * 0x1p-53
    }

    func statusError(_ error: DocDBError) -> StatusError {
        StatusError(error, wallNanoseconds: executor.wallNanoseconds)
    }

    // MARK: Talking to sessions

    /// Hands an event to a session, after those that wait already.
    func tell(_ connection: Connection, _ event: SessionEvent) { events.append((connection, event)) }

    /// Hands over all events that wait, and does what the sessions want done, which may make further ones.
    ///
    /// One event at a time with all of its effects, so that the frames of a session go out in its order.
    func drain() {
        guard !isDraining else { return }
        isDraining = true
        defer { isDraining = false }
        var next = 0
        while next < events.count {
            let (connection, event) = events[next]
            next += 1
            if next >= 256 {
                events.removeFirst(next)
                next = 0
            }
            handOver(event, to: connection)
        }
        events.removeAll(keepingCapacity: true)
    }

    private func handOver(_ event: SessionEvent, to connection: Connection) {
        if case .closed = event {} else if connection.state == .ending { return }
        if connection.isEstablished { handOverCommits(to: connection) }
        let time = sessionTime
        let effects = connection.session.handle(event, at: time)
        for case .applied(let count, _) in effects where count > 0 {
            let nanoseconds = executor.monotonicNanoseconds &- time.monotonicNanoseconds
            traffic.countApplied(count, seconds: Double(nanoseconds) / 1_000_000_000)
        }
        perform(effects, connection)
    }

    /// Tells a session of the commits so far, so that it knows which ones to look for in the log itself.
    private func handOverCommits(to connection: Connection) {
        guard let news = router.take(session: connection.number, after: connection.committedThrough) else { return }
        connection.committedThrough = news.through
        perform(connection.session.handle(.committed(news.dirty, through: news.through), at: sessionTime), connection)
        guard !news.evicted.isEmpty, connection.state != .ending else { return }
        perform(connection.session.handle(.evicted(news.evicted), at: sessionTime), connection)
    }

    var sessionTime: SessionTime {
        SessionTime(monotonicNanoseconds: executor.monotonicNanoseconds, wallNanoseconds: executor.wallNanoseconds)
    }

    /// Commits were made: tells the sessions that they concern, and what follows from them.
    private func pump() {
        let (gathered, sessions) = router.beginPump()
        for number in sessions {
            // The event itself says nothing: what gathered goes before it.
            if let connection = connections[number] { tell(connection, .batchEnded) }
        }
        for (reference, peers) in gathered.returned { askAgain(reference, toldBy: peers) }
        evictLeaving(gathered.leaving, entering: gathered.entering)
    }
}

/// News of a document that was not joined.
package struct ApartNews: Sendable {
    package var document: ApartDocument
    /// Nil where it is settled.
    package var isSettled: Bool
}
