import DocDBCore
import DocDBQuery
import DocDBStorage
import Synchronization

/// The window that all live queries for the same results share: hears of commits, and reads the store for its consumers.
///
/// Known weakly to the engine; each live query that takes from it keeps it. The first take, and one from a window that
/// has run dry, read the store on the consumer's thread, never on the writer's.
final class LiveWindow: LiveTarget {
    private enum Phase {
        /// Nothing is held; changes are of no interest, as loading will see them.
        case empty
        /// The store is being read; commits wait.
        case loading
        case live
        /// All consumers have gone.
        case closed
    }

    /// One live query that takes from the window.
    private struct Consumer {
        let wake: WakeQueue.Wake
        var hasDelivered = false
        /// Whether it has been woken and has not taken since.
        var isAwake = false
    }

    private struct State: ~Copyable {
        var phase = Phase.empty
        var results: SharedResults<SharedDocument>
        var consumers: [Int: Consumer] = [:]
        var nextConsumer = 0
        /// The newest commit that the rows loaded at first include.
        var loadedSequence: Int64 = 0
        /// Commits that came while loading, and those whose changes are left to the consumer's thread.
        var waiting: [(sequence: Int64, changes: [LiveChange])] = []
        var waitingChangeCount = 0
        /// Whether the store has closed: what is pending is still taken, then its queries end.
        var isStoreClosed = false
        /// Why rows are wrong until they are read anew.
        var failure: DocDBError?
        /// The rows that were read from the store so far.
        var readRowCount = 0
        var keys: RowKeyMaker
        var id: MatcherID?
        /// The store, which a query that is kept too long does not keep open.
        weak var store: Store?
    }

    let definition: QueryDefinition
    /// Whether each change is visible, so that it can wake consumers without being applied.
    private let showsAll: Bool
    private let engine: LiveEngine
    private let state: Lock<State>
    /// Serialises takes: of two consumers the second waits while the first reads the store.
    private let taking = Lock<Void>(())

    init(_ definition: QueryDefinition, engine: LiveEngine, store: Store) throws {
        self.definition = definition
        showsAll = definition.limit == nil && definition.offset == 0
        self.engine = engine
        state = Lock(
            State(
                results: SharedResults(ResultWindow(limit: definition.limit, offset: definition.offset)),
                keys: try RowKeyMaker(definition, names: store.names), store: store))
    }

    deinit { end(state.withLock { Self.close(&$0) }) }

    // MARK: Consumers

    /// Notes under which number the engine has it.
    func setID(_ id: MatcherID) { state.withLock { $0.id = id } }

    /// Adds a consumer; nil where the window has closed.
    func attach(wake: WakeQueue.Wake) -> Int? {
        state.withLock { state in
            guard state.phase != .closed, !state.isStoreClosed else { return nil }
            state.nextConsumer += 1
            state.consumers[state.nextConsumer] = Consumer(wake: wake)
            return state.nextConsumer
        }
    }

    /// Removes a consumer, and closes the window with the last one.
    func detach(_ consumer: Int) {
        let (id, gone) = state.withLock { state -> (MatcherID?, Consumer?) in
            guard let gone = state.consumers.removeValue(forKey: consumer) else { return (nil, nil) }
            state.results.remove(consumer)
            return (state.consumers.isEmpty ? Self.close(&state) : nil, gone)
        }
        // What the closure holds may go with it, which must not happen under the lock.
        withExtendedLifetime(gone) { end(id) }
    }

    private static func close(_ state: inout State) -> MatcherID? {
        state.phase = .closed
        forgetWaiting(&state)
        state.results = SharedResults(ResultWindow())
        defer { state.id = nil }
        return state.id
    }

    private func end(_ id: MatcherID?) { if let id { engine.unregister(id, definition) } }

    /// Whether a consumer has gone, or has taken all that a closed store left.
    func hasEnded(_ consumer: Int) -> Bool { state.withLock { $0.consumers[consumer] == nil } }

    /// Whether the next take reads the store, or has much to merge.
    var readsNext: Bool {
        state.withLock {
            $0.phase == .empty
                || $0.phase == .live
                    && ($0.results.window.neededRefill != nil || $0.waitingChangeCount > WindowLimits.mostSingleChanges
                        || !showsAll && !$0.waiting.isEmpty)
        }
    }

