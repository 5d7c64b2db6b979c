import DocDBCore
import Synchronization

/// Closures that are told of values, until each is cancelled or all end.
package final class Observers<Value: Sendable>: Sendable {
    private struct Handler {
        var tell: @Sendable (Value) -> Void
        var end: @Sendable () -> Void
    }

    private struct State {
        var next: UInt64 = 0
        var handlers: [UInt64: Handler] = [:]
        var hasEnded = false
    }

    private let state = Lock(State())

    package init() {}

    /// Adds a handler, which is called on the thread that tells and must be brief; returns what cancels it.
    package func add(
        _ handler: @escaping @Sendable (Value) -> Void, onEnd end: @escaping @Sendable () -> Void = {}
    ) -> ObserverToken {
        let id = state.withLock { state -> UInt64? in
            guard !state.hasEnded else { return nil }
            state.next += 1
            state.handlers[state.next] = Handler(tell: handler, end: end)
            return state.next
        }
        guard let id else {
            end()
            return ObserverToken {}
        }
        return ObserverToken { [weak self] in self?.remove(id) }
    }

    package func tell(_ value: Value) {
        let handlers = state.withLock { state in
            state.handlers.sorted { left, right in left.key < right.key }.map(\.value.tell)
        }
        for tell in handlers { tell(value) }
    }

    /// Tells all that nothing will come any more, and forgets them.
    package func end() {
        let handlers = state.withLock { state in
            state.hasEnded = true
            defer { state.handlers = [:] }
            return state.handlers.values.map(\.end)
        }
        for end in handlers { end() }
    }

    /// How many handlers there are.
    package var count: Int { state.withLock { $0.handlers.count } }

    private func remove(_ id: UInt64) { _ = state.withLock { $0.handlers.removeValue(forKey: id) } }
}

/// Ends the telling of an observer when it is cancelled or released.
package final class ObserverToken: Sendable {
    private let end: @Sendable () -> Void
    init(end: @escaping @Sendable () -> Void) { self.end = end }
    deinit { end() }
    package func cancel() { end() }
}
