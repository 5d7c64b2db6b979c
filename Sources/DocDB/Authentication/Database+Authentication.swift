import DocDBAuth
import DocDBCore

extension Database {
    /// The logins of the database: logging in and out, and the status.
    ///
    /// - Precondition: The database was opened with the identity ``Identity/onlineWithAuthentication(appID:hub:delegate:storage:rootKeys:channelBinding:)``.
    public var auth: DatabaseAuthentication {
        guard let authentication else {
            preconditionFailure("the database was not opened with the online identity, so nobody logs in to it")
        }
        return authentication
    }
}

/// What the online identity is made of.
struct OnlineIdentity: Sendable {
    var hub: String
    var delegate: WeakDelegate
    var storage: (any CredentialStorage)?
    var rootKeys: [[UInt8]]
    var channelBinding: Database.Identity.ChannelBinding
}

extension Database.Identity {
    /// What ties the proofs of a session to the connection that they travel in.
    public enum ChannelBinding: Sendable {
        /// The TLS session (RFC 9266): a proof that somebody in the middle passes on over another TLS session fails.
        case tlsExporter
        /// Nothing but the nonces of both sides, for a hub behind a proxy that ends TLS; its configuration must say
        /// `"channelBinding": "none"` too. Whoever the proxy's certificate belongs to is trusted then.
        case none
    }

    /// The identity of users who log in at a hub: the hub says who may read and write what, and until when.
    ///
    /// Each database has a key of its own, which it proves to hold; ``Database/auth`` logs in. Unless
    /// ``DatabaseSync/configuration`` names other URLs, the database connects to the hub.
    ///
    /// ```swift
    /// let db = try Database(
    ///     at: "cars.docdb",
    ///     identity: .onlineWithAuthentication(appID: "com.example.cars", hub: "https://hub.example.com", delegate: flow))
    /// try db.sync.start()
    /// ```
    ///
    /// - Parameters:
    ///   - appID: the name of the app, as in the hub's configuration.
    ///   - hub: the hub's URL, such as `https://hub.example.com`; `http` on this machine only.
    ///   - delegate: is asked for logins; it is not kept.
    ///   - storage: where key and grant are kept; files beside the database, `NAME.credentials`, unless given.
    ///   - rootKeys: the app's public root keys, 32 bytes each; ``rootKey(_:)`` reads them as `docdb-hub keys new` prints
    ///     them. Without any, those that the hub names at a login are taken, which its TLS certificate vouches for.
    ///   - channelBinding: what ties sessions to their TLS connections; the hub must be configured alike.
    public static func onlineWithAuthentication(
        appID: String, hub: String, delegate: (any AuthenticationDelegate)? = nil,
        storage: (any CredentialStorage)? = nil, rootKeys: [[UInt8]] = [],
        channelBinding: ChannelBinding = .tlsExporter
    ) -> Database.Identity {
        Database.Identity(
            appID: appID,
            kind: .online(
                OnlineIdentity(
                    hub: hub, delegate: WeakDelegate(delegate), storage: storage, rootKeys: rootKeys,
                    channelBinding: channelBinding)))
    }

    /// Reads a public root key as `docdb-hub keys new` prints it, for an app that pins it.
    ///
    /// ```swift
    /// let root = try Database.Identity.rootKey("11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo")
    /// ```
    ///
    /// - Parameter text: 32 bytes in base64url without padding: 43 characters.
    /// - Returns: the 32 bytes.
    /// - Throws: `DocDBError` with the code `invalidKey` where the text is none.
    public static func rootKey(_ text: String) throws -> [UInt8] {
        guard let bytes = Base64URL.decode(text), (try? PeerPublicKey(bytes: bytes)) != nil else {
            throw DocDBError(
                .invalidKey, "a root key is 43 characters of base64url; copy what 'docdb-hub keys new' has printed")
        }
        return bytes
    }
}
