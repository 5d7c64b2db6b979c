import DocDBCore

/// The entries that one document has in one index, in the order of their bytes, each once.
struct IndexEntries: ~Copyable {
    /// The entries' bytes, one after another.
    var bytes = ByteBuffer()
    /// Where each entry ends.
    private(set) var ends: [Int] = []

    var count: Int { ends.count }

    subscript(index: Int) -> UnsafeRawBufferPointer {
        let start = index == 0 ? 0 : ends[index - 1]
        return UnsafeRawBufferPointer(start: bytes.start + start, count: ends[index] - start)
    }

    mutating func removeAll() {
        bytes.removeAll()
        ends.removeAll(keepingCapacity: true)
    }

    /// Ends the entry whose bytes have been appended.
    @inline(__always)
    mutating func endEntry() { ends.append(bytes.count) }
}

/// Makes the entries of documents for one index: the values of its paths in order-preserving bytes, then the `_id`.
///
/// The id is the last component, in the direction of the last path, so that the order of entries is the order of results.
/// A value that is not there is an entry's part as well: every document has one entry at least. Nothing is allocated for
/// a document once the buffers have grown.
final class IndexEntryEncoder {
    private struct Component {
        var path: IndexPath
        var isDescending: Bool
    }

    private struct Slice {
        var offset: Int
        var count: Int
    }

    private struct Scratch: ~Copyable {
        var prefix = ByteBuffer()
        var suffix = ByteBuffer()
        var values = ByteBuffer()
        var slices: [Slice] = []
    }

    /// The most bytes of entries that one document may have in one index.
    static let entryByteCountLimit = 64 * 1024 * 1024

    private let components: UnsafeMutableBufferPointer<Component>
    private let multiValued: Int?
    private let names: FieldNames
    private let scratch: UnsafeMutablePointer<Scratch>

    init(_ definition: IndexDefinition, names: FieldNames) {
        components = .allocate(capacity: definition.components.count)
        for (index, component) in definition.components.enumerated() {
            let compiled = Component(path: IndexPath(component.path), isDescending: component.isDescending)
            components.initializeElement(at: index, to: compiled)
        }
        multiValued = definition.multiValuedComponent
        self.names = names
        scratch = .allocate(capacity: 1)
        scratch.initialize(to: Scratch())
    }

    deinit {
        components.deinitialize()
        components.deallocate()
        scratch.deinitialize(count: 1)
        scratch.deallocate()
    }

    /// Why a document has no entries.
    enum Failure: Error {
        case damaged
        /// The entries would be larger than `entryByteCountLimit`.
        case tooLarge
    }

    /// Replaces `entries` with those of a document; `id` is canonical CBOR.
    func encode(
        body: UnsafeRawBufferPointer, id: UnsafeRawBufferPointer, into entries: inout IndexEntries
    ) throws(Failure) {
        entries.removeAll()
        do throws(CBORError) {
            for index in components.indices { components[index].path.resolve(names) }
            guard let multiValued else {
                try appendComponents(components.indices, body, id, to: &entries.bytes)
                try appendID(id, to: &entries.bytes)
                entries.endEntry()
                return
            }
            scratch.pointee.prefix.removeAll()
            scratch.pointee.suffix.removeAll()
            try appendComponents(0..<multiValued, body, id, to: &scratch.pointee.prefix)
            try appendComponents(multiValued + 1..<components.count, body, id, to: &scratch.pointee.suffix)
            try appendID(id, to: &scratch.pointee.suffix)
            try collectValues(components[multiValued], body, id)
        } catch {
            throw .damaged
        }
        try combine(into: &entries)
    }

    private func appendComponents(
        _ range: Range<Int>, _ body: UnsafeRawBufferPointer, _ id: UnsafeRawBufferPointer, to buffer: inout ByteBuffer
    ) throws(CBORError) {
        for index in range {
            let start = buffer.count
            let component = components[index]
            try component.path.forEachValue(body: body, id: id) { (value) throws(CBORError) in
                try append(value, of: component, to: &buffer)
            }
            if buffer.count == start {
                OrderEncoding.appendMissing(descending: component.isDescending, to: &buffer)
            }
        }
    }

    private func append(
        _ value: UnsafeRawBufferPointer, of component: Component, to buffer: inout ByteBuffer
    ) throws(CBORError) {
        var cursor = ByteCursor(value)
        try OrderEncoding.append(
            cborValue: &cursor, names: component.path.isInID ? nil : names, descending: component.isDescending,
            to: &buffer)
    }

    private func appendID(_ id: UnsafeRawBufferPointer, to buffer: inout ByteBuffer) throws(CBORError) {
        var cursor = ByteCursor(id)
        try OrderEncoding.append(
            cborValue: &cursor, names: nil, descending: components[components.count - 1].isDescending, to: &buffer)
    }

    /// Leaves the distinct values of the component with many of them in the scratch buffer, in the order of their bytes.
    private func collectValues(
        _ component: Component, _ body: UnsafeRawBufferPointer, _ id: UnsafeRawBufferPointer
    ) throws(CBORError) {
        let scratch = scratch
        scratch.pointee.values.removeAll()
        scratch.pointee.slices.removeAll(keepingCapacity: true)
        try component.path.forEachValue(body: body, id: id) { (value) throws(CBORError) in
            let offset = scratch.pointee.values.count
            try append(value, of: component, to: &scratch.pointee.values)
            scratch.pointee.slices.append(Slice(offset: offset, count: scratch.pointee.values.count - offset))
        }
        if scratch.pointee.slices.isEmpty {
            OrderEncoding.appendMissing(descending: component.isDescending, to: &scratch.pointee.values)
            scratch.pointee.slices.append(Slice(offset: 0, count: 1))
        }
        let base = scratch.pointee.values.start
        scratch.pointee.slices.sort { CBOR.compare(Self.bytes($0, base), Self.bytes($1, base)) < 0 }
    }

    private static func bytes(_ slice: Slice, _ base: UnsafeMutableRawPointer) -> UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(start: base + slice.offset, count: slice.count)
    }

    private func combine(into entries: inout IndexEntries) throws(Failure) {
        let base = scratch.pointee.values.start
        let fixedCount = scratch.pointee.prefix.count + scratch.pointee.suffix.count
        var previous: Slice?
        for slice in scratch.pointee.slices {
            if let previous, CBOR.compare(Self.bytes(previous, base), Self.bytes(slice, base)) == 0 { continue }
            previous = slice
            guard entries.bytes.count + fixedCount + slice.count <= Self.entryByteCountLimit else { throw .tooLarge }
            entries.bytes.append(scratch.pointee.prefix.bytes)
            entries.bytes.append(Self.bytes(slice, base))
            entries.bytes.append(scratch.pointee.suffix.bytes)
            entries.endEntry()
        }
    }
}

extension IndexEntryEncoder.Failure {
    /// The error for the document with this key.
    func error(key: Int64, index: IndexInfo) -> DocDBError {
        switch self {
        case .damaged:
            DocDBError(
                .corrupted, "document \(key) is damaged and cannot be indexed; run 'docdb-inspect verify' on a copy",
                context: ["key": String(key), "index": index.definition.text])
        case .tooLarge:
            DocDBError(
                .limitReached,
                "document \(key) would have more than \(IndexEntryEncoder.entryByteCountLimit) bytes in one index; drop the index or shorten the array",
                context: ["key": String(key), "index": index.definition.text])
        }
    }
}
