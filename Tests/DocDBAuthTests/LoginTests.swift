import DocDBAuth
import DocDBCore
import Testing

@Suite("Logins")
struct LoginTests {
    private let world: GrantWorld
    private let nonce = [UInt8](repeating: 6, count: 32)

    init() throws { world = try GrantWorld() }

    private func request(
        appID: String = "cars-app", token: String = "token", pair: PeerKeyPair? = nil
    ) throws -> [UInt8] {
        try LoginRequest.loginRequest(
            appID: appID, provider: "auth", token: token, nonce: nonce, pair: pair ?? world.peer)
    }

    private func login(_ bytes: [UInt8]) throws -> LoginRequest.Login {
        guard case .login(let login) = try LoginRequest(bytes) else { throw TokenFailure.notCompact }
        return login
    }

    @Test("a request arrives as it was sent, with a proof that holds")
    func request() throws {
        let login = try login(try request(token: "to\"ken\u{1F980}"))
        #expect(login.token == "to\"ken\u{1F980}")
        #expect((login.appID, login.provider, login.nonce) == ("cars-app", "auth", nonce))
        #expect(login.peer == world.peer.publicKey)
        try login.verifyProof(appID: "cars-app")
        #expect(outcome { try login.verifyProof(appID: "boats-app") } == Outcome(.proofFailed))
        #expect(outcome { try login.verifyProof(appID: "cars-app", channelBinding: [1]) } == Outcome(.proofFailed))
        guard case .nonce(let appID) = try LoginRequest(try LoginRequest.nonceRequest(appID: "cars-app")) else {
            Issue.record("no request for a nonce")
            return
        }
        #expect(appID == "cars-app")
    }

    @Test("a request of which any part was changed does not prove its key")
    func changedRequest() throws {
        let text = String(decoding: try request(), as: UTF8.self)
        let mine = TestToken.base64URL(world.peer.publicKey.bytes)
        let other = TestToken.base64URL(world.other.publicKey.bytes)
        let nonceText = TestToken.base64URL(nonce)
        let otherNonce = TestToken.base64URL([UInt8](repeating: 7, count: 32))
        let changes = [
            ("\"token\":\"token\"", "\"token\":\"tokem\""), ("\"auth\"", "\"auti\""), (mine, other),
            (nonceText, otherNonce), (nonceText, ""), (nonceText, "AAAA"),
        ]
        for (old, new) in changes {
            let changed = text.replacing(old, with: new)
            try #require(changed != text)
            #expect(outcome { try login(changed.bytes).verifyProof(appID: "cars-app") } != nil, "\(old)")
        }
    }

