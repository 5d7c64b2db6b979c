import DocDBCore

/// A fault in the input, and where.
package struct RecordError: Error, Equatable, Sendable {
    package let message: String
    package let position: TextPosition

    package init(_ message: String, at position: TextPosition) {
        self.message = message
        self.position = position
    }
}

/// Cuts a stream of JSON into its top-level objects: the elements of one array, or objects one after the other.
///
/// It knows strings, braces and brackets, and leaves all else in an object to the transcoder. Each record is handed out in
/// place, as a range of the buffer. The buffer grows to the largest record seen, at most `recordLimit` and one chunk.
package struct RecordSplitter: ~Copyable {
    /// How many bytes are read at once.
    package static let defaultChunkByteCount = 256 * 1024

    /// One top-level object.
    package struct Record {
        /// Its text from brace to brace; valid until the next call of `next`.
        package let bytes: UnsafeRawBufferPointer
        /// Where it begins in the input, in bytes.
        package let offset: Int
    }

    enum Place {
        case beginning
        case betweenLines
        case arrayStart
        case afterElement
        case afterComma
        case afterArray
        case failed
    }

    private let source: any ByteSource
    private let chunkByteCount: Int
    let recordLimit: Int

    var start: UnsafeMutableRawPointer
    private var capacity: Int
    /// How many bytes of the buffer hold input.
    var filled = 0
    /// The next byte to look at.
    var cursor = 0
    private var sourceEnded = false
    private var bufferOffset = 0
    /// The place of the buffer's first byte.
    private var bufferPosition = TextPosition.start
    /// Where in the buffer the last record begins.
    private(set) var recordStart = 0
    var place = Place.beginning

    package init(
        _ source: any ByteSource, chunkByteCount: Int = defaultChunkByteCount,
        recordLimit: Int = Limits.jsonDocumentByteCount
    ) {
        precondition(chunkByteCount > 0, "a chunk has at least one byte")
        self.source = source
        self.chunkByteCount = chunkByteCount
        self.recordLimit = recordLimit
        capacity = max(chunkByteCount, 16)
        start = UnsafeMutableRawPointer.allocate(byteCount: capacity, alignment: 16)
    }

    deinit { start.deallocate() }

    /// How many bytes of the input lie behind the last record's end.
    package var consumedByteCount: Int { bufferOffset + cursor }

    /// The next object, or nil at the end of the input.
    ///
    /// - Throws: `RecordError` where the structure is broken (no further call makes sense), `DocDBError` where reading
    ///   fails.
    package mutating func next() throws -> Record? {
        if place == .failed { return nil }
        do {
            guard try advanceToObject() else { return nil }
            recordStart = cursor
            try scanObject()
            place = place == .betweenLines ? .betweenLines : .afterElement
            let text = UnsafeRawBufferPointer(start: start + recordStart, count: cursor - recordStart)
            return Record(bytes: text, offset: bufferOffset + recordStart)
        } catch {
            place = .failed
            throw error
        }
    }

    /// The place in the input of the last record's byte at `offset`; valid until the next call of `next`.
    package func position(ofByte offset: Int = 0) -> TextPosition {
        position(at: min(recordStart + max(offset, 0), filled))
    }

    func position(at index: Int) -> TextPosition {
        bufferPosition.advanced(over: UnsafeRawBufferPointer(start: start, count: index))
    }

    func fault(_ message: String, at index: Int) -> RecordError { RecordError(message, at: position(at: index)) }

    @inline(__always) func byte(_ index: Int) -> UInt8 { start.load(fromByteOffset: index, as: UInt8.self) }

    /// Reads more input, and discards what lies before `kept`, whose index becomes 0; false at the end.
    mutating func refill(keepingFrom kept: Int) throws -> Bool {
        if sourceEnded { return false }
        if kept > 0 { discard(kept) }
        if filled == capacity { grow() }
        let room = UnsafeMutableRawBufferPointer(start: start + filled, count: min(capacity - filled, chunkByteCount))
        let count = try source.read(into: room)
        if count == 0 { sourceEnded = true }
        filled += count
        return count > 0
    }

    private mutating func discard(_ count: Int) {
        bufferPosition = position(at: count)
        bufferOffset += count
        filled -= count
        cursor -= count
        recordStart -= min(recordStart, count)
        start.copyMemory(from: start + count, byteCount: filled)
    }

    private mutating func grow() {
        let newCapacity = capacity * 2
        let newStart = UnsafeMutableRawPointer.allocate(byteCount: newCapacity, alignment: 16)
        newStart.copyMemory(from: start, byteCount: filled)
        start.deallocate()
        start = newStart
        capacity = newCapacity
    }

    /// Forgets `count` bytes at the very beginning as if they were not there: a byte order mark.
    mutating func skipMark(_ count: Int) {
        cursor = count
        bufferPosition = TextPosition(line: 1, column: 0)
    }
}
