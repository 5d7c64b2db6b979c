/// The limits of tokens, keys, permissions and answers, all in one place.
package enum AuthenticationLimits {
    /// The most bytes of a token that a login brings.
    package static let tokenByteCount = 16 * 1024
    /// The most bytes of a grant, so that it and a certificate fit the frames before authentication.
    package static let grantByteCount = 12 * 1024
    /// The most bytes of a hub's certificate or of a revocation.
    package static let certificateByteCount = 4 * 1024
    /// The most hub certificates a verifier keeps.
    package static let certificateCount = 64
    /// The most bytes of a set of keys.
    package static let keySetByteCount = 64 * 1024
    /// The most keys of a set.
    package static let keyCount = 128
    /// The fewest and the most bits of an RSA modulus.
    package static let rsaBitCount = 2048...8192
    /// The fewest bytes of a key that is shared: of HS256, of the shared-key identity, of a webhook's signature.
    package static let secretByteCount = 32
    /// How long fetched keys are taken without asking again, in seconds.
    package static let keySetLifetime: Int64 = 10 * 60
    /// How long fetched keys are taken while their server cannot be reached, in seconds.
    package static let keySetStaleLifetime: Int64 = 24 * 60 * 60
    /// The shortest time between two fetches for keys that are not known, or after a fetch that failed, in seconds.
    package static let keySetFetchInterval: Int64 = 30
    /// The shortest time between two fetches while no keys are known at all, in seconds.
    package static let firstFetchInterval: Int64 = 5
    /// The leeway for clocks of token issuers unless configured, and the most that can be, in seconds.
    package static let leeway: Int64 = 60
    package static let greatestLeeway: Int64 = 300
    /// How far a grant's issue may lie ahead of this clock, in seconds: the clock bound of replication.
    package static let clockBound: Int64 = 120
    /// The most bytes of a subject, and of a provider's name.
    package static let subjectByteCount = 256
    package static let providerNameByteCount = 64
    /// The most bytes of an app id.
    package static let appIDByteCount = 256
    /// The most bytes, as JSON, of what a grant tells the client about itself.
    package static let clientInfoByteCount = 4 * 1024
    /// The most collections and predicates of one user's permissions.
    package static let permissionCollectionCount = 256
    package static let permissionPredicateCount = 512
    /// The longest validity of a grant: unless configured, and the most that can be, in seconds.
    package static let grantSeconds: Int64 = 24 * 60 * 60
    package static let greatestGrantSeconds: Int64 = 31 * 24 * 60 * 60
    /// The longest validity a provider may name without being taken for mistaken, in seconds (ten years).
    package static let greatestExpirationSeconds: Int64 = 10 * 366 * 24 * 60 * 60
    /// The most bytes of a webhook's answer: unless configured, and the most that can be.
    package static let webhookAnswerByteCount = 64 * 1024
    package static let greatestWebhookAnswerByteCount = 1024 * 1024
    /// How often a webhook is called for one login: again on network errors only.
    package static let webhookAttemptCount = 3
    /// The most bytes of a configuration file.
    package static let configurationByteCount = 1024 * 1024
    /// The sizes of a nonce, in bytes.
    package static let nonceByteCount = 16...64
    /// The most bytes of a hello and of a channel binding in a proof.
    package static let helloByteCount = 64 * 1024
    /// The most revocations a list keeps: a hub refuses to make more.
    package static let revocationCount = 10_000
    /// The most notices of refused changes that a peer keeps; the oldest goes for a newer one.
    package static let voidedCount = 1024
    /// How long such a notice counts, in seconds: who meets nobody for longer hears of the refusal from the hub itself.
    package static let voidedSeconds: Int64 = 31 * 24 * 60 * 60
    /// The most certificates, revocations and refused changes in one message between peers.
    package static let noticeCountOfMessage = 128
}
