import DocDBAuth
import DocDBCore
import DocDBQuery
import Synchronization
import Testing

@Suite("Configuration of providers")
struct ConfigurationTests {
    struct NoFile: Error {}

    private static let files: [String: String] = [
        "keys.json": TokenVectors.keySet, "secret.json": TokenVectors.secretSet,
        "rules.json": #"{"rules":[{"permissions":{"read":{"everything":true}}}]}"#, "broken.json": "{",
        "hook.secret": "0123456789abcdef0123456789abcdef\n",
        "tokens.json": #"[{"token":"t","userID":"u","permissions":{}}]"#,
    ]

    private static func read(_ text: String) throws -> [Provider] {
        let surroundings = Provider.Surroundings(
            readFile: { name in
                guard let text = files[name] else { throw NoFile() }
                return text.bytes
            }, fetchKeys: { _, _ in TokenVectors.keySet.bytes })
        return try Provider.read(try StrictJSON.value(text.bytes), surroundings)
    }

    private static func answer(_ text: String, _ token: String) async throws -> ProviderIdentity {
        let provider = try #require(try read(text).first)
        let answer = try await provider.answer(token: token, appID: "cars-app", now: vectorTime) { _ in
            throw NoFile()
        }
        guard case .accepted(let identity) = answer else { throw NoFile() }
        return identity
    }

