import DocDBCore
import DocDBSync
import SyncModel

/// Two sessions and the frames between them, under a test's control.
final class SessionPair {
    /// One side: its store, its session, and what the session has said.
    final class Side {
        let replica: ModelReplica
        var authenticator: any SessionAuthenticator
        var session: Session
        var interest = Interest.everything
        var isKeeper = false
        var inbox: [[UInt8]] = []
        var sent: [[UInt8]] = []
        var closed: (code: String, message: String)?
        var warnings: [DocDBError] = []
        var apart: [ApartDocument] = []
        var settled: [DocumentReference] = []
        var wake: UInt64?
        var isEstablished = false
        var progress: [PullProgress] = []
        /// What commits have changed and the session was not told of.
        var dirty: [DirtyDocument] = []

        init(_ replica: ModelReplica, _ authenticator: any SessionAuthenticator, _ session: Session) {
            self.replica = replica
            self.authenticator = authenticator
            self.session = session
        }

        var sentByteCount: Int { sent.reduce(0) { $0 + $1.count } }
        var sentMessages: [Message] { sent.compactMap { try? MessageCodec.message($0) } }
    }

    private(set) var sides: [Side] = []
    var monotonic: UInt64 = 1_000_000_000
    var wall: UInt64 = 1_700_000_000_000_000_000
    var disabledRules: Set<SyncRule> = []
    /// Whether links tell that they have been drained.
    var drains = true
    private var freshCount: UInt64 = 0

    static let second: UInt64 = 1_000_000_000

    init(
        authenticators: [any SessionAuthenticator] = [
            PlaygroundAuthenticator(appID: "cars"), PlaygroundAuthenticator(appID: "cars"),
        ], disabledRules: Set<SyncRule> = []
    ) {
        self.disabledRules = disabledRules
        for authenticator in authenticators {
            let replica = ModelReplica(makeFreshID: { [unowned self] in freshID() })
            replica.wall = wall
            let session = Session(
                configuration: SessionConfiguration(isInitiator: sides.isEmpty, hello: Hello()), replica: replica,
                authenticator: authenticator)
            let side = Side(replica, authenticator, session)
            replica.onCommit = { [unowned side] changes, sequence in
                side.dirty += changes.map {
                    DirtyDocument(reference: $0.reference, first: sequence, matchedBefore: $0.before != nil)
                }
            }
            sides.append(side)
        }
    }

    var left: Side { sides[0] }
    var right: Side { sides[1] }
    var time: SessionTime { SessionTime(monotonicNanoseconds: monotonic, wallNanoseconds: wall) }

    func freshID() -> [UInt8] {
        freshCount += 1
        return (0..<8).map { UInt8(0xA0 + $0) }
            + (0..<8).map { UInt8(truncatingIfNeeded: freshCount >> UInt64(56 - 8 * $0)) }
    }

    func makeSession(_ index: Int, change: (inout SessionConfiguration) -> Void = { _ in }) {
        var hello = Hello()
        hello.nonce = freshID()
        hello.isKeeper = sides[index].isKeeper
        hello.name = index == 0 ? "left" : "right"
        hello.operatingSystem = "Linux"
        hello.softwareVersion = "1.0"
        hello.actors = [Hello.OwnedActor(actor: sides[index].replica.storage.actor, nonce: freshID())]
        var configuration = SessionConfiguration(isInitiator: index == 0, hello: hello)
        configuration.disabledRules = disabledRules
        change(&configuration)
        let side = sides[index]
        side.session = Session(
            configuration: configuration, replica: side.replica, authenticator: side.authenticator)
        side.inbox = []
        side.sent = []
        side.closed = nil
        side.isEstablished = false
    }

    /// Opens a new link between the two.
    func connect() {
        for index in sides.indices { makeSession(index) }
        for index in sides.indices { tell(index, .opened(channelBinding: nil)) }
    }

    func disconnect() {
        for index in sides.indices { tell(index, .closed) }
        for side in sides { side.inbox = [] }
    }

