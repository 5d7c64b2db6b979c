package import DocDBCore

/// One message of the replication protocol, as sans-I/O sessions exchange it; `Schemas/sync-protocol.cddl` has the bytes.
///
/// A frame on a link is one message: a CBOR array whose first element is the message's number, compressed with LZ4 where
/// that pays. The subscriber of a pull sends `interest`, `ranges`, `acknowledge`; the provider `begin`, `documents`,
/// `end`, `commit`, `sum`, `reconcile`. Each peer is both.
package enum Message: Sendable {
    case hello(Hello)
    case proof(Proof)
    /// The grant itself, where the other side does not know the one whose hash the proof names; also a renewal.
    case grant([UInt8])
    case grantRequest
    /// Further actors of the sender's own.
    case actors([Hello.OwnedActor])

    case interest(InterestMessage)
    case reconcile(RangesMessage)
    case ranges(RangesMessage)
    case begin(Begin)
    case documents(DocumentsMessage)
    case end(End)
    /// A whole snapshot in one frame.
    case commit(CommitMessage)
    case acknowledge(Acknowledge)
    case sum(SumMessage)

    /// The receiver has room for so many more bytes of document frames.
    case credit(UInt64)
    /// What the runtime exchanges beside documents, such as presence: a kind and bytes that sessions do not look into.
    case extra(kind: UInt64, [UInt8])
    case ping
    case pong
    /// The last message of a session: why it ends.
    case close(code: String, message: String)
}

/// The first message of each side.
package struct Hello: Hashable, Sendable {
    package var lowestVersion: UInt64 = 1
    package var highestVersion: UInt64 = 1
    package var appID = ""
    package var storeID: [UInt8] = []
    /// The identity kind that proves the peer; see `SessionAuthenticator.kind`.
    package var identityKind = ""
    package var peerKey: [UInt8] = []
    /// Actors of this store's own, the one that it writes with among them, and the nonces that they are derived from with the
    /// peer key.
    package var actors: [OwnedActor] = []
    package var wallNanoseconds: UInt64 = 0
    /// 16 random bytes.
    package var nonce: [UInt8] = []
    package var isKeeper = false
    package var name = ""
    package var operatingSystem = ""
    package var softwareVersion = ""

    package struct OwnedActor: Hashable, Sendable {
        package var actor: ActorID
        package var nonce: [UInt8]
        package init(actor: ActorID, nonce: [UInt8]) {
            self.actor = actor
            self.nonce = nonce
        }
    }

    package init() {}
}

/// Proves who a side is, after both hellos.
package struct Proof: Hashable, Sendable {
    package var bytes: [UInt8]
    /// The hash of the grant that the proof was made with; empty without one.
    package var grantHash: [UInt8]
    package init(bytes: [UInt8], grantHash: [UInt8]) {
        self.bytes = bytes
        self.grantHash = grantHash
    }
}

/// Begins a pull, or begins it anew: what is wanted, from where, and what is known.
package struct InterestMessage: Sendable {
    /// Numbers the interests of a session from 1; every frame of the pull carries it.
    package var number: UInt64 = 0
    /// Per origin the newest interest known: one's own, and for relays those of others.
    package var origins: [AnnouncedInterest] = []
    package var cursor: Cursor?
    /// What was told as of the cursor.
    package var toldCount: Int64 = 0
    package var toldSum = DigestSum()
    /// The permission epoch of the grant this asks under.
    package var epoch: UInt64 = 0
    /// Vectors of documents that are asked for: bases for the answer, which is one snapshot on exactly these.
    package var have: [HeldDocument] = []
    /// Documents up to the cursor that were not joined.
    package var apart: [DocumentOutcome] = []

    /// The predicates of all interests together.
    package var predicateCount: Int {
        origins.reduce(0) { count, origin in
            if case .collections(let elements) = origin.interest { count + elements.count } else { count }
        }
    }

    package init() {}
}

/// An interest, and from whom it comes: link state for relays.
package struct AnnouncedInterest: Hashable, Sendable {
    package var origin: [UInt8]
    package var version: UInt64
    package var hops: UInt64
    package var interest: Interest
    package init(origin: [UInt8], version: UInt64, hops: UInt64, interest: Interest) {
        self.origin = origin
        self.version = version
        self.hops = hops
        self.interest = interest
    }
}

