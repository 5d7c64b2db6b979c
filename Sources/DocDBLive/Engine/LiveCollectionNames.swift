import DocDBCore
package import DocDBStorage
import Synchronization

/// The live list of a store's collections, in the order of their UTF-8 bytes.
package final class LiveCollectionNames: LiveSource, CatalogTarget {
    private struct State: ~Copyable {
        var delivered: [String]?
        var isAwake = false
        var isClosed = false
        var isStoreClosed = false
        var id: Int?
        weak var store: Store?
    }

    private let engine: LiveEngine
    private let wake: @Sendable () -> Void
    private let state: Lock<State>
    /// Serialises takes.
    private let taking = Lock<Void>(())

    /// Begins to observe; `wake` is called from any thread when there is something to take, and must only schedule.
    package init(store: Store, wake: @escaping @Sendable () -> Void) throws {
        engine = LiveEngine.of(store)
        self.wake = wake
        state = Lock(State(store: store))
        let id = try engine.register(self, in: store)
        state.withLock { $0.id = id }
    }

    deinit { close() }

    package func close() {
        let id = state.withLock { state -> Int? in
            state.isClosed = true
            defer { state.id = nil }
            return state.id
        }
        if let id { engine.unregister(catalogTarget: id) }
    }

    func catalogDidChange() {
        let mustWake = state.withLock { state -> Bool in
            guard !state.isClosed, !state.isAwake else { return false }
            state.isAwake = true
            return true
        }
        if mustWake { wake() }
    }

    func storeDidClose() {
        state.withLock { $0.isStoreClosed = true }
        catalogDidChange()
    }

    package var hasEnded: Bool { state.withLock { $0.isClosed } }
    package var readsNext: Bool { true }

    package func take() throws -> [String]? {
        try taking.withLock { _ in
            let (store, isOver) = state.withLock { state -> (Store?, Bool) in
                state.isAwake = false
                return (state.isClosed ? nil : state.store, state.isStoreClosed)
            }
            if isOver { close() }
            guard let store, !isOver else { return nil }
            let names = try store.readOnce { $0.catalog.names }
            return state.withLock { state in
                guard !state.isClosed, state.delivered != names else { return nil }
                state.delivered = names
                return names
            }
        }
    }
}
