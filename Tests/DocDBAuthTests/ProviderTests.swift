import DocDBAuth
import DocDBCore
import DocDBQuery
import Foundation
import Synchronization
import Testing

@Suite("JWT and static providers")
struct ProviderTests {
    private static func provider(
        algorithms: Set<SignatureAlgorithm> = [.rs256, .ps256, .es256, .edDSA], userID: ClaimPath = "sub",
        permissions: JWTProvider.PermissionSource = .rules([.init(condition: nil, permissions: .everything)]),
        secret: Bool = false
    ) throws -> JWTProvider {
        JWTProvider(
            name: "auth", policy: ClaimsPolicy(issuer: "https://issuer.example/", audiences: ["cars-app"]),
            keys: try KeySource(content: (secret ? TokenVectors.secretSet : TokenVectors.keySet).bytes),
            algorithms: algorithms, userID: userID, permissions: permissions, clientInfo: ["tenant"])
    }

    @Test(
        "tokens of each algorithm say who it is",
        arguments: [TokenVectors.rs256, TokenVectors.ps256, TokenVectors.es256, TokenVectors.edDSA])
    func accepted(_ token: String) async throws {
        let identity = try await Self.provider().identity(token: token, now: vectorTime)
        #expect(identity.userID == "auth|user-1")
        #expect(identity.expiresAt == vectorTime.adding(3600))
        #expect(identity.clientInfo == ["tenant": "t-7"])
        #expect(try identity.boundPermissions() == .everything)
    }

    @Test("an issuer whose keys have no names may exchange its key: the new one is asked for, once in half a minute")
    func namelessKeys() async throws {
        func keySet(_ key: PeerKeyPair) -> [UInt8] {
            let x = TestToken.base64URL(key.publicKey.bytes)
            return Array(#"{"keys":[{"kty":"OKP","crv":"Ed25519","use":"sig","x":"\#(x)"}]}"#.utf8)
        }
        func token(_ key: PeerKeyPair) throws -> String {
            try TestToken.edDSA(#"{"alg":"EdDSA"}"#, try TestToken.claims(), key: key)
        }
        let (former, next) = (try PeerKeyPair.generate(), try PeerKeyPair.generate())
        let served = Lock<(keys: [UInt8], fetches: Int)>((keySet(former), 0))
        let source = try KeySource(url: "https://issuer.example/keys") { _, _ in
            served.withLock { served in
                served.fetches += 1
                return served.keys
            }
        }
        let provider = JWTProvider(
            name: "auth", policy: ClaimsPolicy(issuer: "https://issuer.example/", audiences: ["cars-app"]),
            keys: source, algorithms: [.edDSA],
            permissions: .rules([.init(condition: nil, permissions: .everything)]))
        func result(_ key: PeerKeyPair, after seconds: Int64) async throws -> Outcome? {
            let token = try token(key)
            return await outcome { try await provider.identity(token: token, now: vectorTime.adding(seconds)) }
        }
        #expect(try await result(former, after: 0) == nil)
        served.withLock { $0.keys = keySet(next) }
        let refused = Outcome(.invalidToken, "invalidSignature")
        #expect(try await result(next, after: 29) == refused)
        #expect(served.withLock { $0.fetches } == 1)
        #expect(try await result(next, after: 30) == nil)
        #expect(try await result(former, after: 31) == refused)
        #expect(served.withLock { $0.fetches } == 2)
        #expect(try await result(former, after: 60) == refused)
        #expect(served.withLock { $0.fetches } == 3)
    }

    @Test("only algorithms that are configured are permitted")
    func algorithms() async throws {
        let provider = try Self.provider(algorithms: [.es256])
        #expect(
            await outcome { try await provider.identity(token: TokenVectors.rs256, now: vectorTime) }
                == Outcome(.invalidToken, "algorithmNotPermitted"))
        let shared = try Self.provider(algorithms: [.hs256], secret: true)
        #expect(try await shared.identity(token: TokenVectors.hs256, now: vectorTime).userID == "auth|user-1")
        let confused = try Self.provider(algorithms: [.rs256, .hs256])
        for token in [TokenVectors.confusionPem, TokenVectors.confusionDer, TokenVectors.confusionModulus] {
            #expect(
                await outcome { try await confused.identity(token: token, now: vectorTime) }
                    == Outcome(.invalidToken, "wrongKeyType"))
        }
    }

