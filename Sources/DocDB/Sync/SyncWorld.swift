import DocDBCore
package import DocDBReplication
package import DocDBSync
package import DocDBTransport
import Synchronization

/// What replication works with of the world outside, in place of threads and sockets: for simulations and tests.
package struct SyncWorld: Sendable {
    package var executor: any ReplicationExecutor
    package var connector: any Connector
    package var makeListener: @Sendable (ReplicationConfiguration.ListenAddress) throws -> any Listener
    /// How logins reach the hub.
    package var http: any HTTPFetching = HTTPClient()
    /// Rules of the protocol that are left out, for simulations that must fail.
    package var disabledRules: Set<SyncRule> = []
    /// The versions of the protocol to claim; nil for those that this code speaks.
    package var protocolVersions: ClosedRange<UInt64>?

    package init(
        executor: any ReplicationExecutor, connector: any Connector,
        makeListener: @escaping @Sendable (ReplicationConfiguration.ListenAddress) throws -> any Listener
    ) {
        self.executor = executor
        self.connector = connector
        self.makeListener = makeListener
    }

    /// The world of a database in life: a queue of its own, and WebSockets.
    static func live() -> SyncWorld {
        let transport = LazyTransport()
        return SyncWorld(executor: DispatchExecutor(), connector: transport) { address in
            var options = ListenOptions(host: address.host, port: address.port)
            if let certificate = address.certificateFile, let key = address.keyFile {
                options.identity = TLSIdentity(certificateFile: certificate, keyFile: key)
            }
            return try transport.transport().listener(options)
        }
    }
}

/// A transport over WebSockets that is made when it is first needed: databases that do not replicate start no thread.
private final class LazyTransport: Connector {
    private let made = Lock<WebSocketTransport?>(nil)

    func transport() throws(DocDBError) -> WebSocketTransport {
        let result = made.withLock { made -> Result<WebSocketTransport, DocDBError> in
            if let made { return .success(made) }
            return Result { () throws(DocDBError) in
                let transport = try WebSocketTransport()
                made = transport
                return transport
            }
        }
        return try result.get()
    }

    func connect(
        to url: String, options: ConnectOptions,
        completion: @escaping @Sendable (Result<any Link, DocDBError>) -> Void
    ) -> any ConnectionAttempt {
        do throws(DocDBError) {
            return try transport().connect(to: url, options: options, completion: completion)
        } catch {
            completion(.failure(error))
            return EndedAttempt()
        }
    }

    private final class EndedAttempt: ConnectionAttempt {
        func cancel() {}
    }
}
