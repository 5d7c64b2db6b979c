package import DocDBCore

/// The bytes of a document, its id before its body, in one allocation.
package final class DocumentContent: ManagedBuffer<DocumentContent.Header, UInt8> {
    package struct Header {
        var names: FieldNames
        var idByteCount: Int
        var byteCount: Int
    }

    @inline(__always)
    package static func make(
        id: UnsafeRawBufferPointer, body: UnsafeRawBufferPointer, names: FieldNames
    ) -> DocumentContent {
        let count = id.count + body.count
        let made = DocumentContent.create(minimumCapacity: count) { _ in
            Header(names: names, idByteCount: id.count, byteCount: count)
        }
        made.withUnsafeMutablePointerToElements { elements in
            let start = UnsafeMutableRawPointer(elements)
            if let source = id.baseAddress { start.copyMemory(from: source, byteCount: id.count) }
            if let source = body.baseAddress { (start + id.count).copyMemory(from: source, byteCount: body.count) }
        }
        return unsafeDowncast(made, to: DocumentContent.self)
    }

    /// Calls `read` with the id, the body, and the names that the body's keys stand for.
    @inline(__always)
    package func withBytes<R>(
        _ read: (_ id: UnsafeRawBufferPointer, _ body: UnsafeRawBufferPointer, _ names: FieldNames) throws -> R
    ) rethrows -> R {
        try withUnsafeMutablePointers { header, elements in
            let start = UnsafeRawPointer(elements)
            let split = header.pointee.idByteCount
            return try read(
                UnsafeRawBufferPointer(start: start, count: split),
                UnsafeRawBufferPointer(start: start + split, count: header.pointee.byteCount - split),
                header.pointee.names)
        }
    }

    /// Tells whether this is just the document with these bytes.
    package func holds(id: UnsafeRawBufferPointer, body: UnsafeRawBufferPointer) -> Bool {
        withBytes { ownID, ownBody, _ in CBOR.compare(ownID, id) == 0 && CBOR.compare(ownBody, body) == 0 }
    }
}

/// A document that many may hold: one word, whose bytes never change.
package struct SharedDocument: @unchecked Sendable {
    // Unchecked: the content is written once, before it is shared.
    package let content: DocumentContent

    package init(_ content: DocumentContent) { self.content = content }

    /// Tells whether two documents have the same bytes.
    package static func areSame(_ left: SharedDocument, _ right: SharedDocument) -> Bool {
        if left.content === right.content { return true }
        return right.content.withBytes { id, body, _ in left.content.holds(id: id, body: body) }
    }
}
