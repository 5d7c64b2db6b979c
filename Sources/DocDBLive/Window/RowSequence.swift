/// A place in a `RowSequence`: the end is the offset 0 of the chunk after the last.
struct RowPosition: Equatable, Sendable {
    var chunk: Int
    var offset: Int

    static let start = RowPosition(chunk: 0, offset: 0)
}

/// Rows in ascending order of their sort keys, in chunks that copies of the sequence share.
///
/// A copy costs two retains. A change after a copy copies the list of chunks and the one chunk it falls into, so that
/// successive snapshots of a large result share nearly everything.
struct RowSequence<Reference: Sendable>: Sendable {
    typealias Row = ResultRow<Reference>
    typealias Chunk = ContiguousArray<Entry>

    /// A row, with the first bytes of its key beside it: most searches need not follow the reference.
    struct Entry: Sendable {
        let prefix: UInt64
        let row: Row

        init(_ row: Row) {
            prefix = row.sortKey.prefix
            self.row = row
        }

        func precedes(_ key: RowKey) -> Bool {
            prefix != key.prefix ? prefix < key.prefix : row.sortKey < key
        }

        func precedes(_ other: Entry) -> Bool {
            prefix != other.prefix ? prefix < other.prefix : row.sortKey < other.row.sortKey
        }

        func isBeyond(_ key: RowKey) -> Bool {
            prefix != key.prefix ? prefix > key.prefix : key < row.sortKey
        }

        func has(_ key: RowKey) -> Bool { prefix == key.prefix && row.sortKey == key }
    }

    /// The most rows in a chunk.
    static var chunkCapacity: Int { 256 }
    /// The rows that a newly built chunk gets: room for insertions remains.
    static var chunkFill: Int { 192 }
    /// A chunk with fewer rows joins its neighbour where both fit into one.
    static var leastChunkCount: Int { 64 }

    /// The chunks, none of them empty.
    var chunks: ContiguousArray<Chunk> = []
    /// The number of rows before each chunk.
    var starts: ContiguousArray<Int> = []
    /// The number of rows.
    var count = 0

    init() {}

    /// Makes a sequence of rows that are in order already. O(n).
    init(ordered rows: [Row]) {
        appendChunks(of: Chunk(rows.lazy.map(Entry.init)), to: &chunks)
        restart(from: 0)
    }

    // MARK: - Places

    /// The row at a place before the end.
    subscript(position: RowPosition) -> Row { chunks[position.chunk][position.offset].row }

    /// The last row.
    var last: Row? { chunks.last?.last?.row }

    /// The row at an index. O(log n).
    subscript(index: Int) -> Row { self[position(ofIndex: index)] }

    /// The first row at or after a key, searched forward from a place that is not behind it.
    ///
    /// Doubling steps over the chunks, then bisection (Bentley and Yao, 1976): m keys in order cost O(m log(n / m)).
    func lowerBound(of key: RowKey, from start: RowPosition = .start) -> RowPosition {
        guard start.chunk < chunks.count else { return start }
        var low = start.chunk
        var step = 1
        while low + step < chunks.count, !chunks[low + step][0].isBeyond(key) {
            low += step
            step *= 2
        }
        var high = min(low + step, chunks.count)
        while high - low > 1 {
            let middle = low + (high - low) / 2
            if chunks[middle][0].isBeyond(key) { high = middle } else { low = middle }
        }
        let first = low == start.chunk ? start.offset : 0
        let offset = Self.lowerBound(of: key, in: chunks[low], from: first)
        return offset == chunks[low].count
            ? RowPosition(chunk: low + 1, offset: 0) : RowPosition(chunk: low, offset: offset)
    }

    private static func lowerBound(of key: RowKey, in chunk: Chunk, from first: Int) -> Int {
        chunk.withUnsafeBufferPointer { rows in
            var low = first
            var high = rows.count
            while low < high {
                let middle = low + (high - low) / 2
                if rows[middle].precedes(key) { low = middle + 1 } else { high = middle }
            }
            return low
        }
    }

