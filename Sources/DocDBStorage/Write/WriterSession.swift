import DocDBCore

/// What a store does once per opening, before its first write, and at its end: incarnations, actors, reserved times.
///
/// A store that was copied or restored no longer matches the nonce (or the inode) of its incarnation file and takes a
/// new actor. One that was not closed in order begins a new incarnation of its change log.
struct WriterSession {
    /// No stamp passes this time before it has been raised on the disk.
    private(set) var reservedTime: HybridTime
    private var hasBegun = false
    private let wasClean: Bool
    private let isCopied: Bool
    private var writeAheadLogDescriptor: Int32 = -1

    /// How far ahead of use times are reserved.
    private static let reservationNanoseconds: UInt64 = 30_000_000_000
    /// The reservation is renewed when less than this is left of it.
    private static let reservationMarginNanoseconds: UInt64 = 10_000_000_000
    private static let nonceByteCount = 16

    init(connection: SQLiteConnection, directory: StoreDirectory) throws(DocDBError) {
        reservedTime = HybridTime(
            rawValue: UInt64(bitPattern: try StoreMetadata.integer(.clockReserved, connection) ?? 0))
        wasClean = try StoreMetadata.integer(.isClean, connection) != 0
        isCopied = try !Self.matchesIncarnation(connection, directory)
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
    private static func matchesIncarnation(
        _ connection: SQLiteConnection, _ directory: StoreDirectory
    ) throws(DocDBError) -> Bool {
        guard let current = try StoreMetadata.bytes(.currentNonce, connection),
            let next = try StoreMetadata.bytes(.nextNonce, connection)
        else { return false }
        let descriptor = Platform.open(directory.incarnation, writing: false, creating: false)
        guard descriptor >= 0 else { return false }
        defer { Platform.close(descriptor) }
        guard let nonce = Platform.readStart(descriptor, limit: nonceByteCount), nonce == current || nonce == next,
            let inode = Platform.inode(descriptor: descriptor)
        else { return false }
        return try StoreMetadata.integer(.incarnationInode, connection) == Int64(bitPattern: inode)
    }

    // MARK: Before writes

    /// Makes sure that this opening has begun its session and that enough times are reserved.
    mutating func prepare(_ writer: StoreWriter) throws(DocDBError) {
        if !hasBegun { try begin(writer) }
        let now = writer.options.clock()
        let needed = max(now, writer.state.lastTime.rawValue) &+ Self.reservationMarginNanoseconds
        guard needed > reservedTime.rawValue else { return }
        let reserved = HybridTime(nanosecondsSince1970: needed &+ Self.reservationNanoseconds)
        try writer.commitDurably { () throws(DocDBError) in
            try StoreMetadata.set(.clockReserved, Int64(bitPattern: reserved.rawValue), writer.connection)
        }
        reservedTime = reserved
    }

    private mutating func begin(_ writer: StoreWriter) throws(DocDBError) {
        let connection = writer.connection
        let directory = writer.directory
        let descriptor = Platform.open(directory.incarnation, writing: true, creating: true)
        guard descriptor >= 0 else {
            throw Platform.error(Platform.lastErrorNumber, while: "open \(directory.incarnation)")
        }
        defer { Platform.close(descriptor) }
        let nonce = writer.options.randomBytes(Self.nonceByteCount)
        let inode = Platform.inode(descriptor: descriptor) ?? 0
        let now = max(writer.options.clock(), reservedTime.rawValue)
        let reserved = HybridTime(
            nanosecondsSince1970: now &+ Self.reservationMarginNanoseconds &+ Self.reservationNanoseconds)
        let newActor = writer.state.actor == nil || isCopied ? writer.deriveActor() : nil
        let beginsIncarnation = !wasClean || isCopied
        try writer.commitDurably { () throws(DocDBError) in
            let written = Platform.readStart(descriptor, limit: Self.nonceByteCount) ?? []
            try StoreMetadata.set(.currentNonce, written, connection)
            try StoreMetadata.set(.nextNonce, nonce, connection)
            try StoreMetadata.set(.incarnationInode, Int64(bitPattern: inode), connection)
            try StoreMetadata.set(.isClean, 0, connection)
            try StoreMetadata.set(.clockReserved, Int64(bitPattern: reserved.rawValue), connection)
            if beginsIncarnation { try Self.beginIncarnation(writer) }
            if let newActor { try writer.persistActor(newActor) }
        }
        if let newActor { writer.adoptPersistedActor(newActor) }
        reservedTime = reserved
        try Platform.overwriteStart(descriptor, with: nonce, path: directory.incarnation)
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

    // MARK: Durability

    /// Makes the bytes of the write-ahead log durable, through a descriptor of our own.
    mutating func synchronizeWriteAheadLog(_ directory: StoreDirectory) throws(DocDBError) {
        if writeAheadLogDescriptor < 0 {
            writeAheadLogDescriptor = Platform.open(directory.writeAheadLog, writing: true, creating: false)
        }
        guard writeAheadLogDescriptor >= 0 else {
            throw Platform.error(Platform.lastErrorNumber, while: "open \(directory.writeAheadLog)")
        }
        guard Platform.synchronize(descriptor: writeAheadLogDescriptor) else {
            throw Platform.error(Platform.lastErrorNumber, while: "sync \(directory.writeAheadLog)")
        }
    }

    /// Marks the store as closed in order and empties the write-ahead log.
    mutating func end(_ writer: StoreWriter) throws(DocDBError) {
        if writeAheadLogDescriptor >= 0 {
            Platform.close(writeAheadLogDescriptor)
            writeAheadLogDescriptor = -1
        }
        guard hasBegun else { return }
        let last = writer.state.lastTime
        try writer.commitDurably { () throws(DocDBError) in
            try StoreMetadata.set(.isClean, 1, writer.connection)
            try StoreMetadata.set(.clockReserved, Int64(bitPattern: last.rawValue), writer.connection)
        }
        hasBegun = false
    }
}
