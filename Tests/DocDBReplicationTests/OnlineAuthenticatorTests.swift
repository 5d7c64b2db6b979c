import DocDBAuth
import DocDBCore
import DocDBReplication
import DocDBSync
import Testing

@Suite("Proofs of the online identity")
struct OnlineAuthenticatorTests {
    let hub: TestHub
    let time = SessionTime(monotonicNanoseconds: 0, wallNanoseconds: UInt64(TestHub.start) * 1_000_000_000)

    init() throws { hub = try TestHub() }

    private func hello(_ authenticator: OnlineAuthenticator, _ byte: UInt8) -> [UInt8] {
        var hello = Hello()
        hello.appID = authenticator.appID
        hello.identityKind = authenticator.kind
        hello.peerKey = authenticator.peerKey
        hello.nonce = [UInt8](repeating: byte, count: 16)
        hello.storeID = [UInt8](repeating: byte, count: 16)
        return MessageCodec.frame(.hello(hello), compresses: false)
    }

    @Test("A proof counts once, in its session, from its side, over its TLS connection, with its grant")
    func transcript() throws {
        let (judge, device) = (try hub.authenticator(), try hub.device("alice", read: "state == 'x'", write: nil))
        let (own, other) = (hello(device, 1), hello(judge, 2))
        let good = HandshakeTranscript(
            proverIsInitiator: true, proverHello: own, verifierHello: other, channelBinding: [7])
        let proof = try device.prove(good, at: time)
        #expect(try judge.judge(proof, good, grant: nil, at: time) == nil)
        let rights = try #require(try judge.judge(proof, good, grant: device.grant, at: time))
        #expect(rights.userID == "test|alice")
        #expect(
            rights.read == .collections([Interest.Element(collection: "cars", predicate: "state == 'x'")]))
        #expect(rights.write == .everything && !rights.mayRelay && !rights.isHub)
        #expect(rights.expiresNanoseconds == UInt64(TestHub.start + 3600) * 1_000_000_000)
        // Known by now, so it need not be sent again.
        #expect(try judge.judge(proof, good, grant: nil, at: time) == rights)
        var bad = [good, good, good, good]
        bad[0].proverIsInitiator = false
        bad[1].channelBinding = [8]
        bad[2].verifierHello = hello(judge, 3)
        bad[3].proverHello = hello(device, 4)
        for transcript in bad {
            #expect(throws: DocDBError.self) {
                try judge.judge(proof, transcript, grant: device.grant, at: time)
            }
        }
        let foreign = try hub.device("bob", read: nil, write: nil)
        #expect(throws: DocDBError.self) { try judge.judge(proof, good, grant: foreign.grant, at: time) }
        let swapped = Proof(
            bytes: proof.bytes, grantHash: Grant.hash(of: String(decoding: foreign.grant, as: UTF8.self)))
        #expect(throws: DocDBError.self) { try judge.judge(swapped, good, grant: foreign.grant, at: time) }
    }

    @Test("A hub is one by its certificate and its key together")
    func hubProof() throws {
        let (hubSide, device) = (try hub.authenticator(), try hub.device("alice", read: nil, write: nil))
        let transcript = HandshakeTranscript(
            proverIsInitiator: false, proverHello: hello(hubSide, 1), verifierHello: hello(device, 2),
            channelBinding: nil)
        let proof = try hubSide.prove(transcript, at: time)
        let rights = try #require(try device.judge(proof, transcript, grant: hubSide.grant, at: time))
        #expect(rights.isHub && rights.mayRelay && rights.userID == nil)
        // A device that presents the hub's certificate is none.
        let thief = OnlineAuthenticator(
            pair: try PeerKeyPair.generate(), verifier: GrantVerifier(appID: TestHub.appID, roots: [hub.root.publicKey])
        )
        try thief.present(hub: hub.certificate, now: UnixTime(seconds: TestHub.start))
        var stolen = transcript
        stolen.proverHello = hello(thief, 3)
        let forged = try thief.prove(stolen, at: time)
        #expect(throws: DocDBError.self) {
            try device.judge(forged, stolen, grant: thief.grant, at: time)
        }
    }

    @Test("The time goes on with the monotonic clock where the wall clock is set back, until a login sets it anew")
    func carriedOn() throws {
        let device = try hub.device("alice", read: nil, write: nil)
        let start = time.wallNanoseconds
        func judged(_ monotonic: UInt64, _ wall: UInt64) -> UInt64 {
            device.judgedNanoseconds(at: SessionTime(monotonicNanoseconds: monotonic, wallNanoseconds: wall))
        }
        #expect(judged(100, start) == start)
        #expect(judged(107, start - 5_000_000_000) == start + 7)
        #expect(judged(103, start - 5_000_000_000) == start + 7)
        #expect(judged(108, start + 50) == start + 50)
        // Suspended for an hour, with a clock set back by one.
        #expect(judged(108 + 3_600_000_000_000, start) == start + 50 + 3_600_000_000_000)
        device.resetTime(to: UnixTime(seconds: TestHub.start + 9))
        #expect(judged(200 + 3_600_000_000_000, start) == start + 9_000_000_000)
        #expect(judged(.max, .max) == .max)
        #expect(judged(0, 0) == .max)
    }

    @Test("A clock that is set back makes no expired grant valid")
    func setBack() throws {
        let device = try hub.device("alice", read: nil, write: nil, seconds: 10)
        let transcript = HandshakeTranscript(
            proverIsInitiator: true, proverHello: hello(device, 1), verifierHello: hello(try hub.authenticator(), 2),
            channelBinding: nil)
        let late = SessionTime(monotonicNanoseconds: 0, wallNanoseconds: time.wallNanoseconds + 10_000_000_000)
        _ = try device.prove(transcript, at: time)
        #expect(throws: DocDBError.self) { try device.prove(transcript, at: late) }
        #expect(throws: DocDBError.self) { try device.prove(transcript, at: time) }
    }

    @Test("Users whose ids differ in Unicode normalisation alone are two, and neither's epoch counts for the other")
    func normalisation() throws {
        let judge = try hub.authenticator()
        let names = ["zo\u{E9}", "zoe\u{301}"]
        for (name, epoch) in zip(names, [7, 2] as [Int64]) {
            let pair = try PeerKeyPair.generate()
            let device = OnlineAuthenticator(pair: pair, verifier: GrantVerifier(appID: TestHub.appID, roots: []))
            try device.present(
                try hub.credentials(name, for: pair.publicKey, read: nil, write: nil, epoch: epoch),
                now: UnixTime(seconds: TestHub.start))
            let transcript = HandshakeTranscript(
                proverIsInitiator: true, proverHello: hello(device, 1), verifierHello: hello(judge, 2),
                channelBinding: nil)
            let proof = try device.prove(transcript, at: time)
            #expect(try judge.judge(proof, transcript, grant: device.grant, at: time) != nil)
        }
        #expect(judge.memory.epochs.count == 2)
        #expect(judge.memory.epochs[ExactString("test|" + names[1])] == 2)
    }
}
