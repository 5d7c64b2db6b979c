public import Dispatch
import DocDBCore
import DocDBReplication
public import Observation
import Synchronization

/// The status of logins as observable properties: for SwiftUI, and for anything that uses `withObservationTracking`.
///
/// ```swift
/// struct RootView: View {
///     @State private var auth: ObservedAuthentication
///     var body: some View { if auth.status.isAuthenticated { HomeView() } else { LoginView() } }
/// }
/// ```
///
/// The properties change on the main queue unless another is given, and may be read on any thread.
public final class ObservedAuthentication: Sendable {
    private struct State {
        var status: AuthenticationStatus
        var token: ObserverToken?
        /// Whether the next second is being waited for.
        var isCounting = false
    }

    private let state: Lock<State>
    private let authentication: DatabaseAuthentication
    private let queue: DispatchQueue
    private let registrar = ObservationRegistrar()

    /// Begins to observe the logins of a database.
    ///
    /// - Parameters:
    ///   - authentication: the logins, `db.auth`.
    ///   - queue: where the properties change; the main one unless given.
    public init(_ authentication: DatabaseAuthentication, on queue: DispatchQueue = .main) {
        state = Lock(State(status: authentication.status))
        self.authentication = authentication
        self.queue = queue
        let token = authentication.observers.add { [weak self] status in
            queue.async { [weak self] in self?.update(status) }
        }
        state.withLock { $0.token = token }
        // What changed since the status was first read, in turn with what is told.
        authentication.tellInTurn { [weak self] status in queue.async { [weak self] in self?.update(status) } }
    }

    /// Whether somebody is logged in.
    public var status: AuthenticationStatus {
        registrar.access(self, keyPath: \.status)
        return state.withLock { $0.status }
    }

    /// The seconds until the grant expires, rounded up; nil where nobody is logged in.
    ///
    /// It counts down from second to second for as long as it is read anew after each change, as views do.
    public var secondsRemaining: Int? {
        registrar.access(self, keyPath: \.secondsRemaining)
        // Another login is another time.
        registrar.access(self, keyPath: \.status)
        countDown()
        return authentication.secondsRemaining
    }

    /// Tells of the next second, once however often it was read until then.
    private func countDown() {
        guard let remaining = authentication.nanosecondsRemaining, remaining > 0 else { return }
        let isFirst = state.withLock { state in
            defer { state.isCounting = true }
            return !state.isCounting
        }
        guard isFirst else { return }
        let next = (remaining - 1) % 1_000_000_000 + 1
        queue.asyncAfter(deadline: .now() + .nanoseconds(Int(next))) { [weak self] in
            guard let self else { return }
            state.withLock { $0.isCounting = false }
            registrar.withMutation(of: self, keyPath: \.secondsRemaining) {}
        }
    }

    private func update(_ status: AuthenticationStatus) {
        guard state.withLock({ $0.status }) != status else { return }
        registrar.withMutation(of: self, keyPath: \.status) { state.withLock { $0.status = status } }
    }
}

extension ObservedAuthentication: Observable {}
