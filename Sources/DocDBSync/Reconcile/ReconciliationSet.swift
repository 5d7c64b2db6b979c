package import DocDBCore
import DocDBStorage

/// The documents that one side of a reconciliation holds, as fingerprints.
///
/// A fingerprint is the first 128 bits of SHA-256 over a salt and the digest of the document's state, which covers
/// collection and id. The salt is of both nonces of the session and the number of the interest, so that nobody who writes
/// documents can foresee fingerprints, and a further reconciliation has others. The first 64 bits are the item's place, by
/// which the two sides compare items; the last 64 bits are summed over ranges.
///
/// Two documents at one place are taken for one with odds of n² / 2^65 (1 in 4 billion for 100,000 documents); what is
/// missed then shows in the sums of the scope, and the next reconciliation has other places.
package struct ReconciliationSet: Sendable {
    struct Item: Sendable, BitwiseCopyable {
        var place: UInt64
        var check: UInt64
        var reference: DocumentReference
    }

    /// How many items a range has, and the sum of their checks modulo 2^64.
    struct Summary: Hashable, Sendable {
        var count: Int
        var sum: UInt64
    }

    /// Sorted by place once `arrange` was called.
    private(set) var items: [Item] = []
    /// The sums of the checks of the first 0, 1, 2... items.
    private var sums: [UInt64] = []
    private let salt: StateDigest

    /// - Parameter salt: the nonces of the hellos of the link's initiator and of its acceptor, then the number of the interest
    ///   as eight bytes, big-endian; the same on both sides.
    package init(salt: [UInt8], reservedCount: Int = 0) {
        self.salt = salt.withUnsafeBytes { ContentHash.digest($0) }
        items.reserveCapacity(reservedCount)
    }

    package var count: Int { items.count }

    /// Adds a document by the digest of its state: of the own one, or of the one that the peer has told.
    package mutating func append(_ digest: StateDigest, _ reference: DocumentReference) {
        let words = (
            salt.high.bigEndian, salt.low.bigEndian, digest.high.bigEndian, digest.low.bigEndian
        )
        let fingerprint = withUnsafeBytes(of: words) { ContentHash.digest($0) }
        items.append(Item(place: fingerprint.high, check: fingerprint.low, reference: reference))
    }

    /// Sorts the items and sums them up; nothing is added thereafter.
    mutating func arrange() {
        items.sort { ($0.place, $0.check) < ($1.place, $1.check) }
        sums.reserveCapacity(items.count + 1)
        var sum: UInt64 = 0
        sums.append(0)
        for item in items {
            sum &+= item.check
            sums.append(sum)
        }
    }

    /// The items of a range, as indices.
    func indices(of range: FingerprintRange) -> Range<Int> {
        let bounds = range.bounds
        let lower = firstIndex { $0 >= bounds.lowerBound }
        return lower..<max(lower, firstIndex { $0 > bounds.upperBound })
    }

    func summary(of range: FingerprintRange) -> Summary {
        let indices = indices(of: range)
        return Summary(count: indices.count, sum: sums[indices.upperBound] &- sums[indices.lowerBound])
    }

    /// The first index whose place fits, as all later ones do.
    private func firstIndex(_ fits: (UInt64) -> Bool) -> Int {
        var low = 0
        var high = items.count
        while low < high {
            let middle = (low + high) / 2
            if fits(items[middle].place) { high = middle } else { low = middle + 1 }
        }
        return low
    }
}
