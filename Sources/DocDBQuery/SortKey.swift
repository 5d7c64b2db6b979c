package import DocDBCore

/// One path of a sort order, and its direction.
package struct SortKey: Equatable, Sendable {
    package let path: Filter.Path
    package let isDescending: Bool

    /// Creates a sort key.
    ///
    /// - Throws: `DocDBError.invalidPath` where the path may lead to more than one value.
    package init(_ path: Filter.Path, descending: Bool = false) throws(DocDBError) {
        guard !path.isMultiValued else {
            throw DocDBError(
                .invalidPath,
                "cannot sort by \(path): it may lead to many values; sort by a path without '[*]' and '[? ...]'")
        }
        self.path = path
        isDescending = descending
    }

    /// Creates a sort key from the path's text.
    ///
    /// - Throws: `DocDBError.invalidPath`, and `DocDBError.invalidPredicate` where the text is no path.
    package init(_ text: String, descending: Bool = false) throws(DocDBError) {
        try self.init(try Filter.Path.parse(text), descending: descending)
    }
}

/// Writes the sort keys of documents: bytes whose order is the order of the results.
///
/// A key is the order-preserving encoding of each path's value, then of the `_id` in the direction of the last path, so
/// that no two documents have the same key. One thread at a time. Allocates only for objects that are sorted by.
package final class SortKeyEncoder {
    private struct Component {
        var path: Int32
        var isID: Bool
        var isDescending: Bool
    }

    private let machine: Machine
    /// Raw memory, as an array would be retained and released for each document.
    private let components: UnsafeMutableBufferPointer<Component>
    private let isIDDescending: Bool
    /// Tells whether a path leads into `_id`.
    package let usesID: Bool
    private let compiledNameCount: Int
    private let unknownNames: [String]
    // Owned here, used by the machine.
    private let memory: ProgramMemory
    private let names: FieldNames

    /// Compiles a sort order for the bodies of one store; without keys the order is that of `_id`.
    ///
    /// - Throws: `DocDBError.limitReached` where there are more than `QueryLimits.sortPathCount` keys.
    package init(_ keys: [SortKey], names: FieldNames) throws(DocDBError) {
        guard keys.count <= QueryLimits.sortPathCount else {
            throw DocDBError(
                .limitReached, "a sort order has at most \(QueryLimits.sortPathCount) paths; leave some out")
        }
        var compiler = Compiler(names: names)
        components = .allocate(capacity: keys.count)
        for (place, key) in keys.enumerated() {
            let isID = if case .name(let name)? = key.path.steps.first { name.string == "_id" } else { false }
            components.initializeElement(
                at: place,
                to: Component(path: compiler.compile(key.path), isID: isID, isDescending: key.isDescending))
        }
        usesID = components.contains(where: \.isID)
        machine = compiler.makeMachine()
        isIDDescending = keys.last?.isDescending ?? false
        compiledNameCount = compiler.nameCount
        unknownNames = compiler.unknownNames
        memory = compiler.memory
        self.names = names
    }

    deinit {
        machine.destroy()
        components.deallocate()
    }

    /// Appends a document's sort key; false, and nothing appended, where its bytes are damaged.
    ///
    /// - Parameters:
    ///   - body: The document's body: a deterministic CBOR map with interned keys.
    ///   - id: The canonical CBOR of its `_id`, keys as text.
    /// - Complexity: O(bytes of the body up to the last path's field).
    package func append(
        body: UnsafeRawBufferPointer, id: UnsafeRawBufferPointer, to buffer: inout ByteBuffer
    ) -> Bool {
        let start = buffer.count
        guard appendPaths(body: body, id: id, to: &buffer) else { return false }
        if appendID(id, to: &buffer) { return true }
        buffer.truncate(to: start)
        return false
    }

    /// Appends the beginning of a document's sort key: all but its own `_id`, which only decides between equal ones.
    ///
    /// `id` is only read where `usesID`. Returns false, and appends nothing, where the bytes are damaged.
    package func appendPaths(
        body: UnsafeRawBufferPointer, id: UnsafeRawBufferPointer, to buffer: inout ByteBuffer
    ) -> Bool {
        guard machine.begin(body: body, id: id) else { return false }
        let start = buffer.count
        do {
            for component in components {
                try append(component.path, component.isID, component.isDescending, to: &buffer)
            }
            if !machine.state.pointee.isDamaged { return true }
        } catch {}
        buffer.truncate(to: start)
        return false
    }

    /// Appends the end of a document's sort key: its `_id`. Returns false where that is damaged.
    package func appendID(_ id: UnsafeRawBufferPointer, to buffer: inout ByteBuffer) -> Bool {
        var cursor = ByteCursor(id)
        return
            (try? OrderEncoding.append(cborValue: &cursor, names: nil, descending: isIDDescending, to: &buffer)) != nil
    }

    @inline(__always)
    private func append(
        _ path: Int32, _ isID: Bool, _ isDescending: Bool, to buffer: inout ByteBuffer
    ) throws(CBORError) {
        guard let (start, end) = machine.place(ofPath: path) else {
            OrderEncoding.appendMissing(descending: isDescending, to: &buffer)
            return
        }
        var cursor = ByteCursor(UnsafeRawBufferPointer(start: start, count: end - start))
        try OrderEncoding.append(
            cborValue: &cursor, names: isID ? nil : names, descending: isDescending, to: &buffer)
    }

    /// Tells whether a name of a path that no body had when this was compiled has been interned since.
    package func needsRecompile(_ names: FieldNames) -> Bool {
        names.count != compiledNameCount && unknownNames.contains { names.number(of: $0) != nil }
    }
}
