import DocDBCore
import Synchronization

/// What a store does once per opening, before its first write, and at its end: incarnations, actors, reserved times.
///
/// A store that was copied or restored no longer matches its incarnation file (by nonce, inode and time of change) and
/// takes a new actor and a new id: it is another store from then on. One that was not closed in order begins a new incarnation of its change log; where it has lost its
/// write-ahead log too, it may have lost commits that others know, and takes a new actor.
struct WriterSession {
    /// No stamp passes this time before it has been raised on the disk.
    private(set) var reservedTime: HybridTime
    private var hasBegun = false
    /// Whether the store was closed in order when it was used last.
    let wasClean: Bool
    /// Whether others may know changes of the actor that this store does not.
    private let mustChangeActor: Bool
    /// Whether the files are a copy of those that were written last.
    private let isCopy: Bool

    /// How far ahead of use times are reserved.
    private static let reservationNanoseconds: UInt64 = 30_000_000_000
    /// The reservation is renewed when less than this is left of it.
    private static let reservationMarginNanoseconds: UInt64 = 10_000_000_000
    /// The same for a store whose times are ahead of its clock: after a crash they go on where the reservation ended, and a
    /// store that crashes again and again must not get ever further ahead.
    private static let shortReservationNanoseconds: UInt64 = 400_000_000
    private static let shortMarginNanoseconds: UInt64 = 100_000_000
    private static let nonceByteCount = 16

    init(
        connection: SQLiteConnection, directory: StoreDirectory, hadWriteAheadLog: Bool
    ) throws(DocDBError) {
        reservedTime = HybridTime(
            rawValue: UInt64(bitPattern: try StoreMetadata.integer(.clockReserved, connection) ?? 0))
        // One that cannot be read counts as the worse.
        wasClean = try StoreMetadata.integer(.isClean, connection) == 1
        let isSame = try Self.matchesIncarnation(connection, directory)
        let wasUsed = try StoreMetadata.bytes(.incarnationNonce, connection) != nil
        isCopy = !isSame && wasUsed
        mustChangeActor = !isSame || (!wasClean && !hadWriteAheadLog)
    }

    /// The actor that wrote last, or nil for a store nothing was written to.
    func currentActor(_ connection: SQLiteConnection, _ actors: ActorTable) throws(DocDBError) -> ActorID? {
        guard let number = try StoreMetadata.integer(.actor, connection) else { return nil }
        guard let number = UInt64(exactly: number), let actor = actors.actor(number) else {
            throw DocDBError(
                .corrupted, "the store names an actor that it does not know; restore a backup of the store")
        }
        return actor
    }

    /// Tells whether the incarnation file beside the database is the one that this database wrote.
    static func matchesIncarnation(
        _ connection: SQLiteConnection, _ directory: StoreDirectory
    ) throws(DocDBError) -> Bool {
        guard let written = try StoreMetadata.bytes(.incarnationNonce, connection), written.count == nonceByteCount
        else { return false }
        guard let file = try? directory.fileSystem.open(directory.incarnation, writing: false, creating: false) else {
            return false
        }
        defer { file.close() }
        // One byte more than there should be, so that a longer file is told.
        guard let nonce = file.readStart(limit: nonceByteCount + 1), nonce == written,
            let identity = try? file.identity()
        else { return false }
        let inode = try StoreMetadata.integer(.incarnationInode, connection)
        let changeTime = try StoreMetadata.integer(.incarnationChangeTime, connection)
        return inode == identity.inode && changeTime == identity.changeTime
    }

    // MARK: Before writes

    /// Makes sure that this opening has begun its session and that enough times are reserved.
    mutating func prepare(_ writer: StoreWriter) throws(DocDBError) {
        if !hasBegun { try begin(writer) }
        let (now, last) = (writer.now, writer.state.lastTime.rawValue)
        let isAhead = last > now
        let margin = isAhead ? Self.shortMarginNanoseconds : Self.reservationMarginNanoseconds
        let needed = Self.add(margin, to: max(now, last))
        guard needed > reservedTime.rawValue else { return }
        let reservation = isAhead ? Self.shortReservationNanoseconds : Self.reservationNanoseconds
        let reserved = HybridTime(nanosecondsSince1970: Self.add(reservation, to: needed))
        try writer.commitDurably { () throws(DocDBError) in
            try StoreMetadata.set(.clockReserved, Int64(bitPattern: reserved.rawValue), writer.connection)
        }
        reservedTime = reserved
    }

