import DocDBCore
import DocDBQuery
package import DocDBStorage
import Synchronization

/// The live number of a query's results: holds no documents, only what commits add and take away.
///
/// Pull-based like `LiveQuery`; the first take counts in the store.
package final class LiveCount: LiveSource, LiveTarget {
    private enum Phase {
        case empty, loading, live, closed
    }

    private struct State: ~Copyable {
        var phase = Phase.empty
        /// How many documents match, without limit and offset.
        var total = 0
        var loadedSequence: Int64 = 0
        /// What commits did while the store was being read.
        var waiting: [(sequence: Int64, difference: Int)] = []
        var delivered: Int?
        var isAwake = false
        var isStoreClosed = false
        var id: MatcherID?
        weak var store: Store?
    }

    private let definition: QueryDefinition
    private let engine: LiveEngine
    private let wake: @Sendable () -> Void
    private let state: Lock<State>
    /// Serialises takes.
    private let taking = Lock<Void>(())

    /// Begins a live count; `wake` is called from any thread when there is something to take, and must only schedule.
    package init(_ definition: QueryDefinition, store: Store, wake: @escaping @Sendable () -> Void) throws {
        self.definition = definition
        self.wake = wake
        engine = LiveEngine.of(store)
        state = Lock(State(store: store))
        let id = try engine.register(self, definition, in: store)
        state.withLock { $0.id = id }
    }

    deinit { close() }

    package func close() {
        let id = state.withLock { state -> MatcherID? in
            state.phase = .closed
            defer { state.id = nil }
            return state.id
        }
        if let id { engine.unregister(id) }
    }

    // MARK: Commits, on the writer's thread

    var wantsContents: Bool { false }

    func apply(_ changes: [LiveChange], sequence: Int64, waking sleepers: inout [WakeQueue.Wake]) {
        let difference = changes.reduce(0) { $0 + ($1.matchesAfter ? 1 : 0) - ($1.matchedBefore ? 1 : 0) }
        let mustWake = state.withLock { state -> Bool in
            switch state.phase {
            case .closed, .empty: return false
            case .loading:
                state.waiting.append((sequence, difference))
                return false
            case .live:
                guard sequence > state.loadedSequence else { return false }
                state.total += difference
                guard !state.isAwake, visible(state.total) != state.delivered else { return false }
                state.isAwake = true
                return true
            }
        }
        if mustWake { sleepers.append(WakeQueue.Wake(call: wake, isImmediate: false)) }
    }

    func storeDidClose() {
        let mustWake = state.withLock { state -> Bool in
            state.isStoreClosed = true
            guard state.phase != .closed, !state.isAwake else { return false }
            state.isAwake = true
            return true
        }
        if mustWake { wake() }
    }

    /// The part of all matches that limit and offset leave.
    private func visible(_ total: Int) -> Int { min(max(total - definition.offset, 0), definition.limit ?? .max) }

    // MARK: Taking

    package var hasEnded: Bool { state.withLock { $0.phase == .closed } }
    package var readsNext: Bool { state.withLock { $0.phase == .empty } }

    package func take() throws -> Int? {
        try taking.withLock { _ in
            let mustLoad = state.withLock { state -> Bool in
                state.isAwake = false
                guard state.phase == .empty, !state.isStoreClosed else { return false }
                state.phase = .loading
                return true
            }
            if mustLoad { try load() }
            let (count, isOver) = state.withLock { state -> (Int?, Bool) in
                guard state.phase == .live else { return (nil, state.isStoreClosed) }
                let count = visible(state.total)
                if count == state.delivered { return (nil, state.isStoreClosed) }
                state.delivered = count
                // After the closing of the store nobody would wake the consumer again.
                return (count, state.isStoreClosed)
            }
            if isOver { close() }
            return count
        }
    }

    private func load() throws {
        do {
            guard let store = state.withLock({ $0.store }) else { throw LiveFailure.databaseClosed }
            let (total, sequence) = try store.read { context in
                (
                    try QueryExecution(definition.limited(to: nil, offset: 0), in: context).count(),
                    try ChangeLogReader(connection: context.connection).lastSequence()
                )
            }
            state.withLock { state in
                guard state.phase == .loading else { return }
                state.total = state.waiting.reduce(total) { $1.sequence > sequence ? $0 + $1.difference : $0 }
                state.loadedSequence = sequence
                state.waiting = []
                state.phase = .live
            }
        } catch {
            state.withLock { state in
                state.waiting = []
                if state.phase == .loading { state.phase = .empty }
            }
            throw error
        }
    }
}
