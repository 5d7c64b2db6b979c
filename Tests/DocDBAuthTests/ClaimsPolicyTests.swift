import DocDBAuth
import DocDBCore
import Foundation
import Testing

@Suite("Claims of login tokens")
struct ClaimsPolicyTests {
    private static let policy = ClaimsPolicy(issuer: "https://issuer.example/", audiences: ["cars-app", "cars-web"])

    private static func check(
        _ claims: [String: Value], _ policy: ClaimsPolicy = policy, at seconds: Int64 = 0
    ) throws -> UnixTime {
        try policy.check(claims, now: vectorTime.adding(seconds))
    }

    private static let claims: [String: Value] = [
        "iss": "https://issuer.example/", "aud": "cars-app", "exp": .int(TokenVectors.now + 100),
    ]

    private static func changed(_ name: String, _ value: Value?) -> [String: Value] {
        var claims = claims
        claims[name] = value
        return claims
    }

    @Test("claims that are as they must be give the expiry")
    func accepted() throws {
        #expect(try Self.check(Self.claims) == UnixTime(seconds: TokenVectors.now + 100))
        #expect(try Self.check(Self.changed("aud", ["x", "cars-web"])).seconds == TokenVectors.now + 100)
        #expect(
            try Self.check(Self.changed("exp", .float(Double(TokenVectors.now) + 5.9))).seconds == TokenVectors.now + 5)
        #expect(try Self.check(Self.changed("exp", 1e300)).seconds == 1 << 53)
        #expect(try Self.check(Self.changed("exp", .int(.max))).seconds == .max)
    }

    @Test(
        "claims that are absent, of wrong types or others' are refused",
        arguments: [
            ("iss", nil, "missingClaim"), ("iss", "https://issuer.example", "wrongIssuer"),
            ("iss", "https://issuer.example/a", "wrongIssuer"), ("iss", 7, "wrongIssuer"),
            ("iss", ["https://issuer.example/"], "wrongIssuer"), ("iss", .null, "wrongIssuer"),
            ("aud", nil, "missingClaim"), ("aud", "cars", "wrongAudience"), ("aud", [], "wrongAudience"),
            ("aud", "", "wrongAudience"), ("aud", 1, "invalidClaim"), ("aud", ["cars-app", 1], "invalidClaim"),
            ("aud", .null, "invalidClaim"), ("aud", ["cars-app": true], "invalidClaim"),
            ("exp", nil, "missingClaim"), ("exp", "soon", "invalidClaim"), ("exp", .null, "invalidClaim"),
            ("exp", -1, "invalidClaim"), ("exp", -0.5, "invalidClaim"), ("exp", true, "invalidClaim"),
            ("nbf", "now", "invalidClaim"), ("iat", [], "invalidClaim"),
        ] as [(String, Value?, String)])
    func refused(_ name: String, _ value: Value?, _ reason: String) {
        #expect(outcome { try Self.check(Self.changed(name, value)) } == Outcome(.invalidToken, reason))
    }

    @Test("times are exact to the second, with the leeway on either side")
    func times() {
        let start = TokenVectors.now
        let claims = Self.claims.merging(["nbf": .int(start), "iat": .int(start)]) { $1 }
        for leeway: Int64 in [0, 60] {
            let policy = ClaimsPolicy(issuer: "https://issuer.example/", audiences: ["cars-app"], leeway: leeway)
            #expect(outcome { try Self.check(claims, policy, at: 99 + leeway) } == nil)
            #expect(outcome { try Self.check(claims, policy, at: 100 + leeway) } == Outcome(.tokenExpired, "expired"))
            #expect(outcome { try Self.check(claims, policy, at: -leeway) } == nil)
            #expect(
                outcome { try Self.check(claims, policy, at: -leeway - 1) } == Outcome(.tokenExpired, "notYetValid"))
            let onlyIssued = claims.filter { $0.key != "nbf" }
            #expect(
                outcome { try Self.check(onlyIssued, policy, at: -leeway - 1) }
                    == Outcome(.tokenExpired, "issuedInFuture"))
        }
        let greedy = ClaimsPolicy(issuer: "https://issuer.example/", audiences: ["cars-app"], leeway: .max)
        #expect(outcome { try Self.check(claims, greedy, at: 401) } == Outcome(.tokenExpired, "expired"))
    }

    @Test("the audience may stand in another claim, nested too")
    func audienceClaim() {
        for path: ClaimPath in ["azp", "https://a.example/client.id", ClaimPath(["ext", "client_id"])] {
            let policy = ClaimsPolicy(issuer: "https://issuer.example/", audiences: ["web"], audienceClaim: path)
            var claims = Self.changed("aud", "cars-app")
            #expect(outcome { try Self.check(claims, policy) } == Outcome(.invalidToken, "missingClaim"))
            claims["azp"] = "web"
            claims["https://a.example/client.id"] = "web"
            claims["ext"] = ["client_id": "web"]
            #expect(outcome { try Self.check(claims, policy) } == nil)
            claims["azp"] = "app"
            claims["https://a.example/client.id"] = "app"
            claims["ext"] = ["client_id": "app"]
            #expect(outcome { try Self.check(claims, policy) } == Outcome(.invalidToken, "wrongAudience"))
        }
    }

    @Test("texts that differ in Unicode normalisation alone are not the same")
    func normalisation() {
        let policy = ClaimsPolicy(issuer: "caf\u{E9}", audiences: ["caf\u{E9}"])
        let claims = Self.changed("iss", "cafe\u{301}")
        #expect(outcome { try Self.check(claims, policy) } == Outcome(.invalidToken, "wrongIssuer"))
        let other = Self.changed("iss", "caf\u{E9}").merging(["aud": "cafe\u{301}"]) { $1 }
        #expect(outcome { try Self.check(other, policy) } == Outcome(.invalidToken, "wrongAudience"))
    }

    @Test(
        "requirements on claims",
        arguments: [
            (.oneOf("verified", [true]), nil), (.oneOf("verified", [false]), "claimNotAsRequired"),
            (.oneOf("plan", ["free", "paid"]), nil), (.oneOf("plan", ["free"]), "claimNotAsRequired"),
            (.oneOf(ClaimPath(["realm", "roles"]), ["dealer"]), nil),
            (.oneOf(ClaimPath(["realm", "roles"]), ["admin"]), "claimNotAsRequired"),
            (.oneOf(ClaimPath(["realm", "rolls"]), ["dealer"]), "missingClaim"),
            (.oneOf("realm.roles", ["dealer"]), "missingClaim"), (.word("scope", "cars"), nil),
            (.word("scope", "car"), "claimNotAsRequired"), (.word("scope", ""), "claimNotAsRequired"),
            (.word("plan2", "paid"), "missingClaim"), (.word("verified", "true"), "claimNotAsRequired"),
        ] as [(ClaimsPolicy.Requirement, String?)])
    func requirements(_ requirement: ClaimsPolicy.Requirement, _ reason: String?) {
        let policy = ClaimsPolicy(
            issuer: "https://issuer.example/", audiences: ["cars-app"], requirements: [requirement])
        let claims = Self.claims.merging([
            "verified": true, "plan": "paid", "realm": ["roles": ["viewer", "dealer"]], "scope": "openid cars",
        ]) { $1 }
        #expect(outcome { try Self.check(claims, policy) } == reason.map { Outcome(.invalidToken, $0) })
    }
}
