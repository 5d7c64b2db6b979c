import DocDBCore
import DocDBSync
import SyncModel
import Testing

@Suite("Handshakes of sessions")
struct SessionHandshakeTests {
    private static let key = [UInt8](repeating: 7, count: 32)

    @Test("Peers of one app id establish a session and hear each other's names")
    func playground() {
        let pair = SessionPair()
        pair.connect()
        pair.settle()
        #expect(pair.left.isEstablished && pair.right.isEstablished)
        #expect(pair.left.replica.storage.peers.map(\.name) == ["right"])
        #expect(pair.right.replica.storage.peers.map(\.name) == ["left"])
    }

    @Test("Peers with the same shared key establish a session")
    func sharedKey() throws {
        let pair = SessionPair(authenticators: [
            try SharedKeyAuthenticator(appID: "cars", key: Self.key),
            try SharedKeyAuthenticator(appID: "cars", key: Self.key),
        ])
        pair.connect()
        pair.settle()
        #expect(pair.left.isEstablished && pair.right.isEstablished)
    }

    @Test("A peer with another key is refused before it hears anything")
    func otherKey() throws {
        let pair = SessionPair(authenticators: [
            try SharedKeyAuthenticator(appID: "cars", key: Self.key),
            try SharedKeyAuthenticator(appID: "cars", key: [UInt8](repeating: 8, count: 32)),
        ])
        pair.connect()
        pair.settle()
        #expect(!pair.left.isEstablished && !pair.right.isEstablished)
        #expect(pair.left.closed?.code == CloseCode.proofFailed)
        #expect(pair.left.sentMessages.allSatisfy { if case .interest = $0 { false } else { true } })
    }

