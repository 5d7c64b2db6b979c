import DocDBCore
import DocDBQuery
package import DocDBStorage
import Synchronization

/// One live query: its window, what its consumer has not taken yet, and how the consumer is woken.
///
/// Pull-based: a commit updates the window and calls `wake` once; the consumer calls `take` when it is ready and gets
/// everything since the last time in one delivery. The first delivery, and a window that has run dry, read the store on
/// the consumer's thread, never on the writer's.
package final class LiveQuery: LiveSource, LiveTarget {
    /// What a consumer gets.
    package enum Delivery: Sendable {
        case initial(ResultSnapshot<SharedDocument>)
        case update(ResultEvent<SharedDocument>)
    }

    private enum Phase {
        /// Nothing is held; changes are of no interest, as loading will see them.
        case empty
        /// The store is being read; commits wait.
        case loading
        case live
        case closed
    }

    private struct State: ~Copyable {
        var phase = Phase.empty
        var window: ResultWindow<SharedDocument>
        /// The newest commit that the rows loaded last include.
        var loadedSequence: Int64 = 0
        /// Commits that came while loading, and those whose many changes are left to the consumer's thread.
        var waiting: [(sequence: Int64, changes: [LiveChange])] = []
        var waitingChangeCount = 0
        var hasDelivered = false
        /// Whether the consumer has been woken and has not taken since.
        var isAwake = false
        /// Whether the store has closed: what is pending is still taken, then the query ends.
        var isStoreClosed = false
        var keys: RowKeyMaker
        var id: MatcherID?
        /// The store, which a query that is kept too long does not keep open.
        weak var store: Store?
    }

    private let definition: QueryDefinition
    private let engine: LiveEngine
    private let names: FieldNames
    private let wake: @Sendable () -> Void
    private let state: Mutex<State>
    /// Serialises takes: of two consumers of one query the second waits.
    private let taking = Mutex<Void>(())

    /// Begins a live query; `wake` is called from any thread when there is something to take, and must only schedule.
    package init(
        _ definition: QueryDefinition, store: Store, wake: @escaping @Sendable () -> Void
    ) throws {
        self.definition = definition
        engine = LiveEngine.of(store)
        names = store.names
        self.wake = wake
        state = Mutex(
            State(
                window: ResultWindow(limit: definition.limit, offset: definition.offset),
                keys: try RowKeyMaker(definition, names: store.names), store: store))
        let id = try engine.register(self, definition, in: store)
        state.withLock { $0.id = id }
    }

    deinit { close() }

    /// Ends the query; nothing is delivered any more.
    package func close() {
        let id = state.withLock { state -> MatcherID? in
            state.phase = .closed
            state.waiting = []
            state.window = ResultWindow()
            defer { state.id = nil }
            return state.id
        }
        if let id { engine.unregister(id) }
    }

    // MARK: Commits, on the writer's thread

    var wantsContents: Bool { true }

    func storeDidClose() {
        let mustWake = state.withLock { state -> Bool in
            state.isStoreClosed = true
            guard state.phase != .closed, !state.isAwake else { return false }
            state.isAwake = true
            return true
        }
        if mustWake { wake() }
    }

    func apply(_ changes: [LiveChange], sequence: Int64) {
        let mustWake = state.withLock { state -> Bool in
            switch state.phase {
            case .closed, .empty: return false
            case .loading:
                state.waiting.append((sequence, changes))
                return false
            case .live:
                guard sequence > state.loadedSequence else { return false }
                if changes.count > WindowLimits.mostSingleChanges || !state.waiting.isEmpty {
                    Self.postpone(changes, sequence: sequence, in: &state)
                } else {
                    Self.apply(changes, to: &state)
                }
                guard !state.isAwake, state.window.pendingCount > 0 || !state.waiting.isEmpty else { return false }
                state.isAwake = true
                return true
            }
        }
        if mustWake { wake() }
    }

    /// The most changes that wait for the consumer, unless more rows are held.
    private static let mostWaitingChanges = 16_384

    /// Leaves changes to the next take, so that the writer need not merge them; where too many wait, they are applied.
    private static func postpone(_ changes: [LiveChange], sequence: Int64, in state: inout State) {
        state.waiting.append((sequence, changes))
        state.waitingChangeCount += changes.count
        if state.waitingChangeCount > max(mostWaitingChanges, state.window.heldCount) { applyWaiting(to: &state) }
    }

    /// Brings the window up to date with the commits that wait.
    private static func applyWaiting(to state: inout State) {
        for (sequence, changes) in state.waiting where sequence > state.loadedSequence { apply(changes, to: &state) }
        state.waiting = []
        state.waitingChangeCount = 0
    }

    private static func apply(_ changes: [LiveChange], to state: inout State) {
        state.window.apply(
            changes.map { change in
                guard let content = change.content, let key = state.keys.key(of: content, change.key) else {
                    return ResultChange(leaving: change.key)
                }
                return ResultChange(ResultRow(sortKey: key, key: change.key, document: content))
            })
    }

    // MARK: Taking, on the consumer's thread

    package var hasEnded: Bool { state.withLock { $0.phase == .closed } }

    package var readsNext: Bool {
        state.withLock {
            $0.phase == .empty || $0.phase == .live && ($0.window.neededRefill != nil || !$0.waiting.isEmpty)
        }
    }

    /// What has changed since the last time, in one delivery; nil where nothing visible has, or the query has ended.
    ///
    /// - Throws: What reading the store throws; the next call reads again.
    package func take() throws -> Delivery? {
        try taking.withLock { _ in
            while true {
                let step = state.withLock { state in Self.nextStep(&state) }
                switch step {
                case .deliver(let delivery): return delivery
                case .deliverLast(let delivery):
                    close()
                    return delivery
                case .load: try load()
                case .end:
                    close()
                    return nil
                }
            }
        }
    }

    private static func nextStep(_ state: inout State) -> Step {
        state.isAwake = false
        if state.phase == .live { applyWaiting(to: &state) }
        switch state.phase {
        case .closed: return .deliver(nil)
        case .empty, .live, .loading:
            if state.phase == .empty || state.window.neededRefill != nil {
                // A closed store can be read no more.
                if state.isStoreClosed { return .end }
                state.phase = .loading
                return .load
            }
        }
        let delivery = nextDelivery(&state)
        // After the closing of the store nothing comes: nobody would wake the consumer again.
        return state.isStoreClosed ? .deliverLast(delivery) : .deliver(delivery)
    }

    private static func nextDelivery(_ state: inout State) -> Delivery? {
        guard state.hasDelivered else {
            state.hasDelivered = true
            return .initial(state.window.takeSnapshot())
        }
        return state.window.takeEvent(isSame: SharedDocument.areSame).map { .update($0) }
    }

    private enum Step {
        case load
        case end
        case deliver(Delivery?)
        case deliverLast(Delivery?)
    }

    /// Reads the query's rows at one moment and brings them up to date with the commits since.
    private func load() throws {
        do {
            let capacity = ResultWindow<SharedDocument>.capacity(limit: definition.limit, offset: definition.offset)
            let (rows, sequence) = try readRows(capacity: capacity)
            state.withLock { state in
                guard state.phase == .loading else { return }
                let isComplete = capacity.map { rows.count < $0 } ?? true
                state.window.replaceAll(with: rows, isComplete: isComplete, isSame: SharedDocument.areSame)
                state.loadedSequence = sequence
                Self.applyWaiting(to: &state)
                state.phase = .live
            }
        } catch {
            state.withLock { state in
                guard state.phase == .loading else { return }
                state.phase = .empty
                state.waiting = []
                state.waitingChangeCount = 0
            }
            throw error
        }
    }

    private func readRows(capacity: Int?) throws -> ([ResultRow<SharedDocument>], Int64) {
        guard let store = state.withLock({ $0.store }) else { throw LiveFailure.databaseClosed }
        return try store.read { context in
            let sequence = try ChangeLogReader(connection: context.connection).lastSequence()
            let rows = try definition.limited(to: capacity, offset: 0).resultRows(in: context) { row in
                engine.content(collection: definition.collection, key: row.key, id: row.id, body: row.body)
            }
            return (rows, sequence)
        }
    }
}

extension QueryDefinition {
    /// The results of this query at one moment, as rows of a window.
    func resultRows(
        in context: ReadContext, content: (QueryRow) throws -> SharedDocument
    ) throws -> [ResultRow<SharedDocument>] {
        var keys = try RowKeyMaker(self, names: context.names)
        var rows: [ResultRow<SharedDocument>] = []
        try QueryExecution(self, in: context).forEach { row in
            let document = try content(row)
            guard let key = keys.key(of: document, row.key) else {
                throw DocDBError(
                    .corrupted, "a document of the live query is damaged; verify the store and restore a backup")
            }
            rows.append(ResultRow(sortKey: key, key: row.key, document: document))
            return true
        }
        return rows
    }
}

/// The failures of live sources.
enum LiveFailure {
    static var databaseClosed: DocDBError {
        DocDBError(.databaseClosed, "the database of the live query has been closed; open it again")
    }
}
