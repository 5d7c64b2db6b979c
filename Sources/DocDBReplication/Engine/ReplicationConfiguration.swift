import DocDBCore
package import DocDBSync
package import DocDBTransport

/// What a peer connects to, listens on, and is.
package struct ReplicationConfiguration: Hashable, Sendable {
    /// Where a peer listens for others.
    package struct ListenAddress: Hashable, Sendable {
        package var host: String
        /// Zero lets the system choose.
        package var port: UInt16
        /// PEM files; both or none. Without them the listener is plain.
        package var certificateFile: String?
        package var keyFile: String?

        package init(host: String, port: UInt16, certificateFile: String? = nil, keyFile: String? = nil) {
            self.host = host
            self.port = port
            self.certificateFile = certificateFile
            self.keyFile = keyFile
        }

        /// Whether only this machine reaches it.
        package var isLoopback: Bool {
            host == "localhost" || host == "::1" || host.utf8.starts(with: "127.".utf8)
        }
    }

    /// The URLs that the peer keeps connected to.
    package var urls: [String] = []
    /// Where it listens; nil for nowhere.
    package var listen: ListenAddress?
    /// How certificates of others are verified.
    package var trust = CertificateTrust.system
    /// The most origins whose interests are passed on to neighbours; zero for none.
    package var relayLimit = 0
    /// Whether others may evict what this peer has acknowledged: it keeps what it gets.
    package var isKeeper = false
    /// Whether this peer wants all that others have, beyond its subscriptions.
    package var wantsEverything = false
    package var name = ""
    package var operatingSystem = ReplicationConfiguration.thisOperatingSystem
    package var softwareVersion = ReplicationConfiguration.thisSoftwareVersion
    /// The longest wait before a URL that cannot be reached is tried again.
    package var longestWaitSeconds = ReconnectBackoff.defaultLongestSeconds
    /// Bytes that wait to be sent to a peer that does not take them, before it is given up.
    package var outboxByteCount = ReplicationLimits.outboxByteCount
    /// The most links that others may have opened to this peer at once.
    package var connectionLimit = ReplicationLimits.connectionCount
    /// What one user may take, over all devices that have sessions with this peer.
    package var userLimits = UserLimits()

    package init() {}

    package static let thisSoftwareVersion = "docdb 0.4"

    package static let thisOperatingSystem: String = {
        #if os(Linux)
            "Linux"
        #elseif os(macOS)
            "macOS"
        #elseif os(iOS)
            "iOS"
        #elseif os(tvOS)
            "tvOS"
        #elseif os(watchOS)
            "watchOS"
        #elseif os(visionOS)
            "visionOS"
        #else
            "unknown"
        #endif
    }()
}

/// What an identity permits of the links that it is used over.
package struct LinkPolicy: Hashable, Sendable {
    /// Links to other machines are made and taken.
    package var permitsNetwork: Bool
    /// Links to other machines must be inside TLS.
    package var requiresTLS: Bool

    package init(permitsNetwork: Bool, requiresTLS: Bool) {
        self.permitsNetwork = permitsNetwork
        self.requiresTLS = requiresTLS
    }

    /// Why a link may not be used; nil where it may.
    func objection(to info: LinkInfo) -> DocDBError? {
        guard !info.isLoopback else { return nil }
        guard permitsNetwork else {
            return DocDBError(
                .connectionRejected,
                "an offline playground stays on this machine; use another identity, or permit the network in so many words"
            )
        }
        if requiresTLS, case .webSocket(isTLS: false) = info.kind {
            return DocDBError(
                .connectionRejected,
                "this identity replicates with other machines over TLS only; use wss, and give listeners a certificate")
        }
        return nil
    }
}

/// The limits and times of the runtime of replication.
package enum ReplicationLimits {
    /// Links that others may open at once, unless configured.
    package static let connectionCount = 4_096
    /// Bytes that wait in one link's inbox before it stops receiving.
    package static let inboxByteCount = 4 * 1024 * 1024
    /// What may wait to be sent to a peer, unless configured: more than a session sends ahead.
    package static let outboxByteCount = 32 * 1024 * 1024
    /// Bytes of subscriptions' predicates up to which they are not looked at together when one is added.
    package static let checkedUnionByteCount = 4 * 1024
    /// Peers whose status is kept after their link has closed.
    package static let rememberedPeerCount = 1_024
    /// Hops that an interest travels.
    package static let interestHopCount: UInt64 = 4
    /// How long an origin is remembered of which nothing is heard.
    package static let originSilenceNanoseconds: UInt64 = 600_000_000_000
    /// How often a peer tells that it is there.
    package static let heartbeatNanoseconds: UInt64 = 240_000_000_000
    /// How long news of presence gather before they are told.
    package static let presenceDelayNanoseconds: UInt64 = 250_000_000
    /// Sessions above which a peer tells of itself alone, and of no neighbours.
    package static let presenceNeighbourCount = 64
    /// Peers that the graph of presence holds.
    package static let presencePeerCount = 1_024
    /// Bytes of a name in what a peer tells of itself.
    package static let nameByteCount = 64
    /// How long a stop waits for links to close.
    package static let stopNanoseconds: UInt64 = 10_000_000_000
    /// The least wait before a peer that refused for good reason is asked again.
    package static let refusalSeconds: Double = 30
    /// Documents that leave a subscription and are looked at in one transaction.
    package static let evictionBatchCount = 256
}
