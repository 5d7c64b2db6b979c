import DocDBCore

/// One replication session over one link: a state machine that is told events and answers with effects.
///
/// Nothing here knows sockets, timers or clocks; documents are reached through `Replica` alone. Each side is a subscriber,
/// which pulls from the peer, and a provider, which the peer pulls from; the two pulls are independent. Not thread-safe:
/// all calls of one session come from one serial executor. DESIGN section 8 has the rules, `Schemas/sync-protocol.cddl`
/// the messages.
package final class Session {
    /// How far the session has come.
    enum Phase {
        /// Nothing was sent yet.
        case new
        /// This side's hello was sent, the peer's is awaited.
        case greeting
        /// Both hellos are known; the peer's proof, or its grant, is awaited.
        case proving
        case established
        case ended
    }

    let configuration: SessionConfiguration
    let replica: any Replica
    let authenticator: any SessionAuthenticator

    var phase = Phase.new {
        didSet { if phase == .ended { leaveAccount() } }
    }
    var time = SessionTime(monotonicNanoseconds: 0, wallNanoseconds: 0)
    var effects: [SessionEffect] = []

    var handshake = HandshakeState()
    /// What is known of the peer, as last read or written; its number is zero until the session is established.
    var peer = PeerRecord(storeID: [])
    var gate: Gate!
    /// What this peer itself may do, by the grant that the peer was last sent.
    var ownRights = PeerRights()
    var subscriber = Subscriber()
    var provider = Provider()
    var actors = ActorIndex()
    var flow = FlowControl()
    var timers = SessionTimers()
    /// Computes digests of stored documents, within memory that it keeps.
    var digester: DocumentDigester
    /// Documents that one side has not joined; the tables hold the same. Empty but for trouble.
    var apart = ApartIndex()
    /// What the peer has defined for the pull of this number.
    var receiving: (number: UInt64, dictionary: ReceivingDictionary)?
    /// What the peer's user takes of this store, over all sessions; nil where there are no limits for the peer.
    package internal(set) var account: UserAccount?
    /// The predicates that the peer asks by, as the account has counted them.
    var predicateCount = 0
    /// The limit for which a document was refused last.
    var refusedLimit = UserLimit.actors
    /// The names of collections, by number, and the last one that was asked for.
    var collectionNames: [Int64: String] = [:]
    private var lastCollection: (number: Int64, name: String)?

    package init(
        configuration: SessionConfiguration, replica: any Replica, authenticator: any SessionAuthenticator
    ) {
        self.configuration = configuration
        self.replica = replica
        self.authenticator = authenticator
        digester = DocumentDigester(actors: replica.actors)
    }

    /// Tells the session what has happened; it answers with what is to be done, in this order.
    package func handle(_ event: SessionEvent, at time: SessionTime) -> [SessionEffect] {
        guard phase != .ended else { return [] }
        self.time = time
        do {
            if case .closed = event {} else { try checkExpiry() }
            try process(event)
            if phase == .established { try proceed() }
            if phase != .ended { scheduleWake() }
        } catch {
            let failure = SessionFailure(error)
            // The peer is told only that this store failed; whoever runs it is told what the store said.
            if failure.code == CloseCode.storageFailed, phase != .ended, let error = error as? DocDBError {
                effects.append(.warning(error))
            }
            end(failure)
        }
        defer { effects = [] }
        return effects
    }

    /// How far the peer's clock is ahead of this one, in nanoseconds, as of its hello.
    package var skewNanoseconds: Int64 { handshake.skewNanoseconds }

    /// When the oldest snapshot was made that the peer has not acknowledged, on the monotonic clock; nil where there is none.
    package var oldestFlightNanoseconds: UInt64? { provider.flights.values.map(\.madeNanoseconds).min() }

    /// The version of the protocol that both sides speak, the newest they have in common; nil before both hellos are known.
    package var protocolVersion: UInt64? {
        switch phase {
        case .new, .greeting: return nil
        default:
            guard !handshake.peerHello.isEmpty else { return nil }
            return min(configuration.hello.highestVersion, handshake.hello.highestVersion)
        }
    }

    /// What the peer may do, as it has proven last; nil before it has.
    package var peerRights: PeerRights? { gate?.rights }

    /// Tells whether the session has ended: nothing it is told has an effect any more.
    package var hasEnded: Bool { phase == .ended }

    /// How many documents the session remembers one by one: none when all is quiet.
    package var retainedDocumentCount: Int {
        subscriber.outstanding.count + (subscriber.listed?.count ?? 0) + subscriber.evictedSinceListed.count
            + provider.dirty.count + provider.poked.count + provider.bases.count + provider.known.count
            + provider.held.count + provider.created.count + provider.found.count + provider.listed.count
            + provider.flights.values.reduce(0) { $0 + $1.documents.count }
            + (provider.plan?.references.count ?? 0) + apart.here.count + apart.there.count
            + apart.quarantined.count
    }

    private func process(_ event: SessionEvent) throws {
        switch event {
        case .opened(let channelBinding): try open(channelBinding)
        case .received(let frame): try receive(frame)
        case .close(let code, let message): end(SessionFailure(code, message))
        case .closed: try endSilently()
        case .tick: try tick()
        case .drained: flow.backlogByteCount = 0
        default:
            guard phase == .established else { return }
            try processEstablished(event)
        }
    }

    private func processEstablished(_ event: SessionEvent) throws {
        switch event {
        case .batchEnded:
            try sendAcknowledgements()
            grantRoom(isBatchEnd: true)
        case .interest(let announced): try want(announced)
        case .rights(let rights): try change(rights)
        case .renewed: try renew()
        case .revocations: try checkRevocations()
        case .voided: try giveUpVoided()
        case .scoped: try startPull()
        case .committed(let documents, let through): note(documents, through: through)
        case .evicted(let references): noteEvicted(references)
        case .wanted(let references): ask(for: references)
        case .revert(let reference): try revert(reference)
        case .retry(let reference): offerAgain(reference)
        case .extra(let kind, let bytes): send(.extra(kind: kind, bytes))
        default: break
        }
    }

    /// Does what has become possible: asks, sends what waits, and reads further documents while there is room.
    private func proceed() throws {
        if subscriber.mustAsk { try ask() }
        releaseFrames()
        while flow.hasRoom, isPumpDue {
            try pump()
            releaseFrames()
        }
        try stateTotalIfDue()
        releaseFrames()
    }

    /// Takes a frame of the link.
    private func receive(_ frame: [UInt8]) throws {
        timers.lastReceived = time.monotonicNanoseconds
        timers.isAwaitingPong = false
        let isProven = phase == .established
        let limit = isProven ? SyncLimits.frameByteCount : SyncLimits.frameByteCountBeforeProof
        guard frame.count <= limit else {
            throw SessionFailure(CloseCode.limitReached, "a frame is longer than \(limit) bytes")
        }
        // The peer may know this side's grant already, and so be done with the handshake first.
        if phase == .proving, handshake.proof != nil, MessageCodec.isCompressed(frame) { return try keepEarly(frame) }
        guard let message = try MessageCodec.message(frame, limit: limit, decompresses: isProven) else { return }
        switch phase {
        case .new, .ended: break
        case .greeting, .proving: try receiveHandshake(message, frame)
        case .established: try receive(message, byteCount: frame.count)
        }
    }

    /// Takes a message of a proven peer.
    func receive(_ message: Message, byteCount: Int) throws {
        switch message {
        case .hello, .proof: throw SessionFailure.protocolError("a second handshake came")
        case .grant(let grant): try receiveRenewal(grant)
        case .grantRequest: try sendGrant()
        case .actors(let actors): try prove(actors)
        case .interest(let message): try receive(message)
        case .ranges(let message): try receiveRanges(message)
        case .acknowledge(let message): try receive(message)
        case .reconcile(let message): try receiveReconcile(message)
        case .begin(let message): try receive(message)
        case .documents(let message):
            try countReceived(byteCount)
            try receive(message)
            grantRoom(isBatchEnd: false)
        case .end(let message):
            try receive(message)
            grantRoom(isBatchEnd: false)
        case .commit(let message):
            try countReceived(byteCount)
            try receive(message)
            grantRoom(isBatchEnd: false)
        case .sum(let message): try receive(message)
        case .credit(let bytes): flow.grant(bytes)
        case .extra(let kind, let bytes): effects.append(.extra(kind: kind, bytes))
        case .ping: sendNow(.pong)
        case .pong: break
        case .close(let code, let message):
            try? flush()
            phase = .ended
            effects.append(.close(code: code, message: message))
        }
    }

    /// Ends the session with a last message to the peer.
    func end(_ failure: SessionFailure) {
        guard phase != .ended else { return }
        if phase != .new { sendNow(.close(code: failure.code, message: failure.message)) }
        try? flush()
        phase = .ended
        effects.append(.close(code: failure.code, message: failure.message))
    }

    private func endSilently() throws {
        try? flush()
        phase = .ended
        effects = []
    }

    /// Writes what is worth keeping of the session.
    private func flush() throws {
        guard phase == .established else { return }
        var usage: UserUsage?
        try replica.write { writer in
            guard var record = try writer.peer(storeID: peer.storeID) else { return }
            record.lastSeenNanoseconds = max(record.lastSeenNanoseconds, time.wallNanoseconds)
            if provider.flights.isEmpty, let sent = provider.sent, provider.plan == nil, provider.wasSent {
                record.acknowledgedSequence = max(record.acknowledgedSequence, sent)
            }
            peer = try writer.setPeer(record)
            usage = try saveUsage(writer)
        }
        didSave(usage)
    }

    func isOn(_ rule: SyncRule) -> Bool { !configuration.disabledRules.contains(rule) }

    /// The name of a collection, which must exist.
    func name(ofCollection number: Int64, _ reader: any ReplicaReader) throws -> String {
        if let last = lastCollection, last.number == number { return last.name }
        guard let name = try collectionNames[number] ?? reader.name(ofCollection: number) else {
            throw DocDBError(.corrupted, "a document belongs to a collection that the catalog does not name")
        }
        collectionNames[number] = name
        lastCollection = (number, name)
        return name
    }

    /// The name of a document, stored or not; nil where the reference is unknown.
    func name(of reference: DocumentReference, _ reader: any ReplicaReader) throws -> DocumentName? {
        guard let id = try reader.id(of: reference) else { return nil }
        return DocumentName(collection: try name(ofCollection: reference.collection, reader), id: id)
    }

    /// The reference of a named document, nil where it has none.
    func reference(of name: DocumentName, _ reader: any ReplicaReader) throws -> DocumentReference? {
        guard let collection = try reader.collection(named: name.collection) else { return nil }
        collectionNames[collection] = name.collection
        return try name.id.withUnsafeBytes { try reader.reference(collection: collection, id: $0) }
    }
}

/// The documents apart of one peer, by reference, so that none is looked up for each document that passes.
struct ApartIndex {
    var here: [DocumentReference: ApartDocument] = [:]
    var there: [DocumentReference: ApartDocument] = [:]
    /// The epoch of this peer's rights under which a document was last offered again.
    var retried: [DocumentReference: UInt64] = [:]
    /// Documents that the peer has refused in this session because of a limit of this side's user.
    var limited: Set<DocumentReference> = []
    /// Documents that were asked for again, as hubs take by now what they had refused of them.
    var lifted: Set<DocumentReference> = []
    /// The times for which deltas of the peer wait.
    var quarantined: [DocumentReference: HybridTime] = [:]
}
