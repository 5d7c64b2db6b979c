import DocDBAuth
import DocDBCore
import DocDBQuery
import Synchronization
import Testing

@Suite("Webhooks")
struct WebhookProviderTests {
    private static let secret = (100..<132).map { UInt8($0) }

    private static func provider(byteLimit: Int = 4096) throws -> WebhookProvider {
        try WebhookProvider(name: "hook", url: "https://auth.example/check", byteLimit: byteLimit, secret: secret)
    }

    private static func answer(_ body: String, status: Int = 200) throws -> ProviderAnswer {
        try provider().answer(status: status, body: body.bytes, now: vectorTime)
    }

    @Test("the request's body and signature are another implementation's")
    func request() throws {
        let request = try Self.provider().request(token: "to\"ken", appID: "cars-app", now: vectorTime)
        #expect(request.body == TokenVectors.webhookBody.bytes)
        #expect(request.headers["DocDB-Signature"] == TokenVectors.webhookSignature)
        #expect(request.headers["Content-Type"] == "application/json")
        let unsigned = try WebhookProvider(name: "hook", url: "https://auth.example/check")
        #expect(try unsigned.request(token: "t", appID: "a", now: vectorTime).headers["DocDB-Signature"] == nil)
        let long = String(repeating: "t", count: AuthenticationLimits.tokenByteCount + 1)
        #expect(
            outcome { try unsigned.request(token: long, appID: "a", now: vectorTime) }
                == Outcome(.invalidToken, "tooLarge"))
    }

    @Test(
        "both spellings of the answer are understood, and unknown members passed over",
        arguments: ["\"authenticated\":true", "\"authenticate\":true", "\"authenticate\":true,\"authenticated\":true"])
    func accepted(_ flag: String) throws {
        let body = """
            {\(flag),"userID":"u|1","expirationSeconds":610000,"clientInfo":{"name":"Ada"},"identityServiceMetadata":{},
             "permissions":{"read":{"everything":true,"queriesByCollection":{}},
                            "write":{"everything":false,"queriesByCollection":{"cars":["owner == $user.id"]}}}}
            """
        guard case .accepted(let identity) = try Self.answer(body) else {
            Issue.record("the answer is refused")
            return
        }
        #expect(identity.userID == "hook|u|1")
        #expect(identity.expiresAt == vectorTime.adding(610_000))
        #expect(identity.clientInfo == ["name": "Ada"])
        let permissions = try identity.boundPermissions()
        #expect(permissions.readFilter("x") == .everything)
        #expect(permissions.writeFilter("cars").description == "owner == 'hook|u|1'")
    }

    @Test("an answer without permissions permits nothing")
    func noPermissions() throws {
        let answer = try Self.answer(#"{"authenticated":true,"userID":"u","expirationSeconds":1}"#)
        guard case .accepted(let identity) = answer else {
            Issue.record("the answer is refused")
            return
        }
        #expect(try identity.boundPermissions() == .nothing)
    }

    @Test(
        "a refusal hands on the provider's words",
        arguments: [
            (200, #"{"authenticated":false,"reason":"blocked","userInfo":{"until":5}}"#, "blocked", ["until": 5]),
            (200, #"{"authenticate":false,"userID":"u","expirationSeconds":-1}"#, nil, .null),
            (401, #"{"userInfo":"no"}"#, nil, "no"), (401, "", nil, .null), (403, "<html>", nil, .null),
            (401, #"{"authenticated":true,"userID":"u","expirationSeconds":60}"#, nil, .null),
            (200, #"{"authenticated":false,"reason":7}"#, nil, .null),
        ] as [(Int, String, String?, Value)])
    func refused(_ status: Int, _ body: String, _ reason: String?, _ info: Value) throws {
        guard case .refused(let refusal) = try Self.answer(body, status: status) else {
            Issue.record("the answer is accepted")
            return
        }
        #expect(refusal.reason == reason)
        #expect(refusal.userInfo == info)
        #expect(Outcome(refusal.error) == Outcome(.authenticationFailed, "refusedByProvider"))
    }

    @Test("a refusal's words beyond the limit are not handed on")
    func longRefusal() throws {
        let long = String(repeating: "x", count: 3000)
        let provider = try Self.provider(byteLimit: 100_000)
        let body = "{\"authenticated\":false,\"reason\":\"\(long)\",\"userInfo\":[\"\(long)\",\"\(long)\"]}"
        guard case .refused(let refusal) = try provider.answer(status: 200, body: body.bytes, now: vectorTime) else {
            Issue.record("the answer is accepted")
            return
        }
        #expect(refusal.reason == nil)
        #expect(refusal.userInfo == .null)
    }

    @Test(
        "answers that are contradictory, of wrong types, negative or enormous are refused",
        arguments: [
            (#"{"authenticated":true,"authenticate":false,"userID":"u","expirationSeconds":1}"#, "contradictory"),
            (#"{"userID":"u","expirationSeconds":1}"#, "authenticated"), ("{}", "authenticated"),
            (#"{"authenticated":"true","userID":"u","expirationSeconds":1}"#, "authenticated"),
            (#"{"authenticated":1,"userID":"u","expirationSeconds":1}"#, "authenticated"),
            (#"{"authenticated":null,"authenticate":true,"userID":"u","expirationSeconds":1}"#, "authenticated"),
            (#"{"authenticated":true,"expirationSeconds":1}"#, "userID"),
            (#"{"authenticated":true,"userID":7,"expirationSeconds":1}"#, "userID"),
            (#"{"authenticated":true,"userID":"u"}"#, "expirationSeconds"),
            (#"{"authenticated":true,"userID":"u","expirationSeconds":0}"#, "expirationSeconds"),
            (#"{"authenticated":true,"userID":"u","expirationSeconds":-60}"#, "expirationSeconds"),
            (#"{"authenticated":true,"userID":"u","expirationSeconds":1.5}"#, "expirationSeconds"),
            (#"{"authenticated":true,"userID":"u","expirationSeconds":"60"}"#, "expirationSeconds"),
            (#"{"authenticated":true,"userID":"u","expirationSeconds":9223372036854775807}"#, "expirationSeconds"),
            (#"{"authenticated":true,"userID":"u","expirationSeconds":1e300}"#, "expirationSeconds"),
            (#"{"authenticated":true,"userID":"u","expirationSeconds":99999999999999999999}"#, "malformed"),
            (#"{"authenticated":true,"authenticated":true,"userID":"u","expirationSeconds":1}"#, "malformed"),
            (#"[{"authenticated":true}]"#, "malformed"), ("", "malformed"), ("true", "malformed"),
            ("<html>", "malformed"),
        ])
    func senseless(_ body: String, _ reason: String) {
        #expect(outcome { try Self.answer(body) } == Outcome(.providerUnavailable, reason))
    }

    @Test("wrong permissions and user ids refuse the login")
    func wrongContent() {
        func body(_ more: String, userID: String = "u") -> String {
            "{\"authenticated\":true,\"userID\":\"\(userID)\",\"expirationSeconds\":1\(more)}"
        }
        #expect(outcome { try Self.answer(body(",\"permissions\":null")) } == Outcome(.invalidPermissions))
        #expect(
            outcome {
                try Self.answer(body(#","permissions":{"read":{"everything":true,"queriesByCollection":{"a":[]}}}"#))
            }
                == Outcome(.invalidPermissions))
        #expect(outcome { try Self.answer(body("", userID: "")) } == Outcome(.authenticationFailed, "invalidUserID"))
        #expect(
            outcome { try Self.answer(body("", userID: #"a\u0000"#)) }
                == Outcome(.authenticationFailed, "invalidUserID"))
    }

    @Test(
        "redirects, other statuses and large answers are refused",
        arguments: [
            (301, "redirect"), (302, "redirect"), (307, "redirect"), (204, "status"), (400, "status"), (500, "status"),
            (0, "status"), (-1, "status"),
        ])
    func statuses(_ status: Int, _ reason: String) {
        let good = #"{"authenticated":true,"userID":"u","expirationSeconds":1}"#
        #expect(outcome { try Self.answer(good, status: status) } == Outcome(.providerUnavailable, reason))
    }

    @Test("an answer beyond the limit is refused, also one of 10 MB")
    func size() {
        let good = #"{"authenticated":true,"userID":"u","expirationSeconds":1}"#
        for count in [4096, 10_000_000] {
            let body = good + String(repeating: " ", count: count)
            #expect(outcome { try Self.answer(body) } == Outcome(.providerUnavailable, "tooLarge"))
        }
    }

    @Test("it is asked again where there was no answer, and for nothing else")
    func retries() async throws {
        struct Broken: Error {}
        let provider = try Self.provider()
        let cases: [(failures: Int, status: Int, calls: Int, outcome: Outcome?)] = [
            (0, 200, 1, nil), (2, 200, 3, nil), (3, 200, 3, Outcome(.providerUnavailable, "noAnswer")),
            (0, 500, 1, Outcome(.providerUnavailable, "status")), (1, 503, 2, Outcome(.providerUnavailable, "status")),
        ]
        for (failures, status, calls, expected) in cases {
            let count = Lock(0)
            let result = await outcome {
                try await provider.answer(token: "t", appID: "a", now: vectorTime) { request in
                    #expect(request.url == "https://auth.example/check")
                    let number = count.withLock { count in
                        count += 1
                        return count
                    }
                    if number <= failures { throw Broken() }
                    return (status, #"{"authenticated":true,"userID":"u","expirationSeconds":1}"#.bytes)
                }
            }
            #expect(result == expected)
            #expect(count.withLock { $0 } == calls)
        }
    }

    @Test("it is not asked again after a time-out, and what the network said is told, but not to the client")
    func timeOut() async throws {
        let count = Lock(0)
        let provider = try Self.provider()
        do throws(DocDBError) {
            _ = try await provider.answer(token: "t", appID: "a", now: vectorTime) { _ in
                count.withLock { $0 += 1 }
                throw DocDBError(.timedOut, "auth.example did not answer within 10 seconds")
            }
            Issue.record("there was an answer")
        } catch {
            #expect(Outcome(error) == Outcome(.providerUnavailable, "noAnswer"))
            #expect(error.context["cause"] == "auth.example did not answer within 10 seconds")
            let answer = try LoginAnswer.refused(LoginAnswer.Refused(error)).encoded()
            #expect(!String(decoding: answer.body, as: UTF8.self).contains("auth.example"))
        }
        #expect(count.withLock { $0 } == 1)
    }

    @Test(
        "URLs that would show tokens to others are refused",
        arguments: [
            "http://auth.example/check", "auth.example", "", "http://127.0.0.1.evil.example/", "http://localhost.evil/",
            "http://127.0.0.1:80@evil.example/", "https://user@auth.example/",
        ])
    func urls(_ url: String) {
        #expect(outcome { try WebhookProvider(name: "hook", url: url) } == Outcome(.invalidConfiguration))
    }

    @Test("short secrets are refused, and loopback needs no TLS")
    func configuration() {
        #expect(
            outcome { try WebhookProvider(name: "hook", url: "https://a.example", secret: [1, 2, 3]) }
                == Outcome(.invalidConfiguration))
        for url in ["http://127.0.0.1:8080/x", "http://localhost/", "http://[::1]:1"] {
            #expect(outcome { try WebhookProvider(name: "hook", url: url) } == nil)
        }
    }

    @Test("damaged answers are refused or read, and never trap")
    func damaged() throws {
        var generator = SeededGenerator()
        let provider = try Self.provider()
        let body =
            #"{"authenticated":true,"authenticate":true,"userID":"u","expirationSeconds":60,"clientInfo":{"a":[1]},"permissions":{"read":{"queriesByCollection":{"a":["x"]}}}}"#
        for _ in 0..<3000 {
            _ = outcome { try provider.answer(status: 200, body: generator.damaged(body.bytes), now: vectorTime) }
        }
    }
}