    @Test("a JWT provider with everything in it")
    func full() async throws {
        let text = """
            {"keycloak": {"type": "jwt", "issuer": "https://issuer.example/", "audience": ["cars-client"],
              "audienceClaim": "azp", "jwks": "https://issuer.example/keys", "algorithms": ["RS256", "ES256"],
              "userID": ["realm_access", "roles", "x"], "leeway": 10, "maxGrantSeconds": 7200,
              "requiredClaims": [{"claim": ["realm_access", "roles"], "value": ["dealer", "admin"]},
                                 {"claim": "email_verified", "value": true}, {"claim": "scope", "word": "cars"}],
              "claims": {"roles": ["realm_access", "roles"], "permissions": "https://cars.example/permissions"},
              "clientInfo": ["tenant", ["realm_access", "roles"]],
              "permissions": {"rules": [
                {"when": {"claim": ["realm_access", "roles"], "value": "viewer"},
                 "permissions": {"read": {"queriesByCollection": {"cars": ["role in $claims.roles"]}}}}]}}}
            """
        #expect(try Self.read(text).map(\.maxGrantSeconds) == [7200])
        #expect(
            await outcome { try await Self.answer(text, TokenVectors.es256) } == Outcome(.invalidToken, "missingClaim"))
        let usable = text.replacing(#"["realm_access", "roles", "x"]"#, with: #""sub""#)
        let identity = try await Self.answer(usable, TokenVectors.es256)
        #expect(identity.userID == "keycloak|user-1")
        #expect(identity.clientInfo == ["tenant": "t-7", "roles": ["dealer", "viewer"]])
        #expect(
            try identity.boundPermissions().readFilter("cars").description == "role in ['dealer', 'viewer']")
        #expect(
            await outcome { try await Self.answer(usable, TokenVectors.edDSA) }
                == Outcome(.invalidToken, "algorithmNotPermitted"))
    }

    @Test("the least that is needed, with keys and rules from files")
    func least() async throws {
        let text = """
            {"auth": {"type": "jwt", "issuer": "https://issuer.example/", "audience": "cars-app", "jwks": "keys.json",
                      "requiredClaims": {"email_verified": true, "tenant": ["t-6", "t-7"]},
                      "permissions": {"file": "rules.json"}}}
            """
        for token in [TokenVectors.rs256, TokenVectors.ps256, TokenVectors.es256, TokenVectors.edDSA] {
            let identity = try await Self.answer(text, token)
            #expect(identity.permissions == Permissions(read: .everything, write: .nothing))
        }
        #expect(
            await outcome { try await Self.answer(text, TokenVectors.hs256) }
                == Outcome(.invalidToken, "algorithmNotPermitted"))
        #expect(
            await outcome { try await Self.answer(text, TestToken.token(["email_verified": false])) }
                == Outcome(.invalidToken, "claimNotAsRequired"))
    }

    @Test("HS256 is permitted by name and alone")
    func sharedSecret() async throws {
        let text = """
            {"auth": {"type": "jwt", "issuer": "https://issuer.example/", "audience": "cars-app", "jwks": "secret.json",
                      "algorithms": "HS256", "permissions": {"claim": "https://cars.example/permissions"}}}
            """
        #expect(try await Self.answer(text, TokenVectors.hs256).userID == "auth|user-1")
    }

    @Test("webhooks and static tokens, in the order of their names")
    func others() async throws {
        let text = """
            {"hook": {"type": "webhook", "url": "https://a.example/", "timeout": 5, "maxBytes": 2048,
                      "secretFile": "hook.secret"},
             "dev": {"type": "static", "developmentOnly": true, "file": "tokens.json"},
             "dev2": {"type": "static", "developmentOnly": true, "maxGrantSeconds": 2, "tokens": [
               {"token": "x", "userID": "y", "expirationSeconds": 5, "clientInfo": 1, "permissions": {}}]}}
            """
        let providers = try Self.read(text)
        #expect(providers.map(\.name) == ["dev", "dev2", "hook"])
        #expect(providers.map(\.isForDevelopmentOnly) == [true, true, false])
        #expect(providers.map(\.maxGrantSeconds) == [86_400, 2, 86_400])
        guard case .webhook(let hook) = providers[2].kind else {
            Issue.record("the provider is no webhook")
            return
        }
        #expect((hook.timeout, hook.byteLimit) == (5, 2048))
        let signed = try hook.request(token: "t", appID: "a", now: vectorTime)
        let direct = try WebhookProvider(
            name: "hook", url: "https://a.example/", secret: "0123456789abcdef0123456789abcdef".bytes)
        #expect(try direct.request(token: "t", appID: "a", now: vectorTime).headers == signed.headers)
    }

    @Test("authorities of a provider's own verify its server, and none of another provider's")
    func authorities() async throws {
        let text = """
            {"a": {"type": "webhook", "url": "https://a.example/", "authorities": "ca.pem"},
             "b": {"type": "webhook", "url": "https://a.example/"},
             "c": {"type": "jwt", "issuer": "https://auth.example/", "audience": "cars-app", "permissions": {"rules": [
               {"permissions": {}}]}, "jwks": "https://a.example/keys", "authorities": "ca.pem"}}
            """
        let asked = Lock<[String]>([])
        var surroundings = Provider.Surroundings(
            readFile: { _ in "certificates".bytes },
            fetchKeys: { _, _ in
                asked.withLock { $0.append("system") }
                return TokenVectors.keySet.bytes
            })
        surroundings.locate = { "/etc/hub/\($0)" }
        surroundings.fetchKeysTrusting = { authorities in
            { _, _ in
                asked.withLock { $0.append(authorities) }
                return TokenVectors.keySet.bytes
            }
        }
        let providers = try Provider.read(try StrictJSON.value(text.bytes), surroundings)
        let requests = try providers.compactMap { provider -> String?? in
            guard case .webhook(let hook) = provider.kind else { return nil }
            return .some(try hook.request(token: "t", appID: "a", now: vectorTime).authorities)
        }
        #expect(requests == ["/etc/hub/ca.pem", nil])
        guard case .jwt(let provider) = providers[2].kind else {
            Issue.record("the provider is none with JWTs")
            return
        }
        _ = try? await provider.identity(token: TokenVectors.es256, now: vectorTime)
        #expect(asked.withLock { $0 } == ["/etc/hub/ca.pem"])
    }

    private static let jwt = #""type":"jwt","issuer":"i","audience":"a","jwks":"keys.json","permissions":{"claim":"p"}"#
    private static let fixed =
        #""type":"static","developmentOnly":true,"tokens":[{"token":"t","userID":"u","permissions":{}}]"#

    @Test("the good beginnings of the bad configurations are good")
    func goodBeginnings() throws {
        #expect(try Self.read("{\"x\":{\(Self.jwt)},\"y\":{\(Self.fixed)}}").count == 2)
    }

    @Test(
        "bad configurations are refused",
        arguments: [
            "{}", "[]", "null", #"{"x":{}}"#, #"{"x":7}"#, #"{"x":{"type":"oauth"}}"#, "{\"a|b\":{\(jwt)}}",
            "{\"x\":{\(jwt),\"requiredClaim\":{}}}", "{\"x\":{\(jwt),\"leeway\":301}}",
            "{\"x\":{\(jwt),\"leeway\":-1}}", "{\"x\":{\(jwt),\"maxGrantSeconds\":0}}",
            "{\"x\":{\(jwt),\"maxGrantSeconds\":1e10}}", "{\"x\":{\(jwt),\"maxGrantSeconds\":\"60\"}}",
            "{\"x\":{\(jwt),\"algorithms\":[]}}", "{\"x\":{\(jwt),\"algorithms\":[\"none\"]}}",
            "{\"x\":{\(jwt),\"algorithms\":[\"HS256\",\"RS256\"]}}", "{\"x\":{\(jwt),\"algorithms\":\"RS512\"}}",
            "{\"x\":{\(jwt),\"userID\":7}}", "{\"x\":{\(jwt),\"userID\":[]}}", "{\"x\":{\(jwt),\"userID\":\"\"}}",
            "{\"x\":{\(jwt),\"requiredClaims\":7}}", "{\"x\":{\(jwt),\"requiredClaims\":[{\"claim\":\"a\"}]}}",
            "{\"x\":{\(jwt),\"requiredClaims\":[{\"claim\":\"a\",\"value\":1,\"word\":\"b\"}]}}",
            "{\"x\":{\(jwt),\"claims\":{\"a.b\":\"c\"}}}", "{\"x\":{\(jwt),\"clientInfo\":\"a\"}}",
            "{\"x\":{\(jwt.replacing("keys.json", with: "http://a.example/"))}}",
            "{\"x\":{\(jwt.replacing("keys.json", with: "absent.json"))}}",
            "{\"x\":{\(jwt.replacing("\"issuer\":\"i\",", with: ""))}}",
            "{\"x\":{\(jwt.replacing("\"audience\":\"a\"", with: "\"audience\":[]"))}}",
            "{\"x\":{\(jwt.replacing("{\"claim\":\"p\"}", with: "{}"))}}",
            "{\"x\":{\(jwt.replacing("{\"claim\":\"p\"}", with: "{\"claim\":\"p\",\"file\":\"rules.json\"}"))}}",
            "{\"x\":{\(jwt.replacing("{\"claim\":\"p\"}", with: "{\"rules\":[]}"))}}",
            "{\"x\":{\(jwt.replacing("{\"claim\":\"p\"}", with: "{\"rules\":[{}]}"))}}",
            "{\"x\":{\(jwt.replacing("{\"claim\":\"p\"}", with: "{\"file\":\"broken.json\"}"))}}",
            "{\"x\":{\(fixed.replacing("\"developmentOnly\":true,", with: ""))}}",
            "{\"x\":{\(fixed.replacing("true", with: "false"))}}", "{\"x\":{\(fixed),\"file\":\"tokens.json\"}}",
            "{\"x\":{\(fixed.replacing("\"t\"", with: "\"\""))}}",
            "{\"x\":{\(jwt),\"authorities\":\"keys.json\"}}",
            #"{"x":{"type":"webhook","url":"https://a.example/","authorities":"absent.pem"}}"#,
            #"{"x":{"type":"webhook","url":"https://a.example/","authorities":7}}"#, #"{"x":{"type":"webhook"}}"#,
            #"{"x":{"type":"webhook","url":"http://a.example/"}}"#,
            #"{"x":{"type":"webhook","url":"https://a.example/","secret":"short"}}"#,
            #"{"x":{"type":"webhook","url":"https://a.example/","timeout":0}}"#,
            #"{"x":{"type":"webhook","url":"https://a.example/","maxBytes":2000000}}"#,
        ])
    func refused(_ text: String) {
        #expect(outcome { try Self.read(text) } == Outcome(.invalidConfiguration))
    }

    @Test("unusable keys and permissions in files are refused as what they are")
    func contents() {
        let weak = "{\"x\":{\(Self.jwt.replacing("keys.json", with: "rules.json"))}}"
        #expect(outcome { try Self.read(weak) } == Outcome(.invalidKey))
        let rules = "{\"rules\":[{\"permissions\":{\"read\":7}}]}"
        let text = "{\"x\":{\(Self.jwt.replacing("{\"claim\":\"p\"}", with: rules))}}"
        #expect(outcome { try Self.read(text) } == Outcome(.invalidPermissions))
    }
}
