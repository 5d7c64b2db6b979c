extension RowSequence {
    /// Removes and inserts many rows in one pass; chunks without a change stay shared.
    ///
    /// - Parameters:
    ///   - removals: Rows of the sequence, ascending.
    ///   - insertions: Rows in ascending order; one with the key of a present row replaces it.
    /// - Complexity: O(m + rows of the chunks that change + number of chunks).
    mutating func merge(removing removals: [Row], inserting insertions: [Row]) {
        var merged = ContiguousArray<Chunk>()
        merged.reserveCapacity(chunks.count + insertions.count / Self.chunkFill + 1)
        var pending = Chunk()
        var removal = 0
        var insertion = 0
        for index in chunks.indices {
            var removalEnd = removals.count
            var insertionEnd = insertions.count
            if index + 1 < chunks.count {
                let next = chunks[index + 1][0].row.sortKey
                removalEnd = removal
                while removalEnd < removals.count, removals[removalEnd].sortKey < next { removalEnd += 1 }
                insertionEnd = insertion
                while insertionEnd < insertions.count, insertions[insertionEnd].sortKey < next { insertionEnd += 1 }
            }
            if pending.isEmpty, removal == removalEnd, insertion == insertionEnd {
                merged.append(chunks[index])
                continue
            }
            Self.merge(
                chunks[index], removing: removals[removal..<removalEnd],
                inserting: insertions[insertion..<insertionEnd], into: &pending)
            removal = removalEnd
            insertion = insertionEnd
            if pending.count >= Self.leastChunkCount {
                appendChunks(of: pending, to: &merged)
                pending = Chunk()
            }
        }
        if insertion < insertions.count { pending.append(contentsOf: insertions[insertion...].lazy.map(Entry.init)) }
        if let last = merged.last, !pending.isEmpty, last.count + pending.count <= Self.chunkCapacity {
            merged[merged.count - 1].append(contentsOf: pending)
        } else {
            appendChunks(of: pending, to: &merged)
        }
        chunks = merged
        restart(from: 0)
    }

    /// Appends the rows of one chunk, without the removed and with the inserted ones.
    private static func merge(
        _ chunk: Chunk, removing removals: ArraySlice<Row>, inserting insertions: ArraySlice<Row>,
        into result: inout Chunk
    ) {
        var removal = removals.startIndex
        var insertion = insertions.startIndex
        chunk.withUnsafeBufferPointer { entries in
            // Rows between two changes are copied at once.
            result.reserveCapacity(result.count + entries.count + insertions.count)
            var inserted = insertions.first.map(Entry.init)
            var copied = 0
            var index = 0
            while index < entries.count {
                if let next = inserted, !entries[index].precedes(next) {
                    let replaces = !next.precedes(entries[index])
                    result.append(contentsOf: UnsafeBufferPointer(rebasing: entries[copied..<index]))
                    result.append(next)
                    insertion += 1
                    inserted = insertion < insertions.endIndex ? Entry(insertions[insertion]) : nil
                    if replaces { index += 1 }
                    copied = index
                } else if removal < removals.endIndex, removals[removal] === entries[index].row {
                    result.append(contentsOf: UnsafeBufferPointer(rebasing: entries[copied..<index]))
                    removal += 1
                    index += 1
                    copied = index
                } else {
                    index += 1
                }
            }
            result.append(contentsOf: UnsafeBufferPointer(rebasing: entries[copied...]))
        }
        result.append(contentsOf: insertions[insertion...].lazy.map(Entry.init))
    }

    /// Appends rows as one chunk, or as several of even size where they are too many for one.
    func appendChunks(of rows: Chunk, to chunks: inout ContiguousArray<Chunk>) {
        guard rows.count > Self.chunkCapacity else {
            if !rows.isEmpty { chunks.append(rows) }
            return
        }
        let pieces = (rows.count + Self.chunkFill - 1) / Self.chunkFill
        var first = 0
        for piece in 1...pieces {
            let end = rows.count * piece / pieces
            chunks.append(Chunk(rows[first..<end]))
            first = end
        }
    }
}

extension RowSequence {
    /// Stops a debug build where the order, the chunks or the counts are wrong. O(n).
    func checkInvariants() {
        #if DEBUG
            precondition(starts.count == chunks.count, "one start a chunk")
            var before = 0
            var last: RowKey?
            for (index, chunk) in chunks.enumerated() {
                precondition(!chunk.isEmpty && chunk.count <= Self.chunkCapacity, "chunk size")
                precondition(starts[index] == before, "start of a chunk")
                before += chunk.count
                for entry in chunk {
                    if let last { precondition(last < entry.row.sortKey, "rows ascend") }
                    last = entry.row.sortKey
                }
            }
            precondition(before == count, "number of rows")
        #endif
    }
}
