package import DocDBCore

/// Writes the documents of one frame: the `content` of `documents` and `commit` messages.
///
/// Contents must be sent in the order in which they were finished. One that is dropped unfinished costs no more than that
/// the next one defines everything anew.
package struct DocumentsWriter: ~Copyable {
    private let dictionary: SendingDictionary

    /// - Parameter number: of the interest that is answered; with each new one, everything is defined anew.
    /// - Parameter names: the field names of the sender's store.
    /// - Parameter actors: the actors of the sender's store.
    package init(number: UInt64, dictionary: SendingDictionary, names: FieldNames, actors: ActorTable) {
        self.dictionary = dictionary
    }

    /// The number of bytes so far.
    package var byteCount: Int { 0 }
    /// The number of documents so far.
    package var documentCount: Int { 0 }

    /// Appends a stored document whole, as it is stored; of a dead one only `deleted`.
    ///
    /// - Parameter collection: the name of its collection.
    package mutating func append(
        _ kind: WireDocumentKind, _ document: StoredDocument, collection: String
    ) throws(DocDBError) {
    }

    /// Appends a delta with the names and actors of the sender's store; of a dead document only `deleted`.
    ///
    /// - Parameter id: canonical CBOR.
    package mutating func append(
        _ kind: WireDocumentKind, _ delta: DocumentDelta, _ reference: DocumentReference, collection: String,
        id: UnsafeRawBufferPointer
    ) throws(DocDBError) {
    }

    /// Appends a document that is only named.
    package mutating func append(
        _ kind: WireDocumentKind, _ reference: DocumentReference, collection: String, id: UnsafeRawBufferPointer
    ) throws(DocDBError) {
    }

    /// The content; nothing can be appended thereafter.
    package consuming func finish() -> [UInt8] { [] }
}
