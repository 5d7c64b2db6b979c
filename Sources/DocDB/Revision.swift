import DocDBCore
import DocDBStorage

/// How a commit came about.
public enum ChangeOrigin: Sendable {
    /// It was written here.
    case local
    /// It was received from another replica.
    case remote
    /// It only evicted documents, which is no change elsewhere.
    case eviction

    init(_ kind: ChangeLogFormat.Kind) {
        switch kind {
        case .local: self = .local
        case .remote: self = .remote
        case .eviction: self = .eviction
        }
    }
}

/// One version of a document, as the change log tells of it.
public struct Revision: Sendable {
    /// The sequence number of the commit that made this version, in this database.
    public let sequence: Int64
    /// When the commit was made.
    public let time: HybridTime
    /// How the commit came about.
    public let origin: ChangeOrigin
    /// Who made the changes.
    public let actors: [ActorID]
    /// The document as it was from then on, or nil where it was deleted.
    public let document: Document?
    /// The fields that the commit wrote or removed, or nil where it made the whole document.
    public let paths: [FieldPath]?

    static func history(
        of id: UnsafeRawBufferPointer, in collection: CollectionReader, _ context: ReadContext, limit: Int
    ) throws -> [Revision] {
        try context.revisions(of: id, in: collection, limit: limit).map { stored in
            Revision(
                sequence: stored.sequence, time: stored.time, origin: ChangeOrigin(stored.kind), actors: stored.actors,
                document: stored.body.map { body in
                    body.withUnsafeBytes { Document(id: id, body: $0, names: context.names) }
                },
                paths: try stored.paths?.map { path in
                    try path.withUnsafeBytes { try fieldPath($0, context.names) }
                })
        }
    }

    private static func fieldPath(_ bytes: UnsafeRawBufferPointer, _ names: FieldNames) throws -> FieldPath {
        do throws(CBORError) {
            return try FieldPath.decode(bytes, names: names)
        } catch {
            throw DocDBError(
                .corrupted, "a path in the change log is damaged; verify the database and restore a backup")
        }
    }
}
