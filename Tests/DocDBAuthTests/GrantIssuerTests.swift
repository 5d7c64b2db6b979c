import DocDBAuth
import DocDBCore
import Testing

@Suite("Issuing, certificates and revocation")
struct GrantIssuerTests {
    private let world: GrantWorld

    init() throws { world = try GrantWorld() }

    @Test(
        "a grant lasts the least of what provider, configuration, key and the limit allow",
        arguments: [
            (nil, 60, 100_000, 60), (30, 60, 100_000, 30), (300, 60, 100_000, 60), (300, 600, 200, 200),
            (nil, .max, 10_000_000, 31 * 86_400), (1, 60, 100_000, 1),
        ] as [(Int64?, Int64, Int64, Int64)])
    func lifetime(_ provider: Int64?, _ configured: Int64, _ key: Int64, _ expected: Int64) throws {
        let issuer = try world.issuer([(world.hub, try world.certificate(until: key))])
        let request = try world.request(expiresIn: provider, maxGrantSeconds: configured)
        #expect(try issuer.issue(request, now: vectorTime).grant.expiresAt == vectorTime.adding(expected))
    }

    @Test("where no second is left there is no grant", arguments: [0, -1, -60])
    func nothingLeft(_ seconds: Int64) throws {
        let issuer = try world.issuer([(world.hub, try world.certificate())])
        let request = try world.request(expiresIn: seconds)
        #expect(outcome { try issuer.issue(request, now: vectorTime) } == Outcome(.authenticationFailed, "expired"))
    }

