package import DocDBCore

/// Writes the documents of one frame: the `content` of `documents` and `commit` messages.
///
/// Contents must be sent in the order in which they were finished. One that is dropped unfinished costs no more than that
/// the next one defines everything anew. The bytes are those of Schemas/sync-documents.md.
package struct DocumentsWriter: ~Copyable {
    private let dictionary: SendingDictionary
    private let actors: ActorTable
    private var use: NameUse
    /// The number of documents so far.
    package private(set) var documentCount = 0
    private var body = ByteBuffer()
    private var state = ByteBuffer()

    /// - Parameter number: of the interest that is answered; with each new one, everything is defined anew.
    /// - Parameter names: the field names of the sender's store.
    /// - Parameter actors: the actors of the sender's store.
    package init(number: UInt64, dictionary: SendingDictionary, names: FieldNames, actors: ActorTable) {
        self.dictionary = dictionary
        self.actors = actors
        if dictionary.number != number || dictionary.isUnfinished { dictionary.reset() }
        dictionary.number = number
        use = NameUse(dictionary: dictionary, names: names, actors: actors)
        if dictionary.beginsAnew { use.content.append(WireDocument.beginsAnew) }
        dictionary.beginsAnew = false
        dictionary.isUnfinished = true
    }

    /// The number of bytes so far.
    package var byteCount: Int { use.content.count }

    /// Appends a stored document whole, as it is stored; of a dead one only `deleted`.
    ///
    /// - Parameter collection: the name of its collection.
    /// - Throws: `DocDBError.corrupted` where the document is damaged; this content then cannot be finished.
    package mutating func append(
        _ kind: WireDocumentKind, _ document: StoredDocument, collection: String
    ) throws(DocDBError) {
        do throws(CBORError) {
            guard let body = document.body else {
                let state = try DocumentState.decoded(body: nil, state: document.state, actors)
                return try appendDead(kind, state.deleted, document.reference, collection, document.id)
            }
            let state = try define(body: body, state: document.state)
            try appendHead(kind, WireDocument.ContentForm.whole, document.reference, collection, document.id)
            use.content.append(body)
            use.content.append(state)
        } catch {
            throw WireDocument.damaged(error)
        }
    }

    /// Appends a delta with the names and actors of the sender's store; of a dead document only `deleted`.
    ///
    /// - Parameter id: canonical CBOR.
    /// - Throws: `DocDBError.corrupted` where the delta does not fit the store; this content then cannot be finished.
    package mutating func append(
        _ kind: WireDocumentKind, _ delta: DocumentDelta, _ reference: DocumentReference, collection: String,
        id: UnsafeRawBufferPointer
    ) throws(DocDBError) {
        do throws(CBORError) {
            guard delta.state.isAlive else {
                guard !delta.state.deleted.isEmpty else { throw .malformed }
                return try appendDead(kind, delta.state.deleted, reference, collection, id)
            }
            body.removeAll()
            state.removeAll()
            delta.state.encode(into: &body, state: &state, actors: actors)
            _ = try define(body: body.bytes, state: state.bytes)
            if delta.base.isEmpty {
                try appendHead(kind, WireDocument.ContentForm.whole, reference, collection, id)
            } else {
                try defineActors(of: delta.base)
                try appendHead(kind, WireDocument.ContentForm.delta, reference, collection, id, usesSlot: true)
            }
            use.content.append(body.bytes)
            use.content.append(state.bytes)
            if !delta.base.isEmpty { try append(base: delta.base, of: delta.state.seen) }
        } catch {
            throw WireDocument.damaged(error)
        }
    }

    /// Appends a document that is only named.
    package mutating func append(
        _ kind: WireDocumentKind, _ reference: DocumentReference, collection: String, id: UnsafeRawBufferPointer
    ) throws(DocDBError) {
        do throws(CBORError) {
            try appendHead(kind, WireDocument.ContentForm.none, reference, collection, id)
        } catch {
            throw WireDocument.damaged(error)
        }
    }

    /// The content; nothing can be appended thereafter.
    package consuming func finish() -> [UInt8] {
        dictionary.isUnfinished = false
        return use.content.array
    }

    // MARK: Parts

    /// Defines what a body and a state use; returns the state without its padding.
    private mutating func define(
        body: UnsafeRawBufferPointer, state: UnsafeRawBufferPointer
    ) throws(CBORError) -> UnsafeRawBufferPointer {
        try use.walkBody(body)
        var cursor = WireCursor(state)
        try StateWalk.walk(&cursor, leafCount: use.leafCount, &use)
        return UnsafeRawBufferPointer(rebasing: state[..<(state.count - cursor.remaining)])
    }

    private mutating func appendHead(
        _ kind: WireDocumentKind, _ content: UInt8, _ reference: DocumentReference, _ collection: String,
        _ id: UnsafeRawBufferPointer, usesSlot: Bool = false
    ) throws(CBORError) {
        guard !id.isEmpty else { throw .malformed }
        documentCount += 1
        var tag = kind.rawValue | content << WireDocument.contentShift
        guard usesSlot else {
            let number = try use.number(ofCollection: reference.collection, collection)
            use.content.append(tag)
            return appendName(number, id)
        }
        let (slot, isNew) = dictionary.slot(of: reference)
        tag |= (isNew ? WireDocument.NameForm.newSlot : WireDocument.NameForm.slot) << WireDocument.nameShift
        let number = isNew ? try use.number(ofCollection: reference.collection, collection) : 0
        use.content.append(tag)
        use.content.appendVarint(UInt64(slot))
        if isNew { appendName(number, id) }
    }

    private mutating func appendName(_ collection: UInt64, _ id: UnsafeRawBufferPointer) {
        use.content.appendVarint(collection)
        WireID.append(id, to: &use.content)
    }

    private mutating func defineActors(of vector: VersionVector) throws(CBORError) {
        for element in vector.elements { _ = try use.number(of: element.actor) }
    }

    private mutating func appendDead(
        _ kind: WireDocumentKind, _ deleted: VersionVector, _ reference: DocumentReference, _ collection: String,
        _ id: UnsafeRawBufferPointer
    ) throws(CBORError) {
        try defineActors(of: deleted)
        try appendHead(kind, WireDocument.ContentForm.dead, reference, collection, id)
        let newest = WireDocument.newestTime(of: deleted)
        use.content.append(bigEndian: newest.rawValue)
        use.content.appendVarint(UInt64(deleted.elements.count))
        for element in deleted.elements {
            use.content.appendVarint(try use.number(of: element.actor))
            use.content.appendTime(element.time, from: newest)
        }
    }

    /// Appends what differs from `seen`: each actor's number with a flag where it is absent, else its time.
    private mutating func append(base: VersionVector, of seen: VersionVector) throws(CBORError) {
        let newest = WireDocument.newestTime(of: seen)
        let changed = base.elements.filter { seen[$0.actor] != $0.time }
        let dropped = seen.elements.filter { base[$0.actor] == .zero }
        use.content.appendVarint(UInt64(changed.count + dropped.count))
        for element in changed {
            use.content.appendVarint(try use.number(of: element.actor) << 1)
            use.content.appendTime(element.time, from: newest)
        }
        for element in dropped { use.content.appendVarint(try use.number(of: element.actor) << 1 | 1) }
    }
}

extension DocumentState {
    /// The state of a stored document.
    fileprivate static func decoded(
        body: UnsafeRawBufferPointer?, state: UnsafeRawBufferPointer, _ actors: ActorTable
    ) throws(CBORError) -> DocumentState {
        do { return try DocumentState(body: body, state: state, actors: actors) } catch { throw .malformed }
    }
}
