/// Where to listen, for whom, and with what limits.
package struct ListenOptions: Sendable {
    /// The numeric address of this machine to listen on; empty for all of them.
    package var host: String
    /// The port; 0 for one that the system chooses.
    package var port: UInt16
    /// The certificate to show; nil for plain connections.
    package var identity: TLSIdentity?
    /// What links start with.
    package var link = LinkOptions()
    /// Whether WebSockets are accepted at `WebSocketURL.syncPath`.
    package var acceptsLinks = true
    /// Answers other requests; without it they are answered with 404.
    package var requestHandler: HTTPRequestHandler?
    /// Connections at most; further ones are answered with 503 and a reason.
    package var connectionLimit = TransportLimits.connectionCount
    /// Connections at most from one address other than loopback.
    package var connectionLimitPerAddress = TransportLimits.connectionCountPerAddress
    /// Whether the limit for one address counts for loopback too.
    package var limitsLoopback = false
    /// Values of `Origin` that may connect, such as `https://app.example.com`; requests without one always may.
    package var allowedOrigins: [String] = []
    /// Names by which clients may call this listener, without port; empty for any.
    package var allowedHosts: [String] = []
    /// The most bytes of a request's body.
    package var requestBodyByteCount = TransportLimits.requestBodyByteCount
    /// Seconds a client has for a whole request, and for the head of one that opens a link.
    package var requestSeconds = TransportLimits.requestSeconds
    /// Seconds the handler has to answer.
    package var responseSeconds = TransportLimits.responseSeconds

    package init(host: String = "127.0.0.1", port: UInt16 = 0, identity: TLSIdentity? = nil) {
        self.host = host
        self.port = port
        self.identity = identity
    }
}
