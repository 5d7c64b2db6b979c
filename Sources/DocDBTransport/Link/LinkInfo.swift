/// What a link is made of and who is at its other end.
package struct LinkInfo: Sendable, Hashable {
    /// How the frames travel.
    package enum Kind: Sendable, Hashable {
        /// Within this process.
        case inMemory
        /// Over a WebSocket, inside TLS or plain.
        case webSocket(isTLS: Bool)
    }

    /// How the frames travel.
    package var kind: Kind
    /// Whether this side opened the connection.
    package var isInitiator: Bool
    /// The other side's address as text, such as `192.0.2.7:4430` or `[2001:db8::1]:4430`.
    package var remoteAddress: String
    /// Whether the other side is this machine, so that nobody on the network can listen.
    package var isLoopback: Bool
    /// The certificate the other side has shown, where it has.
    package var peerCertificate: PeerCertificate?
    /// 32 bytes that only the two ends of this TLS session know (`tls-exporter`, RFC 9266); nil without TLS.
    package var channelBinding: [UInt8]?

    package init(
        kind: Kind, isInitiator: Bool, remoteAddress: String, isLoopback: Bool,
        peerCertificate: PeerCertificate? = nil, channelBinding: [UInt8]? = nil
    ) {
        self.kind = kind
        self.isInitiator = isInitiator
        self.remoteAddress = remoteAddress
        self.isLoopback = isLoopback
        self.peerCertificate = peerCertificate
        self.channelBinding = channelBinding
    }
}

/// The facts of a certificate that was verified, or pinned.
package struct PeerCertificate: Sendable, Hashable {
    /// The subject, in the form of RFC 2253.
    package var subject: String
    /// SHA-256 of the subject's public key (the DER of its SubjectPublicKeyInfo), which is what pins name.
    package var publicKeyHash: [UInt8]
    /// When the certificate expires, in seconds since 1970.
    package var expirySeconds: Int64

    package init(subject: String, publicKeyHash: [UInt8], expirySeconds: Int64) {
        self.subject = subject
        self.publicKeyHash = publicKeyHash
        self.expirySeconds = expirySeconds
    }
}
