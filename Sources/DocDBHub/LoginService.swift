import DocDBAuth
package import DocDBCore
package import DocDBTransport
import Synchronization

/// Answers `POST /v1/login`: gives nonces, has tokens checked by their provider, and issues grants.
package final class LoginService: Sendable {
    private struct State {
        var nonces = LoginNonces()
        var limiter: RateLimiter
        var keys: HubKeys
    }

    private let configuration: HubConfiguration
    private let ledger: HubLedger
    private let http: any HTTPFetching
    private let clock: @Sendable () -> UInt64
    private let state: Lock<State>

    package init(
        _ configuration: HubConfiguration, keys: HubKeys, ledger: HubLedger, http: any HTTPFetching,
        clock: @escaping @Sendable () -> UInt64
    ) {
        self.configuration = configuration
        self.ledger = ledger
        self.http = http
        self.clock = clock
        state = Lock(State(limiter: RateLimiter(perMinute: configuration.loginsPerMinute), keys: keys))
    }

    /// Issues with these keys from now on.
    package func use(_ keys: HubKeys) { state.withLock { $0.keys = keys } }

    /// What came of a login, for logs and metrics.
    package enum Outcome: Sendable {
        case nonce
        case accepted(userID: String, epoch: Int64)
        case refused(DocDBError)
    }

    /// Answers a request to log in.
    package func answer(_ request: HTTPRequest) async -> (HTTPResponse, Outcome) {
        do throws(DocDBError) {
            let (answer, outcome) = try await answerOrThrow(request)
            return (try Self.response(answer), outcome)
        } catch {
            let answer = LoginAnswer.refused(LoginAnswer.Refused(error))
            let response = (try? Self.response(answer)) ?? .text(500, "the answer cannot be written")
            return (response, .refused(error))
        }
    }

    private static func response(_ answer: LoginAnswer) throws(DocDBError) -> HTTPResponse {
        let (status, body) = try answer.encoded()
        var response = HTTPResponse.json(status, body)
        response.headers["cache-control"] = "no-store"
        return response
    }

    private func answerOrThrow(_ request: HTTPRequest) async throws(DocDBError) -> (LoginAnswer, Outcome) {
        let nanoseconds = clock()
        let now = UnixTime(nanoseconds: nanoseconds)
        guard state.withLock({ $0.limiter.take(request.remoteAddress, at: nanoseconds) }) else {
            throw DocDBError(.limitReached, "too many logins come from this address; try again in a minute")
        }
        switch try LoginRequest(request.body) {
        case .nonce(let appID):
            guard appID.utf8.elementsEqual(configuration.appID.utf8) else {
                throw DocDBError(.authenticationFailed, "the hub serves another app; check app id and URL")
            }
            return (.nonce(state.withLock { $0.nonces.make(now: now) }), .nonce)
        case .login(let login): return try await logIn(login, now: now)
        }
    }

    private func logIn(
        _ login: LoginRequest.Login, now: UnixTime
    ) async throws(DocDBError) -> (LoginAnswer, Outcome) {
        try check { (nonces) throws(DocDBError) in try nonces.check(login.nonce, now: now) }
        try login.verifyProof(appID: configuration.appID)
        try check { (nonces) throws(DocDBError) in try nonces.redeem(login.nonce, now: now) }
        guard let provider = configuration.providers.first(where: { $0.name == login.provider }) else {
            throw DocDBError(
                .authenticationFailed, "the hub knows no provider of this name", context: ["reason": "unknownProvider"])
        }
        let http = http
        let answer = try await provider.answer(
            token: login.token, appID: configuration.appID, now: now,
            send: { try await Self.send($0, http) })
        switch answer {
        case .refused(let refusal):
            return (.refused(LoginAnswer.Refused(refusal)), .refused(refusal.error))
        case .accepted(let identity): return try issue(identity, provider, login.peer)
        }
    }

    /// Asks a webhook. An answer that is too large is one, which is not asked for again.
    private static func send(
        _ request: WebhookProvider.Request, _ http: any HTTPFetching
    ) async throws -> (status: Int, body: [UInt8]) {
        do {
            let response = try await http.send(
                query(request),
                limits: HTTPClientLimits(
                    responseByteCount: request.byteLimit, timeoutSeconds: Double(request.timeout)))
            return (response.status, response.body)
        } catch  where error.code == .limitReached {
            return (200, [UInt8](repeating: 0, count: request.byteLimit + 1))
        }
    }

    private static func query(_ request: WebhookProvider.Request) -> HTTPClientRequest {
        let trust: CertificateTrust = if let file = request.authorities { .authorities(file: file) } else { .system }
        return HTTPClientRequest(
            url: request.url, method: "POST", headers: request.headers, body: request.body, trust: trust)
    }

    private func check(_ body: (inout LoginNonces) throws(DocDBError) -> Void) throws(DocDBError) {
        let result = state.withLock { state in Result { () throws(DocDBError) in try body(&state.nonces) } }
        try result.get()
    }

    private func issue(
        _ identity: ProviderIdentity, _ provider: Provider, _ peer: PeerPublicKey
    ) throws(DocDBError) -> (LoginAnswer, Outcome) {
        // The provider may have taken its time.
        let now = UnixTime(nanoseconds: clock())
        let permissions = try identity.boundPermissions()
        let epoch = try ledger.epoch(of: identity.userID, permissions)
        let keys = state.withLock { $0.keys }
        let issuer = try GrantIssuer(appID: configuration.appID, keys: keys.keys)
        let issued = try issuer.issue(
            GrantIssuer.Request(
                identity: identity, permissions: permissions, epoch: epoch, peer: peer,
                isRelay: configuration.isRelay(identity.userID), maxGrantSeconds: provider.maxGrantSeconds),
            now: now, revocations: ledger.revocations)
        let accepted = LoginAnswer.Accepted(
            grant: issued.text, certificates: issuer.certificates(now: now), roots: keys.roots, time: now)
        return (.accepted(accepted), .accepted(userID: identity.userID, epoch: epoch.number))
    }
}
