import DocDBCore
import DocDBLive
import Dispatch
import Synchronization

/// Delivers what a live source has to a handler, on a queue, one call after another.
///
/// The source wakes it at most once between two takes, so at most one block of it waits in the queue: while the handler
/// runs, changes gather in the source and come as one delivery. It owns the source; the source and the queue know it only
/// weakly, but for the block that runs.
final class ObservationCore<Delivery: Sendable>: Sendable {
    /// What is called, until the end: then it is let go, with all that it holds.
    private struct Handlers: Sendable {
        let deliver: @Sendable (Delivery) throws -> Void
        let fail: @Sendable (any Error) -> Void
    }

    private struct State {
        var source: (any LiveSource<Delivery>)?
        var handlers: Handlers?
        /// Why it has ended by itself.
        var failure: (any Error)?
    }

    private let queue: DispatchQueue
    private let state: Lock<State>

    /// Begins an observation; `makeSource` gets what the source is to call when there is something to take.
    static func start(
        on queue: DispatchQueue?, onError fail: @escaping @Sendable (any Error) -> Void,
        deliver: @escaping @Sendable (Delivery) throws -> Void,
        makeSource: (@escaping @Sendable () -> Void) throws -> any LiveSource<Delivery>
    ) throws -> LiveObservation {
        let core = ObservationCore(queue, Handlers(deliver: deliver, fail: fail))
        let source = try makeSource { [weak core] in core?.schedule() }
        core.state.withLock { $0.source = source }
        core.schedule()
        return LiveObservation(failure: { core.state.withLock { $0.failure } }, end: { core.end() })
    }

    private init(_ queue: DispatchQueue?, _ handlers: Handlers) {
        // A queue of its own before the wanted one keeps calls apart where that one is concurrent.
        self.queue = DispatchQueue(label: "docdb.observation", target: queue)
        state = Lock(State(handlers: handlers))
    }

    private func schedule() { queue.async { self.run() } }

    private func run() {
        let (source, handlers) = state.withLock { ($0.source, $0.handlers) }
        guard let source, let handlers else { return }
        do {
            if let delivery = try source.take() {
                guard isUnderWay else { return }
                try handlers.deliver(delivery)
            }
            if source.hasEnded { end() }
        } catch {
            guard isUnderWay else { return }
            let isFailure = (error as? DocDBError)?.code != .databaseClosed
            end(isFailure ? error : nil)
            if isFailure { handlers.fail(error) }
        }
    }

    private var isUnderWay: Bool { state.withLock { $0.handlers != nil } }

    /// Ends the observation and lets go of the handler; the first call says why.
    func end(_ failure: (any Error)? = nil) {
        let ended = state.withLock { state in
            defer { state = State(failure: state.handlers == nil ? state.failure : failure) }
            return state
        }
        ended.source?.close()
    }
}
