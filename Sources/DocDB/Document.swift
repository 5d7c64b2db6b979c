import DocDBCore
import DocDBStorage

/// One document as it stood when it was read: an immutable copy of its encoded bytes.
///
/// Takes one allocation; fields are read in place, without decoding the others. Stays valid when the database changes or
/// closes.
///
/// ```swift
/// if let car = try cars.find(id: "car-000001") {
///     print(car.id, car["price"]?.intValue ?? 0, car[path: "seller.name"]?.stringValue ?? "")
///     let typed = try car.decode(as: Car.self)
/// }
/// ```
public struct Document: Sendable {
    private let shared: SharedDocument
    private var content: DocumentContent { shared.content }

    /// Creates a document of bytes that are shared.
    init(_ shared: SharedDocument) { self.shared = shared }

    /// Tells whether this is the same document with the same bytes.
    func hasSameBytes(as other: Document) -> Bool { SharedDocument.areSame(shared, other.shared) }

    /// Creates a document from encoded bytes, which are copied.
    @inline(__always)
    init(id: UnsafeRawBufferPointer, body: UnsafeRawBufferPointer, names: FieldNames) {
        shared = SharedDocument(DocumentContent.make(id: id, body: body, names: names))
    }

    /// The document's identity.
    ///
    /// - Complexity: O(1), an allocation for strings of more than 15 bytes.
    public var id: DocumentID { content.withBytes { id, _, _ in DocumentID(stored: id) } }

    /// The value of a top-level field, or nil where the document has no such field; `_id` gives the id.
    ///
    /// A null is a value: `.null`, not nil. A dot in the name is part of the name; ``subscript(path:)`` follows paths.
    ///
    /// - Complexity: O(bytes before the field).
    public subscript(_ name: String) -> Value? {
        content.withBytes { id, body, names in FieldLookup.value(named: name, body: body, id: id, names: names) }
    }

    /// The value at a path, such as `doc[path: "seller.name"]`, or nil where there is none.
    ///
    /// - Complexity: O(bytes before the field).
    public subscript(path path: FieldPath) -> Value? {
        content.withBytes { id, body, names in
            FieldLookup.value(at: path.components, body: body, id: id, names: names)
        }
    }

    /// The whole document as an object, `_id` included.
    ///
    /// - Throws: `DocDBError` with the code `corrupted` where the stored bytes are damaged.
    /// - Complexity: O(size of the document), an allocation for each object, array and longer string.
    public var value: Value {
        get throws {
            try content.withBytes { id, body, names in
                do throws(CBORError) {
                    return try Value.document(body: body, id: id, names: names)
                } catch {
                    throw Self.damaged
                }
            }
        }
    }

    /// Decodes the document into a type of the app's own, straight from its bytes.
    ///
    /// For many documents ``Query/documents(as:)`` is faster.
    ///
    /// - Parameter type: a type whose properties are the document's fields; it may have an `_id`.
    /// - Throws: `DocDBError` with the code `typeMismatch` where the document does not fit the type; the context has the
    ///   `path` of the field.
    public func decode<T: Decodable>(as type: T.Type = T.self) throws -> T {
        try content.withBytes { id, body, names in
            try DocumentDecoder(names: names).decode(type, body: body, id: id)
        }
    }

    /// The document as JSON text: `_id` first, then the names in the order of their UTF-8 bytes.
    ///
    /// Numbers keep their kind: a float has a point or an exponent. Bytes become base64 strings.
    ///
    /// - Parameter isPretty: whether members stand on lines of their own; else it is one line without spaces.
    /// - Throws: `DocDBError` with the code `corrupted` where the stored bytes are damaged.
    /// - Complexity: O(size of the document).
    public func json(pretty isPretty: Bool = false) throws -> String {
        try content.withBytes { id, body, names in
            var writer = JSONWriter(layout: isPretty ? .pretty : .compact)
            var text = ByteBuffer(capacity: 3 * body.count + 64)
            do throws(CBORError) {
                try writer.append(body: body, id: id, names: names, to: &text)
            } catch {
                throw Self.damaged
            }
            return String(decoding: text.bytes, as: UTF8.self)
        }
    }

    private static var damaged: DocDBError {
        DocDBError(
            .corrupted, "the stored document is damaged; verify the database and restore a backup where it says so")
    }
}
