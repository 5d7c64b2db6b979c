import DocDBAuth
import DocDBCore
import DocDBReplication
import DocDBTransport
import Synchronization

/// Answers what comes to a hub's port beside links: logins, health, and metrics where they have no listener of their own.
final class HubService: Sendable {
    let metrics = HubMetrics()
    /// The replication that is told of, while it runs.
    let engine = Lock<ReplicationEngine?>(nil)
    private let login: LoginService
    private let authenticator: OnlineAuthenticator
    private let log: HubLog
    private let servesMetrics: Bool
    private let monotonic: @Sendable () -> UInt64

    init(
        _ login: LoginService, _ authenticator: OnlineAuthenticator, log: HubLog, servesMetrics: Bool,
        monotonic: @escaping @Sendable () -> UInt64
    ) {
        self.login = login
        self.authenticator = authenticator
        self.log = log
        self.servesMetrics = servesMetrics
        self.monotonic = monotonic
    }

    func answer(_ request: HTTPRequest, _ respond: @escaping @Sendable (HTTPResponse) -> Void) {
        switch (request.method, request.path) {
        case ("POST", "/v1/login"): Task { respond(await answerLogin(request)) }
        case (_, "/v1/login"): respond(.text(405, "logins are sent by POST"))
        case ("GET", "/healthz"), ("HEAD", "/healthz"):
            let isRunning = engine.withLock { $0 }?.status.phase == .running
            respond(.text(isRunning ? 200 : 503, isRunning ? "ok" : "stopping"))
        case ("GET", "/metrics") where servesMetrics: answerMetrics(request, respond)
        default: respond(.text(404, "there is nothing here"))
        }
    }

    func answerMetrics(_ request: HTTPRequest, _ respond: @escaping @Sendable (HTTPResponse) -> Void) {
        guard request.path == "/metrics", request.method == "GET" else {
            return respond(.text(404, "there is nothing here but /metrics"))
        }
        guard let engine = engine.withLock({ $0 }) else { return respond(.text(503, "stopping")) }
        engine.measureLag { [metrics] lag in
            respond(
                HTTPResponse(
                    status: 200, headers: ["content-type": "text/plain; version=0.0.4; charset=utf-8"],
                    body: Array(metrics.text(engine, lagSeconds: lag).utf8)))
        }
    }

    private func answerLogin(_ request: HTTPRequest) async -> HTTPResponse {
        let begin = monotonic()
        let (response, outcome) = await login.answer(request)
        let seconds = Double(monotonic() &- begin) / 1_000_000_000
        switch outcome {
        case .nonce: break
        case .accepted(let userID, let epoch):
            authenticator.note(epoch: epoch, of: userID)
            metrics.countLogin("accepted", seconds: seconds)
            log.note(.info, "login accepted", ["from": .string(request.remoteAddress)])
        case .refused(let error):
            metrics.countLogin(error.code.description, seconds: seconds)
            var facts: [String: Value] = [
                "from": .string(request.remoteAddress), "code": .string(error.code.description),
            ]
            if let reason = error.context["reason"] { facts["reason"] = .string(reason) }
            // What the network said, for whoever runs the hub; clients are not told.
            if let cause = error.context["cause"], !cause.isEmpty { facts["cause"] = .string(cause) }
            log.note(.warning, "login refused", facts)
        }
        return response
    }
}
