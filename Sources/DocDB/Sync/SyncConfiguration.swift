import DocDBCore
import DocDBReplication
package import DocDBSync
import DocDBTransport

/// What a database connects to, where it listens, and what it does for its peers; set on ``DatabaseSync/configuration``.
///
/// ```swift
/// db.sync.configuration.connect = ["wss://hub.example.com/v1/sync"]
/// db.sync.configuration.listen = SyncConfiguration.Listen(port: 4430)
/// db.sync.configuration.peerName = "front desk"
/// try db.sync.start()
/// ```
public struct SyncConfiguration: Hashable, Sendable {
    /// Where others can connect to this database.
    public struct Listen: Hashable, Sendable {
        /// A numeric address of this machine, such as `127.0.0.1`, `0.0.0.0` or `::`.
        public var address: String
        /// The port; 0 lets the system choose, and ``SyncStatus/listening`` says which.
        public var port: UInt16
        /// The PEM file of the certificate, followed by those of its issuers; nil for plain connections.
        public var certificateFile: String?
        /// The PEM file of the certificate's private key.
        public var keyFile: String?

        /// Creates the place to listen at: on this machine alone, unless another address is named.
        public init(
            address: String = "127.0.0.1", port: UInt16, certificateFile: String? = nil, keyFile: String? = nil
        ) {
            self.address = address
            self.port = port
            self.certificateFile = certificateFile
            self.keyFile = keyFile
        }
    }

    /// How the certificates of `wss` URLs are verified.
    public enum Trust: Hashable, Sendable {
        /// By the certificate authorities of the system, and the host's name.
        case system
        /// By the certificate authorities in a PEM file, and the host's name.
        case authorities(file: String)
        /// By the SHA-256 of the certificate's public key (the DER of its SubjectPublicKeyInfo): one of these, each 32
        /// bytes.
        case pinned(publicKeyHashes: [[UInt8]])
    }

    /// Whether this database passes on what its neighbours subscribe to.
    public enum Relay: Hashable, Sendable {
        /// It replicates what its own subscriptions match, and what others ask of it.
        case off
        /// It also asks its neighbours for what other neighbours subscribe to, so that two databases that only this one
        /// knows replicate through it. It stores what passes.
        ///
        /// - Parameter limit: the most peers whose subscriptions are passed on.
        case on(limit: Int)
    }

    /// The URLs of peers to keep connected to, `ws://host:port` or `wss://host:port`; none unless set.
    public var connect: [String] = []
    /// Where others can connect; nowhere unless set.
    public var listen: Listen?
    /// How certificates of other peers are verified; by the system unless set.
    public var trust = Trust.system
    /// Whether subscriptions of neighbours are passed on; ``Relay/off`` unless set.
    public var relay = Relay.off
    /// Whether this database keeps what it gets, so that others may evict it; false unless set.
    ///
    /// Only keepers' acknowledgements count for ``DatabaseSync/isAcknowledged(_:_:)`` and for evictions.
    public var isKeeper = false
    /// Whether this database asks its peers for all that it may have, as a hub does.
    package var wantsEverything = false
    /// What this database is called at its peers; empty unless set. At most 64 bytes of it are shown.
    public var peerName = ""
    /// The most peers that may have connected to this one at once; more are refused with a reason. 4,096 unless set.
    public var connectionLimit = ReplicationLimits.connectionCount

    /// What one user may take of this database, over all devices.
    package var userLimits = UserLimits()

    /// The longest wait before a URL that cannot be reached is tried again; a minute unless set.
    ///
    /// Waits begin short and double with each failure. A second suits an app that somebody is looking at, as it is back
    /// within a second of its hub; a thousand devices that wait a minute return to a hub in as many moments.
    public var longestReconnectWait = Duration.seconds(60)

    /// Creates a configuration that connects to nobody and listens nowhere.
    public init() {}

    /// Checks what can be wrong without a network.
    func check() throws(DocDBError) {
        for url in connect { _ = try WebSocketURL(url) }
        if let listen, (listen.certificateFile == nil) != (listen.keyFile == nil) {
            throw DocDBError(
                .certificateInvalid, "a listener has both a certificate and a key, or neither; name both files")
        }
        guard longestReconnectWait > .zero else {
            throw DocDBError(.misuse, "the longest wait before connecting again is more than zero; a second is short")
        }
        guard connectionLimit >= 0 else { throw DocDBError(.misuse, "a limit of connections is zero or more") }
        if case .on(let limit) = relay, limit < 1 {
            throw DocDBError(.misuse, "a relay passes on the subscriptions of at least one peer; use .off for none")
        }
    }

    var replication: ReplicationConfiguration {
        var configuration = ReplicationConfiguration()
        configuration.urls = connect
        configuration.listen = listen.map {
            ReplicationConfiguration.ListenAddress(
                host: $0.address, port: $0.port, certificateFile: $0.certificateFile, keyFile: $0.keyFile)
        }
        configuration.trust =
            switch trust {
            case .system: .system
            case .authorities(let file): .authorities(file: file)
            case .pinned(let hashes): .pinned(publicKeyHashes: hashes)
            }
        if case .on(let limit) = relay { configuration.relayLimit = limit }
        configuration.isKeeper = isKeeper
        configuration.wantsEverything = wantsEverything
        configuration.name = peerName
        configuration.connectionLimit = connectionLimit
        configuration.userLimits = userLimits
        configuration.longestWaitSeconds = longestReconnectWait / .seconds(1)
        return configuration
    }
}
