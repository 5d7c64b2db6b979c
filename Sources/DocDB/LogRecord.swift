import DocDBCore
import DocDBStorage

/// One commit in the change log.
public struct LogRecord: Sendable {
    /// What a commit did to one document.
    public struct Change: Sendable {
        /// The ways in which a commit touches a document.
        public enum Kind: Sendable {
            /// It was written for the first time.
            case inserted
            /// Its fields were changed, or it was deleted or written again after that.
            case changed
            /// It was evicted.
            case evicted
            /// What the commit did is no longer known, as the document was evicted later.
            case erased
        }

        /// The name of the document's collection.
        public let collection: String
        /// The document's id, or nil where the document was evicted since.
        public let id: DocumentID?
        /// What was done.
        public let kind: Kind
    }

    /// The number of the commit: commits of one database count up from 1.
    public let sequence: Int64
    /// When it was made; what it wrote carries this time.
    public let time: HybridTime
    /// How it came about.
    public let origin: ChangeOrigin
    /// Who made the changes.
    public let actors: [ActorID]
    /// The documents that it touched, each time it did.
    public let changes: [Change]

    init(_ record: ChangeLogRecord, in context: ReadContext) throws {
        sequence = record.sequence
        time = record.time
        origin = ChangeOrigin(record.kind)
        actors = record.stamps.reduce(into: []) { actors, stamp in
            guard let actor = context.actors.actor(UInt64(stamp.actorNumber)), !actors.contains(actor) else { return }
            actors.append(actor)
        }
        var changes: [Change] = []
        changes.reserveCapacity(record.entries.count)
        var collection: CollectionReader?
        for entry in record.entries {
            if collection?.info.number != entry.collection {
                collection = try context.catalog.collection(number: entry.collection).flatMap { info in
                    try context.collection(info.name)
                }
            }
            guard let collection else { continue }
            let id: DocumentID? = try collection.withDocument(key: entry.key) { (_, id) throws(DocDBError) in
                DocumentID(stored: id)
            }
            changes.append(Change(collection: collection.info.name, id: id, kind: Change.Kind(entry.change)))
        }
        self.changes = changes
    }
}

extension LogRecord.Change.Kind {
    fileprivate init(_ change: ChangeLogRecord.Change) {
        switch change {
        case .inserted: self = .inserted
        case .changed: self = .changed
        case .evicted: self = .evicted
        case .erased: self = .erased
        }
    }
}
