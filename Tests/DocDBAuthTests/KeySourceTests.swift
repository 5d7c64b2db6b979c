import DocDBAuth
import DocDBCore
import Synchronization
import Testing

/// A server of keys that counts its calls, answers what it is told to, and can be held back.
private final class KeyServer: Sendable {
    struct Unreachable: Error {}

    private struct State {
        var answer: String?
        var callCount = 0
        var gate: [CheckedContinuation<Void, Never>]?
        var arrival: CheckedContinuation<Void, Never>?
    }

    private let state: Lock<State>

    init(_ answer: String?, isHeld: Bool = false) { state = Lock(State(answer: answer, gate: isHeld ? [] : nil)) }

    var callCount: Int { state.withLock { $0.callCount } }

    func setAnswer(_ answer: String?) { state.withLock { $0.answer = answer } }

    func source() throws -> KeySource {
        try KeySource(url: "https://issuer.example/keys") { [self] _, _ in
            await withCheckedContinuation { continuation in
                let (isHeld, arrival) = state.withLock { state in
                    state.callCount += 1
                    let arrival = state.arrival
                    state.arrival = nil
                    guard state.gate != nil else { return (false, arrival) }
                    state.gate?.append(continuation)
                    return (true, arrival)
                }
                arrival?.resume()
                if !isHeld { continuation.resume() }
            }
            guard let answer = state.withLock({ $0.answer }) else { throw Unreachable() }
            return answer.bytes
        }
    }

    /// Waits until somebody has asked.
    func waitForCall() async {
        await withCheckedContinuation { continuation in
            let isThere = state.withLock { state in
                if state.callCount > 0 { return true }
                state.arrival = continuation
                return false
            }
            if isThere { continuation.resume() }
        }
    }

    func release() {
        let waiting = state.withLock { state in
            defer { state.gate = nil }
            return state.gate ?? []
        }
        for continuation in waiting { continuation.resume() }
    }
}

@Suite("Sources of keys")
struct KeySourceTests {
    private static func token(kid: String = "ed-1") throws -> JSONWebSignature {
        try JSONWebSignature(
            try TestToken.edDSA("{\"alg\":\"EdDSA\",\"kid\":\"\(kid)\"}", "{}", key: try TestToken.issuerKey()))
    }

    private static let later = TokenVectors.keySet.replacing("ed-1", with: "ed-2")

    private static func find(_ source: KeySource, kid: String = "ed-1", at seconds: Int64) async throws -> Outcome? {
        let token = try token(kid: kid)
        return await outcome { try await source.key(for: token, now: vectorTime.adding(seconds)) }
    }

    @Test("keys from a file may be secrets, and are never fetched")
    func file() async throws {
        let source = try KeySource(content: TokenVectors.secretSet.bytes)
        let token = try JSONWebSignature(TokenVectors.hs256)
        #expect(try await source.key(for: token, now: vectorTime).id == "hs-1")
        #expect(try await Self.find(source, at: 0) == Outcome(.invalidToken, "unknownKey"))
    }

    @Test("keys are fetched once in ten minutes")
    func lifetime() async throws {
        let server = KeyServer(TokenVectors.keySet)
        let source = try server.source()
        for (seconds, count) in [(0, 1), (1, 1), (599, 1), (600, 2), (1199, 2), (1200, 3)] as [(Int64, Int)] {
            #expect(try await Self.find(source, at: seconds) == nil)
            #expect(server.callCount == count, "after \(seconds) s")
        }
    }

    @Test("a key that is not known is looked for once in 30 s, so that new keys are found and floods are not passed on")
    func unknownKey() async throws {
        let server = KeyServer(TokenVectors.keySet)
        let source = try server.source()
        #expect(try await Self.find(source, at: 0) == nil)
        for seconds: Int64 in [1, 10, 29] {
            #expect(try await Self.find(source, kid: "ed-2", at: seconds) == Outcome(.invalidToken, "unknownKey"))
        }
        #expect(server.callCount == 1)
        server.setAnswer(Self.later)
        #expect(try await Self.find(source, kid: "ed-2", at: 30) == nil)
        #expect(server.callCount == 2)
        #expect(try await Self.find(source, kid: "ed-1", at: 31) == Outcome(.invalidToken, "unknownKey"))
        #expect(server.callCount == 2)
    }

    @Test("known keys serve for a day while their server is away, and not longer", arguments: [nil, "{}", "\0"])
    func staleKeys(_ answer: String?) async throws {
        let server = KeyServer(TokenVectors.keySet)
        let source = try server.source()
        #expect(try await Self.find(source, at: 0) == nil)
        server.setAnswer(answer)
        for seconds: Int64 in [600, 629, 630, 40_000, 86_399] {
            #expect(try await Self.find(source, at: seconds) == nil)
        }
        #expect(server.callCount == 5, "at most one try in 30 s")
        let code: DocDBError.Code = answer == nil ? .providerUnavailable : .invalidKey
        #expect(try await Self.find(source, at: 86_400) == Outcome(code))
        server.setAnswer(TokenVectors.keySet)
        #expect(try await Self.find(source, at: 86_430) == nil)
    }

    @Test("a server that is away at first is asked again after five seconds")
    func firstFailure() async throws {
        let server = KeyServer(nil)
        let source = try server.source()
        #expect(try await Self.find(source, at: 0) == Outcome(.providerUnavailable))
        #expect(try await Self.find(source, at: 4) == Outcome(.providerUnavailable))
        #expect(server.callCount == 1)
        server.setAnswer(TokenVectors.keySet)
        #expect(try await Self.find(source, at: 5) == nil)
        #expect(server.callCount == 2)
    }

    @Test("a clock that is set back neither stops fetching nor keeps keys for ever")
    func clockSetBack() async throws {
        let server = KeyServer(TokenVectors.keySet)
        let source = try server.source()
        #expect(try await Self.find(source, at: 1_000_000) == nil)
        #expect(try await Self.find(source, at: 0) == nil)
        #expect(server.callCount == 2)
    }

    @Test("callers that come at once share one fetch")
    func sharedFetch() async throws {
        let server = KeyServer(TokenVectors.keySet, isHeld: true)
        let source = try server.source()
        let outcomes = try await withThrowingTaskGroup(of: Outcome?.self) { group in
            for _ in 0..<50 { group.addTask { try await Self.find(source, at: 0) } }
            await server.waitForCall()
            server.release()
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(outcomes == [Outcome?](repeating: nil, count: 50))
        #expect(server.callCount == 1)
    }

    @Test("a caller that gives up does not end the fetch for the others")
    func cancelledCaller() async throws {
        let server = KeyServer(TokenVectors.keySet, isHeld: true)
        let source = try server.source()
        let first = Task { try await Self.find(source, at: 0) }
        await server.waitForCall()
        first.cancel()
        let second = Task { try await Self.find(source, at: 0) }
        server.release()
        #expect(try await second.value == nil)
        #expect(server.callCount == 1)
    }

    @Test("published secrets and weak keys are refused", arguments: [TokenVectors.secretSet, TokenVectors.weakSet])
    func badKeys(_ answer: String) async throws {
        let source = try KeyServer(answer).source()
        #expect(try await Self.find(source, at: 0) == Outcome(.invalidKey))
    }

    @Test("URLs without TLS are refused", arguments: ["http://issuer.example/keys", "", "ftp://a", "https://"])
    func insecureURL(_ url: String) {
        #expect(outcome { try KeySource(url: url) { _, _ in [] } } == Outcome(.invalidConfiguration))
    }
}
