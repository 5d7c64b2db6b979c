package import DocDBCore

/// A peer's interest as the table of peers holds it: CBOR, true for everything, else collections and predicates in turn.
package enum StoredInterest: Hashable, Sendable {
    case everything
    /// Canonical predicates by collection.
    case collections([(collection: String, predicate: String)])

    /// The predicate that every document matches.
    package static let unconditional = "true"

    package init(bytes: UnsafeRawBufferPointer) throws(DocDBError) {
        do throws(CBORError) {
            var cursor = ByteCursor(bytes)
            switch try cursor.readCBORItem() {
            case .bool(true): self = .everything
            case .array(let count):
                var elements: [(collection: String, predicate: String)] = []
                guard count % 2 == 0 else { throw .malformed }
                for _ in 0..<(count / 2) { elements.append((try Self.text(&cursor), try Self.text(&cursor))) }
                self = .collections(elements)
            default: throw .malformed
            }
            guard cursor.isAtEnd else { throw .malformed }
        } catch {
            throw DocDBError(.corrupted, "a peer's interest is damaged; run 'docdb-inspect verify', restore a backup")
        }
    }

    private static func text(_ cursor: inout ByteCursor) throws(CBORError) -> String {
        guard case .text(let bytes) = try cursor.readCBORItem() else { throw .malformed }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// The bytes for the table.
    package var bytes: [UInt8] {
        var buffer = ByteBuffer()
        switch self {
        case .everything: buffer.appendCBOR(true)
        case .collections(let elements):
            buffer.appendCBORHead(major: CBOR.Major.array, UInt64(elements.count * 2))
            for element in elements {
                buffer.appendCBOR(element.collection)
                buffer.appendCBOR(element.predicate)
            }
        }
        return buffer.array
    }

    /// The predicate for a collection, or nil where none of it is wanted.
    func predicate(collection: String) -> String? {
        switch self {
        case .everything: Self.unconditional
        case .collections(let elements):
            elements.first { CollectionName($0.collection) == CollectionName(collection) }?.predicate
        }
    }

    package static func == (left: StoredInterest, right: StoredInterest) -> Bool { left.bytes == right.bytes }
    package func hash(into hasher: inout Hasher) { hasher.combine(bytes) }
}
