package import DocDBCore

/// How a document stands to the scope of the pull that it comes with.
package enum WireDocumentKind: UInt8, Sendable {
    /// In scope, alive or dead.
    case inScope = 0
    /// It matches the filter no more; the last change may come along.
    case leftFilter = 1
    /// The peer may not read it any more: evict it.
    case leftAccess = 2
    /// It was deleted.
    case leftDeleted = 3
    /// The sender does not hold it; the receiver keeps its copy.
    case notHeld = 4
}

/// One document as a peer sent it, fully checked, with the receiver's names and actors.
package struct IncomingDocument: Sendable {
    package enum Content: Sendable {
        /// The document is only named.
        case none
        /// A whole document whose every leaf has one stamp: the body has the receiver's names. See `Replica.storeFresh`.
        case fresh(body: [UInt8], stamp: Stamp)
        /// What the sender knows of it, beyond a base; a whole state where the base is empty. A dead document has no
        /// entries here, only `deleted`.
        case delta(DocumentDelta)
    }

    package var name: DocumentName
    package var kind: WireDocumentKind
    package var content: Content
    /// Whether it has field names that its user may not bring: then the content is good for its vectors only.
    package var usesRefusedNames = false

    package init(name: DocumentName, kind: WireDocumentKind, content: Content) {
        self.name = name
        self.kind = kind
        self.content = content
    }

    /// What the receiver must have seen for the content to be joined.
    package var base: VersionVector {
        if case .delta(let delta) = content { delta.base } else { VersionVector() }
    }

    /// What the sender's state has seen; empty of a dead document.
    package var seen: VersionVector {
        switch content {
        case .none: VersionVector()
        case .fresh(_, let stamp): VersionVector(actor: stamp.actor, time: stamp.time)
        case .delta(let delta): delta.state.seen
        }
    }

    package var deleted: VersionVector {
        if case .delta(let delta) = content { delta.state.deleted } else { VersionVector() }
    }

    /// The content as a delta, nil where there is none; `actors` are those of the receiver's store, as it is about to be
    /// joined there.
    package func delta(actors: ActorTable) throws(DocDBError) -> DocumentDelta? {
        switch content {
        case .none: return nil
        case .delta(let delta): return delta
        case .fresh(let body, let stamp):
            // An actor that the store does not know gets a number there once something of it is stored, and not before.
            let actors = actors.number(of: stamp.actor) == nil ? ActorTable() : actors
            var state = ByteBuffer(capacity: 32)
            DocumentState.appendFreshState(
                stamp: stamp, isBodyEmpty: body.count == 1, actors: actors, padding: 0, to: &state)
            let stateBytes = state.array
            let decoded: Result<DocumentState, DocDBError> = body.withUnsafeBytes { body in
                stateBytes.withUnsafeBytes { state in
                    do throws(DocDBError) {
                        return .success(try DocumentState(body: body, state: state, actors: actors))
                    } catch {
                        return .failure(error)
                    }
                }
            }
            return DocumentDelta(base: VersionVector(), state: try decoded.get())
        }
    }

    /// The newest time in it, bases of counters included: for the clock bound.
    package var newestTime: HybridTime {
        switch content {
        case .none: return .zero
        case .fresh(_, let stamp): return stamp.time
        case .delta(let delta):
            // `seen` covers every entry; only the bases of counters and of unknown entries may lie beyond it.
            var newest = WireDocument.newestTime(of: delta.state.seen)
            newest = max(newest, WireDocument.newestTime(of: delta.state.deleted))
            newest = max(newest, WireDocument.newestTime(of: delta.base))
            for tally in delta.state.tallies { newest = max(newest, tally.base.time) }
            for entry in delta.state.unknowns { newest = max(newest, entry.base.time) }
            return newest
        }
    }

    /// The digest of the sender's state: what it has told of the document. Nil where there is no content.
    package var digest: StateDigest? {
        let state: DocumentState
        switch content {
        case .none: return nil
        case .fresh: state = DocumentState(seen: seen)
        case .delta(let delta): state = delta.state
        }
        return name.id.withUnsafeBytes { DocumentDigester.digest(state, collection: name.collection, id: $0) }
    }
}
