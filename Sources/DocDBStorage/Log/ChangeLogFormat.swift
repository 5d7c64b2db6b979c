package import DocDBCore

/// The bytes of the change log, as Schemas/change-log.md tells them.
package enum ChangeLogFormat {
    /// What kind of commit a record tells of.
    package enum Kind: UInt8, Sendable {
        case local = 1
        case remote = 2
        case eviction = 3
    }

    /// One stamp of a record: the actor by its number in the store, and the time.
    package struct Stamp: Hashable, Sendable {
        package var actorNumber: UInt32
        package var time: HybridTime

        package init(actorNumber: UInt32, time: HybridTime) {
            self.actorNumber = actorNumber
            self.time = time
        }
    }

    // Tags of entries.
    static let collection: UInt8 = 1
    static let inserted: UInt8 = 2
    static let changed: UInt8 = 3
    static let evicted: UInt8 = 4
    static let erased: UInt8 = 5
    static let stamp: UInt8 = 6
    static let peer: UInt8 = 7

    /// The origin of entries that tell of local changes, where others have the number of a peer.
    package static let noPeer: Int64 = 0
    /// No peer has a number beyond this; a record that says so is damaged.
    static let peerLimit: Int64 = 1 << 48

    /// How the bytes of a log row are stored.
    package enum Codec: Int64 {
        /// One record, not yet folded.
        case record = 0
        /// Records, each after its length, in one LZ4 block.
        case lz4Block = 1
        /// Records, each after its length, that LZ4 could not shorten.
        case rawBlock = 2
    }

    /// The tail is folded into a block when its raw bytes reach this.
    static let foldByteCount = 32 * 1024
    /// The tail is folded into a block when it has this many records.
    static let foldRecordCount = 1024
    /// The most raw bytes of one block.
    static let blockByteLimit = 512 * 1024 * 1024
    /// The most bytes of a record: a transaction writes at most this much undo. A block has room for lengths beside it.
    static let recordByteLimit = blockByteLimit - 16 * foldRecordCount
    /// No commit has a number beyond this; a store that says so is damaged.
    static let sequenceLimit: Int64 = 1 << 62
    /// The most stamps of one record: one for each actor rotation or delete-then-insert within a transaction.
    static let stampCountLimit = 1 << 20

    /// Maps small signed numbers to small unsigned ones.
    @inline(__always)
    static func zigzag(_ value: Int64) -> UInt64 { UInt64(bitPattern: value << 1 ^ value >> 63) }

    @inline(__always)
    static func unzigzag(_ value: UInt64) -> Int64 { Int64(bitPattern: value >> 1) ^ -Int64(bitPattern: value & 1) }
}
