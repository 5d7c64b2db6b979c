import DocDBCore

/// The contents of a snapshot as they are gathered, frame by frame.
struct SnapshotOutput: ~Copyable {
    private let number: UInt64
    private let dictionary: SendingDictionary
    private let names: FieldNames
    private let actors: ActorTable
    private var writer: DocumentsWriter?
    private(set) var contents: [[UInt8]] = []
    private var finishedByteCount = 0
    private(set) var documentCount = 0
    /// Documents that were passed over, as the peer holds them in just this state.
    var echoCount = 0
    /// What the acknowledgement will say.
    var flight: Flight
    /// Made-up references of named documents that this store does not hold.
    private var strangers: [String: Int64] = [:]
    private var strangerCount: Int64 = 0

    init(
        number: UInt64, dictionary: SendingDictionary, names: FieldNames, actors: ActorTable, interestHash: StateDigest
    ) {
        self.number = number
        self.dictionary = dictionary
        self.names = names
        self.actors = actors
        flight = Flight(interestHash: interestHash)
    }

    /// The number of bytes so far.
    var byteCount: Int { finishedByteCount + openByteCount }
    /// The number of bytes of the frame that is being written.
    private var openByteCount = 0

    /// Appends a stored document, whole; of a dead one only `deleted`.
    mutating func append(_ kind: WireDocumentKind, _ document: StoredDocument, _ collection: String) throws {
        open()
        try writer?.append(kind, document, collection: collection)
        count()
    }

    /// Appends what a peer lacks that has seen the delta's base.
    mutating func append(
        _ kind: WireDocumentKind, _ delta: DocumentDelta, _ document: StoredDocument, _ collection: String
    ) throws {
        open()
        try writer?.append(kind, delta, document.reference, collection: collection, id: document.id)
        count()
    }

    /// Appends a document that is only named.
    mutating func append(
        _ kind: WireDocumentKind, _ reference: DocumentReference, _ collection: String, id: UnsafeRawBufferPointer
    ) throws {
        open()
        try writer?.append(kind, reference, collection: collection, id: id)
        count()
    }

    /// Appends that a document is not held, which has no reference here.
    mutating func appendNotHeld(_ name: DocumentName) throws {
        strangerCount += 1
        // No stored collection or document has a negative number.
        let collection = strangers[name.collection] ?? -Int64(strangers.count) - 1
        strangers[name.collection] = collection
        let reference = DocumentReference(collection: collection, key: -strangerCount)
        try name.id.withUnsafeBytes { try append(.notHeld, reference, name.collection, id: $0) }
    }

    private mutating func open() {
        if writer == nil {
            writer = DocumentsWriter(number: number, dictionary: dictionary, names: names, actors: actors)
        }
    }

    private mutating func count() {
        documentCount += 1
        openByteCount = writer?.byteCount ?? 0
        if openByteCount >= SyncLimits.documentsFrameByteCount { finish() }
    }

    /// Ends the frame that is being written.
    mutating func finish() {
        guard let writer = writer.take() else { return }
        let content = writer.finish()
        finishedByteCount += content.count
        openByteCount = 0
        contents.append(content)
    }
}
