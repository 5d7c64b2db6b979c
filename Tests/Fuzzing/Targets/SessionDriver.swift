import DocDBCore
import DocDBSync
import SyncModel

/// One side of a session over a replica in memory, without a link; the same from run to run.
final class SessionDriver {
    let replica: ModelReplica
    private(set) var session: Session
    private(set) var closed: String?
    private(set) var isEstablished = false
    /// The frames that were sent and not taken yet.
    var outbox: [[UInt8]] = []
    private var seconds: UInt64 = 0
    private var dirty: [DirtyDocument] = []
    private let side: UInt8

    /// - Parameter side: 0 opens the link, 1 takes it.
    init(side: UInt8, authenticator: any SessionAuthenticator) {
        self.side = side
        var count: UInt16 = 0
        replica = ModelReplica {
            count += 1
            return Self.id(side, count)
        }
        replica.wall = Self.start
        session = Session(
            configuration: SessionConfiguration(isInitiator: side == 0, hello: Self.hello(side, replica)),
            replica: replica, authenticator: authenticator)
        replica.onCommit = { [unowned self] changes, sequence in
            dirty += changes.map {
                DirtyDocument(reference: $0.reference, first: sequence, matchedBefore: $0.before != nil)
            }
        }
    }

    static let appID = "cars"
    private static let start: UInt64 = 1_700_000_000_000_000_000

    private static func id(_ side: UInt8, _ number: UInt16) -> [UInt8] {
        [UInt8](repeating: 0xA0 + side, count: 14) + [UInt8(number >> 8), UInt8(truncatingIfNeeded: number)]
    }

    private static func hello(_ side: UInt8, _ replica: ModelReplica) -> Hello {
        var hello = Hello()
        hello.nonce = id(side, 0xFFFF)
        hello.name = side == 0 ? "left" : "right"
        hello.actors = [Hello.OwnedActor(actor: replica.storage.actor, nonce: id(side, 0xFFFE))]
        return hello
    }

    private var time: SessionTime {
        SessionTime(
            monotonicNanoseconds: (1 + seconds) * 1_000_000_000, wallNanoseconds: Self.start + seconds * 1_000_000_000)
    }

    func pass(seconds more: UInt64) {
        seconds += more
        replica.wall = time.wallNanoseconds
    }

    func tell(_ event: SessionEvent) throws {
        if isEstablished, !dirty.isEmpty {
            let changed = dirty
            dirty = []
            try handle(.committed(changed, through: replica.storage.sequence))
        }
        try handle(event)
    }

    private func handle(_ event: SessionEvent) throws {
        let effects = session.handle(event, at: time)
        try require(closed == nil || effects.isEmpty, "a session that has ended does something")
        for effect in effects { try perform(effect) }
    }

    private func perform(_ effect: SessionEffect) throws {
        switch effect {
        case .send(let frame):
            try require((try? MessageCodec.message(frame)) != nil, "a session sends what is no message")
            outbox.append(frame)
        case .established:
            isEstablished = true
            let interest = AnnouncedInterest(origin: replica.storeID, version: 1, hops: 0, interest: .everything)
            try handle(.interest([interest]))
        case .scope: try handle(.scoped)
        case .close(let code, _):
            try require(code != CloseCode.storageFailed, "what a peer sends ends as a failure of the store")
            closed = code
        default: break
        }
    }

    func write(_ document: UInt8, _ operation: ModelReplica.Operation) throws {
        _ = try replica.write([(Self.documentID(document), operation)])
    }

    func evict(_ document: UInt8) throws {
        guard let reference = replica.storage.references[1]?[Self.documentID(document)] else { return }
        if try replica.evict(reference, force: true) { try tell(.evicted([reference])) }
    }

    /// The id of one of eight documents: a small number.
    private static func documentID(_ document: UInt8) -> [UInt8] { [document & 7] }

    /// Checks that all that the session has stored is what a store may hold.
    func checkReplica() throws {
        for document in replica.storage.documents.values {
            let state: DocumentState
            do {
                state = try document.encoded.withUnsafeBytes { encoded in
                    guard let body = document.body else {
                        return try DocumentState(body: nil, state: encoded, actors: replica.actors)
                    }
                    return try body.withUnsafeBytes { body in
                        try CBOR.validate(body, internedKeyCount: replica.names.count)
                        return try DocumentState(body: body, state: encoded, actors: replica.actors)
                    }
                }
            } catch { throw FuzzFailure(description: "a stored document does not decode: \(error)") }
            try require(state.isSame(as: document.state), "a stored document decodes to another state")
            try require(
                (try? document.id.withUnsafeBytes { try DocumentID(canonicalCBOR: $0) }) != nil,
                "a document is stored under an id that is none")
        }
        for peer in replica.storage.peers {
            try require(
                peer.currentCount == Int64(replica.storage.told[peer.number]?.count ?? 0),
                "the count of what a peer told is wrong")
        }
    }
}
