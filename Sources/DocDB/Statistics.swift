import DocDBStorage

/// What a database holds, and what that takes.
public struct Statistics: Sendable {
    /// What one collection holds.
    public struct Collection: Sendable {
        /// The collection's name.
        public let name: String
        /// How many documents there are.
        public let documentCount: Int
        /// How many deleted documents there are, of which only what replication needs is kept.
        public let tombstoneCount: Int
        /// The collection's indexes, oldest first.
        public let indexes: [Index]
    }

    /// What one index holds.
    public struct Index: Sendable {
        /// What the index covers.
        public let definition: IndexDefinition
        /// How many entries it has: one a document, or one an element where a path leads to several values.
        public let entryCount: Int
    }

    /// What the change log holds.
    public struct Log: Sendable {
        /// How many commits it still holds.
        public let recordCount: Int
        /// The number of the oldest commit it holds.
        public let oldestSequence: Int64
        /// The number of the newest commit.
        public let lastSequence: Int64
        /// How many compressed blocks it has.
        public let blockCount: Int
        /// How many commits are not in a compressed block yet.
        public let tailCount: Int
        /// The bytes that it takes.
        public let byteCount: Int
        /// The bytes that it would take without compression.
        public let rawByteCount: Int
    }

    /// The collections, in the order of their names' bytes.
    public let collections: [Collection]
    /// The change log.
    public let log: Log
    /// The bytes of the database file, gaps included.
    public let databaseByteCount: Int
    /// The bytes of the write-ahead log, which the next checkpoint moves into the database file.
    public let writeAheadLogByteCount: Int
    /// The bytes of the database file that are free for what comes; ``Database/compact()`` gives them back to the disk.
    public let freeByteCount: Int
    /// How many field names are stored as numbers.
    public let fieldNameCount: Int
    /// How many actors have made changes.
    public let actorCount: Int
    /// Whether values of evicted documents may still be in the write-ahead log, because a reader held it up; the next
    /// ``Database/checkpoint()`` clears them.
    public let isErasurePending: Bool

    /// How many documents all collections have together.
    public var documentCount: Int { collections.reduce(0) { $0 + $1.documentCount } }

    init(_ stored: StoreStatistics) {
        collections = stored.collections.map { collection in
            Collection(
                name: collection.name, documentCount: Int(collection.documentCount),
                tombstoneCount: Int(collection.tombstoneCount),
                indexes: collection.indexes.map {
                    Index(definition: IndexDefinition($0.definition), entryCount: Int($0.entryCount))
                })
        }
        log = Log(
            recordCount: Int(stored.log.recordCount), oldestSequence: stored.log.oldestSequence,
            lastSequence: stored.log.lastSequence, blockCount: Int(stored.log.blockCount),
            tailCount: Int(stored.log.tailCount), byteCount: Int(stored.log.byteCount),
            rawByteCount: Int(stored.log.rawByteCount))
        databaseByteCount = Int(stored.databaseByteCount)
        writeAheadLogByteCount = Int(stored.writeAheadLogByteCount)
        freeByteCount = Int(stored.freeByteCount)
        fieldNameCount = stored.fieldNameCount
        actorCount = stored.actorCount
        isErasurePending = stored.isErasurePending
    }
}

/// One thing that is wrong in a database, as ``Database/verify()`` found it.
public struct Finding: Hashable, Sendable, CustomStringConvertible {
    /// Where it is: a part of the database, and within it a collection, a document's number or a commit.
    public let location: String
    /// What is wrong there, without contents of documents.
    public let message: String

    /// The location and the message in a line.
    public var description: String { "\(location): \(message)" }
}
