import DocDBStorage
package import DocDBSync
package import DocDBTransport

/// The world that an engine works in, passed in so that a simulation can replace all of it.
package struct ReplicationEnvironment: Sendable {
    package var replica: any Replica
    package var executor: any ReplicationExecutor
    package var connector: any Connector
    /// Makes a listener for an address; it is started by the engine.
    package var makeListener: @Sendable (ReplicationConfiguration.ListenAddress) throws -> any Listener
    package var authenticator: any SessionAuthenticator
    package var policy: LinkPolicy
    package var randomBytes: @Sendable (Int) -> [UInt8]
    /// The actors that the store has written with, as a hello names them.
    package var ownActors: @Sendable () -> [Hello.OwnedActor]
    /// Begins to tell a router of all commits, and returns the newest one that is not told; or ends that.
    package var watchCommits: @Sendable (_ router: CommitRouter, _ isWatching: Bool) throws -> Int64
    /// Rules of the protocol that are left out, for tests.
    package var disabledRules: Set<SyncRule>
    /// The versions of the protocol to claim, for tests; nil for those that this code speaks.
    package var protocolVersions: ClosedRange<UInt64>?

    package init(
        replica: any Replica, executor: any ReplicationExecutor, connector: any Connector,
        makeListener:
            @escaping @Sendable (ReplicationConfiguration.ListenAddress) throws -> any Listener,
        authenticator: any SessionAuthenticator, policy: LinkPolicy,
        randomBytes: @escaping @Sendable (Int) -> [UInt8],
        ownActors: @escaping @Sendable () -> [Hello.OwnedActor],
        watchCommits: @escaping @Sendable (CommitRouter, Bool) throws -> Int64,
        disabledRules: Set<SyncRule> = [], protocolVersions: ClosedRange<UInt64>? = nil
    ) {
        self.replica = replica
        self.executor = executor
        self.connector = connector
        self.makeListener = makeListener
        self.authenticator = authenticator
        self.policy = policy
        self.randomBytes = randomBytes
        self.ownActors = ownActors
        self.watchCommits = watchCommits
        self.disabledRules = disabledRules
        self.protocolVersions = protocolVersions
    }
}
