public import Dispatch
import DocDBCore
import DocDBReplication
public import Observation
import Synchronization

/// The status of replication as an observable property: for SwiftUI, and for anything that uses `withObservationTracking`.
///
/// ```swift
/// struct SyncBadge: View {
///     @State private var sync: ObservedSyncStatus
///     var body: some View { Text(sync.status.isConnected ? "online" : "offline") }
/// }
/// ```
///
/// The properties change on the main queue unless another is given, and may be read on any thread.
public final class ObservedSyncStatus: Sendable {
    private struct State {
        var status: SyncStatus
        var presence: PresenceGraph
        var tokens: [ObserverToken] = []
    }

    private let state: Lock<State>
    private let registrar = ObservationRegistrar()

    /// Begins to observe the replication of a database.
    ///
    /// - Parameters:
    ///   - sync: the replication, such as `db.sync`.
    ///   - queue: where the properties change; the main one unless given.
    public init(_ sync: DatabaseSync, on queue: DispatchQueue = .main) {
        state = Lock(State(status: sync.status, presence: sync.presence))
        guard let engine = try? sync.requireEngine() else { return }
        let own = engine.ownStoreID
        let tokens = [
            engine.statusObservers.add { [weak self] status in
                queue.async { [weak self] in self?.update(SyncStatus(status)) }
            },
            engine.presenceObservers.add { [weak self] records in
                queue.async { [weak self] in self?.update(PresenceGraph(records, own: own)) }
            },
        ]
        state.withLock { $0.tokens = tokens }
        // What changed since the properties were first read, in turn with what is told.
        engine.executor.enqueue { [weak self] in
            let (status, records) = (engine.status, engine.reachablePeers)
            queue.async { [weak self] in
                self?.update(SyncStatus(status))
                self?.update(PresenceGraph(records, own: own))
            }
        }
    }

    /// How replication stands.
    public var status: SyncStatus {
        registrar.access(self, keyPath: \.status)
        return state.withLock { $0.status }
    }

    /// Who is connected to whom.
    public var presence: PresenceGraph {
        registrar.access(self, keyPath: \.presence)
        return state.withLock { $0.presence }
    }

    private func update(_ status: SyncStatus) {
        registrar.withMutation(of: self, keyPath: \.status) { state.withLock { $0.status = status } }
    }

    private func update(_ presence: PresenceGraph) {
        registrar.withMutation(of: self, keyPath: \.presence) { state.withLock { $0.presence = presence } }
    }
}

extension ObservedSyncStatus: Observable {}
