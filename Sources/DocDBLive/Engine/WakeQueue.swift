import Dispatch
import DocDBCore
import Synchronization

/// Wakes consumers apart from the writer's thread, and in a burst of commits several at a time.
///
/// To wake a sleeping thread takes the writer a good part of the time of a small commit, and the woken thread the same. So
/// the writer only notes whom to wake. The first commit after a rest starts a block that wakes them at once, and then pauses
/// before it looks again: while commits go on, consumers are woken once a pause.
final class WakeQueue: Sendable {
    /// What wakes a consumer.
    struct Wake: Sendable {
        let call: @Sendable () -> Void
        /// Whether it is called on the writer's own thread: so in simulations, which have one only.
        let isImmediate: Bool
    }

    /// How long the next consumers to wake are waited for: a delivery is late by this much at most, and only in a burst.
    static let pauseMicroseconds = 200

    private struct State {
        var waiting: [@Sendable () -> Void] = []
        var isRunning = false
    }

    private let queue = DispatchQueue(label: "docdb.live")
    private let state = Lock(State())
    private let pause = DispatchSemaphore(value: 0)

    /// Notes whom to wake, and wakes those who want it at once.
    func add(_ wakes: [Wake]) {
        guard !wakes.isEmpty else { return }
        for wake in wakes where wake.isImmediate { wake.call() }
        let mustStart = state.withLock { state -> Bool in
            for wake in wakes where !wake.isImmediate { state.waiting.append(wake.call) }
            guard !state.waiting.isEmpty, !state.isRunning else { return false }
            state.isRunning = true
            return true
        }
        if mustStart { queue.async { self.run() } }
    }

    private func run() {
        while let wakes = next() {
            for wake in wakes { wake() }
            _ = pause.wait(timeout: .now() + .microseconds(Self.pauseMicroseconds))
        }
    }

    /// Whom to wake now; nil, and the next one to add starts anew, where there is nobody.
    private func next() -> [@Sendable () -> Void]? {
        state.withLock { state in
            guard !state.waiting.isEmpty else {
                state.isRunning = false
                return nil
            }
            defer { state.waiting = [] }
            return state.waiting
        }
    }
}
