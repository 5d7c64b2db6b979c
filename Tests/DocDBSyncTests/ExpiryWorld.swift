import DocDBAuth
import DocDBCore
import DocDBReplication
import DocDBStorage
import DocDBSync
import SyncModel

/// A hub's keys and a user's grant of two seconds, made once for many runs.
struct ExpiryKeys {
    static let appID = "com.example.cars"
    static let issued = UnixTime(seconds: 1_800_000_000)
    static let grantSeconds: Int64 = 2
    /// Nanoseconds from the issue of the grant to its end.
    static let lifetime = UInt64(grantSeconds) * 1_000_000_000

    private let root: PeerKeyPair
    private let hubPair: PeerKeyPair
    private let certificate: HubCertificate
    private let devicePair: PeerKeyPair
    private let credentials: Credentials

    init() throws {
        root = try PeerKeyPair.generate()
        hubPair = try PeerKeyPair.generate()
        devicePair = try PeerKeyPair.generate()
        certificate = try HubCertificate.issue(
            for: hubPair.publicKey, appID: Self.appID, validFrom: Self.issued.adding(-86_400),
            expiresAt: Self.issued.adding(86_400), root: root)
        let issuer = try GrantIssuer(
            appID: Self.appID, keys: [GrantIssuer.Key(pair: hubPair, certificate: certificate)])
        let identity = try ProviderIdentity(
            userID: try UserID.make(provider: "test", subject: "alice"), expiresAt: nil,
            permissions: Permissions(read: .everything, write: .everything))
        let bound = try identity.boundPermissions()
        let issued = try issuer.issue(
            GrantIssuer.Request(
                identity: identity, permissions: bound, epoch: PermissionEpoch(number: 1, hash: try bound.hash()),
                peer: devicePair.publicKey, maxGrantSeconds: Self.grantSeconds), now: Self.issued)
        credentials = try Credentials(
            LoginAnswer.Accepted(
                grant: issued.text, certificates: issuer.certificates(now: Self.issued), roots: [root.publicKey],
                time: Self.issued),
            appID: Self.appID, peer: devicePair.publicKey, pinnedRoots: [])
    }

    func hubAuthenticator() throws -> OnlineAuthenticator {
        let authenticator = OnlineAuthenticator(
            pair: hubPair, verifier: GrantVerifier(appID: Self.appID, roots: [root.publicKey]))
        try authenticator.present(hub: certificate, now: Self.issued)
        return authenticator
    }

    /// The device's, as just after the login.
    func deviceAuthenticator() throws -> OnlineAuthenticator {
        let authenticator = OnlineAuthenticator(
            pair: devicePair, verifier: GrantVerifier(appID: Self.appID, roots: []))
        try authenticator.present(credentials, now: Self.issued)
        authenticator.resetTime(to: Self.issued)
        return authenticator
    }
}

/// A hub and a device on one link around the end of the device's grant: time, latencies, writes and faults by a seed.
///
/// Times are nanoseconds of true time since the grant was issued.
final class ExpiryWorld {
    /// One end of the link.
    final class Side {
        let replica: ModelReplica
        let authenticator: OnlineAuthenticator
        let session: Session
        /// The wall clock's error.
        var wallError: Int64 = 0
        /// Until when it does nothing, as its machine sleeps.
        var suspendedUntil: UInt64 = 0
        /// When what it sent last arrives: links keep the order.
        var lastArrival: UInt64 = 0
        var dirty: [DirtyDocument] = []
        var monotonicOrigin: UInt64 = 0
        var hasEnded = false
        var isTimerSet = false

        init(_ replica: ModelReplica, _ authenticator: OnlineAuthenticator, _ session: Session) {
            (self.replica, self.authenticator, self.session) = (replica, authenticator, session)
        }
    }

    enum Event {
        case open, deliver([UInt8]), write, timer
        case setClock(Int64)
        case suspend(UInt64)
    }

    private var random: SeededGenerator
    private(set) var sides: [Side] = []
    private var queue: [(time: UInt64, order: Int, side: Int, event: Event)] = []
    private var order = 0
    private var now: UInt64 = 0
    private var freshCount: UInt64 = 0

    /// When frames with documents were sent, and when documents were joined.
    private(set) var sent: [UInt64] = []
    private(set) var joined: [UInt64] = []
    private(set) var description = ""

    init(seed: UInt64, _ keys: ExpiryKeys) throws {
        random = SeededGenerator(seed: seed)
        for index in 0..<2 {
            let authenticator = index == 0 ? try keys.hubAuthenticator() : try keys.deviceAuthenticator()
            let replica = ModelReplica(makeFreshID: { [unowned self] in random.bytes(16) })
            var hello = Hello()
            hello.nonce = random.bytes(16)
            let nonce = random.bytes(16)
            let own = OwnActor(peerKey: authenticator.peerKey, nonce: nonce)
            replica.storage.actor = own.id
            hello.actors = [Hello.OwnedActor(actor: own.id, nonce: nonce)]
            let session = Session(
                configuration: SessionConfiguration(isInitiator: index == 1, hello: hello), replica: replica,
                authenticator: authenticator)
            let side = Side(replica, authenticator, session)
            side.monotonicOrigin = random.next() >> 8
            replica.onCommit = { [unowned side] changes, sequence in
                side.dirty += changes.map {
                    DirtyDocument(reference: $0.reference, first: sequence, matchedBefore: $0.before != nil)
                }
            }
            sides.append(side)
            // As a hub does that starts, and a device that logs in.
            _ = authenticator.judgedNanoseconds(at: time(side))
        }
        plan()
    }

