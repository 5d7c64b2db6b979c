import DocDBCore
import DocDBStorage
import DocDBSync
import Foundation

/// Makes documents that no store would write, and the contents of frames with them.
struct Forger {
    private let names = FieldNames()
    private let actors = ActorTable()

    /// A time of the hybrid clock, seconds from now.
    static func time(_ secondsAhead: Double = 0) -> HybridTime {
        HybridTime(rawValue: UInt64((Date().timeIntervalSince1970 + secondsAhead) * 1e9) & ~0xFFFF)
    }

    /// The state of a document as one actor wrote it at one time.
    func state(_ value: Value, by actor: ActorID, at time: HybridTime = Forger.time()) throws -> DocumentState {
        var bytes = ByteBuffer()
        try value.appendCBOR(names: names, to: &bytes)
        var state = DocumentState()
        _ = try state.merge(
            bytes.bytes, at: UnsafeRawBufferPointer(start: nil, count: 0), skippingEqual: false,
            stamp: Stamp(time: time, actor: actor, isDefault: false))
        return state
    }

    /// The state with further claims of what it has seen, or deleted.
    func claiming(
        _ state: DocumentState, seen: VersionVector = VersionVector(), deleted: VersionVector = VersionVector()
    ) -> DocumentState {
        var state = state
        _ = state.apply(
            DocumentDelta(base: VersionVector(), state: DocumentState(seen: seen, deleted: deleted)), forgets: false,
            names: names)
        return state
    }

    /// The content of a frame with one document.
    func content(
        _ id: DocumentID, _ state: DocumentState, _ kind: WireDocumentKind = .inScope, in collection: String = "cars"
    ) throws -> [UInt8] {
        try content([(id, state, kind)], in: collection)
    }

    /// The content of a frame; documents without a state are only named.
    func content(
        _ documents: [(id: DocumentID, state: DocumentState?, kind: WireDocumentKind)], in collection: String = "cars"
    ) throws -> [UInt8] {
        var writer = DocumentsWriter(
            number: 1, dictionary: SendingDictionary(), names: names, actors: actors)
        for (index, document) in documents.enumerated() {
            var id = ByteBuffer()
            document.id.appendCBOR(to: &id)
            let reference = DocumentReference(collection: 1, key: Int64(index + 1))
            let bytes = id.array
            try bytes.withUnsafeBytes { bytes in
                if let state = document.state {
                    try writer.append(
                        document.kind, DocumentDelta(base: VersionVector(), state: state), reference,
                        collection: collection, id: bytes)
                } else {
                    try writer.append(document.kind, reference, collection: collection, id: bytes)
                }
            }
        }
        return writer.finish()
    }
}

extension DocumentID {
    /// The canonical CBOR that names a document on the wire.
    var wireBytes: [UInt8] {
        var bytes = ByteBuffer()
        appendCBOR(to: &bytes)
        return bytes.array
    }
}
