/// The one error type of DocDB: a code to act on, and a message that names the remedy.
///
/// Messages and context never contain document contents, literals of queries, tokens or claims.
///
/// ```swift
/// do { try cars.insert(car) } catch let error as DocDBError where error.code == .documentExists { ... }
/// ```
public struct DocDBError: Error, Sendable {
    /// What went wrong, to switch over; new codes may appear in any version.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        /// The code's stable name.
        public let description: String
        package init(_ name: String) { description = name }
    }

    /// What went wrong.
    public let code: Code
    /// One sentence or two for people: what happened and what to do about it.
    public let message: String
    /// Further facts by name, such as a position or a path; never user data.
    public let context: [String: String]

    package init(_ code: Code, _ message: String, context: [String: String] = [:]) {
        self.code = code
        self.message = message
        self.context = context
    }
}

extension DocDBError: CustomStringConvertible {
    /// The message, with the code before it.
    public var description: String { "\(code): \(message)" }
}

extension DocDBError.Code {
    /// A predicate does not parse, or an argument of it is absent.
    public static let invalidPredicate = Self("invalidPredicate")
    /// A text is not the JSON of one document.
    public static let invalidJSON = Self("invalidJSON")
    /// A value cannot be stored: NaN, infinity, text that is not UTF-8, a type that has no encoding.
    public static let invalidValue = Self("invalidValue")
    /// A document id is null, a float, too long, or differs from the document's own.
    public static let invalidDocumentID = Self("invalidDocumentID")
    /// A collection's name is empty, too long, or reserved.
    public static let invalidCollectionName = Self("invalidCollectionName")
    /// A field path does not parse or cannot be written to.
    public static let invalidPath = Self("invalidPath")
    /// A document is larger than the limit.
    public static let documentTooLarge = Self("documentTooLarge")
    /// A document is nested deeper than the limit.
    public static let documentTooDeep = Self("documentTooDeep")
    /// A document with this id exists already.
    public static let documentExists = Self("documentExists")
    /// There is no document with this id.
    public static let documentNotFound = Self("documentNotFound")
    /// There is no collection with this name.
    public static let collectionNotFound = Self("collectionNotFound")
    /// An index cannot be made of these paths, or there is none to remove.
    public static let invalidIndex = Self("invalidIndex")
    /// A value does not have the type that was asked for.
    public static let typeMismatch = Self("typeMismatch")
    /// A state or time asked for lies before what the change log retains.
    public static let historyNotRetained = Self("historyNotRetained")
    /// Documents have local changes that no other peer is known to hold.
    public static let unsyncedChanges = Self("unsyncedChanges")
    /// The database has been closed.
    public static let databaseClosed = Self("databaseClosed")
    /// Another process holds the store for writing.
    public static let storeLocked = Self("storeLocked")
    /// The path holds no store, or something that is none.
    public static let notAStore = Self("notAStore")
    /// The store was written by a newer version of DocDB.
    public static let storeTooNew = Self("storeTooNew")
    /// The store, its directory or its disk does not permit writing.
    public static let readOnly = Self("readOnly")
    /// The disk is full.
    public static let diskFull = Self("diskFull")
    /// Reading or writing the disk failed.
    public static let storageFailed = Self("storageFailed")
    /// Stored bytes are damaged.
    public static let corrupted = Self("corrupted")
    /// The store was busy for longer than the configured time.
    public static let busy = Self("busy")
    /// A limit with a name was reached.
    public static let limitReached = Self("limitReached")
    /// A URL or a network address does not parse, or is of a kind that is not supported.
    public static let invalidAddress = Self("invalidAddress")
    /// Another program listens on this address and port.
    public static let addressInUse = Self("addressInUse")
    /// A certificate or a private key of this side cannot be read, or the two do not belong together.
    public static let certificateInvalid = Self("certificateInvalid")
    /// The other side's certificate does not verify.
    public static let certificateRejected = Self("certificateRejected")
    /// The other side cannot be reached, or the connection broke.
    public static let connectionFailed = Self("connectionFailed")
    /// The other side was reached and would not have the connection.
    public static let connectionRejected = Self("connectionRejected")
    /// Bytes from another peer are not what the replication protocol says.
    public static let protocolError = Self("protocolError")
    /// The time allowed has passed.
    public static let timedOut = Self("timedOut")
    /// The operation was called in a way that can never work.
    public static let misuse = Self("misuse")
    /// The task was cancelled before the operation began.
    public static let cancelled = Self("cancelled")
}
