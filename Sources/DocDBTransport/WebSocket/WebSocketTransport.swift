import Dispatch
package import DocDBCore

/// Links over WebSockets, to and from other peers; one thread serves all transports of the process.
///
/// When a transport goes, its links are cut and its listeners stop.
package final class WebSocketTransport: Connector {
    private let loop: ServiceLoop
    private let scope = TransportScope()

    /// Creates a transport, and starts the thread if it is the first.
    ///
    /// - Throws: `.connectionFailed` where the system is out of memory, descriptors or threads.
    package init() throws(DocDBError) { loop = try ServiceLoop.shared() }

    deinit { cut() }

    @discardableResult
    package func connect(
        to url: String, options: ConnectOptions,
        completion: @escaping @Sendable (Result<any Link, DocDBError>) -> Void
    ) -> any ConnectionAttempt {
        let attempt = ClientAttempt(url: url, options: options, loop: loop, scope: scope, completion: completion)
        attempt.begin()
        return attempt
    }

    /// Creates a listener, which does nothing until it is started.
    package func listener(_ options: ListenOptions) -> WebSocketListener {
        WebSocketListener(options, loop: loop, scope: scope)
    }

    /// Cuts all links, ends all attempts, stops all listeners, and returns when that is done.
    ///
    /// On the transport's own thread it returns at once. Later attempts to connect or to listen fail with `.cancelled`.
    package func shutdown() {
        cut()
        if !loop.isOnThread { scope.connections.wait() }
    }

    private func cut() {
        scope.end()
        loop.performAndWait { [scope] loop in loop.cut(scope) }
    }
}