    var readRowCount: Int { state.withLock { $0.readRowCount } }

    /// Marks all consumers as awake, and adds what wakes those that were not, to be called outside of the lock.
    private static func addSleepers(_ state: inout State, to sleepers: inout [WakeQueue.Wake]) {
        var index = state.consumers.startIndex
        while index != state.consumers.endIndex {
            if !state.consumers.values[index].isAwake {
                state.consumers.values[index].isAwake = true
                sleepers.append(state.consumers.values[index].wake)
            }
            state.consumers.formIndex(after: &index)
        }
    }

    // MARK: Commits, on the writer's thread

    var wantsContents: Bool { true }

    func storeDidClose() {
        var sleepers: [WakeQueue.Wake] = []
        state.withLock { state in
            state.isStoreClosed = true
            Self.addSleepers(&state, to: &sleepers)
        }
        for wake in sleepers { wake.call() }
    }

    func apply(_ changes: [LiveChange], sequence: Int64, waking sleepers: inout [WakeQueue.Wake]) {
        state.withLock { state in
            switch state.phase {
            case .closed, .empty: break
            case .loading: state.waiting.append((sequence, changes))
            case .live:
                guard sequence > state.loadedSequence else { return }
                if showsAll || changes.count > WindowLimits.mostSingleChanges || !state.waiting.isEmpty {
                    Self.postpone(changes, sequence: sequence, in: &state)
                } else {
                    Self.apply(changes, to: &state)
                }
                let isPending =
                    state.results.window.pendingCount > 0 || !state.waiting.isEmpty || state.failure != nil
                if isPending { Self.addSleepers(&state, to: &sleepers) }
            }
        }
    }

    /// The most changes that wait for the consumer, unless more rows are held.
    private static let mostWaitingChanges = 16_384
    /// The most commits that wait for the consumer, so that a slow one keeps few versions of a document.
    private static let mostWaitingCommits = 64

    /// Leaves changes to the next take, so that the writer need not merge them; where too many wait, they are applied.
    ///
    /// Rows of which a consumer has a snapshot are copied by the first change, a part of them each time; that is most of
    /// what a small commit costs where there are many windows.
    private static func postpone(_ changes: [LiveChange], sequence: Int64, in state: inout State) {
        state.waiting.append((sequence, changes))
        state.waitingChangeCount += changes.count
        if state.waiting.count > mostWaitingCommits
            || state.waitingChangeCount > max(mostWaitingChanges, state.results.window.heldCount)
        {
            applyWaiting(to: &state)
        }
    }

    /// Brings the window up to date with the commits that wait.
    private static func applyWaiting(to state: inout State) {
        for (sequence, changes) in state.waiting where sequence > state.loadedSequence { apply(changes, to: &state) }
        forgetWaiting(&state)
    }

    private static func forgetWaiting(_ state: inout State) {
        state.waiting.removeAll(keepingCapacity: state.waiting.count <= mostWaitingCommits)
        state.waitingChangeCount = 0
    }

    private static func apply(_ changes: [LiveChange], to state: inout State) {
        var applied: [ResultChange<SharedDocument>] = []
        applied.reserveCapacity(changes.count)
        for change in changes {
            guard let content = change.content else {
                applied.append(ResultChange(leaving: change.key))
                continue
            }
            guard let key = state.keys.key(of: content, change.key) else {
                state.failure = LiveFailure.damagedDocument
                continue
            }
            applied.append(ResultChange(ResultRow(sortKey: key, key: change.key, document: content)))
        }
        state.results.window.apply(applied)
    }

    // MARK: Taking, on the consumer's thread

    private enum Step {
        case load
        case refill(ResultWindow<SharedDocument>.Refill)
        case fail(DocDBError)
        /// What there is for the consumer; where it is the last, its query has ended.
        case deliver(LiveQuery.Delivery?, isLast: Bool)
    }

