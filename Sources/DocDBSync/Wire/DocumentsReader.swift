package import DocDBCore

/// Reads the documents of one frame, in the order in which the frames of a pull come; none may be left out.
///
/// Everything is checked here: what comes out can be stored. The bytes are those of Schemas/sync-documents.md.
package struct DocumentsReader: ~Copyable {
    private var cursor: WireCursor
    private let dictionary: ReceivingDictionary
    private let names: FieldNames
    private var rewriter: StateRewriter

    /// - Parameter content: must stay in place while documents are read.
    /// - Parameter names: the field names of the receiver's store, to which new ones are added where there is room; the same
    ///   for all contents read with one dictionary.
    package init(content: UnsafeRawBufferPointer, dictionary: ReceivingDictionary, names: FieldNames) {
        cursor = WireCursor(content)
        self.dictionary = dictionary
        self.names = names
        rewriter = StateRewriter(dictionary: dictionary, names: names)
    }

    /// The next document, or nil at the end.
    ///
    /// - Throws: `DocDBError.protocolError` where the bytes are not what the protocol says. The dictionary is then of no
    ///   further use.
    /// - Complexity: O(n) in the document's bytes where its leaves have one stamp, else O(n log n).
    package mutating func next() throws(DocDBError) -> IncomingDocument? {
        do throws(CBORError) {
            while !cursor.isAtEnd {
                let tag = try cursor.readByte()
                if tag & WireDocument.isDefinition == 0 { return try readDocument(tag) }
                try readDefinition(tag)
            }
            return nil
        } catch {
            throw WireDocument.malformed(error)
        }
    }

    /// All documents of a content.
    package static func documents(
        _ content: [UInt8], dictionary: ReceivingDictionary, names: FieldNames
    ) throws(DocDBError) -> [IncomingDocument] {
        let result: Result<[IncomingDocument], DocDBError> = content.withUnsafeBytes { bytes in
            var reader = DocumentsReader(content: bytes, dictionary: dictionary, names: names)
            var documents: [IncomingDocument] = []
            do throws(DocDBError) {
                while let document = try reader.next() { documents.append(document) }
            } catch {
                return .failure(error)
            }
            return .success(documents)
        }
        return try result.get()
    }

    // MARK: Definitions and names

    private mutating func readDefinition(_ tag: UInt8) throws(CBORError) {
        switch tag {
        case WireDocument.beginsAnew: dictionary.begin()
        case WireDocument.definesName:
            let number = try cursor.readVarint()
            let name = try cursor.read(count: try cursor.readCount(atMost: Limits.internedFieldNameByteCount))
            try dictionary.define(name: number, name, in: names)
        case WireDocument.definesActor:
            let number = try cursor.readVarint()
            let high = try cursor.readUInt64()
            try dictionary.define(actor: number, ActorID(high: high, low: try cursor.readUInt64()))
        case WireDocument.definesCollection:
            let name = try cursor.read(count: try cursor.readCount(atMost: Limits.collectionNameByteCount))
            try dictionary.define(collection: name)
        default: throw .malformed
        }
    }

    private mutating func readName(_ form: UInt8) throws(CBORError) -> DocumentName {
        switch form {
        case WireDocument.NameForm.full: return try readFullName()
        case WireDocument.NameForm.newSlot:
            let slot = try cursor.readVarint()
            let name = try readFullName()
            try dictionary.define(slot: slot, name)
            return name
        case WireDocument.NameForm.slot: return try dictionary.name(slot: try cursor.readVarint())
        default: throw .malformed
        }
    }

    private mutating func readFullName() throws(CBORError) -> DocumentName {
        let collection = try dictionary.collection(try cursor.readVarint())
        return DocumentName(collection: collection, id: try WireID.readMarked(&cursor))
    }

    // MARK: Documents

    private mutating func readDocument(_ tag: UInt8) throws(CBORError) -> IncomingDocument {
        guard let kind = WireDocumentKind(rawValue: tag & WireDocument.kindMask) else { throw .malformed }
        let name = try readName(tag >> WireDocument.nameShift & 3)
        rewriter.transcoder.usesRefusedNames = false
        let content: IncomingDocument.Content
        switch tag >> WireDocument.contentShift & 3 {
        case WireDocument.ContentForm.none: content = .none
        case WireDocument.ContentForm.whole: content = try readStates(hasBase: false)
        case WireDocument.ContentForm.delta: content = try readStates(hasBase: true)
        default:
            let deleted = try readVector()
            content = .delta(DocumentDelta(base: VersionVector(), state: DocumentState(deleted: deleted)))
        }
        var document = IncomingDocument(name: name, kind: kind, content: content)
        document.usesRefusedNames = rewriter.transcoder.usesRefusedNames
        return document
    }

    private mutating func readStates(hasBase: Bool) throws(CBORError) -> IncomingDocument.Content {
        let bodyStart = cursor.position
        try rewriter.transcoder.transcodeBody(&cursor)
        let body = UnsafeRawBufferPointer(start: bodyStart, count: cursor.position - bodyStart)
        guard !cursor.isAtEnd else { throw .truncated }
        if !hasBase, cursor.position.load(as: UInt8.self) == StateWalk.fresh { return try readFresh() }
        let state = try readState(body)
        guard hasBase else { return .delta(DocumentDelta(base: VersionVector(), state: state)) }
        return .delta(DocumentDelta(base: try readBase(of: state.seen), state: state))
    }

    /// The body is in the transcoder's output.
    private mutating func readFresh() throws(CBORError) -> IncomingDocument.Content {
        _ = try cursor.readByte()
        let word = try cursor.readVarint()
        let actor = try dictionary.actor(word >> 1)
        let time = HybridTime(rawValue: try cursor.readUInt64())
        let isDefault = word & 1 == 1
        guard time > .zero, !isDefault || rewriter.transcoder.leafCount > 0 else { throw .malformed }
        return .fresh(
            body: rewriter.transcoder.output.array, stamp: Stamp(time: time, actor: actor, isDefault: isDefault))
    }

    /// Reads a state in general: with the dictionary's actors, then with the receiver's names.
    private mutating func readState(_ body: UnsafeRawBufferPointer) throws(CBORError) -> DocumentState {
        rewriter.output.removeAll()
        try StateWalk.walk(&cursor, leafCount: rewriter.transcoder.leafCount, &rewriter)
        let state: DocumentState
        do {
            state = try DocumentState(body: body, state: rewriter.output.bytes, actors: dictionary.actors)
        } catch {
            throw .malformed
        }
        guard WireDocument.isSound(state) else { throw .malformed }
        // It is not to be stored, and its names would be interned here.
        if rewriter.transcoder.usesRefusedNames { return DocumentState(seen: state.seen, deleted: state.deleted) }
        let (dictionary, names) = (dictionary, names)
        return try state.transcoded(
            by: CBORTranscoder(name: { dictionary.name($0, in: names) }, to: names))
    }

    /// Reads a vector as what differs from `seen`.
    private mutating func readBase(of seen: VersionVector) throws(CBORError) -> VersionVector {
        var base = seen
        let reference = WireDocument.newestTime(of: seen)
        let count = try cursor.readCount(atMost: min(cursor.remaining, SyncLimits.vectorActorCount))
        for _ in 0..<count {
            let word = try cursor.readVarint()
            let actor = try dictionary.actor(word >> 1)
            base.set(actor, to: word & 1 == 1 ? .zero : try cursor.readTime(from: reference))
        }
        guard base.elements.count <= SyncLimits.vectorActorCount else { throw .malformed }
        return base
    }

    /// Reads a vector that is not empty.
    private mutating func readVector() throws(CBORError) -> VersionVector {
        let reference = HybridTime(rawValue: try cursor.readUInt64())
        let count = try cursor.readCount(atMost: min(cursor.remaining / 2, SyncLimits.vectorActorCount))
        var vector = VersionVector()
        for _ in 0..<count {
            let actor = try dictionary.actor(try cursor.readVarint())
            vector.set(actor, to: try cursor.readTime(from: reference))
        }
        guard !vector.isEmpty else { throw .malformed }
        return vector
    }
}

/// Checks a state that passes by, and writes it with the actors' numbers of a dictionary in place of the sender's.
private struct StateRewriter: ~Copyable, StateVisitor {
    let dictionary: ReceivingDictionary
    var output = ByteBuffer()
    var transcoder: BodyTranscoder
    private var pathDepth = 0

    init(dictionary: ReceivingDictionary, names: FieldNames) {
        self.dictionary = dictionary
        transcoder = BodyTranscoder(dictionary: dictionary, names: names)
    }

    mutating func pass(_ bytes: UnsafeRawBufferPointer) { output.append(bytes) }

    mutating func actor(_ word: UInt64, isFlagged: Bool) throws(CBORError) {
        let number = UInt64(try dictionary.actorNumber(isFlagged ? word >> 1 : word))
        output.appendVarint(isFlagged ? number << 1 | word & 1 : number)
    }

    mutating func path(_ path: UnsafeRawBufferPointer) throws(CBORError) {
        pathDepth = try transcoder.check(path: path)
    }

    mutating func value(_ value: UnsafeRawBufferPointer, at path: UnsafeRawBufferPointer) throws(CBORError) {
        var cursor = WireCursor(value)
        try transcoder.transcodeValue(&cursor, depth: pathDepth)
    }
}
