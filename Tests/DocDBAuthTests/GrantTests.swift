import DocDBAuth
import DocDBCore
import DocDBQuery
import Testing

/// A root, two hub keys, a peer, and what the vectors were made with.
struct GrantWorld {
    let root: PeerKeyPair
    let hub: PeerKeyPair
    let peer: PeerKeyPair
    let other: PeerKeyPair

    init() throws {
        root = try PeerKeyPair(seed: [UInt8](repeating: 1, count: 32))
        hub = try PeerKeyPair(seed: [UInt8](repeating: 2, count: 32))
        peer = try PeerKeyPair(seed: [UInt8](repeating: 3, count: 32))
        other = try PeerKeyPair(seed: [UInt8](repeating: 4, count: 32))
    }

    func certificate(
        _ key: PeerKeyPair? = nil, from: Int64 = -100, until: Int64 = 100_000,
        uses: Set<HubCertificate.Use> = [.sign, .peer],
        appID: String = "cars-app", root: PeerKeyPair? = nil
    ) throws -> HubCertificate {
        try HubCertificate.issue(
            for: (key ?? hub).publicKey, appID: appID, uses: uses, validFrom: vectorTime.adding(from),
            expiresAt: vectorTime.adding(until), root: root ?? self.root)
    }

    func issuer(_ certificates: [(PeerKeyPair, HubCertificate)]) throws -> GrantIssuer {
        try GrantIssuer(
            appID: "cars-app", keys: certificates.map { try GrantIssuer.Key(pair: $0.0, certificate: $0.1) })
    }

    func request(
        userID: String = "auth|user-1", permissions: BoundPermissions = .everything, epoch: Int64 = 3,
        expiresIn: Int64? = nil, maxGrantSeconds: Int64 = 60, clientInfo: Value = .null
    ) throws -> GrantIssuer.Request {
        let identity = try ProviderIdentity(
            userID: userID, expiresAt: expiresIn.map { vectorTime.adding($0) }, clientInfo: clientInfo,
            permissions: .nothing)
        return GrantIssuer.Request(
            identity: identity, permissions: permissions, epoch: PermissionEpoch(number: epoch, hash: []),
            peer: peer.publicKey, maxGrantSeconds: maxGrantSeconds)
    }

    /// A verifier that knows the certificates.
    func verifier(_ certificates: [HubCertificate]? = nil) throws -> GrantVerifier {
        var verifier = GrantVerifier(appID: "cars-app", roots: [root.publicKey])
        for certificate in try certificates ?? [self.certificate()] {
            try verifier.learn(certificate: certificate.text, now: vectorTime)
        }
        return verifier
    }

    func verify(
        _ grant: String, with verifier: GrantVerifier? = nil, by presenter: PeerKeyPair? = nil, at seconds: Int64 = 0,
        revocations: RevocationList = RevocationList(), highestEpoch: Int64? = nil
    ) throws -> Grant {
        try (verifier ?? self.verifier()).verify(
            grant, presentedBy: (presenter ?? peer).publicKey, now: vectorTime.adding(seconds),
            revocations: revocations, highestEpoch: { _ in highestEpoch })
    }

    /// The vector's grant with its claims as a text changed, signed by a key.
    func grant(
        _ old: String = "", _ new: String = "", type: String = "docdb-grant+jwt", key: PeerKeyPair? = nil
    ) throws -> String {
        let payload = try JSONWebSignature(TokenVectors.grant).payload
        let text = String(decoding: payload, as: UTF8.self)
        let changed = old.isEmpty ? text : text.replacing(old, with: new)
        if !old.isEmpty { try #require(changed != text) }
        let header = "{\"alg\":\"EdDSA\",\"kid\":\"\(hub.publicKey.thumbprint)\",\"typ\":\"\(type)\"}"
        return try TestToken.edDSA(header, changed, key: key ?? hub)
    }
}

@Suite("Grants")
struct GrantTests {
    private let world: GrantWorld

    init() throws { world = try GrantWorld() }

