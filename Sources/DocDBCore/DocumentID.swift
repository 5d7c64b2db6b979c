/// The identity of a document in its collection: any value but null and floats.
///
/// Strings and integers are the common forms. Objects, arrays, bytes and truth values are kept in canonical CBOR, at
/// most ``Limits/documentIDByteCount`` bytes.
///
/// ```swift
/// let id: DocumentID = "car-000001"
/// let composite = try DocumentID(["storeID": 7, "number": "A-12"])
/// ```
public struct DocumentID: Hashable, Sendable {
    package enum Storage: Hashable, Sendable {
        case string(String)
        case int(Int64)
        /// The canonical CBOR of any other value, its keys as text.
        case encoded([UInt8])
    }

    package let storage: Storage

    package init(storage: Storage) { self.storage = storage }

    /// Creates an integer id.
    public init(_ value: Int64) { storage = .int(value) }

    /// Creates a string id.
    ///
    /// - Throws: `DocDBError.invalidDocumentID` where the string is longer than ``Limits/documentIDByteCount`` bytes.
    public init(_ value: String) throws(DocDBError) {
        guard CBOR.headByteCount(UInt64(value.utf8.count)) + value.utf8.count <= Limits.documentIDByteCount else {
            throw DocumentID.tooLong
        }
        storage = .string(value)
    }

    package static var tooLong: DocDBError {
        DocDBError(
            .invalidDocumentID,
            "the document id is longer than \(Limits.documentIDByteCount) bytes encoded; use a shorter one, such as a hash"
        )
    }
}

extension DocumentID {
    /// Tells whether two ids are the same, strings compared by their UTF-8 bytes.
    public static func == (left: DocumentID, right: DocumentID) -> Bool {
        switch (left.storage, right.storage) {
        case (.string(let a), .string(let b)): a.utf8.elementsEqual(b.utf8)
        case (.int(let a), .int(let b)): a == b
        case (.encoded(let a), .encoded(let b)): a == b
        default: false
        }
    }

    /// Feeds the id into `hasher`.
    public func hash(into hasher: inout Hasher) {
        switch storage {
        case .string(var text): text.withUTF8 { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
        case .int(let number): hasher.combine(number)
        case .encoded(let bytes): hasher.combine(bytes)
        }
    }
}

extension DocumentID: ExpressibleByStringLiteral, ExpressibleByIntegerLiteral {
    /// Creates a string id from a literal, which must be short enough.
    public init(stringLiteral value: String) {
        precondition(
            value.utf8.count + 3 <= Limits.documentIDByteCount,
            "the id literal is longer than Limits.documentIDByteCount bytes")
        storage = .string(value)
    }
    /// Creates an integer id from a literal.
    public init(integerLiteral value: Int64) { storage = .int(value) }
}
