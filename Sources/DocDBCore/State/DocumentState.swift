/// The replicated state of one document: its entries, and the version vectors `seen` and `deleted`.
///
/// States of one document join in any order to the same state. Paths are the encoded map keys from the root, one after
/// the other: since encoded keys delimit themselves, a path lies beneath another just if it begins with its bytes, and
/// the bytewise order of paths is the order of the encoded body. Payloads are encoded values. Nothing here knows names.
///
/// Sources: Shapiro et al., "Conflict-free Replicated Data Types" (2011); Almeida et al., "Delta State Replicated Data
/// Types" (2018).
package struct DocumentState: Sendable {
    /// A run of bytes in the state's arena.
    package struct Slice: Sendable {
        package var offset: UInt32
        package var count: UInt32

        @inline(__always)
        package init(offset: Int, count: Int) {
            self.offset = UInt32(offset)
            self.count = UInt32(count)
        }

        package static let empty = Slice(offset: 0, count: 0)
    }

    /// What an assignment says about its path.
    package enum PayloadKind: UInt8, Sendable {
        /// A scalar or a whole array.
        case value = 0
        /// The path is an object, whatever lies beneath.
        case map = 1
        /// The path holds nothing.
        case absent = 2
    }

    /// The newest value written at one path.
    package struct Assignment: Sendable {
        package var path: Slice
        /// The encoded value; empty where the kind is not `value`.
        package var payload: Slice
        package var stamp: Stamp
        package var kind: PayloadKind
    }

    /// What one actor added to the counter at one path since the assignment `base`.
    package struct Tally: Sendable {
        package var path: Slice
        /// The newest assignment at the path or above it that the actor had seen.
        package var base: Stamp
        package var actor: ActorID
        package var time: HybridTime
        package var sum: Number
    }

    /// An entry of a kind that only newer versions know: kept, relayed, and read as missing.
    ///
    /// Of two with the same (path, kind, base, key) the later dot stays. A newer assignment than `base`, at the path or
    /// above it, removes the entry; it removes nothing itself.
    package struct Unknown: Sendable {
        package var path: Slice
        /// The kind's number in every format, at least `firstUnknownKind`.
        package var kind: UInt32
        package var base: Stamp
        package var time: HybridTime
        package var actor: ActorID
        package var key: Slice
        package var payload: Slice
    }

    /// The first number of an entry kind that this version does not know.
    package static let firstUnknownKind: UInt32 = 4

    /// The bytes that paths and payloads lie in; replaced ones stay until the state is copied or decoded anew.
    package internal(set) var arena: [UInt8] = []
    /// Sorted by path, no path twice.
    package internal(set) var assignments: [Assignment] = []
    /// Sorted by path, base and actor, no such key twice.
    package internal(set) var tallies: [Tally] = []
    /// Sorted by path, kind, base and key, no such key twice.
    package internal(set) var unknowns: [Unknown] = []
    /// The changes whose effect, or what replaced it, is among the entries.
    package internal(set) var seen = VersionVector()
    /// The changes that a delete has covered.
    package internal(set) var deleted = VersionVector()

    /// Creates the state of a document that was never written.
    package init() {}

    /// Creates a state that has only vectors: of a document that is dead, and whose entries are forgotten.
    package init(seen: VersionVector = VersionVector(), deleted: VersionVector = VersionVector()) {
        self.seen = seen
        self.deleted = deleted
    }

    /// Tells whether some change is not covered by a delete.
    package var isAlive: Bool {
        if deleted.isEmpty { return !seen.isEmpty }
        return seen.elements.contains { $0.time > deleted[$0.actor] }
    }

    /// Tells whether nothing is known of the document, not even that it was deleted.
    package var isUnwritten: Bool { seen.isEmpty && deleted.isEmpty }

    /// Tells whether the state holds no entry of any kind.
    package var hasNoEntries: Bool { assignments.isEmpty && tallies.isEmpty && unknowns.isEmpty }

    /// Tells whether a local write under `actor` would claim forgotten changes of that actor, so that the store must
    /// take a new actor id first.
    package func needsActorRotation(_ actor: ActorID) -> Bool {
        isAlive && deleted[actor] > seen[actor]
    }

    /// Goes back to the state of a document that was never written, keeping memory for reuse.
    package mutating func removeAll() {
        removeEntries()
        arena.removeAll(keepingCapacity: true)
        seen = VersionVector()
        deleted = VersionVector()
    }

    /// Becomes a copy of `other` within the memory it has, without sharing any.
    package mutating func copy(_ other: DocumentState) {
        removeAll()
        arena.append(contentsOf: other.arena)
        assignments.append(contentsOf: other.assignments)
        tallies.append(contentsOf: other.tallies)
        unknowns.append(contentsOf: other.unknowns)
        seen = other.seen
        deleted = other.deleted
    }

    mutating func removeEntries() {
        assignments.removeAll(keepingCapacity: true)
        tallies.removeAll(keepingCapacity: true)
        unknowns.removeAll(keepingCapacity: true)
    }

    /// Adds bytes to the arena.
    mutating func store(_ bytes: UnsafeRawBufferPointer) -> Slice {
        let slice = Slice(offset: arena.count, count: bytes.count)
        arena.append(contentsOf: bytes)
        return slice
    }

    /// Rewrites the arena where most of it is bytes that no entry points to any more.
    mutating func compactIfWasteful() {
        var liveCount = 0
        for entry in assignments { liveCount += Int(entry.path.count) + Int(entry.payload.count) }
        for tally in tallies { liveCount += Int(tally.path.count) }
        for entry in unknowns { liveCount += Int(entry.path.count) + Int(entry.key.count) + Int(entry.payload.count) }
        if arena.count > 2 * liveCount + 256 { self = delta(since: VersionVector()).state }
    }

    /// Calls `body` with the bytes of a slice.
    package func withBytes<R>(of slice: Slice, _ body: (UnsafeRawBufferPointer) -> R) -> R {
        arena.withUnsafeBytes { body($0[slice]) }
    }

    /// A copy of the bytes of a slice.
    package func bytes(of slice: Slice) -> [UInt8] { withBytes(of: slice) { [UInt8]($0) } }
}

extension UnsafeRawBufferPointer {
    /// The bytes of a slice of the arena that this buffer is.
    @inline(__always)
    subscript(_ slice: DocumentState.Slice) -> UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(start: baseAddress.map { $0 + Int(slice.offset) }, count: Int(slice.count))
    }

    /// Tells whether the first bytes are `prefix`.
    @inline(__always)
    func hasPrefix(_ prefix: UnsafeRawBufferPointer) -> Bool {
        count >= prefix.count
            && CBOR.compare(UnsafeRawBufferPointer(start: baseAddress, count: prefix.count), prefix) == 0
    }
}