    @Test("A shared key of fewer than 32 bytes is refused")
    func shortKey() {
        #expect(throws: DocDBError.self) {
            _ = try SharedKeyAuthenticator(appID: "cars", key: [UInt8](repeating: 1, count: 31))
        }
    }

    @Test("A proof sent back to its maker proves nothing", arguments: [true, false])
    func reflection(isInitiator: Bool) throws {
        let pair = SessionPair(authenticators: [
            try SharedKeyAuthenticator(appID: "cars", key: Self.key),
            try SharedKeyAuthenticator(appID: "cars", key: Self.key),
        ])
        let victim = isInitiator ? 0 : 1
        pair.makeSession(victim)
        pair.tell(victim, .opened(channelBinding: nil))
        // The attacker knows the app, not the key: a hello of its own, and then the victim's proof.
        guard case .hello(var hello)? = try MessageCodec.message(pair.sides[victim].sent[0]) else {
            Issue.record("the first message is no hello")
            return
        }
        hello.storeID = pair.freshID()
        hello.nonce = pair.freshID()
        pair.tell(victim, .received(MessageCodec.frame(.hello(hello), compresses: false)))
        let proof = try #require(pair.sides[victim].sent.last)
        pair.tell(victim, .received(proof))
        #expect(!pair.sides[victim].isEstablished)
        #expect(pair.sides[victim].closed?.code == CloseCode.proofFailed)
    }

    @Test("A proof binds the roles, both hellos and the channel")
    func binding() throws {
        let authenticator = try SharedKeyAuthenticator(appID: "cars", key: Self.key)
        let time = SessionTime(monotonicNanoseconds: 0, wallNanoseconds: 0)
        let transcript = HandshakeTranscript(
            proverIsInitiator: true, proverHello: [1], verifierHello: [2], channelBinding: [3])
        let proof = try authenticator.prove(transcript, at: time)
        #expect(try authenticator.judge(proof, transcript, grant: nil, at: time) != nil)
        var changed: [HandshakeTranscript] = []
        for change in [
            { $0.proverIsInitiator = false }, { $0.proverHello = [2] }, { $0.verifierHello = [1] },
            { $0.channelBinding = nil }, { $0.channelBinding = [4] },
        ] as [(inout HandshakeTranscript) -> Void] {
            var other = transcript
            change(&other)
            changed.append(other)
        }
        for other in changed {
            #expect(throws: DocDBError.self) { _ = try authenticator.judge(proof, other, grant: nil, at: time) }
        }
        let other = try SharedKeyAuthenticator(appID: "boats", key: Self.key)
        #expect(throws: DocDBError.self) { _ = try other.judge(proof, transcript, grant: nil, at: time) }
    }

    @Test("Two apps, two kinds of identity or two protocols do not meet", arguments: 0..<3)
    func mismatches(_ kind: Int) throws {
        let other: any SessionAuthenticator =
            switch kind {
            case 0: PlaygroundAuthenticator(appID: "boats")
            case 1: try SharedKeyAuthenticator(appID: "cars", key: Self.key)
            default: PlaygroundAuthenticator(appID: "cars")
            }
        let pair = SessionPair(authenticators: [PlaygroundAuthenticator(appID: "cars"), other])
        pair.makeSession(0)
        pair.makeSession(1) {
            if kind == 2 { ($0.hello.lowestVersion, $0.hello.highestVersion) = (2, 3) }
        }
        for index in 0..<2 { pair.tell(index, .opened(channelBinding: nil)) }
        pair.settle()
        let code = [CloseCode.appMismatch, CloseCode.identityMismatch, CloseCode.versionMismatch][kind]
        #expect(pair.left.closed?.code == code)
        #expect(pair.right.closed?.code == code)
    }

    @Test("A copy of a store is refused, with the remedy")
    func sameStore() {
        let pair = SessionPair()
        pair.makeSession(0)
        pair.tell(0, .opened(channelBinding: nil))
        guard case .hello(var hello)? = pair.left.sentMessages.first else {
            Issue.record("the first message is no hello")
            return
        }
        hello.nonce = pair.freshID()
        pair.tell(0, .received(MessageCodec.frame(.hello(hello), compresses: false)))
        #expect(pair.left.closed?.code == CloseCode.sameStore)
        #expect(pair.left.closed?.message.contains("backup") ?? false)
    }

    @Test("A handshake that takes too long ends")
    func handshakeTimeout() throws {
        let pair = SessionPair()
        pair.makeSession(0)
        pair.tell(0, .opened(channelBinding: nil))
        let wake = try #require(pair.left.wake)
        #expect(wake == pair.monotonic + SyncLimits.handshakeNanoseconds)
        pair.monotonic = wake - 1
        pair.tell(0, .tick)
        #expect(pair.left.closed == nil)
        pair.monotonic = wake
        pair.tell(0, .tick)
        #expect(pair.left.closed?.code == CloseCode.timeout)
    }

    @Test("A silent peer is asked for a sign of life, then given up")
    func keepalive() {
        let pair = SessionPair()
        pair.connect()
        pair.settle()
        pair.left.sent = []
        pair.monotonic += 40 * SessionPair.second
        pair.tell(0, .tick)
        #expect(pair.left.sentMessages.contains { if case .ping = $0 { true } else { false } })
        // An answer keeps it going.
        while pair.deliver(to: 1) {}
        while pair.deliver(to: 0) {}
        pair.monotonic += 40 * SessionPair.second
        pair.tell(0, .tick)
        #expect(pair.left.closed == nil)
        pair.monotonic += 40 * SessionPair.second
        pair.tell(0, .tick)
        #expect(pair.left.closed?.code == CloseCode.keepaliveTimeout)
    }

    @Test("Who is told to end says so to the peer, and both are done")
    func orderlyClose() {
        let pair = SessionPair()
        pair.connect()
        pair.settle()
        pair.tell(0, .close(code: CloseCode.closing, message: "the app stops"))
        pair.settle()
        #expect(pair.left.closed?.code == CloseCode.closing)
        #expect(pair.right.closed?.code == CloseCode.closing)
        #expect(pair.right.closed?.message == "the app stops")
        #expect(pair.left.session.hasEnded && pair.right.session.hasEnded)
    }
}