    func tell(_ index: Int, _ event: SessionEvent) {
        let side = sides[index]
        let effects = side.session.handle(event, at: time)
        // In order: whatever a session is told while its effects are performed comes after them.
        for effect in effects { perform(effect, index) }
        if drains, effects.contains(where: { if case .send = $0 { true } else { false } }) { tell(index, .drained) }
    }

    private func perform(_ effect: SessionEffect, _ index: Int) {
        let side = sides[index]
        switch effect {
        case .send(let frame):
            side.sent.append(frame)
            sides[1 - index].inbox.append(frame)
        case .established:
            side.isEstablished = true
            tell(
                index,
                .interest([
                    AnnouncedInterest(origin: side.replica.storeID, version: 1, hops: 0, interest: side.interest)
                ]))
        case .scope: tell(index, .scoped)
        case .close(let code, let message): side.closed = (code, message)
        case .warning(let error): side.warnings.append(error)
        case .apart(let document): side.apart.append(document)
        case .settled(let reference, _, _): side.settled.append(reference)
        case .wake(let time): side.wake = time
        case .progress(let progress): side.progress.append(progress)
        default: break
        }
    }

    /// Delivers the next frame to a side; returns false where there is none.
    @discardableResult
    func deliver(to index: Int) -> Bool {
        guard !sides[index].inbox.isEmpty else { return false }
        let frame = sides[index].inbox.removeFirst()
        tell(index, .received(frame))
        tell(index, .batchEnded)
        return true
    }

    /// Tells the sessions of commits and delivers frames until nothing moves any more.
    func settle(limit: Int = 20_000) {
        var isMoving = true
        var count = 0
        while isMoving, count < limit {
            isMoving = false
            for index in sides.indices where deliver(to: index) { isMoving = true }
            for index in sides.indices where !isMoving && !sides[index].dirty.isEmpty {
                tellDirty(index)
                isMoving = true
            }
            count += 1
        }
    }

    /// Delivers frames until nothing moves, without telling of commits.
    func settleWithoutCommits() {
        var isMoving = true
        while isMoving {
            isMoving = false
            for index in sides.indices where deliver(to: index) { isMoving = true }
        }
    }

    /// Tells a session of the commits at its side.
    func tellDirty(_ index: Int) {
        let dirty = sides[index].dirty
        sides[index].dirty = []
        tell(index, .committed(dirty, through: sides[index].replica.storage.sequence))
    }

    /// Lets time pass, in steps as timers would.
    func pass(seconds: UInt64) {
        for _ in 0..<seconds {
            monotonic += Self.second
            wall += Self.second
            for side in sides { side.replica.wall = wall }
            for index in sides.indices { tell(index, .tick) }
            settle()
        }
    }

    func write(_ index: Int, _ id: [UInt8], _ operations: [ModelReplica.Operation], skew: Int64 = 0) throws {
        wall += 1_000_000
        sides[index].replica.wall = wall
        let written = try sides[index].replica.write(operations.map { (id, $0) }, skew: skew)
        for (reference, peers) in written.returned where !peers.isEmpty { tell(index, .wanted([reference])) }
    }

    /// Evicts at one side, and tells its session.
    func evict(_ index: Int, _ id: [UInt8], force: Bool = true) throws -> Bool {
        guard let reference = sides[index].replica.storage.references[1]?[id],
            try sides[index].replica.evict(reference, force: force)
        else { return false }
        tell(index, .evicted([reference]))
        return true
    }

    /// The visible fields of a document at a side.
    func fields(_ index: Int, _ id: [UInt8]) -> [String: Int64]? {
        let replica = sides[index].replica
        guard let reference = replica.storage.references[1]?[id], let document = replica.storage.documents[reference]
        else { return nil }
        return HistoryAuditor.fields(document.state, replica.names)
    }

    /// What a side counts as told by the other.
    func toldCount(_ index: Int) -> Int64 { sides[index].replica.storage.peers.first?.currentCount ?? 0 }
}

/// The id of a document, a number.
func documentID(_ number: Int64) -> [UInt8] { encoded(DocumentID(number)) }
