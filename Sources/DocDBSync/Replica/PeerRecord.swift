package import DocDBCore

/// What a store keeps of a peer that it has met: how far each has come in pulling from the other.
package struct PeerRecord: Hashable, Sendable {
    /// The number of the peer in this store; zero before it is added.
    package var number: Int64 = 0
    /// The 16 bytes that name the peer's store.
    package var storeID: [UInt8]
    /// What the peer calls itself.
    package var name = ""
    /// Whether the peer is a keeper: a hub, or one configured as such. Only keepers' acknowledgements permit eviction.
    package var isKeeper = false
    /// When it was last connected, in nanoseconds since 1970.
    package var lastSeenNanoseconds: UInt64 = 0

    /// This store as the subscriber: the last cursor that the peer handed out, with what it covered.
    package var cursor: Cursor?
    /// How many documents the peer had told as in scope when it handed out the cursor, and the sum of their digests:
    /// what it resumes from. Sessions set it with the cursor.
    package var toldCount: Int64 = 0
    package var toldSum = DigestSum()
    /// The same of all that stands in the table of what the peer has told at present, which acknowledgements and returned
    /// documents also move. `ReplicaWriter.setTold` and its relatives keep it; `setPeer` leaves it as it is.
    package var currentCount: Int64 = 0
    package var currentSum = DigestSum()

    /// This store as the provider: the newest own commit up to which the peer has acknowledged all that concerns it.
    package var acknowledgedSequence: Int64 = 0
    /// The interest that this acknowledgement is about, as announced; nil before the first. Unconditional is everything.
    package var interest: Interest?
    /// The permission epoch of the newest grant met.
    package var epoch: UInt64 = 0

    package init(storeID: [UInt8]) { self.storeID = storeID }
}

/// Where a pull resumes: a place in the provider's log, and what was asked for there.
package struct Cursor: Hashable, Sendable {
    /// The incarnation of the provider's log, 16 bytes.
    package var incarnation: [UInt8]
    package var sequence: Int64
    /// The hash of the interest that the pull had.
    package var interestHash: StateDigest
    /// The permission epoch under which it ran.
    package var epoch: UInt64

    package init(incarnation: [UInt8], sequence: Int64, interestHash: StateDigest, epoch: UInt64) {
        self.incarnation = incarnation
        self.sequence = sequence
        self.interestHash = interestHash
        self.epoch = epoch
    }
}

/// The sum of digests modulo 2^128: the same for the same set, whatever the order.
package struct DigestSum: Hashable, Sendable {
    package var high: UInt64 = 0
    package var low: UInt64 = 0

    package init() {}
    package init(high: UInt64, low: UInt64) {
        self.high = high
        self.low = low
    }

    package mutating func add(_ digest: StateDigest) {
        let (sum, carry) = low.addingReportingOverflow(digest.low)
        low = sum
        high = high &+ digest.high &+ (carry ? 1 : 0)
    }

    package mutating func subtract(_ digest: StateDigest) {
        let (difference, borrow) = low.subtractingReportingOverflow(digest.low)
        low = difference
        high = high &- digest.high &- (borrow ? 1 : 0)
    }
}

/// A document that one side has not joined, and why.
package struct ApartDocument: Hashable, Sendable {
    package enum Side: Int64, Sendable {
        /// This store has not joined what the peer sent.
        case here = 0
        /// The peer has not joined what this store sent.
        case there = 1
    }

    package var peer: Int64
    package var side: Side
    package var reference: DocumentReference
    package var code: RefusalCode
    /// The permission epoch under which it was judged.
    package var epoch: UInt64
    /// For people; never the content of a document.
    package var reason: String

    package init(
        peer: Int64, side: Side, reference: DocumentReference, code: RefusalCode, epoch: UInt64, reason: String
    ) {
        self.peer = peer
        self.side = side
        self.reference = reference
        self.code = code
        self.epoch = epoch
        self.reason = reason
    }
}

/// Why a document was not joined; numbers from newer versions are kept.
package struct RefusalCode: Hashable, Sendable, RawRepresentable {
    package var rawValue: UInt64
    package init(rawValue: UInt64) { self.rawValue = rawValue }

    /// The write permission does not match the document before or after the change.
    package static let denied = Self(rawValue: 1)
    /// A time lies further ahead than the clock bound: it waits in quarantine.
    package static let clock = Self(rawValue: 2)
    /// Changes of other actors from a peer that may bring only its own.
    package static let relay = Self(rawValue: 3)
    /// The document, or what it needs, is over a limit.
    package static let limit = Self(rawValue: 4)
    /// The bytes do not decode.
    package static let malformed = Self(rawValue: 5)
    /// Evicted there: told, but not held.
    package static let evicted = Self(rawValue: 6)
    /// The receiver has no use for it: an update of a document that it does not hold.
    package static let notHeld = Self(rawValue: 7)
    /// Refused because of another document of its transaction.
    package static let transaction = Self(rawValue: 8)
    /// The user of the peer has reached a limit of this store: offered again with the next session.
    package static let userLimit = Self(rawValue: 9)
    /// A hub has refused a change of another that was taken here: it was given up. Only told, never kept nor sent.
    package static let voided = Self(rawValue: 10)
}

/// A delta that waits because a time in it lies too far ahead.
package struct QuarantinedDelta: Hashable, Sendable {
    package var peer: Int64
    package var reference: DocumentReference
    /// The newest time in it: it is judged again when the clock bound allows this time.
    package var newestTime: HybridTime
    /// The encoded delta: see `WireContent`, with the store's own names and actors.
    package var bytes: [UInt8]

    package init(peer: Int64, reference: DocumentReference, newestTime: HybridTime, bytes: [UInt8]) {
        self.peer = peer
        self.reference = reference
        self.newestTime = newestTime
        self.bytes = bytes
    }
}
