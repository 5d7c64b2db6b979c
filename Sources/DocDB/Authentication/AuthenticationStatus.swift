public import DocDBCore

/// Whether somebody is logged in: what an app switches over to show its login view or its home view.
public enum AuthenticationStatus: Hashable, Sendable {
    /// Nobody is, for a reason in words for people: never logged in, logged out, revoked, or a login failed.
    case unauthenticated(reason: String)
    /// This user is, until a time; a login before then renews it.
    case authenticated(userID: String, expiresAt: HybridTime)
    /// The time is up: replication has stopped, and local work goes on. A new login resumes replication.
    case expired

    /// Whether somebody is logged in.
    public var isAuthenticated: Bool { if case .authenticated = self { true } else { false } }
}

/// Is told when a database with the online identity needs a login.
///
/// Called on a queue of the database's own, one call at a time, never while a login is under way. Ask for a token of your
/// identity provider, then call ``DatabaseAuthentication/login(token:provider:)``. To stop replication or to close the
/// database, use a task as well: both wait for the call to end.
///
/// ```swift
/// final class LoginFlow: AuthenticationDelegate {
///     func authenticationRequired(authenticator: DatabaseAuthentication) {
///         Task { _ = try await authenticator.login(token: try await provider.token(), provider: "auth0") }
///     }
/// }
/// ```
public protocol AuthenticationDelegate: AnyObject, Sendable {
    /// There is no valid grant: when replication starts without one, and once when one has expired or was revoked.
    func authenticationRequired(authenticator: DatabaseAuthentication)
    /// Half of the grant's validity has passed; again whenever a tenth of what remained has.
    func authenticationExpiringSoon(authenticator: DatabaseAuthentication, secondsRemaining: Int)
    /// ``DatabaseAuthentication/status`` has changed.
    func authenticationStatusDidChange(authenticator: DatabaseAuthentication)
}

extension AuthenticationDelegate {
    /// Does nothing: the grant then expires, and a login is required.
    public func authenticationExpiringSoon(authenticator: DatabaseAuthentication, secondsRemaining: Int) {}
    /// Does nothing.
    public func authenticationStatusDidChange(authenticator: DatabaseAuthentication) {}
}

/// A delegate that is not kept.
struct WeakDelegate: Sendable {
    weak let delegate: (any AuthenticationDelegate)?
    init(_ delegate: (any AuthenticationDelegate)?) { self.delegate = delegate }
}