    // MARK: The plan of a run

    /// A moment of the run; every other one within two milliseconds of the end, or just there.
    private func moment() -> UInt64 {
        switch random.below(8) {
        case 0: ExpiryKeys.lifetime - 1
        case 1: ExpiryKeys.lifetime
        case 2...4: ExpiryKeys.lifetime - 2_000_000 + UInt64(random.below(4_000_000))
        default: UInt64(random.below(3_000_000_000))
        }
    }

    private func plan() {
        let start = UInt64(random.below(1_000_000_000))
        for index in sides.indices { schedule(.open, at: start, index) }
        for _ in 0..<16 { schedule(.write, at: moment(), random.below(2)) }
        guard random.below(4) > 0 else { return }
        for index in sides.indices where random.below(2) == 0 {
            // Before the link is opened, too.
            let seconds = random.below(2) == 0 ? 1 + random.below(90) : 1 + random.below(86_400)
            schedule(.setClock(-Int64(seconds) * 1_000_000_000), at: UInt64(random.below(2_100_000_000)), index)
            note("clock \(index) back \(seconds) s")
        }
        if random.below(2) == 0 {
            let length = 1 + UInt64(random.below(2_000_000_000))
            schedule(.suspend(length), at: UInt64(random.below(2_000_000_000)), 1)
            note("device suspended \(length) ns")
        }
    }

    private func note(_ text: String) { description += (description.isEmpty ? "" : ", ") + text }

    private func schedule(_ event: Event, at time: UInt64, _ side: Int) {
        order += 1
        queue.append((time, order, side, event))
    }

    // MARK: Running

    /// Runs to the end, and then one second further.
    func run() throws {
        while let index = queue.indices.min(by: {
            (queue[$0].time, queue[$0].order) < (queue[$1].time, queue[$1].order)
        }) {
            let (time, _, number, event) = queue.remove(at: index)
            guard time < 3 * ExpiryKeys.lifetime else { continue }
            let side = sides[number]
            // What comes for a machine that sleeps waits in its order; its clocks go on.
            guard time >= side.suspendedUntil else {
                schedule(event, at: side.suspendedUntil, number)
                continue
            }
            now = max(now, time)
            try perform(event, number)
        }
    }

    private func perform(_ event: Event, _ number: Int) throws {
        let side = sides[number]
        side.replica.wall = wall(side)
        switch event {
        case .open: tell(number, .opened(channelBinding: nil))
        case .deliver(let frame):
            tell(number, .received(frame))
            tell(number, .batchEnded)
        case .timer:
            side.isTimerSet = false
            tell(number, .tick)
        case .write:
            try side.replica.write([(documentID(Int64(random.below(6))), .set("x", Int64(random.below(1_000))))])
        case .setClock(let error): side.wallError = error
        case .suspend(let length): side.suspendedUntil = now + length
        }
        if !side.dirty.isEmpty {
            let dirty = side.dirty
            side.dirty = []
            tell(number, .committed(dirty, through: side.replica.storage.sequence))
        }
    }

    private func wall(_ side: Side) -> UInt64 {
        UInt64(Int64(ExpiryKeys.issued.nanoseconds + now) + side.wallError)
    }

    private func time(_ side: Side) -> SessionTime {
        SessionTime(monotonicNanoseconds: side.monotonicOrigin + now, wallNanoseconds: wall(side))
    }

    private func tell(_ number: Int, _ event: SessionEvent) {
        let side = sides[number]
        let effects = side.session.handle(event, at: time(side))
        for effect in effects { perform(effect, number) }
        if effects.contains(where: { if case .send = $0 { true } else { false } }) { tell(number, .drained) }
    }

    private func perform(_ effect: SessionEffect, _ number: Int) {
        let side = sides[number]
        switch effect {
        case .send(let frame):
            if Self.hasDocuments(frame) { sent.append(now) }
            side.lastArrival = max(side.lastArrival + 1, arrival())
            schedule(.deliver(frame), at: side.lastArrival, 1 - number)
        case .established:
            let interest = AnnouncedInterest(
                origin: side.replica.storeID, version: 1, hops: 0, interest: .everything)
            tell(number, .interest([interest]))
        case .scope: tell(number, .scoped)
        case .applied(let count, _): if count > 0 { joined.append(now) }
        case .close: side.hasEnded = true
        case .wake(let time):
            // Timers fire late.
            let due = time > side.monotonicOrigin ? time - side.monotonicOrigin : 0
            schedule(.timer, at: max(now, due) + UInt64(random.below(50_000_000)), number)
        default: break
        }
    }

    /// When a frame arrives that is sent now; some in the last nanosecond of the grant, or the one after.
    private func arrival() -> UInt64 {
        let edge = ExpiryKeys.lifetime - UInt64(random.below(2))
        if now < edge, edge - now < 300_000_000, random.below(3) == 0 { return edge }
        return now + UInt64(random.below(random.below(2) == 0 ? 2_000_000 : 200_000_000))
    }

    private static func hasDocuments(_ frame: [UInt8]) -> Bool {
        switch try? MessageCodec.message(frame) {
        case .documents, .commit: true
        default: false
        }
    }
}