    @Test("a grant that would not fit is refused, and so is one too deep to write")
    func size() throws {
        let issuer = try world.issuer([(world.hub, try world.certificate())])
        let long = "a == '" + String(repeating: "x", count: AuthenticationLimits.grantByteCount) + "'"
        let permissions = try Permissions(read: .queriesByCollection(["cars": [long]]), write: .nothing)
            .bound(to: PermissionBinding(userID: "auth|u"))
        #expect(
            outcome { try issuer.issue(world.request(permissions: permissions), now: vectorTime) }
                == Outcome(.limitReached))
        let deep = (0..<63).reduce(Value.int(1)) { value, _ in [value] }
        #expect(
            outcome { try issuer.issue(world.request(clientInfo: deep), now: vectorTime) } == nil)
        #expect(
            outcome { try issuer.issue(world.request(clientInfo: [deep]), now: vectorTime) }
                == Outcome(.documentTooDeep))
    }

    @Test("keys rotate with overlap: the newest valid one signs, and grants of the old one stay good")
    func rotation() throws {
        let old = try world.certificate(world.hub, from: -1000, until: 1000)
        let new = try world.certificate(world.other, from: 500, until: 5000)
        let issuer = try world.issuer([(world.hub, old), (world.other, new)])
        let verifier = try world.verifier([old, new])
        let first = try issuer.issue(world.request(maxGrantSeconds: 300), now: vectorTime.adding(499))
        #expect(first.certificate == old.text)
        let second = try issuer.issue(world.request(maxGrantSeconds: 300), now: vectorTime.adding(500))
        #expect(second.certificate == new.text)
        #expect(outcome { try world.verify(first.text, with: verifier, at: 600) } == nil)
        #expect(outcome { try world.verify(second.text, with: verifier, at: 600) } == nil)
        #expect(issuer.certificates(now: vectorTime.adding(600)) == [old.text, new.text])
        #expect(issuer.certificates(now: vectorTime.adding(1000)) == [new.text])
        #expect(
            outcome { try issuer.issue(world.request(), now: vectorTime.adding(5000)) }
                == Outcome(.invalidConfiguration))
    }

    @Test("certificates count for their time, their app and their use alone")
    func certificates() throws {
        let grant = TokenVectors.grant
        let ended = try world.verifier([try world.certificate(until: 5)])
        #expect(
            outcome { try world.verify(grant, with: ended, at: 5) } == Outcome(.invalidGrant, "certificateExpired"))
        let early = try world.verifier([try world.certificate(from: 10)])
        #expect(outcome { try world.verify(grant, with: early) } == Outcome(.invalidGrant, "certificateExpired"))
        let peerOnly = try world.verifier([try world.certificate(uses: [.peer])])
        #expect(outcome { try world.verify(grant, with: peerOnly) } == Outcome(.invalidGrant, "certificateExpired"))
        let signOnly = try world.verifier([try world.certificate(uses: [.sign])])
        #expect(signOnly.hubCertificate(of: world.hub.publicKey, now: vectorTime) == nil)
        let known = try world.verifier()
        #expect(known.hubCertificate(of: world.hub.publicKey, now: vectorTime.adding(100_000)) == nil)
        #expect(
            outcome { try world.verify(grant, with: GrantVerifier(appID: "cars-app", roots: [world.root.publicKey])) }
                == Outcome(.invalidGrant, "unknownKey"))
    }

    @Test("a certificate of another root, another app, or of the hub itself is refused")
    func foreignCertificates() throws {
        var verifier = GrantVerifier(appID: "cars-app", roots: [world.root.publicKey])
        func learn(_ certificate: HubCertificate) -> Outcome? {
            outcome { try verifier.learn(certificate: certificate.text, now: vectorTime) }
        }
        #expect(learn(try world.certificate(root: world.other)) == Outcome(.invalidGrant, "unknownKey"))
        #expect(learn(try world.certificate(world.peer, root: world.hub)) == Outcome(.invalidGrant, "unknownKey"))
        #expect(learn(try world.certificate(appID: "boats-app")) == Outcome(.invalidGrant, "wrongAudience"))
        #expect(learn(try world.certificate()) == nil)
    }

    @Test("of two certificates of one key the longer one counts, whatever their order")
    func renewedCertificate() throws {
        let short = try world.certificate(until: 100)
        let long = try world.certificate(until: 1000)
        for certificates in [[short, long], [long, short]] {
            let verifier = try world.verifier(certificates)
            #expect(verifier.hubCertificate(of: world.hub.publicKey, now: vectorTime.adding(500)) == long)
        }
    }

    @Test("a revoked user's grants of this second and before are refused, and a login at once gives a good one")
    func revokedUser() throws {
        let issuer = try world.issuer([(world.hub, try world.certificate())])
        let verifier = try world.verifier()
        let grant = try issuer.issue(world.request(), now: vectorTime)
        let other = try issuer.issue(world.request(userID: "auth|user-2"), now: vectorTime)
        let revocation = try issuer.revoke(.user("auth|user-1"), sequence: 1, now: vectorTime)
        var list = RevocationList()
        #expect(try list.add(try verifier.verify(revocation: revocation.text), now: vectorTime))
        #expect(outcome { try world.verify(grant.text, revocations: list) } == Outcome(.grantRevoked))
        #expect(outcome { try world.verify(other.text, revocations: list) } == nil)
        let next = try issuer.issue(world.request(), now: vectorTime, revocations: list)
        #expect(next.grant.issuedAt == vectorTime.adding(1))
        #expect(outcome { try world.verify(next.text, revocations: list) } == nil)
    }

    @Test("one grant can be revoked alone")
    func revokedGrant() throws {
        let issuer = try world.issuer([(world.hub, try world.certificate())])
        let first = try issuer.issue(world.request(), now: vectorTime)
        let second = try issuer.issue(world.request(), now: vectorTime)
        var list = RevocationList()
        let revocation = try issuer.revoke(.grant(ExactString(first.grant.id)), sequence: 1, now: vectorTime)
        _ = try list.add(revocation, now: vectorTime)
        #expect(outcome { try world.verify(first.text, revocations: list) } == Outcome(.grantRevoked))
        #expect(outcome { try world.verify(second.text, revocations: list) } == nil)
    }

    @Test("the list keeps the wider of two entries, forgets what can no longer matter, and is idempotent")
    func list() throws {
        let issuer = try world.issuer([(world.hub, try world.certificate())])
        let narrow = try issuer.revoke(.user("auth|user-1"), sequence: 1, now: vectorTime)
        let wide = try issuer.revoke(.user("auth|user-1"), sequence: 2, now: vectorTime.adding(50))
        let other = try issuer.revoke(.user("auth|user-2"), sequence: 3, now: vectorTime.adding(60))
        for order in [[narrow, wide, other], [wide, narrow, other], [other, wide, narrow, wide]] {
            var list = RevocationList()
            for entry in order { _ = try list.add(entry, now: vectorTime) }
            #expect(list.count == 2)
            #expect(list.earliestIssue(for: "auth|user-1") == vectorTime.adding(51))
            #expect(list.entries(after: 0) == [wide, other])
            #expect(list.entries(after: 2) == [other])
            #expect(list.highestSequence == 3)
            #expect(try !list.add(wide, now: vectorTime))
            list.forget(now: wide.forgetAfter)
            #expect(list.count == 1)
            #expect(try !list.add(wide, now: wide.forgetAfter))
        }
    }

    @Test("revocations that no hub made, or for another app, are refused")
    func foreignRevocations() throws {
        let verifier = try world.verifier()
        let stranger = try GrantIssuer(
            appID: "cars-app",
            keys: [.init(pair: world.other, certificate: try world.certificate(world.other, root: world.peer))])
        let entry = try stranger.revoke(.user("auth|user-1"), sequence: 1, now: vectorTime)
        #expect(outcome { try verifier.verify(revocation: entry.text) } == Outcome(.invalidGrant, "unknownKey"))
        let late = try world.issuer([(world.hub, try world.certificate(until: 1_000_000))])
            .revoke(.user("auth|user-1"), sequence: 1, now: vectorTime.adding(200_000))
        #expect(outcome { try verifier.verify(revocation: late.text) } == Outcome(.invalidGrant, "expired"))
    }
}
