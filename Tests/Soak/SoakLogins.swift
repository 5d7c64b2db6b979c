import DocDB
import DocDBAuth
import DocDBTransport
import Synchronization

/// The identity provider of a soak: the webhook that the hub asks, whose answers change and fail.
final class SoakLogins: Sendable {
    struct Right {
        var level = 7
        var isWide = false
        var isRefused = false
    }

    struct Figures {
        var acceptedCount = 0
        var refusedCount = 0
        var failedCount = 0
    }

    private struct State {
        var rights: [String: Right] = [:]
        var isDown = false
        var figures = Figures()
    }

    private let state = Mutex(State())
    private let transport: WebSocketTransport
    private let listener = Mutex<WebSocketListener?>(nil)

    init() throws {
        transport = try WebSocketTransport()
        var options = ListenOptions()
        options.acceptsLinks = false
        options.requestHandler = { [weak self] request, respond in respond(self?.answer(request) ?? .text(503, "ended"))
        }
        let made = transport.listener(options)
        try made.start { $0.close(.refused("logins only")) }
        listener.withLock { $0 = made }
    }

    var url: String {
        "http://127.0.0.1:\(listener.withLock { $0 }?.boundAddress?.port ?? 0)/"
    }
    var figures: Figures { state.withLock { $0.figures } }
    func right(of user: String) -> Right { state.withLock { $0.rights[user] ?? Right() } }
    func set(_ right: Right, of user: String) { state.withLock { $0.rights[user] = right } }
    func setDown(_ isDown: Bool) { state.withLock { $0.isDown = isDown } }

    private func answer(_ request: HTTPRequest) -> HTTPResponse {
        guard let body = try? StrictJSON.object(request.body), case .string(let user) = body["token"] else {
            return .text(400, "no token")
        }
        let right: Right? = state.withLock { state in
            let right = state.rights[user] ?? Right()
            if state.isDown {
                state.figures.failedCount += 1
            } else if right.isRefused {
                state.figures.refusedCount += 1
            } else {
                state.figures.acceptedCount += 1
            }
            return state.isDown ? nil : right
        }
        guard let right else { return .text(500, "down") }
        guard !right.isRefused else { return .json(200, Array(#"{"authenticated": false}"#.utf8)) }
        let answer: [String: Value] = [
            "authenticated": true, "userID": .string(user), "expirationSeconds": .int(Int64(SoakWorld.grantSeconds)),
            "permissions": SoakWorld.permissions(user, level: right.level, isWide: right.isWide),
        ]
        guard let json = try? StrictJSON.text(answer) else { return .text(500, "no JSON") }
        return .json(200, json)
    }
}