    @Test("requests that are none are refused")
    func badRequests() throws {
        let malformed = Outcome(.invalidToken, "malformedRequest")
        let good = String(decoding: try request(), as: UTF8.self)
        for bad in ["", "[]", "{}", #"{"appID":7}"#, #"{"appID":""}"#, good.replacing("\"peer\"", with: "\"pear\"")] {
            #expect(outcome { try LoginRequest(bad.bytes) } == malformed, "\(bad)")
        }
        for name in ["provider", "nonce", "proof"] {
            let bad = good.replacing("\"\(name)\"", with: "\"x\(name)\"")
            #expect(outcome { try LoginRequest(bad.bytes) } == malformed, "\(name)")
        }
        let filler = String(repeating: " ", count: LoginRequest.byteLimit)
        #expect(outcome { try LoginRequest((good + filler).bytes) } == malformed)
        let long = String(repeating: "x", count: AuthenticationLimits.tokenByteCount + 1)
        #expect(outcome { try request(token: long) } == Outcome(.invalidToken, "tooLarge"))
        #expect(
            outcome { try LoginRequest(good.replacing("\"token\":\"token\"", with: "\"token\":\"\(long)\"").bytes) }
                == Outcome(.invalidToken, "tooLarge"))
        var generator = SeededGenerator()
        for _ in 0..<1000 { _ = outcome { try login(generator.damaged(good.bytes)).verifyProof(appID: "cars-app") } }
    }

    @Test("a nonce is good once, for a minute, at the hub that gave it")
    func nonces() throws {
        var nonces = LoginNonces()
        let first = nonces.make(now: vectorTime)
        let second = nonces.make(now: vectorTime)
        #expect(first.count == 40 && first != second)
        #expect(outcome { try nonces.redeem(first, now: vectorTime) } == nil)
        for seconds: Int64 in [0, 1, 59] {
            #expect(outcome { try nonces.redeem(first, now: vectorTime.adding(seconds)) } == Outcome(.proofFailed))
        }
        #expect(outcome { try nonces.redeem(second, now: vectorTime.adding(59)) } == nil)
        let third = nonces.make(now: vectorTime.adding(59))
        #expect(outcome { try nonces.redeem(third, now: vectorTime.adding(119)) } == Outcome(.proofFailed))
        #expect(outcome { try nonces.redeem(third, now: vectorTime.adding(118)) } == nil)
        var other = LoginNonces()
        let bad = [[], nonce, nonces.make(now: vectorTime.adding(1)), Array(third.dropLast()), third + [0]]
        for nonce in bad { #expect(outcome { try other.redeem(nonce, now: vectorTime) } == Outcome(.proofFailed)) }
        let fresh = other.make(now: vectorTime)
        for place in fresh.indices {
            var changed = fresh
            changed[place] ^= 1
            #expect(outcome { try other.redeem(changed, now: vectorTime) } == Outcome(.proofFailed))
        }
    }

    @Test("a redeemed nonce is not good again, wherever the minutes turn and clocks are set to")
    func replayedNonces() {
        var generator = SeededGenerator()
        for _ in 0..<200 {
            var nonces = LoginNonces()
            var made: [[UInt8]] = []
            var used: Set<[UInt8]> = []
            var now = vectorTime
            for _ in 0..<60 {
                now = now.adding(Int64.random(in: -3...25, using: &generator))
                made.append(nonces.make(now: now))
                guard let nonce = made.randomElement(using: &generator) else { continue }
                if outcome({ try nonces.redeem(nonce, now: now) }) == nil {
                    #expect(used.insert(nonce).inserted, "redeemed twice")
                }
            }
            #expect(!used.isEmpty)
        }
    }

    @Test("logins beyond the capacity of a minute are refused, and pass in the next")
    func capacity() {
        var nonces = LoginNonces(capacity: 2)
        for expected in [nil, nil, Outcome(.limitReached)] {
            let nonce = nonces.make(now: vectorTime)
            #expect(outcome { try nonces.redeem(nonce, now: vectorTime) } == expected)
        }
        let later = vectorTime.adding(60)
        let nonce = nonces.make(now: later)
        #expect(outcome { try nonces.redeem(nonce, now: later) } == nil)
    }

    private func accepted() throws -> LoginAnswer.Accepted {
        LoginAnswer.Accepted(
            grant: TokenVectors.grant, certificates: [TokenVectors.certificate], roots: [world.root.publicKey],
            time: vectorTime)
    }

    @Test("answers arrive as they were sent")
    func answers() throws {
        let accepted = try accepted()
        let (status, body) = try LoginAnswer.accepted(accepted).encoded()
        #expect(status == 200)
        guard case .accepted(let read) = try LoginAnswer(status: status, body: body) else {
            Issue.record("the answer is no acceptance")
            return
        }
        #expect(read == accepted)
        let nonceAnswer = try LoginAnswer.nonce(nonce).encoded()
        guard case .nonce(let bytes) = try LoginAnswer(status: nonceAnswer.status, body: nonceAnswer.body) else {
            Issue.record("the answer is no nonce")
            return
        }
        #expect(bytes == nonce)
        let refusals: [(LoginAnswer.Refused, Int, Outcome)] = [
            (.init(TokenFailure.expired.error), 401, Outcome(.tokenExpired, "expired")),
            (
                .init(ProviderRefusal(reason: "blocked", userInfo: ["a": 1])), 401,
                Outcome(.authenticationFailed, "blocked")
            ),
            (.init(DocDBError(.providerUnavailable, "m")), 503, Outcome(.providerUnavailable)),
            (.init(DocDBError(.limitReached, "m")), 429, Outcome(.limitReached)),
            (.init(DocDBError(.storageFailed, "m")), 401, Outcome(.authenticationFailed)),
        ]
        for (refusal, expectedStatus, expected) in refusals {
            let (status, body) = try LoginAnswer.refused(refusal).encoded()
            #expect(status == expectedStatus)
            guard case .refused(let read) = try LoginAnswer(status: status, body: body) else {
                Issue.record("the answer is no refusal")
                return
            }
            #expect(read == refusal)
            #expect(Outcome(read.error) == expected)
        }
    }

    @Test("a provider's own words of refusal reach the app: the reason in the message, its userInfo in the context")
    func refusalWords() throws {
        func error(_ refusal: ProviderRefusal) throws -> DocDBError {
            let (status, body) = try LoginAnswer.refused(LoginAnswer.Refused(refusal)).encoded()
            guard case .refused(let read) = try LoginAnswer(status: status, body: body) else { throw Unexpected() }
            return read.error
        }
        let blocked = try error(ProviderRefusal(reason: "account blocked", userInfo: ["until": "May"]))
        #expect(blocked.message == "the provider refused the login: account blocked")
        #expect(blocked.context == ["reason": "account blocked", "userInfo": #"{"until":"May"}"#])
        let silent = try error(ProviderRefusal())
        #expect(silent.message == "the provider refused the login; log in again there")
        #expect(silent.context == ["reason": "refusedByProvider"])
    }

    private struct Unexpected: Error {}

    @Test("answers that make no sense are refused", arguments: [200, 401, 502])
    func senselessAnswers(_ status: Int) throws {
        let body = try LoginAnswer.accepted(try accepted()).encoded().body
        let malformed = Outcome(.providerUnavailable, "malformedAnswer")
        for bad in ["", "<html>", "{}", #"{"grant":7}"#, #"{"nonce":"AAAA"}"#, #"{"nonce":7}"#, #"{"code":"x"}"#] {
            #expect(outcome { try LoginAnswer(status: status, body: bad.bytes) } == malformed)
        }
        var generator = SeededGenerator()
        for _ in 0..<1000 {
            let bytes = generator.damaged(body)
            _ = outcome {
                if case .accepted(let answer) = try LoginAnswer(status: status, body: bytes) {
                    _ = try Credentials(answer, appID: "cars-app", peer: world.peer.publicKey, pinnedRoots: [])
                }
            }
        }
    }

    @Test("credentials are verified before they are taken, and survive being stored, expired or not")
    func credentials() throws {
        let peer = world.peer.publicKey
        let root = world.root.publicKey
        let credentials = try Credentials(try accepted(), appID: "cars-app", peer: peer, pinnedRoots: [root])
        #expect(credentials.grant.userID == "auth|user-1")
        let stored = try credentials.storedForm()
        func read(_ bytes: [UInt8], appID: String = "cars-app", peer: PeerPublicKey? = nil, roots: [PeerPublicKey] = [])
            throws -> Credentials
        {
            try Credentials(storedForm: bytes, appID: appID, peer: peer ?? world.peer.publicKey, pinnedRoots: roots)
        }
        #expect(try read(stored) == credentials)
        let verifier = try credentials.verifier(now: vectorTime)
        #expect(outcome { try world.verify(TokenVectors.grant, with: verifier) } == nil)
        let stranger = world.other.publicKey
        #expect(outcome { try read(stored, appID: "boats-app") } == Outcome(.invalidGrant, "wrongAudience"))
        #expect(outcome { try read(stored, peer: stranger) } == Outcome(.invalidGrant, "anotherPeer"))
        #expect(outcome { try read(stored, roots: [stranger]) } == Outcome(.invalidGrant, "unknownKey"))
        #expect(outcome { try read(Array(stored.dropLast())) } == Outcome(.invalidGrant))
        #expect(
            outcome { try Credentials(accepted(), appID: "cars-app", peer: peer, pinnedRoots: [stranger]) }
                == Outcome(.invalidGrant, "unknownKey"))
        #expect(
            outcome {
                try Credentials(
                    accepted(), appID: "cars-app", peer: peer, pinnedRoots: [root], highestEpoch: { _ in 4 })
            } == Outcome(.grantSuperseded))
        var generator = SeededGenerator()
        for _ in 0..<500 { _ = outcome { try read(generator.damaged(stored)) } }
    }

    @Test("time never goes back, but for a login")
    func time() {
        var floor = TimeFloor()
        #expect(floor.advance(to: vectorTime) == vectorTime)
        #expect(floor.advance(to: vectorTime.adding(-500)) == vectorTime)
        #expect(floor.advance(to: vectorTime.adding(1)) == vectorTime.adding(1))
        floor.reset(to: vectorTime.adding(-1))
        #expect(floor.advance(to: vectorTime.adding(-2)) == vectorTime.adding(-1))
    }
}