    @Test("grants, certificates and revocations made from the written format alone are understood")
    func vectors() throws {
        var verifier = GrantVerifier(appID: "cars-app", roots: [world.root.publicKey])
        let certificate = try verifier.learn(certificate: TokenVectors.certificate, now: vectorTime)
        #expect(certificate.key.bytes == TokenVectors.hubKey.hexadecimalBytes)
        #expect(certificate.uses == [.sign, .peer])
        let grant = try world.verify(TokenVectors.grant, with: verifier)
        #expect(grant.userID == "auth|user-1")
        #expect(grant.epoch == 3)
        #expect(grant.clientInfo == ["name": "Ada"])
        #expect(!grant.isRelay)
        #expect(grant.expiresAt == vectorTime.adding(60))
        #expect(grant.permissions.readFilter("anything") == .everything)
        #expect(grant.permissions.writeFilter("cars").description == "owner == 'auth|user-1' && state != 'sold'")
        let revocation = try verifier.verify(revocation: TokenVectors.revocation)
        #expect(revocation.subject == .user("auth|user-1"))
        #expect(revocation.sequence == 7)
        var list = RevocationList()
        #expect(try list.add(revocation, now: vectorTime))
        #expect(list.isRevoked(grant))
        #expect(verifier.hubCertificate(of: world.hub.publicKey, now: vectorTime) != nil)
        #expect(verifier.hubCertificate(of: world.peer.publicKey, now: vectorTime) == nil)
    }

    @Test("what is issued verifies, and carries what was asked for")
    func roundTrip() throws {
        let certificate = try world.certificate()
        let issuer = try world.issuer([(world.hub, certificate)])
        var request = try world.request(clientInfo: ["name": "Ada", "é": [1, 2.5, .null]])
        request.isRelay = true
        let issued = try issuer.issue(request, now: vectorTime)
        #expect(issued.certificate == certificate.text)
        let grant = try world.verify(issued.text)
        #expect(grant == issued.grant)
        #expect(grant.isRelay)
        #expect(grant.clientInfo == request.identity.clientInfo)
        #expect(Grant.hash(of: issued.text) == Digest.sha256(issued.text.bytes))
    }

    @Test("a grant is valid up to its last second and not a moment longer")
    func expiry() throws {
        #expect(throws: Never.self) { try world.verify(TokenVectors.grant, at: 59) }
        #expect(outcome { try world.verify(TokenVectors.grant, at: 60) } == Outcome(.grantExpired, "expired"))
        let grant = try world.verify(TokenVectors.grant)
        let last = grant.expiresAt.nanoseconds
        #expect(!grant.isExpired(at: UnixTime(nanoseconds: last - 1)))
        #expect(grant.isExpired(at: UnixTime(nanoseconds: last)))
    }

    @Test("a grant from a future beyond the clock bound is refused")
    func future() throws {
        // The vectors' certificate begins 100 s before the grant, so it needs one that begins before.
        let early = try world.verifier([world.certificate(from: -1000)])
        #expect(outcome { try world.verify(TokenVectors.grant, with: early, at: -120) } == nil)
        #expect(
            outcome { try world.verify(TokenVectors.grant, with: early, at: -121) }
                == Outcome(.invalidGrant, "issuedInFuture"))
    }

    @Test(
        "grants that were edited and signed with the hub's key are still refused where they make no sense",
        arguments: [
            ("\"iss\":\"docdb-hub\"", "\"iss\":\"auth\"", "invalidClaim"), ("\"jti\":\"grant-1\",", "", "invalidClaim"),
            ("\"aud\":\"cars-app\"", "\"aud\":\"boats-app\"", "wrongAudience"),
            ("\"aud\":\"cars-app\"", "\"aud\":[\"cars-app\"]", "invalidClaim"),
            ("auth|user-1\"}", "user-1\"}", "invalidClaim"), ("\"epoch\":3", "\"epoch\":-1", "invalidClaim"),
            ("\"epoch\":3", "\"epoch\":3.5", "invalidClaim"), ("\"epoch\":3,", "", "invalidClaim"),
            ("\"epoch\":3", "\"epoch\":3,\"relay\":1", "invalidClaim"),
            ("\"epoch\":3", "\"epoch\":3,\"nbf\":1800000001", "notYetValid"),
            ("\"exp\":1800000060", "\"exp\":1800100001", "invalidClaim"),
            ("\"exp\":1800000060", "\"exp\":1800000000", "invalidClaim"),
            ("\"exp\":1800000060", "\"exp\":\"1800000060\"", "invalidClaim"),
            ("\"iat\":1800000000", "\"iat\":1800000000,\"iat\":1", "invalidPayload"),
        ])
    func senseless(_ old: String, _ new: String, _ reason: String) throws {
        // The user id also stands in a predicate: only the subject is changed.
        let old = old == "auth|user-1\"}" ? "\"sub\":\"auth|user-1\"" : old
        let new = new == "user-1\"}" ? "\"sub\":\"user-1\"" : new
        let grant = try world.grant(old, new)
        #expect(outcome { try world.verify(grant) } == Outcome(.invalidGrant, reason))
    }