/// A document by name.
package struct DocumentName: Hashable, Sendable {
    package var collection: String
    /// Canonical CBOR.
    package var id: [UInt8]
    package init(collection: String, id: [UInt8]) {
        self.collection = collection
        self.id = id
    }

    /// Compares collections by the bytes of their names, as stores do.
    package static func == (left: DocumentName, right: DocumentName) -> Bool {
        left.id == right.id && left.collection.utf8.elementsEqual(right.collection.utf8)
    }

    package func hash(into hasher: inout Hasher) {
        hasher.combine(id)
        for byte in collection.utf8 { hasher.combine(byte) }
    }
}

package struct HeldDocument: Hashable, Sendable {
    package var name: DocumentName
    package var seen: VersionVector
    package init(name: DocumentName, seen: VersionVector) {
        self.name = name
        self.seen = seen
    }
}

/// A document that was not joined.
package struct DocumentOutcome: Hashable, Sendable {
    package var name: DocumentName
    package var code: RefusalCode
    package var epoch: UInt64
    package var reason: String
    package init(name: DocumentName, code: RefusalCode, epoch: UInt64, reason: String) {
        self.name = name
        self.code = code
        self.epoch = epoch
        self.reason = reason
    }
}

/// A step of range-based set reconciliation; see `Reconciler`.
package struct RangesMessage: Sendable {
    package var number: UInt64
    package var bytes: [UInt8]
    package init(number: UInt64, bytes: [UInt8]) {
        self.number = number
        self.bytes = bytes
    }
}

package struct Begin: Hashable, Sendable {
    package var number: UInt64
    /// Counts the snapshots of a session from 1.
    package var snapshot: UInt64
    /// The whole scope is being told after a reconciliation: what the subscriber was told before counts no more.
    package var isReconciled = false
    /// One chunk of several, each committed by itself, without a cursor until the last.
    package var isChunk = false
    /// How many documents are still to come in this and later chunks, where that is known.
    package var remainingCount: UInt64?
    package init(number: UInt64, snapshot: UInt64) {
        self.number = number
        self.snapshot = snapshot
    }
}

/// Some documents of the snapshot that was begun; `content` is read with `DocumentsReader`.
package struct DocumentsMessage: Sendable {
    package var number: UInt64
    package var content: [UInt8]
    package init(number: UInt64, content: [UInt8]) {
        self.number = number
        self.content = content
    }
}

/// Ends a snapshot; it is then applied.
package struct End: Hashable, Sendable {
    package var number: UInt64
    /// The place to resume from; nil for a chunk that is not the last.
    package var position: Position?
    package var total: ScopeTotal?
    package init(number: UInt64, position: Position?, total: ScopeTotal?) {
        self.number = number
        self.position = position
        self.total = total
    }

    package struct Position: Hashable, Sendable {
        package var incarnation: [UInt8]
        package var sequence: Int64
        package init(incarnation: [UInt8], sequence: Int64) {
            self.incarnation = incarnation
            self.sequence = sequence
        }
    }
}

/// How many documents are in scope, and the sum of their digests.
package struct ScopeTotal: Hashable, Sendable {
    package var count: Int64
    package var sum: DigestSum
    package init(count: Int64 = 0, sum: DigestSum = DigestSum()) {
        self.count = count
        self.sum = sum
    }
}

/// Begin, documents and end of a small snapshot; the incarnation is that of the last `end`.
package struct CommitMessage: Sendable {
    package var number: UInt64
    package var snapshot: UInt64
    package var sequence: Int64
    package var content: [UInt8]
    package init(number: UInt64, snapshot: UInt64, sequence: Int64, content: [UInt8]) {
        self.number = number
        self.snapshot = snapshot
        self.sequence = sequence
        self.content = content
    }
}

/// A snapshot is on the receiver's disk, but for these documents.
package struct Acknowledge: Sendable {
    package var number: UInt64
    package var snapshot: UInt64
    package var except: [DocumentOutcome]
    package init(number: UInt64, snapshot: UInt64, except: [DocumentOutcome]) {
        self.number = number
        self.snapshot = snapshot
        self.except = except
    }
}

/// The scope's total as of a snapshot, when the session falls quiet and now and then.
package struct SumMessage: Hashable, Sendable {
    package var number: UInt64
    package var snapshot: UInt64
    package var total: ScopeTotal
    package init(number: UInt64, snapshot: UInt64, total: ScopeTotal) {
        self.number = number
        self.snapshot = snapshot
        self.total = total
    }
}