    /// Whether the row at a place has a key.
    func holds(_ key: RowKey, at position: RowPosition) -> Bool {
        position.chunk < chunks.count && chunks[position.chunk][position.offset].has(key)
    }

    /// The number of rows before a place.
    func index(of position: RowPosition) -> Int {
        position.chunk < chunks.count ? starts[position.chunk] + position.offset : count
    }

    /// The place of an index in `0...count`. O(log n).
    func position(ofIndex index: Int) -> RowPosition {
        guard index < count else { return RowPosition(chunk: chunks.count, offset: 0) }
        var low = 0
        var high = chunks.count
        while high - low > 1 {
            let middle = low + (high - low) / 2
            if starts[middle] <= index { low = middle } else { high = middle }
        }
        return RowPosition(chunk: low, offset: index - starts[low])
    }

    // MARK: - Single changes

    /// Puts a row at the place `lowerBound` gave for its key. O(chunk + number of chunks).
    mutating func insert(_ row: Row, at position: RowPosition) {
        var position = position
        if position.offset == 0, position.chunk > 0 {
            // Between two chunks: the earlier one takes it, so that appending fills chunks.
            position.chunk -= 1
            position.offset = chunks[position.chunk].count
        }
        if chunks.isEmpty { chunks.append([]) }
        chunks[position.chunk].insert(Entry(row), at: position.offset)
        if chunks[position.chunk].count > Self.chunkCapacity { split(position.chunk) }
        restart(from: position.chunk)
    }

    /// Replaces the row at a place by one with the same sort key. O(chunk).
    mutating func replace(at position: RowPosition, with row: Row) {
        chunks[position.chunk][position.offset] = Entry(row)
    }

    /// Removes the row at a place. O(chunk + number of chunks).
    mutating func remove(at position: RowPosition) {
        chunks[position.chunk].remove(at: position.offset)
        var first = position.chunk
        if chunks[first].isEmpty {
            chunks.remove(at: first)
        } else if chunks[first].count < Self.leastChunkCount {
            if first + 1 == chunks.count, first > 0 { first -= 1 }
            joinWithNext(first)
        }
        restart(from: first)
    }

    /// Keeps the first rows and returns the others, in order.
    mutating func truncate(to newCount: Int) -> [Row] {
        guard newCount < count else { return [] }
        let position = position(ofIndex: newCount)
        var dropped = chunks[position.chunk][position.offset...].map(\.row)
        for chunk in chunks[(position.chunk + 1)...] { dropped += chunk.map(\.row) }
        chunks.removeSubrange((position.chunk + 1)...)
        chunks[position.chunk].removeSubrange(position.offset...)
        if position.offset == 0 { chunks.removeLast() }
        restart(from: position.chunk)
        return dropped
    }

    // MARK: - Chunks

    private mutating func split(_ chunk: Int) {
        let half = chunks[chunk].count / 2
        let upper = Chunk(chunks[chunk][half...])
        chunks[chunk].removeSubrange(half...)
        chunks.insert(upper, at: chunk + 1)
    }

    private mutating func joinWithNext(_ chunk: Int) {
        guard chunk + 1 < chunks.count, chunks[chunk].count + chunks[chunk + 1].count <= Self.chunkFill else { return }
        chunks[chunk].append(contentsOf: chunks[chunk + 1])
        chunks.remove(at: chunk + 1)
    }

    /// Counts the rows anew from a chunk whose predecessors did not change.
    mutating func restart(from chunk: Int) {
        var next = 0
        if chunk > 0 { next = starts[chunk - 1] + chunks[chunk - 1].count }
        if starts.count > chunks.count { starts.removeLast(starts.count - chunks.count) }
        while starts.count < chunks.count { starts.append(0) }
        var index = chunk
        while index < chunks.count {
            starts[index] = next
            next += chunks[index].count
            index += 1
        }
        count = next
    }
}