    @Test(
        "tokens for other purposes are refused by their type",
        arguments: ["docdb-grant+jwt", "application/docdb-grant+jwt", "logout+jwt", "dpop+jwt", "JOSE", ""])
    func types(_ type: String) async throws {
        let header = "{\"alg\":\"EdDSA\",\"kid\":\"ed-1\",\"typ\":\"\(type)\"}"
        let token = try TestToken.edDSA(header, try TestToken.claims(), key: try TestToken.issuerKey())
        let provider = try Self.provider()
        #expect(
            await outcome { try await provider.identity(token: token, now: vectorTime) }
                == Outcome(.invalidToken, "wrongType"))
    }

    @Test(
        "types of login tokens are taken however they are written",
        arguments: ["JWT", "jwt", "at+JWT", "application/at+jwt"])
    func loginTypes(_ type: String) async throws {
        let header = "{\"alg\":\"EdDSA\",\"kid\":\"ed-1\",\"typ\":\"\(type)\"}"
        let token = try TestToken.edDSA(header, try TestToken.claims(), key: try TestToken.issuerKey())
        #expect(try await Self.provider().identity(token: token, now: vectorTime).userID == "auth|user-1")
    }

    @Test("expired, early, foreign and unnamed tokens are refused with the reason")
    func refused() async throws {
        let provider = try Self.provider()
        let now = TokenVectors.now
        let cases: [([String: Any], Outcome)] = [
            (["exp": now - 60], Outcome(.tokenExpired, "expired")),
            (["nbf": now + 61], Outcome(.tokenExpired, "notYetValid")),
            (["iat": now + 61], Outcome(.tokenExpired, "issuedInFuture")),
            (["iss": "https://other.example/"], Outcome(.invalidToken, "wrongIssuer")),
            (["aud": "docdb-hub"], Outcome(.invalidToken, "wrongAudience")),
            (["sub": NSNull()], Outcome(.invalidToken, "missingClaim")),
            (["sub": 7], Outcome(.invalidToken, "invalidClaim")),
            (["sub": ""], Outcome(.authenticationFailed, "invalidUserID")),
            (["tenant": String(repeating: "x", count: 5000)], Outcome(.authenticationFailed, "clientInfoTooLarge")),
        ]
        for (changes, expected) in cases {
            let token = try TestToken.token(changes)
            #expect(await outcome { try await provider.identity(token: token, now: vectorTime) } == expected)
        }
    }

    @Test("permissions come from a claim, as an object or as JSON in a text, or refuse the login")
    func permissionClaim() async throws {
        let provider = try Self.provider(permissions: .claim("https://cars.example/permissions"))
        let fromVector = try await provider.identity(token: TokenVectors.es256, now: vectorTime)
        #expect(fromVector.permissions == Permissions(read: .everything, write: .nothing))
        let text = #"{"write":{"queriesByCollection":{"cars":["owner == $user.id && tenant == $claims.tenant"]}}}"#
        let token = try TestToken.token(["https://cars.example/permissions": text, "tenant": "t-7"])
        let identity = try await provider.identity(token: token, now: vectorTime)
        #expect(
            try identity.boundPermissions().writeFilter("cars").description
                == "owner == 'auth|user-1' && tenant == 't-7'")
        let bad: [(Any, String?)] = [
            (NSNull(), "missingClaim"), ("{", "invalidClaim"), ("{}{}", "invalidClaim"), (["read": true], nil),
            (7, nil),
        ]
        for (value, reason) in bad {
            let token = try TestToken.token(["https://cars.example/permissions": value])
            #expect(
                await outcome { try await provider.identity(token: token, now: vectorTime) }
                    == Outcome(.invalidPermissions, reason))
        }
    }

    @Test("rules add up for all whose condition holds; where none does, the login is refused")
    func rules() async throws {
        let dealer = Permissions(read: .nothing, write: .queriesByCollection(["cars": ["dealer == $user.id"]]))
        let viewer = Permissions(read: .queriesByCollection(["cars": ["state == 'for sale'"]]), write: .nothing)
        let roles = ClaimPath(["realm_access", "roles"])
        let provider = try Self.provider(
            permissions: .rules([
                .init(condition: .oneOf(roles, ["dealer"]), permissions: dealer),
                .init(condition: .oneOf(roles, ["viewer"]), permissions: viewer),
                .init(condition: .oneOf(roles, ["admin"]), permissions: .everything),
            ]))
        let identity = try await provider.identity(token: TokenVectors.es256, now: vectorTime)
        #expect(identity.permissions == dealer.union(viewer))
        let token = try TestToken.token()
        #expect(
            await outcome { try await provider.identity(token: token, now: vectorTime) }
                == Outcome(.authenticationFailed, "noRule"))
    }

    @Test("a static token is found by all of its bytes")
    func fixed() throws {
        let provider = StaticProvider(
            name: "dev",
            entries: [
                try .init(token: "alice-token", userID: "alice", expirationSeconds: 9, permissions: .everything),
                try .init(token: "bob-token", userID: "bob", clientInfo: ["a": 1], permissions: .nothing),
            ])
        #expect(provider.name == "dev")
        let alice = try provider.identity(token: "alice-token", now: vectorTime)
        #expect(alice.userID == "dev|alice")
        #expect(alice.expiresAt == vectorTime.adding(9))
        let bob = try provider.identity(token: "bob-token", now: vectorTime)
        #expect(bob.expiresAt == nil)
        #expect(bob.clientInfo == ["a": 1])
        for token in ["", "alice", "alice-token ", "ALICE-TOKEN", "bob-toke\u{301}n"] {
            #expect(
                outcome { try provider.identity(token: token, now: vectorTime) }
                    == Outcome(.authenticationFailed, "unknownToken"))
        }
        #expect(
            outcome { try StaticProvider.Entry(token: "", userID: "x", permissions: .nothing) }
                == Outcome(.invalidConfiguration))
    }
}
