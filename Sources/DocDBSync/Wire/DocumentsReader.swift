package import DocDBCore

/// What the other side has defined while it sends documents: the mirror of its `SendingDictionary`.
package final class ReceivingDictionary {
    package init() {}
}

/// Reads the documents of one frame, in the order in which the frames of a pull come; none may be left out.
///
/// Everything is checked here: what comes out can be stored.
package struct DocumentsReader: ~Copyable {
    /// - Parameter content: must stay in place while documents are read.
    /// - Parameter names: the field names of the receiver's store, to which new ones are added where there is room.
    package init(content: UnsafeRawBufferPointer, dictionary: ReceivingDictionary, names: FieldNames) {
    }

    /// The next document, or nil at the end.
    ///
    /// - Throws: `DocDBError.protocolError` where the bytes are not what the protocol says, `.limitReached` where they are
    ///   over a limit. The dictionary is then of no further use.
    package mutating func next() throws(DocDBError) -> IncomingDocument? { nil }

    /// All documents of a content.
    package static func documents(
        _ content: [UInt8], dictionary: ReceivingDictionary, names: FieldNames
    ) throws(DocDBError) -> [IncomingDocument] { [] }
}

/// A document by itself: a content of its own, which defines all that it uses. Waiting deltas are kept so.
package enum WireContent {
    /// - Parameter document: with the names of `names`.
    package static func bytes(
        _ document: IncomingDocument, names: FieldNames
    ) throws(DocDBError) -> [UInt8] { [] }

    package static func document(_ bytes: [UInt8], names: FieldNames) throws(DocDBError) -> IncomingDocument {
        throw DocDBError(.protocolError, "")
    }
}
