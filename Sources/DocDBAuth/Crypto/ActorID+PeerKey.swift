package import DocDBCore

extension ActorID {
    /// The id of one incarnation of a peer's store: the first 128 bits of SHA-256 over the key's 32 bytes and the nonce.
    ///
    /// So a peer that proved its key and names its incarnation's nonce owns the id, and nobody else can.
    package init(peer: PeerPublicKey, incarnationNonce: [UInt8]) {
        let hash = Digest.sha256(peer.bytes + incarnationNonce)
        let halves = hash.prefix(16).reduce(into: (high: UInt64(0), low: UInt64(0), count: 0)) { halves, byte in
            if halves.count < 8 {
                halves.high = halves.high << 8 | UInt64(byte)
            } else {
                halves.low = halves.low << 8 | UInt64(byte)
            }
            halves.count += 1
        }
        self.init(high: halves.high, low: halves.low)
    }
}
