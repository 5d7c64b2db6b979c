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
}
