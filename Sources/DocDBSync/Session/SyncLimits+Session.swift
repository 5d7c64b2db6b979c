extension SyncLimits {
    // Time, in nanoseconds.

    /// How far ahead of the wall clock a received time may lie.
    package static let clockBoundNanoseconds: UInt64 = 120_000_000_000
    /// How long the handshake may take.
    package static let handshakeNanoseconds: UInt64 = 10_000_000_000
    /// After how much silence a peer is asked for a sign of life.
    package static let keepaliveNanoseconds: UInt64 = 30_000_000_000
    /// After how much silence a peer counts as gone.
    package static let silenceNanoseconds: UInt64 = 75_000_000_000
    /// After how much quiet the scope's total is stated.
    package static let quietNanoseconds: UInt64 = 5_000_000_000

    // Snapshots.

    /// After how many snapshots the total is stated even without quiet.
    package static let snapshotsPerSum: UInt64 = 64
    /// After how many documents that the peer sent itself it gets a new place to resume from at once.
    package static let echoesPerPosition = 64
    /// About how many bytes of documents one frame has.
    package static let documentsFrameByteCount = 64 * 1024
    /// About how many bytes a chunk has: what is applied in one transaction of a first sync.
    package static let chunkByteCount = 256 * 1024
    /// About how many bytes a snapshot has that is applied whole; larger ones go in chunks.
    package static let snapshotByteCount = 8 * 1024 * 1024
    /// The most bytes of one unfinished snapshot that a receiver keeps.
    package static let snapshotBufferByteCount = 32 * 1024 * 1024
    /// What each frame of it counts beside its bytes, however few: about what an array takes.
    package static let keptFrameByteCount = 64
    /// How many changed documents a session remembers before it reads them from the log instead.
    package static let dirtyDocumentCount = 4096
    /// How many documents asked for a session remembers; beyond, it reconciles.
    package static let outstandingCount = 16_384
    /// How many documents not joined an interest names; beyond, the cursor is dropped.
    package static let apartCount = 1024

    // Flow control.

    /// How many snapshots may be under way without an acknowledgement.
    package static let flightCount = 1024

    /// How many bytes of document frames a peer may send before it is granted more.
    package static let creditByteCount: Int64 = 1024 * 1024
    /// How many bytes may wait at a link before document frames are held back.
    package static let linkBacklogByteCount = 512 * 1024
    /// How often in a row a peer may change its interest, and after how long there is one more time, in nanoseconds.
    package static let interestBurstCount = 128
    package static let interestPaceNanoseconds: UInt64 = 500_000_000
    /// How often a peer may ask for this side's grant in one session.
    package static let grantRequestCount = 4
    /// How many frames of a peer wait until its grant is here.
    package static let earlyFrameCount = 64
    /// How often a total may differ at once after a reconciliation before the session stops comparing.
    package static let mismatchCount = 4
}
