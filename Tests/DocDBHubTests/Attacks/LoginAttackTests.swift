import DocDB
import DocDBAuth
import DocDBCore
import DocDBHub
import DocDBTransport
import Foundation
import Synchronization
import Testing

@Suite("Attacks on a hub: logins", .timeLimit(.minutes(10)))
struct LoginAttackTests {
    private func send(
        _ hub: AttackHub, _ path: String, _ body: [UInt8]? = nil, headers: [String: String] = [:]
    ) async throws -> HTTPResponse {
        try await HTTPClient().send(
            HTTPClientRequest(
                url: hub.url + path, method: body == nil ? "GET" : "POST", headers: headers, body: body ?? []),
            limits: HTTPClientLimits(timeoutSeconds: 60))
    }

    /// Logs in by hand, so that the whole answer can be looked at.
    private func logIn(_ hub: AttackHub, _ token: String, _ provider: String) async throws -> LoginAnswer {
        let first = try await send(hub, "/v1/login", LoginRequest.nonceRequest(appID: AttackHub.appID))
        guard case .nonce(let nonce) = try LoginAnswer(status: first.status, body: first.body) else {
            throw DocDBError(.misuse, "no nonce")
        }
        let body = try LoginRequest.loginRequest(
            appID: AttackHub.appID, provider: provider, token: token, nonce: nonce, pair: PeerKeyPair.generate())
        let second = try await send(hub, "/v1/login", body)
        return try LoginAnswer(status: second.status, body: second.body)
    }

    private func refusal(_ answer: LoginAnswer) -> LoginAnswer.Refused? {
        if case .refused(let refused) = answer { refused } else { nil }
    }

    @Test("Pages of other origins, and names that lead here from elsewhere, get nothing")
    func origins() async throws {
        let hub = try AttackHub()
        let bob = try await hub.honest("bob")
        let nonce = try LoginRequest.nonceRequest(appID: AttackHub.appID)
        let upgrade = [
            "Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Version": "13",
            "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==", "Sec-WebSocket-Protocol": "docdb.1",
        ]
        let foreign = [
            ["Origin": "https://evil.example"], ["Origin": "null"], ["Origin": hub.url],
            ["Host": "evil.example"], ["Host": "evil.example:\(hub.port)"], ["Host": "127.0.0.1.evil.example"],
            ["Host": "localhost.evil.example"], ["Host": "127.0.0.2"],
        ]
        for headers in foreign {
            #expect(try await send(hub, "/v1/login", nonce, headers: headers).status == 403, "\(headers)")
            #expect(try await send(hub, "/metrics", headers: headers).status == 403, "\(headers)")
            let both = headers.merging(upgrade) { $1 }
            #expect(try await send(hub, "/v1/sync", headers: both).status == 403, "\(headers)")
        }
        for host in ["127.0.0.1", "localhost", "127.0.0.1:\(hub.port)", "LOCALHOST:\(hub.port)"] {
            #expect(try await send(hub, "/healthz", headers: ["Host": host]).status == 200, "\(host)")
        }
        try await hub.expectHonestService(bob, unchanged: [:])
        try bob.close()
    }

