import DocDBCore
import DocDBTransport
import Synchronization
import Testing

/// Notes what links report and lets tests wait for it.
final class Recorder: LinkHandler {
    struct State {
        var openCount = 0
        var frames: [[UInt8]] = []
        var byteCount = 0
        var drainCount = 0
        var closes: [LinkCloseReason] = []
        /// Frames that came before the link opened or after it closed.
        var misplacedCount = 0
    }

    private struct Waiting {
        var condition: @Sendable (State) -> Bool
        var continuation: CheckedContinuation<State, Never>
    }

    private let state = Lock<(State, [Waiting])>((State(), []))
    private let keepsFrames: Bool
    private let onFrame: (@Sendable (any Link, [UInt8]) -> Void)?

    init(keepsFrames: Bool = true, onFrame: (@Sendable (any Link, [UInt8]) -> Void)? = nil) {
        self.keepsFrames = keepsFrames
        self.onFrame = onFrame
    }

    var current: State { state.withLock { $0.0 } }

    /// Waits for a condition; the suite's time limit ends it where it never comes.
    @discardableResult
    func wait(until condition: @escaping @Sendable (State) -> Bool) async -> State {
        await withCheckedContinuation { continuation in
            let reached = state.withLock { state -> State? in
                if condition(state.0) { return state.0 }
                state.1.append(Waiting(condition: condition, continuation: continuation))
                return nil
            }
            if let reached { continuation.resume(returning: reached) }
        }
    }

    private func note(_ change: (inout State) -> Void) {
        let (reached, now) = state.withLock { state -> ([Waiting], State) in
            change(&state.0)
            let now = state.0
            let reached = state.1.filter { $0.condition(now) }
            state.1.removeAll { $0.condition(now) }
            return (reached, now)
        }
        for waiting in reached { waiting.continuation.resume(returning: now) }
    }

    func linkDidOpen(_ link: any Link) { note { $0.openCount += 1 } }

    func link(_ link: any Link, didReceive frame: [UInt8]) {
        note { state in
            if state.openCount != 1 || !state.closes.isEmpty { state.misplacedCount += 1 }
            if keepsFrames { state.frames.append(frame) }
            state.byteCount += frame.count
        }
        onFrame?(link, frame)
    }

    func linkDidDrain(_ link: any Link) { note { $0.drainCount += 1 } }

    func link(_ link: any Link, didClose reason: LinkCloseReason) { note { $0.closes.append(reason) } }
}

/// A value that comes later, once or more often.
final class Inbox<Value: Sendable>: Sendable {
    private let state = Lock<([Value], [CheckedContinuation<Value, Never>])>(([], []))

    func put(_ value: Value) {
        let waiting = state.withLock { state -> CheckedContinuation<Value, Never>? in
            if state.1.isEmpty {
                state.0.append(value)
                return nil
            }
            return state.1.removeFirst()
        }
        waiting?.resume(returning: value)
    }

    func next() async -> Value {
        await withCheckedContinuation { continuation in
            let value = state.withLock { state -> Value? in
                if state.0.isEmpty {
                    state.1.append(continuation)
                    return nil
                }
                return state.0.removeFirst()
            }
            if let value { continuation.resume(returning: value) }
        }
    }
}

/// Bytes that differ from place to place, the same for the same seed; they repeat after a prime number of bytes.
func patternedBytes(_ count: Int, seed: UInt8 = 1) -> [UInt8] {
    let pattern = (0..<min(count, 1009)).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ $0 >> 8 &+ Int(seed)) }
    var bytes = pattern
    bytes.reserveCapacity(count)
    while bytes.count + pattern.count <= count, !pattern.isEmpty { bytes += pattern }
    return bytes + pattern.prefix(count - bytes.count)
}

extension Connector {
    /// Connects and waits for the outcome.
    func connect(to url: String, _ options: ConnectOptions = ConnectOptions()) async throws(DocDBError) -> any Link {
        let outcome = Inbox<Result<any Link, DocDBError>>()
        connect(to: url, options: options) { outcome.put($0) }
        return try await outcome.next().get()
    }
}

/// The error that `body` throws; nil, and a failed test, where it throws none.
func failure(
    _ location: SourceLocation = #_sourceLocation, of body: () async throws(DocDBError) -> Void
) async -> DocDBError? {
    do throws(DocDBError) {
        try await body()
        Issue.record("no error was thrown", sourceLocation: location)
        return nil
    } catch {
        return error
    }
}
