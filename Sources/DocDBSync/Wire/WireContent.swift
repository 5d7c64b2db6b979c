package import DocDBCore

/// A document by itself: a content of its own, which defines all that it uses. Deltas that wait are kept so.
package enum WireContent {
    /// The bytes of a document whose names are those of `names`.
    ///
    /// - Throws: `DocDBError.corrupted` where the document does not fit the names.
    package static func bytes(_ document: IncomingDocument, names: FieldNames) throws(DocDBError) -> [UInt8] {
        let actors = ActorTable()
        var writer = DocumentsWriter(number: 0, dictionary: SendingDictionary(), names: names, actors: actors)
        let reference = DocumentReference(collection: 0, key: 0)
        let id = document.name.id
        let delta = try document.delta(actors: actors)
        let failure: DocDBError? = id.withUnsafeBytes { id in
            do throws(DocDBError) {
                if let delta {
                    try writer.append(document.kind, delta, reference, collection: document.name.collection, id: id)
                } else {
                    try writer.append(document.kind, reference, collection: document.name.collection, id: id)
                }
            } catch {
                return error
            }
            return nil
        }
        if let failure { throw failure }
        return writer.finish()
    }

    /// The document of such bytes, with the names of `names`.
    ///
    /// - Throws: `DocDBError.protocolError` where the bytes are damaged.
    package static func document(_ bytes: [UInt8], names: FieldNames) throws(DocDBError) -> IncomingDocument {
        let documents = try DocumentsReader.documents(bytes, dictionary: ReceivingDictionary(), names: names)
        guard documents.count == 1 else { throw WireDocument.malformed(.malformed) }
        return documents[0]
    }
}
