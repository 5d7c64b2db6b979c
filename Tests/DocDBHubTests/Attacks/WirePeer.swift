import Dispatch
import DocDBAuth
import DocDBCore
import DocDBReplication
import DocDBStorage
import DocDBSync
import DocDBTransport
import Foundation
import Synchronization
import Testing

/// A peer that speaks the wire format over a real WebSocket, keeps every frame it hears, and says what it is told to.
///
/// A session of its own does what an honest peer would, so that lies can be told in the midst of an honest session; without
/// one, it says nothing by itself.
final class WirePeer: LinkHandler, @unchecked Sendable {
    // Unchecked: what has no lock is touched on the queue only.

    struct Heard {
        var frames: [[UInt8]] = []
        /// The frames that the session has sent.
        var sent: [[UInt8]] = []
        var hello: Hello?
        var isEstablished = false
        /// The close message of the other side, or why the session ended itself.
        var close: (code: String, message: String)?
        var linkClose: LinkCloseReason?
        var drainCount = 0

        var messages: [Message] { frames.compactMap { try? MessageCodec.message($0) } }
        /// The number of the other side's last interest.
        var number: UInt64? {
            messages.reversed().lazy.compactMap {
                if case .interest(let interest) = $0 { interest.number } else { nil }
            }
            .first
        }
        var acknowledgements: [Acknowledge] {
            messages.compactMap { if case .acknowledge(let message) = $0 { message } else { nil } }
        }
        /// The contents of all document frames, decompressed.
        var contents: [[UInt8]] {
            messages.compactMap { message in
                switch message {
                case .documents(let documents): documents.content
                case .commit(let commit): commit.content
                default: nil
                }
            }
        }
        /// Whether all that was asked for has come.
        var isCurrent: Bool {
            messages.contains { if case .end(let end) = $0 { end.position != nil } else { false } }
        }

        /// Whether a text is anywhere in what came.
        func contains(_ text: String) -> Bool {
            let needle = Array(text.utf8)
            return (frames + contents).contains { Self.contains($0, needle) }
        }

        private static func contains(_ bytes: [UInt8], _ needle: [UInt8]) -> Bool {
            guard bytes.count >= needle.count else { return false }
            return (0...(bytes.count - needle.count)).contains { start in
                bytes[start] == needle[0] && bytes[start..<(start + needle.count)].elementsEqual(needle)
            }
        }
    }

    let authenticator: any SessionAuthenticator
    let replica: RenamedReplica
    private let directory: String
    private let transport: WebSocketTransport
    private let queue = DispatchQueue(label: "wire-peer")
    private let heardState = Lock(Heard())
    private let link = Lock<(any Link)?>(nil)
    private var session: Session?
    private let interest: Interest?
    private let change: @Sendable (inout Hello) -> Void
    private let snapshots = Lock<UInt64>(1_000_000)

    /// - Parameters:
    ///   - interest: what the session asks for; nil for nothing.
    ///   - storeID: the store that it says to be, in place of its own.
    ///   - hello: changes what the hello says; it is signed as it is sent.
    init(
        _ authenticator: any SessionAuthenticator, interest: Interest? = nil,
        storeID: [UInt8]? = nil, hello: @escaping @Sendable (inout Hello) -> Void = { _ in }
    ) throws {
        self.authenticator = authenticator
        self.interest = interest
        change = hello
        directory = FileManager.default.temporaryDirectory.path + "/docdb-wire-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
        var options = StoreOptions()
        options.peerKey = authenticator.peerKey
        replica = RenamedReplica(
            try StoreReplica(Store(path: directory + "/wire.docdb", options: options)), storeID: storeID)
        transport = try WebSocketTransport()
    }

    deinit {
        transport.shutdown()
        try? replica.base.store.close()
        try? FileManager.default.removeItem(atPath: directory)
    }

