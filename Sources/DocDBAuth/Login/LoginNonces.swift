package import DocDBCore

/// The nonces that a hub gives for logins: each is good once, for a minute, and costs no memory until it is redeemed.
///
/// A nonce is the second it was made in, random bytes, and an HMAC over both under a secret of this process.
package struct LoginNonces: Sendable {
    /// How long a nonce is good, in seconds.
    package static let lifetime: Int64 = 60

    private static let randomByteCount = 16
    private static let byteCount = 8 + randomByteCount + 16

    private var secret: [UInt8]
    /// The nonces redeemed in this period and the one before; older ones have run out.
    private var redeemed: [Set<[UInt8]>] = [[], []]
    private var period: Int64 = 0
    private let capacity: Int

    /// - Parameter capacity: the most nonces redeemed in a minute; each stands for one login with a valid proof.
    package init(capacity: Int = 100_000) {
        secret = Digest.randomBytes(32)
        self.capacity = capacity
    }

    /// Makes a nonce of 40 bytes.
    package func make(now: UnixTime) -> [UInt8] {
        let seconds = UInt64(bitPattern: now.seconds)
        let time = (0..<8).map { UInt8(truncatingIfNeeded: seconds >> UInt64(56 - 8 * $0)) }
        let content = time + Digest.randomBytes(Self.randomByteCount)
        return content + Digest.hmac(content, key: secret).prefix(16)
    }

    /// Takes a nonce that a login used; call it once the login's proof has been verified.
    ///
    /// - Throws: `proofFailed` where it is none of this hub's, has run out, or was used before; `limitReached` where too
    ///   many logins came within a minute.
    package mutating func redeem(_ nonce: [UInt8], now: UnixTime) throws(DocDBError) {
        let current = now.seconds / Self.lifetime
        if current < period {
            // The clock was set back: what was used before could pass once more, so no nonce from before is good.
            secret = Digest.randomBytes(32)
            redeemed = [[], []]
        } else if current > period {
            redeemed = [current == period + 1 ? redeemed[1] : [], []]
        }
        period = current
        try check(nonce, now: now)
        guard !redeemed[0].contains(nonce), !redeemed[1].contains(nonce) else {
            throw DocDBError(.proofFailed, "the login's nonce was used before; ask for a new one")
        }
        guard redeemed[1].count < capacity else {
            throw DocDBError(.limitReached, "too many logins came within a minute; try again later")
        }
        redeemed[1].insert(nonce)
    }

    /// Checks a nonce without redeeming it: what a hub does before it spends more on a login.
    package func check(_ nonce: [UInt8], now: UnixTime) throws(DocDBError) {
        let content = Array(nonce.prefix(8 + Self.randomByteCount))
        guard nonce.count == Self.byteCount,
            Digest.areEqual(Array(Digest.hmac(content, key: secret).prefix(16)), Array(nonce.suffix(16)))
        else {
            throw DocDBError(.proofFailed, "the login's nonce is none that this hub gave; ask for a new one")
        }
        let made = Int64(bitPattern: content.prefix(8).reduce(0) { $0 << 8 | UInt64($1) })
        guard made <= now.seconds, now < UnixTime(seconds: made).adding(Self.lifetime) else {
            throw DocDBError(.proofFailed, "the login's nonce has run out; ask for a new one")
        }
    }
}