    @Test(
        "A token goes over a plain connection to this machine alone, whatever the hub's name begins with",
        arguments: ["http://127.evil.example", "http://127.0.0.1.evil.example", "http://localhost.evil.example"])
    func plainHub(_ url: String) throws {
        let path = FileManager.default.temporaryDirectory.path + "/docdb-plain-\(UUID().uuidString).docdb"
        defer { try? FileManager.default.removeItem(atPath: path) }
        #expect(throws: DocDBError.self) {
            try Database(at: path, identity: .onlineWithAuthentication(appID: AttackHub.appID, hub: url))
        }
        let removed = path + ".credentials"
        try? FileManager.default.removeItem(atPath: removed)
    }

    @Test("Hosts and origins that are listed are served, and no others")
    func listed() async throws {
        let hub = try AttackHub(
            settings: #""allowedHosts": ["hub.example"], "allowedOrigins": ["https://app.example"]"#)
        func status(_ headers: [String: String]) async throws -> Int {
            try await send(hub, "/healthz", headers: headers).status
        }
        #expect(try await status(["Host": "hub.example"]) == 200)
        #expect(try await status(["Host": "hub.example:443", "Origin": "https://app.example"]) == 200)
        #expect(try await status(["Host": "127.0.0.1"]) == 403)
        #expect(try await status(["Host": "hub.example", "Origin": "https://app.example.evil"]) == 403)
    }

    @Test("A grant, a certificate and a revocation of the hub are no login tokens, though its key is trusted for those")
    func ownTokens() async throws {
        // The worst configuration: a provider that takes tokens signed by the hub's own key, for the hub's own names.
        let keySet = Lock<[UInt8]>([])
        let hub = try AttackHub(
            providers: { keys in
                guard case .object(var key) = keys.keys[0].pair.publicKey.jsonWebKey else { return "" }
                key["kid"] = .string(keys.keys[0].pair.publicKey.thumbprint)
                let bytes = try StrictJSON.text(["keys": .array([.object(key)])])
                keySet.withLock { $0 = bytes }
                return """
                    "self": {"type": "jwt", "issuer": "docdb-hub", "audience": "\(AttackHub.appID)", "jwks": "keys.json",
                      "algorithms": ["EdDSA"], "permissions": {"rules": [{"permissions": {"read": {"everything": true}}}]}}
                    """
            }, files: { _ in keySet.withLock { $0 } })
        let pair = try PeerKeyPair.generate()
        let grant = try hub.grant("victim", pair.publicKey).grant
        let issuer = try GrantIssuer(appID: AttackHub.appID, keys: hub.keys.keys)
        let revocation = try issuer.revoke(.user(ExactString("test|x")), sequence: 1, now: AttackHub.now)
        for (name, token) in [
            ("grant", grant), ("certificate", hub.keys.keys[0].certificate.text), ("revocation", revocation.text),
        ] {
            let refused = refusal(try await logIn(hub, token, "self"))
            #expect(refused?.code == "invalidToken", "\(name): \(refused?.reason ?? "")")
        }
        // The same claims as an ordinary token are taken, so that it is the type which was refused.
        let payload = grant.split(separator: ".")[1]
        let header: [String: Value] = [
            "alg": "EdDSA", "typ": "JWT", "kid": .string(hub.keys.keys[0].pair.publicKey.thumbprint),
        ]
        let signed = Base64URL.encode(try StrictJSON.text(header)) + "." + payload
        let signature = try hub.keys.keys[0].pair.signature(of: Array(signed.utf8))
        #expect(refusal(try await logIn(hub, signed + "." + Base64URL.encode(signature), "self")) == nil)
    }

    @Test("A webhook that answers nonsense logs nobody in, and costs the hub little")
    func webhooks() async throws {
        let hook = try HostileWebhook()
        let hub = try AttackHub(providers: { _ in
            #"""
            "hook": {"type": "webhook", "url": "\#(hook.url)", "timeout": 60},
            "silent": {"type": "webhook", "url": "\#(hook.url)", "timeout": 1}
            """#
        })
        let bob = try await hub.honest("bob")
        func body(_ more: String) -> String {
            #"{"authenticated": true, "userID": "u", "expirationSeconds": 60\#(more)}"#
        }
        func expiry(_ text: String) -> String {
            #"{"authenticated": true, "userID": "u", "expirationSeconds": \#(text)}"#
        }
        let answers: [(String, Int, String, code: String, reason: String)] = [
            ("contradictory", 200, body(#", "authenticate": false"#), "providerUnavailable", "contradictory"),
            (
                "a text for true", 200, #"{"authenticated": "true", "userID": "u", "expirationSeconds": 60}"#,
                "providerUnavailable", "authenticated"
            ),
            (
                "a number for a user", 200, #"{"authenticated": true, "userID": 7, "expirationSeconds": 60}"#,
                "providerUnavailable", "userID"
            ),
            ("negative", 200, expiry("-60"), "providerUnavailable", "expirationSeconds"),
            ("enormous", 200, expiry("9223372036854775807"), "providerUnavailable", "expirationSeconds"),
            ("more than enormous", 200, expiry("1e300"), "providerUnavailable", "expirationSeconds"),
            ("a name twice", 200, body(#", "userID": "admin""#), "providerUnavailable", "malformed"),
            (
                "deep", 200,
                body(
                    #", "clientInfo": "# + String(repeating: "[", count: 5_000) + String(repeating: "]", count: 5_000)),
                "providerUnavailable", "malformed"
            ),
            (
                "much client info", 200, body(#", "clientInfo": "\#(String(repeating: "x", count: 50_000))""#),
                "authenticationFailed", ""
            ),
            (
                "permissions of wrong types", 200, body(#", "permissions": {"read": ["cars"]}"#), "invalidPermissions",
                ""
            ),
            (
                "a predicate that does not parse", 200,
                body(#", "permissions": {"read": {"queriesByCollection": {"cars": ["x ==="]}}}"#),
                "invalidPermissions", ""
            ),
            (
                "an absent claim under a not", 200,
                body(#", "permissions": {"read": {"queriesByCollection": {"cars": ["!(owner == $claims.team)"]}}}"#),
                "invalidPermissions", ""
            ),
            (
                "another provider's user", 200,
                #"{"authenticated": true, "userID": "a\u0000b", "expirationSeconds": 60}"#,
                "authenticationFailed", ""
            ),
            ("redirected", 302, body(""), "providerUnavailable", "redirect"),
            ("failed", 500, body(""), "providerUnavailable", "status"),
            ("nothing", 200, "", "providerUnavailable", "malformed"),
            ("10 MB", 200, body("") + String(repeating: " ", count: 10_000_000), "providerUnavailable", "tooLarge"),
        ]
        for (name, status, text, code, reason) in answers {
            hook.answer(status, text)
            let refused = refusal(try await logIn(hub, "token", "hook"))
            #expect(refused?.code == code, "\(name)")
            if !reason.isEmpty { #expect(refused?.reason == reason, "\(name)") }
            #expect(hook.count == 1, "\(name)")
        }
        // One that never answers is given up, and the hub serves others meanwhile.
        hook.answer(nil, "")
        async let silent = logIn(hub, "token", "silent")
        try await hub.expectHonestService(bob, unchanged: [:])
        #expect(refusal(try await silent)?.reason == "noAnswer")
        #expect(hook.count <= AuthenticationLimits.webhookAttemptCount)
        // The one that all of them were made from is taken.
        hook.answer(200, body(""))
        #expect(refusal(try await logIn(hub, "token", "hook")) == nil)
        try bob.close()
    }

    @Test("A flood of logins is held back, and replication goes on beside it")
    func flood() async throws {
        let hub = try AttackHub(loginsPerMinute: 6)
        let bob = try await hub.honest("bob")
        var statuses: [Int: Int] = [:]
        for number in 0..<100 {
            let body = number % 2 == 0 ? Array("{".utf8) : try LoginRequest.nonceRequest(appID: AttackHub.appID)
            statuses[try await send(hub, "/v1/login", body).status, default: 0] += 1
        }
        #expect(statuses[429, default: 0] >= 50)
        #expect(statuses[200, default: 0] <= 50)
        try await hub.expectHonestService(bob, unchanged: [:])
        try bob.close()
    }
}

/// A provider's webhook that answers what it is told to.
final class HostileWebhook: Sendable {
    private final class State: Sendable {
        struct Content {
            var answer: HTTPResponse?
            var count = 0
            /// Requests that are never answered.
            var waiting: [@Sendable (HTTPResponse) -> Void] = []
        }

        let content = Lock(Content())

        func serve(_ respond: @escaping @Sendable (HTTPResponse) -> Void) {
            let answer = content.withLock { content in
                content.count += 1
                if content.answer == nil { content.waiting.append(respond) }
                return content.answer
            }
            if let answer { respond(answer) }
        }
    }

    private let state = State()
    private let transport: WebSocketTransport
    private let listener: WebSocketListener

    init() throws {
        transport = try WebSocketTransport()
        var options = ListenOptions()
        options.acceptsLinks = false
        options.requestHandler = { [state] _, respond in state.serve(respond) }
        listener = transport.listener(options)
        try listener.start { $0.close(.normal()) }
    }

    deinit { listener.stop() }

    var url: String { "http://\(listener.boundAddress.map { "\($0)" } ?? "")/check" }

    /// Sets what it answers from now on; without a status, nothing.
    func answer(_ status: Int?, _ text: String) {
        state.content.withLock { content in
            content.answer = status.map {
                HTTPResponse(
                    status: $0, headers: ["content-type": "application/json", "location": "http://evil.example/"],
                    body: Array(text.utf8))
            }
            content.count = 0
        }
    }

    /// How often it was asked since then.
    var count: Int { state.content.withLock { $0.count } }
}
