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
        var refusals: [SyncRefusal] = []
        var tokens: [ObserverToken] = []
        /// Whether the refusals are about to be read, with all that was refused or settled until then.
        var isReadingRefusals = false
    }

    private let state: Lock<State>
    private let queue: DispatchQueue
    private let registrar = ObservationRegistrar()

    /// Begins to observe the replication of a database.
    ///
    /// - Parameters:
    ///   - sync: the replication, such as `db.sync`.
    ///   - queue: where the properties change; the main one unless given.
    public init(_ sync: DatabaseSync, on queue: DispatchQueue = .main) {
        state = Lock(State(status: sync.status, presence: sync.presence))
        self.queue = queue
        guard let engine = try? sync.requireEngine() else { return }
        let own = engine.ownStoreID
        let tokens = [
            engine.statusObservers.add { [weak self] status in
                queue.async { [weak self] in self?.update(SyncStatus(status)) }
            },
            engine.presenceObservers.add { [weak self] records in
                queue.async { [weak self] in self?.update(PresenceGraph(records, own: own)) }
            },
            engine.apartObservers.add { [weak self, weak engine] _ in
                if let engine { self?.readRefusals(engine) }
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
        readRefusals(engine)
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

    /// The documents that a peer has not taken from this database, or this database not from a peer, until they are settled:
    /// ``DatabaseSync/refusals()`` as it changes.
    public var refusals: [SyncRefusal] {
        registrar.access(self, keyPath: \.refusals)
        return state.withLock { $0.refusals }
    }

    /// Reads the refusals once what is under way is done; once for however many were told meanwhile.
    private func readRefusals(_ engine: ReplicationEngine) {
        let isFirst = state.withLock { state in
            defer { state.isReadingRefusals = true }
            return !state.isReadingRefusals
        }
        guard isFirst else { return }
        engine.executor.enqueue { [weak self, weak engine] in
            self?.state.withLock { $0.isReadingRefusals = false }
            // Where they cannot be read, the store tells so elsewhere.
            guard let refusals = try? engine?.refusals().map({ SyncRefusal($0) }) else { return }
            self?.queue.async { [weak self] in self?.update(refusals) }
        }
    }

    private func update(_ refusals: [SyncRefusal]) {
        registrar.withMutation(of: self, keyPath: \.refusals) { state.withLock { $0.refusals = refusals } }
    }

    private func update(_ status: SyncStatus) {
        registrar.withMutation(of: self, keyPath: \.status) { state.withLock { $0.status = status } }
    }

    private func update(_ presence: PresenceGraph) {
        registrar.withMutation(of: self, keyPath: \.presence) { state.withLock { $0.presence = presence } }
    }
}

extension ObservedSyncStatus: Observable {}