    /// What has changed since the consumer took last, in one delivery; nil where nothing visible has, or it has ended.
    ///
    /// - Throws: What reading the store throws; the next call reads again.
    func take(_ consumer: Int) throws -> LiveQuery.Delivery? {
        try taking.withLock { _ in
            while true {
                let step = state.withLock { state in Self.nextStep(consumer, &state) }
                switch step {
                case .deliver(let delivery, let isLast):
                    if isLast { detach(consumer) }
                    return delivery
                case .load: try reading { try load() }
                case .refill(let request): try reading { try refill(request) }
                case .fail(let error): throw error
                }
            }
        }
    }

    private static func nextStep(_ consumer: Int, _ state: inout State) -> Step {
        guard state.consumers[consumer] != nil else { return .deliver(nil, isLast: true) }
        state.consumers[consumer]?.isAwake = false
        if state.phase == .live { applyWaiting(to: &state) }
        if let failure = state.failure {
            // The next to take reads everything anew.
            state.failure = nil
            state.phase = .empty
            return .fail(failure)
        }
        let refill = state.phase == .live ? state.results.window.neededRefill : nil
        if state.phase == .empty || refill != nil {
            // A closed store can be read no more.
            if state.isStoreClosed { return .deliver(nil, isLast: true) }
            state.phase = .loading
            return refill.map { .refill($0) } ?? .load
        }
        // After the closing of the store nothing comes: nobody would wake the consumer again.
        return .deliver(nextDelivery(consumer, &state), isLast: state.isStoreClosed)
    }

    private static func nextDelivery(_ consumer: Int, _ state: inout State) -> LiveQuery.Delivery? {
        guard state.consumers[consumer]?.hasDelivered == true else {
            state.consumers[consumer]?.hasDelivered = true
            return .initial(state.results.takeSnapshot(for: consumer))
        }
        return state.results.takeEvent(for: consumer, isSame: SharedDocument.areSame).map { .update($0) }
    }

    // MARK: Reading

    /// Where reading fails, everything is read anew by the next take, for which the other consumers are woken.
    private func reading(_ body: () throws -> Void) throws {
        do {
            try body()
        } catch {
            var sleepers: [WakeQueue.Wake] = []
            state.withLock { state in
                guard state.phase == .loading else { return }
                state.phase = .empty
                Self.forgetWaiting(&state)
                Self.addSleepers(&state, to: &sleepers)
            }
            for wake in sleepers { wake.call() }
            throw error
        }
    }

    /// Reads the query's rows at one moment and brings them up to date with the commits since.
    private func load() throws {
        let capacity = ResultWindow<SharedDocument>.capacity(limit: definition.limit, offset: definition.offset)
        let (rows, sequence) = try read { context in
            let sequence = try ChangeLogReader(connection: context.connection).lastSequence()
            let part = definition.limited(to: capacity, offset: 0)
            return (try part.resultRows(in: context, content: content), sequence)
        }
        state.withLock { state in
            state.readRowCount += rows.count
            guard state.phase == .loading else { return }
            let isComplete = capacity.map { rows.count < $0 } ?? true
            state.results.window.replaceAll(with: rows, isComplete: isComplete, isSame: SharedDocument.areSame)
            state.loadedSequence = sequence
            Self.applyWaiting(to: &state)
            state.phase = .live
        }
    }

    /// Reads on from the last row that is held.
    ///
    /// The rows are as of a commit that the window may not have seen yet. That and all others since have waited, and are
    /// applied afterwards: each changed document ends as its last commit left it.
    private func refill(_ request: ResultWindow<SharedDocument>.Refill) throws {
        let place = ResultPlace(sortKey: request.after.bytes, document: request.last?.document)
        let rows = try read { context in
            try definition.limited(to: request.count, offset: 0)
                .resultRows(in: context, beyond: place, content: content)
        }
        state.withLock { state in
            state.readRowCount += rows.count
            guard state.phase == .loading else { return }
            state.results.window.refill(rows, for: request, isComplete: rows.count < request.count)
            Self.applyWaiting(to: &state)
            state.phase = .live
        }
    }

    private func read<R>(_ body: (ReadContext) throws -> R) throws -> R {
        guard let store = state.withLock({ $0.store }) else { throw LiveFailure.databaseClosed }
        return try store.read(body)
    }

    private func content(of row: QueryRow) -> SharedDocument {
        engine.content(collection: definition.collection, key: row.key, id: row.id, body: row.body)
    }
}