    var heard: Heard { heardState.withLock { $0 } }
    /// This peer's own actor.
    var actor: ActorID { get throws { try #require(try replica.base.ownActors().last).id } }

    // MARK: Connecting

    /// Opens a link, and has a session begin on it.
    func connect(_ url: String, hasSession: Bool = true) async throws {
        if hasSession {
            var hello = Hello()
            hello.nonce = Platform.randomBytes(count: 16)
            hello.name = "mallory"
            hello.actors = try replica.base.ownActors().map { Hello.OwnedActor(actor: $0.id, nonce: $0.nonce) }
            change(&hello)
            let configuration = SessionConfiguration(isInitiator: true, hello: hello)
            queue.sync { [self] in
                session = Session(configuration: configuration, replica: replica, authenticator: authenticator)
            }
        }
        let link = try await withCheckedThrowingContinuation { continuation in
            transport.connect(to: url, options: ConnectOptions()) { continuation.resume(with: $0) }
        }
        link.frameByteLimit = SyncLimits.frameByteCount
        self.link.withLock { $0 = link }
        link.start(self)
    }

    /// Connects, and waits until the handshake and what the session does by itself are done.
    ///
    /// A handshake that was not done in time, as may be on a machine with much else to do, is begun anew.
    func establish(_ url: String) async throws {
        for _ in 0..<5 {
            try await connect(url)
            try await eventually { [self] in
                heard.isEstablished && !heard.acknowledgements.isEmpty || heard.close != nil
            }
            guard heard.close?.code == CloseCode.timeout else { break }
            cut()
            try await eventually { [self] in heard.linkClose != nil }
            forget()
        }
        let closed = heard.close
        try #require(closed == nil, "\(closed.map { "\($0)" } ?? "")")
    }

    /// Forgets what was heard, before another link.
    func forget() { heardState.withLock { $0 = Heard() } }

    func cut() { link.withLock { $0 }?.close(.normal()) }
    func setReceiving(_ isReceiving: Bool) { link.withLock { $0 }?.setReceiving(isReceiving) }
    var queuedByteCount: Int { link.withLock { $0?.queuedByteCount ?? 0 } }
    var isOpen: Bool { heardState.withLock { $0.linkClose == nil } }

    // MARK: Saying

    /// Sends a message past the session.
    func say(_ message: Message) { say(MessageCodec.frame(message)) }
    func say(_ frame: [UInt8]) { link.withLock { $0 }?.send(frame) }

    /// Offers a snapshot of documents, and returns what the other side says of it.
    func offer(_ content: [UInt8]) async throws -> Acknowledge {
        let number = try #require(heard.number)
        let snapshot = snapshots.withLock { next in
            next += 1
            return next
        }
        say(.begin(Begin(number: number, snapshot: snapshot)))
        say(.documents(DocumentsMessage(number: number, content: content)))
        say(
            .end(
                End(
                    number: number,
                    position: End.Position(incarnation: [UInt8](repeating: 7, count: 16), sequence: Int64(snapshot)),
                    total: nil)))
        try await eventually { [self] in
            heard.close != nil || heard.acknowledgements.contains { $0.snapshot == snapshot }
        }
        guard let answer = heard.acknowledgements.first(where: { $0.snapshot == snapshot }) else {
            throw DocDBError(.connectionFailed, "the session ended: \(heard.close?.code ?? "")")
        }
        return answer
    }

    /// What became of each document of an offer: nil where it was joined.
    func outcome(_ content: [UInt8]) async throws -> RefusalCode? { try await offer(content).except.first?.code }

    /// Asks for documents by their ids, from where the session has come.
    func ask(for ids: [DocumentID], in collection: String) throws {
        let position = try #require(
            heard.messages.reversed().lazy.compactMap { if case .end(let end) = $0 { end.position } else { nil } }.first
        )
        let epoch = authenticator.ownRights.epoch
        var message = InterestMessage()
        message.number = 1_000
        message.origins = [
            AnnouncedInterest(origin: replica.storeID, version: 2, hops: 0, interest: interest ?? .everything)
        ]
        message.epoch = epoch
        message.cursor = Cursor(
            incarnation: position.incarnation, sequence: position.sequence,
            interestHash: (interest ?? .everything).hash(for: authenticator.ownRights.userID), epoch: epoch)
        message.have = ids.map {
            HeldDocument(name: DocumentName(collection: collection, id: $0.wireBytes), seen: VersionVector())
        }
        say(.interest(message))
    }

    // MARK: Hearing

    func linkDidOpen(_ link: any Link) {
        queue.async { self.tell(.opened(channelBinding: link.info.channelBinding)) }
    }

    func link(_ link: any Link, didReceive frame: [UInt8]) {
        heardState.withLock { heard in
            heard.frames.append(frame)
            switch try? MessageCodec.message(frame) {
            case .hello(let hello): heard.hello = hello
            case .close(let code, let message): heard.close = heard.close ?? (code, message)
            default: break
            }
        }
        queue.async { [self] in
            tell(.received(frame))
            tell(.batchEnded)
        }
    }

    func linkDidDrain(_ link: any Link) { queue.async { self.tell(.drained) } }

    func link(_ link: any Link, didClose reason: LinkCloseReason) {
        heardState.withLock { $0.linkClose = reason }
        queue.async { self.tell(.closed) }
    }

    private func tell(_ event: SessionEvent) {
        guard let session else { return }
        let time = SessionTime(
            monotonicNanoseconds: DispatchTime.now().uptimeNanoseconds,
            wallNanoseconds: Platform.wallClockNanoseconds())
        for effect in session.handle(event, at: time) { perform(effect) }
    }

    private func perform(_ effect: SessionEffect) {
        switch effect {
        case .send(let frame):
            heardState.withLock { $0.sent.append(frame) }
            say(frame)
        case .established:
            heardState.withLock { $0.isEstablished = true }
            if let interest {
                tell(
                    .interest([
                        AnnouncedInterest(origin: replica.storeID, version: 1, hops: 0, interest: interest)
                    ]))
            }
        case .scope: tell(.scoped)
        case .close(let code, let message):
            heardState.withLock { $0.close = $0.close ?? (code, message) }
            link.withLock { $0 }?.close(.normal())
        default: break
        }
    }
}

/// A replica that gives itself out for another store's, where it is told to.
final class RenamedReplica: Replica {
    let base: StoreReplica
    private let otherID: [UInt8]?

    init(_ base: StoreReplica, storeID: [UInt8]?) {
        self.base = base
        otherID = storeID
    }

    var storeID: [UInt8] { otherID ?? base.storeID }
    var names: FieldNames { base.names }
    var actors: ActorTable { base.actors }
    func read<R>(_ body: (any ReplicaReader) throws -> R) throws -> R { try base.read(body) }
    func write<R>(_ body: (any ReplicaWriter) throws -> R) throws -> R { try base.write(body) }
    func synchronize() throws -> Int64 { try base.synchronize() }
}
