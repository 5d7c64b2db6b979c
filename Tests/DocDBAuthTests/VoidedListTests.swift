import DocDBAuth
import DocDBCore
import Testing

@Suite("Notices of refused changes")
struct VoidedListTests {
    private let now = UnixTime(seconds: 1_800_000_000)
    private let root: PeerKeyPair
    private let issuer: GrantIssuer
    private var verifier: GrantVerifier

    init() throws {
        root = try PeerKeyPair.generate()
        let pair = try PeerKeyPair.generate()
        let certificate = try HubCertificate.issue(
            for: pair.publicKey, appID: "app", validFrom: now.adding(-10), expiresAt: now.adding(86_400), root: root)
        issuer = try GrantIssuer(appID: "app", keys: [GrantIssuer.Key(pair: pair, certificate: certificate)])
        verifier = GrantVerifier(appID: "app", roots: [root.publicKey])
        try verifier.learn(certificate: certificate.text, now: now)
    }

    private func notice(
        _ document: UInt64 = 1, actor: UInt64 = 7, after: UInt64 = 3, through: UInt64 = 9, sequence: Int64 = 1,
        at time: UnixTime? = nil
    ) throws -> VoidedNotice {
        try issuer.void(
            VoidedNotice.Subject(
                document: StateDigest(high: document, low: 2), actor: ActorID(high: .max, low: actor)),
            after: HybridTime(rawValue: after), through: HybridTime(rawValue: through), sequence: sequence,
            now: time ?? now)
    }

    @Test("A notice is read back as the hub has signed it, and passes for no certificate, revocation or grant")
    func signed() throws {
        let made = try notice()
        #expect(try verifier.verify(voided: made.text) == made)
        #expect(made.forgetAfter == now.adding(AuthenticationLimits.voidedSeconds))
        #expect(made.text.utf8.count < 700)
        #expect(try GrantVerifier.kind(ofNotice: made.text) == .voided)
        #expect(throws: DocDBError.self) { try verifier.verify(revocation: made.text) }
        let revocation = try issuer.revoke(.user(ExactString("u")), sequence: 1, now: now)
        #expect(throws: DocDBError.self) { try verifier.verify(voided: revocation.text) }
        #expect(try GrantVerifier.kind(ofNotice: revocation.text) == .revocation)
        // Of a hub that is not known, and of one whose key was not valid when it was made.
        #expect(throws: DocDBError.self) { try GrantVerifier(appID: "app", roots: []).verify(voided: made.text) }
        #expect(throws: DocDBError.self) { try notice(at: now.adding(86_400)) }
    }

    @Test("Of one document and actor the newest notice counts, whatever the order in which they come")
    func newest() throws {
        let (first, second) = (try notice(sequence: 1), try notice(after: 9, through: 9, sequence: 2))
        for order in [[first, second], [second, first]] {
            var list = VoidedList()
            var news: [Bool] = []
            for notice in order { news.append(list.add(notice, now: now)) }
            #expect(news == [true, order[0] == first])
            #expect(list.notices(of: first.subject.document) == [second] && list.texts == [second.text])
            #expect(list.holds(second.text) && !list.holds(first.text))
        }
        #expect(second.isLifted && !first.isLifted)
        // What a hub has overruled counts again only with a newer notice.
        var list = VoidedList()
        _ = list.add(first, now: now)
        list.overrule(first.subject)
        #expect(list.notices(of: first.subject.document).isEmpty && list.texts == [first.text])
        let wasNews = [list.add(first, now: now), list.add(try notice(sequence: 3), now: now)]
        #expect(wasNews == [false, true])
        #expect(list.notices(of: first.subject.document).count == 1)
    }

    @Test("Notices are forgotten in their time, and of too many the oldest goes")
    func bounds() throws {
        var list = VoidedList()
        _ = list.add(try notice(1, at: now.adding(-10)), now: now)
        _ = list.add(try notice(2), now: now)
        let isLateNews = list.add(try notice(3), now: now.adding(AuthenticationLimits.voidedSeconds))
        #expect(!isLateNews)
        list.forget(now: now.adding(AuthenticationLimits.voidedSeconds - 1))
        #expect(list.count == 1 && list.notices(of: StateDigest(high: 2, low: 2)).count == 1)
        list = VoidedList()
        let count = AuthenticationLimits.voidedCount
        for number in 1...count { _ = list.add(try notice(UInt64(number), sequence: Int64(number)), now: now) }
        #expect(list.count == count)
        // One that is older than all is no news; a newer one takes the oldest one's place.
        let wasNews = [
            list.add(try notice(0, sequence: 0), now: now), list.add(try notice(9999, sequence: 9999), now: now),
        ]
        #expect(wasNews == [false, true])
        #expect(list.count == count && list.notices(of: StateDigest(high: 1, low: 2)).isEmpty)
        #expect(list.notices(of: StateDigest(high: 2, low: 2)).count == 1)
    }
}