    @Test("permissions that were edited without the hub's key are refused")
    func editedPermissions() throws {
        let parts = TokenVectors.grant.split(separator: ".").map(String.init)
        let payload = String(decoding: try JSONWebSignature(TokenVectors.grant).payload, as: UTF8.self)
        let edited = payload.replacing("state != 'sold'", with: "state != 'none'")
        try #require(edited != payload)
        let text = "\(parts[0]).\(TestToken.base64URL(edited.bytes)).\(parts[2])"
        #expect(outcome { try world.verify(text) } == Outcome(.invalidGrant, "invalidSignature"))
        #expect(
            outcome { try world.verify(world.grant("state", "stage", key: world.peer)) }
                == Outcome(.invalidGrant, "invalidSignature"))
    }

    @Test("a grant of another peer, and one with an unusable key, are refused")
    func anotherPeer() throws {
        #expect(
            outcome { try world.verify(TokenVectors.grant, by: world.other) } == Outcome(.invalidGrant, "anotherPeer"))
        let mine = TestToken.base64URL(world.peer.publicKey.bytes)
        let identity = TestToken.base64URL([1] + [UInt8](repeating: 0, count: 31))
        #expect(outcome { try world.verify(world.grant(mine, identity)) } == Outcome(.invalidKey))
    }

    @Test("an older epoch than was seen is refused, the same or a newer one is not")
    func epochs() throws {
        #expect(outcome { try world.verify(TokenVectors.grant, highestEpoch: 4) } == Outcome(.grantSuperseded))
        #expect(outcome { try world.verify(TokenVectors.grant, highestEpoch: 3) } == nil)
        #expect(outcome { try world.verify(TokenVectors.grant, highestEpoch: 2) } == nil)
    }

    @Test("no token passes for another kind")
    func kinds() async throws {
        let verifier = try world.verifier()
        for text in [TokenVectors.certificate, TokenVectors.revocation, TokenVectors.edDSA] {
            #expect(outcome { try world.verify(text) } == Outcome(.invalidGrant, "wrongType"))
        }
        for text in [TokenVectors.certificate, TokenVectors.grant, TokenVectors.hs256] {
            #expect(outcome { try verifier.verify(revocation: text) } == Outcome(.invalidGrant, "wrongType"))
        }
        for type in ["JWT", "docdb-grant", "docdb-revocation+jwt", ""] {
            #expect(outcome { try world.verify(world.grant(type: type)) } == Outcome(.invalidGrant, "wrongType"))
        }
        var empty = GrantVerifier(appID: "cars-app", roots: [world.root.publicKey, world.hub.publicKey])
        #expect(
            outcome { try empty.learn(certificate: TokenVectors.grant, now: vectorTime) }
                == Outcome(.invalidGrant, "wrongType"))
        // As a login token, although the provider trusts the very key that signed the grant.
        let keys = try StrictJSON.text(world.hub.publicKey.jsonWebKey)
        let provider = JWTProvider(
            name: "auth", policy: ClaimsPolicy(issuer: "docdb-hub", audiences: ["cars-app"]),
            keys: try KeySource(content: keys), algorithms: [.edDSA], permissions: .claim("permissions"))
        let refusal = await outcome { try await provider.identity(token: TokenVectors.grant, now: vectorTime) }
        #expect(refusal == Outcome(.invalidToken, "wrongType"))
    }

    @Test("any single byte of a grant that is changed makes it refused")
    func singleByteChanges() throws {
        var generator = SeededGenerator()
        let verifier = try world.verifier()
        let bytes = Array(TokenVectors.grant.utf8)
        let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8)
        for place in bytes.indices {
            var changed = bytes
            changed[place] = alphabet.filter { $0 != bytes[place] }.randomElement(using: &generator) ?? 0
            let text = String(decoding: changed, as: UTF8.self)
            #expect(outcome { try world.verify(text, with: verifier) } != nil, "byte \(place)")
        }
    }

    @Test("damaged grants signed by the hub are refused or read, and never trap")
    func damaged() throws {
        var generator = SeededGenerator()
        let verifier = try world.verifier()
        let payload = try JSONWebSignature(TokenVectors.grant).payload
        let header = "{\"alg\":\"EdDSA\",\"kid\":\"\(world.hub.publicKey.thumbprint)\",\"typ\":\"docdb-grant+jwt\"}"
        for _ in 0..<1000 {
            let text = String(decoding: generator.damaged(payload), as: UTF8.self)
            _ = outcome { try world.verify(TestToken.edDSA(header, text, key: world.hub), with: verifier) }
        }
    }
}
