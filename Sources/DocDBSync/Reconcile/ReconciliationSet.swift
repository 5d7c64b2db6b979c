package import DocDBCore

/// The documents that one side of a reconciliation holds, as fingerprints in order.
///
/// A fingerprint is the first 128 bits of SHA-256 over a salt and the digest of the document's state, which covers
/// collection and id. The salt is of both nonces of the session and the number of the interest, so that nobody who writes
/// documents can foresee fingerprints, and a further reconciliation has others.
package struct ReconciliationSet: Sendable {
    package struct Item: Sendable, BitwiseCopyable {
        /// The place of the item in the space of fingerprints: their first 64 bits, as a big-endian number.
        var place: UInt64
        /// The last 64 bits, of which ranges have sums.
        var check: UInt64
        var reference: DocumentReference
    }

    var items: [Item] = []
    private let salt: [UInt8]

    /// - Parameter salt: the nonces of the initiator's and the responder's hello, then the number of the interest as
    ///   eight bytes, big-endian; the same on both sides.
    package init(salt: [UInt8], reservedCount: Int = 0) {
        self.salt = salt
        items.reserveCapacity(reservedCount)
    }

    package var count: Int { items.count }

    /// Adds a document by the digest of its state: of the own one, or of the one that the peer has told.
    package mutating func append(_ digest: StateDigest, _ reference: DocumentReference) {
    }
}