    /// The sum, which stays at the end of time where it would pass it.
    private static func add(_ nanoseconds: UInt64, to time: UInt64) -> UInt64 {
        let (sum, isBeyond) = time.addingReportingOverflow(nanoseconds)
        return isBeyond ? .max : sum
    }

    private mutating func begin(_ writer: StoreWriter) throws(DocDBError) {
        let connection = writer.connection
        let directory = writer.directory
        let file = try directory.fileSystem.open(directory.incarnation, writing: true, creating: true)
        defer { file.close() }
        // The file first: where the commit then does not come about, file and database differ, which costs a new actor.
        let nonce = writer.options.randomBytes(Self.nonceByteCount)
        try file.replaceContent(with: nonce, isDurable: true)
        let identity = try file.identity()
        let now = writer.now
        let reservation =
            reservedTime.rawValue > now
            ? Self.shortMarginNanoseconds + Self.shortReservationNanoseconds
            : Self.reservationMarginNanoseconds + Self.reservationNanoseconds
        let reserved = HybridTime(
            nanosecondsSince1970: Self.add(reservation, to: max(now, reservedTime.rawValue)))
        let newStoreID = isCopy ? writer.options.randomBytes(StoreIdentity.byteCount) : nil
        let isOwnActor = try writer.isActorOfPeerKey()
        let newActor = mustChangeActor || !isOwnActor ? writer.deriveActor() : nil
        let beginsIncarnation = !wasClean || mustChangeActor
        try writer.commitDurably { () throws(DocDBError) in
            try StoreMetadata.set(.incarnationNonce, nonce, connection)
            try StoreMetadata.set(.incarnationInode, identity.inode, connection)
            try StoreMetadata.set(.incarnationChangeTime, identity.changeTime, connection)
            try StoreMetadata.set(.isClean, 0, connection)
            try StoreMetadata.set(.clockReserved, Int64(bitPattern: reserved.rawValue), connection)
            if beginsIncarnation { try Self.beginIncarnation(writer) }
            if let newActor { try writer.persistActor(newActor) }
            if let newStoreID { try StoreMetadata.set(.storeID, newStoreID, connection) }
        }
        if let newStoreID { writer.identity.id = newStoreID }
        if let newActor { writer.adoptPersistedActor(newActor.id) }
        reservedTime = reserved
        hasBegun = true
    }

    /// Ends the incarnation of the change log at its last record and begins a new one.
    private static func beginIncarnation(_ writer: StoreWriter) throws(DocDBError) {
        let connection = writer.connection
        let close = try connection.prepare("UPDATE incarnations SET last_seq = ? WHERE last_seq IS NULL")
        close.bind(1, writer.changeLog.state.nextSequence - 1)
        try close.run()
        try addIncarnation(writer.options.randomBytes(16), connection)
    }

    /// Adds an incarnation of the change log, the newest.
    static func addIncarnation(_ id: [UInt8], _ connection: SQLiteConnection) throws(DocDBError) {
        let open = try connection.prepare("INSERT INTO incarnations (id) VALUES (?)")
        open.bind(1, copying: id)
        try open.run()
    }

    // MARK: After writes

    /// Marks the store as closed in order and, where no reader needs it, empties the write-ahead log.
    mutating func end(_ writer: StoreWriter) throws(DocDBError) {
        guard hasBegun else {
            writer.connection.setKeepsWriteAheadLog(!wasClean)
            return
        }
        let last = writer.state.lastTime
        try writer.commitDurably { () throws(DocDBError) in
            try StoreMetadata.set(.isClean, 1, writer.connection)
            try StoreMetadata.set(.clockReserved, Int64(bitPattern: last.rawValue), writer.connection)
        }
        hasBegun = false
        writer.connection.setKeepsWriteAheadLog(false)
        _ = try writer.checkpoint(waiting: false)
    }
}

/// The write-ahead log as a file, through which it is made durable while others write.
final class WriteAheadLogFile: Sendable {
    /// The open file, or nil where there is none yet. Held while the disk is waited for, so that nobody closes it.
    private let file = Lock<(any StoreFile)?>(nil)

    /// Waits until the bytes of the write-ahead log are on the disk itself.
    func synchronize(_ directory: StoreDirectory) throws(DocDBError) {
        try file.withLock { (file) throws(DocDBError) in
            if file == nil {
                file = try directory.fileSystem.open(directory.writeAheadLog, writing: true, creating: false)
            }
            try file?.synchronize()
        }
    }

    func close() {
        file.withLock { file in
            file?.close()
            file = nil
        }
    }
}
