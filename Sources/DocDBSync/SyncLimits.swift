/// The limits of replication: what a session accepts from a peer, and what it keeps for one.
///
/// A peer over one of them ends its session with a coded `close`; nothing else happens.
package enum SyncLimits {
    // Frames.

    /// The most bytes of a frame before the peer has proven who it is.
    package static let frameByteCountBeforeProof = 16 * 1024
    /// The most bytes of a frame thereafter, compressed and decompressed.
    package static let frameByteCount = 16 * 1024 * 1024
    /// The most bytes of a name, an app id, an operating system or a reason.
    package static let textByteCount = 1024
    /// The most bytes of a key, a proof, a nonce or a hash.
    package static let keyByteCount = 1024
    /// The most bytes of a grant.
    package static let grantByteCount = 64 * 1024

    // Documents.

    /// The most bytes of a document, body and state together, that is sent: a frame holds its definitions and others as well.
    package static let documentByteCount = 15 * 1024 * 1024
    /// The most actors that one version vector, or the stamps of one document, may name.
    package static let vectorActorCount = 8192
    /// The most fields, however deep, of one document, and the most entries beside them; decoded, each takes some 100 bytes.
    package static let documentLeafCount = 1 << 20
    /// The most bytes that the paths of one document's fields have together, each from the top.
    package static let documentPathByteCount = 64 * 1024 * 1024
    /// The most actors that a peer defines for one pull.
    package static let dictionaryActorCount = 65_536
    /// The most collections that a peer defines for one pull.
    package static let dictionaryCollectionCount = 16_384
    /// The number of documents that a peer may give short references.
    package static let referenceSlotCount = 1024

    // Lists in messages.

    /// The most actors of its own that a peer names at once.
    package static let ownedActorCount = 4096
    /// The most of these that a hello names, which has little room; the others follow once they are needed.
    package static let helloActorCount = 64
    /// The most interests that a peer announces, its own and those it relays.
    package static let announcedInterestCount = 1024
    /// The most predicates that a peer asks by, over all interests and collections.
    package static let interestPredicateCount = 4_096
    /// The most collections of one interest.
    package static let interestCollectionCount = 16_384
    /// The most bytes of one predicate.
    package static let predicateByteCount = 64 * 1024
    /// The most steps of a predicate on one document where a peer asks by it; one that needs more does not match.
    package static let predicateStepCount = 1 << 16
    /// The fewest documents, and more than half of all, on which that must be so for the session to end.
    package static let exhaustedMatchCount = 16
    /// The most documents whose vectors an `interest` gives.
    package static let haveCount = 65_536
    /// The most documents that a message names as not joined.
    package static let outcomeCount = 65_536

    // Reconciliation.

    /// About how many bytes one step of a reconciliation has at most; what does not fit goes into a further round.
    package static let rangesByteCount = 256 * 1024
    /// The most ranges that one side may have waiting for an answer.
    package static let rangesPendingCount = 1 << 20
    /// The most steps that a peer may take in one reconciliation.
    package static let rangesRoundCount = 65_536

    // What a store keeps of one peer.

    /// The most documents that are known not to be joined, on each side.
    package static let apartDocumentCount = 100_000
    /// The most refused changes that are remembered, so that nobody else brings them.
    package static let voidedChangeCount = 100_000
    /// The most collections in which documents of a peer are known not to be joined, before one more is made for another.
    package static let refusedCollectionCount = 64
    /// The most deltas that wait because of their times; a further one displaces the oldest.
    package static let quarantineCount = 256
    /// The most bytes that these deltas take together; one that does not fit is not kept.
    package static let quarantineByteCount = 32 * 1024 * 1024
}
