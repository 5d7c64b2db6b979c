package import DocDBCore

/// Waits for links from other peers.
package protocol Listener: AnyObject, Sendable {
    /// The address that is listened on, with the port that the system chose where port 0 was asked for; nil until started.
    var boundAddress: SocketAddress? { get }

    /// Listens, and hands each new link to `accept`, on the transport's thread; the link waits until it is started.
    ///
    /// - Throws: `.addressInUse`, `.invalidAddress`, `.certificateInvalid` (of this listener's own certificate or key),
    ///   `.connectionFailed` where the system refuses for another reason.
    func start(_ accept: @escaping @Sendable (any Link) -> Void) throws(DocDBError)

    /// Stops listening; links that are open stay so. Does nothing if not started.
    func stop()
}

/// A numeric address and a port.
package struct SocketAddress: Sendable, Hashable, CustomStringConvertible {
    /// The address, such as `127.0.0.1` or `::1`.
    package var host: String
    /// The port.
    package var port: UInt16

    package init(host: String, port: UInt16) {
        self.host = host
        self.port = port
    }

    package var description: String { host.utf8.contains(UInt8(ascii: ":")) ? "[\(host)]:\(port)" : "\(host):\(port)" }
}
