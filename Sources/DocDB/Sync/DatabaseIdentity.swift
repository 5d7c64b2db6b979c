import DocDBCore
package import DocDBReplication
package import DocDBSync

extension Database {
    /// Who a database is to others: what its peers must share or prove before they replicate with it.
    ///
    /// ```swift
    /// let db = try Database(at: "cars.docdb", identity: .offlinePlayground(appID: "com.example.cars"))
    /// ```
    public struct Identity: Sendable {
        /// How far an offline playground reaches.
        public enum Reach: Sendable {
            /// Peers on this machine alone.
            case thisMachine
            /// Whoever reaches the port or the URL. Nothing is secret from them, and they may change everything.
            case network
        }

        /// What the authenticator of a database is made from.
        enum Kind {
            case playground(Reach)
            case sharedKey([UInt8])
            case online(OnlineIdentity)
            case custom(any SessionAuthenticator, LinkPolicy)
        }

        /// The name that peers' databases must share.
        public let appID: String
        let kind: Kind

        /// An identity without secrets, for development and tests: whoever names the same app is let in.
        ///
        /// A database that was used with another identity refuses it.
        ///
        /// - Parameters:
        ///   - appID: a name of the app, such as `com.example.cars`; peers of other apps are refused.
        ///   - reach: this machine alone unless ``Reach/network`` is named.
        public static func offlinePlayground(appID: String, reach: Reach = .thisMachine) -> Identity {
            Identity(appID: appID, kind: .playground(reach))
        }

        /// The identity of devices that share a secret key: peers without it are refused.
        ///
        /// Both sides prove that they have the key, for each link anew; it is never sent. Links to other machines must be
        /// inside TLS (`wss`).
        ///
        /// - Parameters:
        ///   - appID: a name of the app, such as `com.example.cars`.
        ///   - key: at least 32 random bytes, such as `openssl rand 32` makes; opening a database with fewer throws
        ///     `invalidValue`.
        public static func sharedKey(appID: String, key: [UInt8]) -> Identity {
            Identity(appID: appID, kind: .sharedKey(key))
        }

        /// An identity that is proven and judged by other code.
        package static func custom(_ authenticator: any SessionAuthenticator, policy: LinkPolicy) -> Identity {
            Identity(appID: authenticator.appID, kind: .custom(authenticator, policy))
        }

        /// The logins of a database with the online identity; nil for other identities.
        func makeAuthentication(path: String) throws -> DatabaseAuthentication? {
            guard case .online(let identity) = kind else { return nil }
            return try DatabaseAuthentication(identity, appID: appID, path: path)
        }

        /// The authenticator of an identity without logins.
        func makeAuthenticator() throws(DocDBError) -> any SessionAuthenticator {
            guard !appID.isEmpty, appID.utf8.count <= Self.appIDByteCount else {
                throw DocDBError(
                    .misuse, "an app id has 1 to \(Self.appIDByteCount) bytes; name one such as com.example.cars")
            }
            return switch kind {
            case .playground: PlaygroundAuthenticator(appID: appID)
            case .sharedKey(let key): try SharedKeyAuthenticator(appID: appID, key: key)
            case .online:
                throw DocDBError(.misuse, "the authenticator of the online identity comes with its logins")
            case .custom(let authenticator, _): authenticator
            }
        }

        var policy: LinkPolicy {
            switch kind {
            case .playground(let reach): LinkPolicy(permitsNetwork: reach == .network, requiresTLS: false)
            case .sharedKey: LinkPolicy(permitsNetwork: true, requiresTLS: true)
            case .online: LinkPolicy(permitsNetwork: true, requiresTLS: true)
            case .custom(_, let policy): policy
            }
        }

        private static let appIDByteCount = 256
    }
}
