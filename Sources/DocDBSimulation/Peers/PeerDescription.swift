public import DocDB

/// How a simulated peer is made.
public struct PeerDescription: Sendable {
    /// Whether it keeps what it gets, so that others may evict it.
    public var isKeeper = false
    /// Whether it passes on what its neighbours subscribe to.
    public var relay = SyncConfiguration.Relay.off
    /// The most links that others may open to it.
    public var connectionLimit: Int?
    /// How durable its commits are.
    public var durability = Durability.normal
    /// The bytes of change log that it keeps.
    public var historyByteCount: Int64?
    /// Who it is to its peers.
    public var identity = Database.Identity.offlinePlayground(appID: "simulation")

    /// The versions of the protocol that it claims to speak; nil for those that it does.
    package var protocolVersions: ClosedRange<UInt64>?

    /// Creates the description of a peer that is neither keeper nor relay.
    public init() {}
}
