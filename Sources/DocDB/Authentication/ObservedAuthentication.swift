public import Dispatch
import DocDBCore
import DocDBReplication
public import Observation
import Synchronization

/// The status of logins as an observable property: for SwiftUI, and for anything that uses `withObservationTracking`.
///
/// ```swift
/// struct RootView: View {
///     @State private var auth: ObservedAuthentication
///     var body: some View { if auth.status.isAuthenticated { HomeView() } else { LoginView() } }
/// }
/// ```
///
/// The property changes on the main queue unless another is given, and may be read on any thread.
public final class ObservedAuthentication: Sendable {
    private struct State {
        var status: AuthenticationStatus
        var token: ObserverToken?
    }

    private let state: Lock<State>
    private let registrar = ObservationRegistrar()

    /// Begins to observe the logins of a database.
    ///
    /// - Parameters:
    ///   - authentication: the logins, `db.auth`.
    ///   - queue: where the property changes; the main one unless given.
    public init(_ authentication: DatabaseAuthentication, on queue: DispatchQueue = .main) {
        state = Lock(State(status: authentication.status))
        let token = authentication.observers.add { [weak self] status in
            queue.async { [weak self] in self?.update(status) }
        }
        state.withLock { $0.token = token }
        // What changed since the property was first read, in turn with what is told.
        authentication.tellInTurn { [weak self] status in queue.async { [weak self] in self?.update(status) } }
    }

    /// Whether somebody is logged in.
    public var status: AuthenticationStatus {
        registrar.access(self, keyPath: \.status)
        return state.withLock { $0.status }
    }

    private func update(_ status: AuthenticationStatus) {
        guard state.withLock({ $0.status }) != status else { return }
        registrar.withMutation(of: self, keyPath: \.status) { state.withLock { $0.status = status } }
    }
}

extension ObservedAuthentication: Observable {}
