import DocDBCore
import DocDBLive
import DocDBStorage

/// The results of an observed query at one moment: an immutable collection of documents.
///
/// Documents are shared with other moments and other observations of the same database, so that keeping several costs what
/// changed between them. They stay valid when the database changes or closes.
///
/// - Complexity: a copy is O(1), a subscript O(log n), a step of iteration O(1).
public struct LiveDocuments: RandomAccessCollection, Sendable {
    let snapshot: ResultSnapshot<SharedDocument>

    init(_ snapshot: ResultSnapshot<SharedDocument>) { self.snapshot = snapshot }

    /// Creates a collection without documents.
    public init() { snapshot = ResultSnapshot() }

    /// Zero.
    public var startIndex: Int { 0 }
    /// The number of documents.
    public var endIndex: Int { snapshot.endIndex }

    /// The document at an index, which must be that of one.
    public subscript(index: Int) -> Document { Document(snapshot[index]) }

    /// Returns an iterator over the documents in the order of the query.
    public func makeIterator() -> Iterator { Iterator(base: snapshot.makeIterator()) }

    /// Walks over the documents.
    public struct Iterator: IteratorProtocol {
        fileprivate var base: ResultSnapshot<SharedDocument>.Iterator

        /// Returns the next document, or nil at the end.
        public mutating func next() -> Document? { base.next().map { Document($0) } }
    }

    /// Decodes all documents into a type of the app's own.
    ///
    /// - Throws: `DocDBError` with the code `typeMismatch` where a document does not fit the type; the context has the
    ///   `path` of the field.
    /// - Complexity: O(size of the documents).
    public func decode<T: Decodable>(as type: T.Type = T.self) throws -> [T] { try map { try $0.decode(as: type) } }
}
