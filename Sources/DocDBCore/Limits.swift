/// The limits of documents, names and messages, all in one place.
///
/// A limit here is part of the format or of the contract with users; tuning constants stay beside the code they tune.
public enum Limits {
    /// The most bytes a document's encoded body may have for a local write to be accepted (5 MiB).
    public static let documentByteCount = 5 * 1024 * 1024
    /// The deepest nesting of arrays and objects in a document, the document itself counted as one.
    public static let nestingDepth = 64
    /// The most bytes an encoded document id may have.
    public static let documentIDByteCount = 256
    /// The most bytes a collection's name may have; it has at least one.
    public static let collectionNameByteCount = 128
    /// The longest field name, in bytes, that is interned; longer ones are stored as text.
    public static let internedFieldNameByteCount = 32
    /// The most field names one store interns.
    public static let internedFieldNameCount = 4096
    /// The most bytes the names of one field path may have together, as a path is written in calls and predicates.
    public static let fieldPathByteCount = 4096
    /// The most bytes of a JSON text of one document; escapes and white space make text longer than its body.
    public static let jsonDocumentByteCount = 64 * 1024 * 1024
    /// How far a time may lie ahead of the wall clock, in nanoseconds: changes from peers with later ones wait (2 minutes).
    public static let clockBoundNanoseconds: UInt64 = 120_000_000_000
}
