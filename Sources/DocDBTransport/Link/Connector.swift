package import DocDBCore

/// Opens links to other peers.
package protocol Connector: Sendable {
    /// Begins to connect to `url` and returns at once; `completion` is called once, on the transport's thread.
    ///
    /// The errors that `completion` may get: `.invalidAddress` (the URL), `.connectionFailed` (name not found, refused,
    /// unreachable, no WebSocket there), `.timedOut`, `.certificateRejected` (it does not verify; the message says why),
    /// `.connectionRejected` (the other side answered with an HTTP status, in `context["status"]`, and a reason),
    /// `.cancelled`.
    ///
    /// - Returns: the attempt, which may be cancelled until it has completed.
    @discardableResult
    func connect(
        to url: String, options: ConnectOptions,
        completion: @escaping @Sendable (Result<any Link, DocDBError>) -> Void
    ) -> any ConnectionAttempt
}

/// A connection that is being opened.
package protocol ConnectionAttempt: AnyObject, Sendable {
    /// Gives up; the attempt completes with `.cancelled` unless it has completed already.
    func cancel()
}

/// How to connect.
package struct ConnectOptions: Sendable {
    /// How the other side's certificate is verified.
    package var trust: CertificateTrust = .system
    /// The seconds within which the link must be open, looking up the name included.
    package var timeoutSeconds: Double = TransportLimits.connectSeconds
    /// What the link starts with.
    package var link = LinkOptions()

    package init() {}
}

/// What a link starts with, whichever side opens it.
package struct LinkOptions: Sendable, Hashable {
    /// The first value of the link's `frameByteLimit`.
    package var frameByteLimit = TransportLimits.unauthenticatedFrameByteCount
    /// The low-water mark of the link's queue, in bytes.
    package var lowWaterByteCount = TransportLimits.lowWaterByteCount
    /// Seconds of silence after which the other side is asked whether it is there.
    package var pingSeconds = TransportLimits.pingSeconds
    /// Seconds of silence after which the link is given up.
    package var silenceSeconds = TransportLimits.silenceSeconds

    package init() {}
}

/// How a server's certificate is verified.
package enum CertificateTrust: Sendable, Hashable {
    /// By the certificate authorities of the system, and the host's name.
    case system
    /// By the certificate authorities in a PEM file, and the host's name.
    case authorities(file: String)
    /// By the SHA-256 of its public key (`PeerCertificate.publicKeyHash`): one of these, whatever its name, issuer and dates.
    case pinned(publicKeyHashes: [[UInt8]])
}
