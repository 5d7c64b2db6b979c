package import DocDBCore

/// Encodes `Encodable` values straight to encoded bodies: no JSON and no tree of values in between.
///
/// Each container a type asks for is a node with a buffer of its own, as containers may be filled in any order; a node's
/// members are put into key order when all is written. Optional fields that are nil are left out; an explicit
/// `encodeNil` is null. Of two writes to one key the later one counts.
package struct DocumentEncoder: Sendable {
    private let userInfo: [CodingUserInfoKey: any Sendable]

    package init(userInfo: [CodingUserInfoKey: any Sendable] = [:]) { self.userInfo = userInfo }

    /// Appends a document's body, and the canonical CBOR of its `_id`, nothing where it has none.
    ///
    /// - Throws: `invalidValue` with the `path` in the context; `invalidDocumentID`, `documentTooDeep`,
    ///   `documentTooLarge`. Both buffers are then as before, though new names may have been interned.
    package func encode<D: Encodable>(
        _ document: D, names: FieldNames, body: inout ByteBuffer, id: inout ByteBuffer
    ) throws(DocDBError) {
        if let value = document as? Value { return try value.appendDocument(names: names, body: &body, id: &id) }
        let outermost = EncodedNode(userInfo: userInfo)
        defer { outermost.dismantle() }
        do { try outermost.writeRoot(document) } catch { throw CodingFailure.encoding(error, D.self) }
        let root = outermost.resolved
        if case .value(let value)? = root.entries.last?.content, root.kind == .scalar {
            return try value.appendDocument(names: names, body: &body, id: &id)
        }
        guard root.kind == .object || root.kind == .empty else {
            throw DocDBError(
                .invalidValue, "\(D.self) does not encode as an object, as documents do; wrap it in a struct")
        }
        let start = body.count
        var assembly = NodeAssembly(names: names)
        var identity = ByteBuffer(capacity: 64)
        do throws(DocDBError) {
            try assembly.append(document: root, to: &body, identity: &identity)
            guard body.count - start <= Limits.documentByteCount else { throw DocDBError.documentTooLarge }
            if identity.count > 0 { _ = try DocumentID(canonicalCBOR: identity.bytes) }
        } catch {
            body.truncate(to: start)
            throw error
        }
        id.append(identity.bytes)
    }

    /// Encodes any value, such as an argument of a query.
    package func encode<E: Encodable>(value: E) throws(DocDBError) -> Value {
        if let value = value as? Value { return value }
        let root = EncodedNode(userInfo: userInfo)
        defer { root.dismantle() }
        do { try root.writeElement(value) } catch { throw CodingFailure.encoding(error, E.self) }
        var assembly = NodeAssembly(names: nil)
        var buffer = ByteBuffer()
        try assembly.append(root, depth: 0, to: &buffer)
        do {
            return try Value.decode(buffer.bytes, names: nil)
        } catch {
            throw DocDBError(.invalidValue, "\(E.self) could not be encoded; please report this")
        }
    }
}

/// Puts the bytes of encoded nodes together.
private struct NodeAssembly: ~Copyable {
    let names: FieldNames?
    var order = MemberOrder()

    init(names: FieldNames?) { self.names = names }

    /// Appends the members of a document but `_id`, which goes to `identity` with text keys.
    mutating func append(
        document: EncodedNode, to buffer: inout ByteBuffer, identity: inout ByteBuffer
    ) throws(DocDBError) {
        if let entry = document.removeEntry("_id") {
            var assembly = NodeAssembly(names: nil)
            try assembly.append(entry, of: document, depth: 1, to: &identity)
        }
        try append(document, depth: 0, to: &buffer)
    }

    mutating func append(_ node: EncodedNode, depth: Int, to buffer: inout ByteBuffer) throws(DocDBError) {
        switch node.kind {
        case .scalar where !node.entries.isEmpty:
            try append(node.entries[node.entries.count - 1], of: node, depth: depth, to: &buffer)
        case .empty, .scalar, .object:
            // A type that writes nothing is an object without members.
            guard depth < Limits.nestingDepth else { throw DocDBError.documentTooDeep }
            try append(members: node, depth: depth, to: &buffer)
        case .array:
            guard depth < Limits.nestingDepth else { throw DocDBError.documentTooDeep }
            buffer.appendCBORHead(major: CBOR.Major.array, UInt64(node.entries.count))
            for entry in node.entries { try append(entry, of: node, depth: depth + 1, to: &buffer) }
        }
    }

    private mutating func append(
        _ entry: EncodedNode.Entry, of node: EncodedNode, depth: Int, to buffer: inout ByteBuffer
    ) throws(DocDBError) {
        switch entry.content {
        case .bytes(let range):
            // Besides scalars these are arrays of scalars.
            let isArray = node.storage.pointee.bytes[range.lowerBound] >> 5 == CBOR.Major.array
            guard !isArray || depth < Limits.nestingDepth else { throw DocDBError.documentTooDeep }
            buffer.append(UnsafeRawBufferPointer(rebasing: node.storage.pointee.bytes.bytes[range]))
        case .node(let child): try append(child, depth: depth, to: &buffer)
        case .value(let value): try value.appendCBOR(names: names, depth: depth, to: &buffer)
        }
    }

    private mutating func append(
        members node: EncodedNode, depth: Int, to buffer: inout ByteBuffer
    ) throws(DocDBError) {
        if node.isDictionary { node.sortEntriesByName() }
        let head = buffer.count
        let first = order.count
        buffer.append(0)
        for isRetry in [false, true] {
            if isRetry {
                // A key was written twice: only the last counts.
                node.removeReplacedEntries()
                buffer.truncate(to: head + 1)
                order.truncate(to: first)
            }
            for entry in node.entries {
                order.push(buffer.count)
                buffer.appendCBORKey(node.name(of: entry), names: names, interning: true)
                try append(entry, of: node, depth: depth + 1, to: &buffer)
            }
            if order.sort(from: first, base: buffer.start, end: buffer.count) { break }
        }
        let count = order.count - first
        order.truncate(to: first)
        buffer.fillReservedHead(at: head, major: CBOR.Major.map, count: count)
    }
}
