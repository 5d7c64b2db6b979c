import DocDBAuth
import DocDBCore
import DocDBQuery
import Testing

@Suite("What a peer may do")
struct PeerAuthorityTests {
    private let world: GrantWorld
    private let verifier: GrantVerifier

    init() throws {
        world = try GrantWorld()
        verifier = try world.verifier()
    }

    private func authority(
        of pair: PeerKeyPair, _ grant: String?, at seconds: Int64 = 0
    ) throws -> PeerAuthority {
        try verifier.authority(
            of: pair.publicKey, presenting: grant, now: vectorTime.adding(seconds), revocations: RevocationList(),
            highestEpoch: { _ in nil })
    }

    @Test("a grant gives its permissions until its expiry, and trust in others' changes only where it says so")
    func user() throws {
        let authority = try authority(of: world.peer, TokenVectors.grant)
        #expect(authority.readFilter("cars") == .everything)
        #expect(authority.writeFilter("cars").description == "owner == 'auth|user-1' && state != 'sold'")
        #expect(authority.writeFilter("boats") == .nothing)
        #expect(!authority.isHub && !authority.mayRelay)
        #expect((authority.userID, authority.epoch) == ("auth|user-1", 3))
        #expect(!authority.isExpired(at: vectorTime.adding(59)))
        #expect(authority.isExpired(at: vectorTime.adding(60)))
        let relay = try self.authority(of: world.peer, world.grant("\"epoch\":3", "\"epoch\":3,\"relay\":true"))
        #expect(relay.mayRelay && !relay.isHub)
    }

    @Test("a certificate makes a hub, with or without a grant, until it ends")
    func hub() throws {
        for grant in [nil, "", TokenVectors.grant] {
            let authority = try authority(of: world.hub, grant)
            #expect(authority.isHub && authority.mayRelay)
            #expect(authority.writeFilter("cars") == .everything)
            #expect(authority.userID == nil)
            #expect(authority.expiresAt == vectorTime.adding(100_000))
        }
        #expect(
            outcome { try authority(of: world.hub, nil, at: 100_000) } == Outcome(.invalidGrant, "noGrant"))
    }

    @Test("no grant makes a hub, and without any a peer may do nothing")
    func others() throws {
        let claim = try world.grant("\"epoch\":3", "\"epoch\":3,\"hub\":true,\"uses\":[\"peer\"],\"role\":\"hub\"")
        #expect(try !authority(of: world.peer, claim).isHub)
        #expect(outcome { try authority(of: world.peer, nil) } == Outcome(.invalidGrant, "noGrant"))
        #expect(outcome { try authority(of: world.other, TokenVectors.grant) } == Outcome(.invalidGrant, "anotherPeer"))
    }

    @Test("where there are no users everything is permitted, but for the system's own collections")
    func unrestricted() {
        let authority = PeerAuthority.unrestricted
        #expect(authority.writeFilter("cars") == .everything)
        #expect(authority.writeFilter("__cars") == .nothing)
        #expect(!authority.isHub && !authority.isExpired(at: UnixTime(seconds: .max)))
    }
}
