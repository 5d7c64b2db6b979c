/// The visible documents of a query at one moment: an immutable value that shares its rows with other snapshots.
///
/// - Complexity: A copy is O(1), a subscript O(log n), a step of iteration O(1).
package struct ResultSnapshot<Reference: Sendable>: Sendable {
    let rows: RowSequence<Reference>
    /// The indices of `rows` that are visible.
    let visible: Range<Int>

    init(rows: RowSequence<Reference>, visible: Range<Int>) {
        self.rows = rows
        self.visible = visible
    }

    /// A snapshot without documents.
    package init() {
        self.init(rows: RowSequence(), visible: 0..<0)
    }

    /// The row at an index, with the store's key and the sort key.
    package func row(at index: Int) -> ResultRow<Reference> { rows[visible.lowerBound + index] }

    /// The sort keys of the first and the last visible row.
    var bounds: (first: RowKey, last: RowKey)? {
        guard !visible.isEmpty else { return nil }
        return (rows[visible.lowerBound].sortKey, rows[visible.upperBound - 1].sortKey)
    }

    /// The index a row with this key has, or would have, among the visible rows.
    func lowerBound(of key: RowKey) -> Int {
        let index = rows.index(of: rows.lowerBound(of: key))
        if index <= visible.lowerBound { return 0 }
        return index < visible.upperBound ? index - visible.lowerBound : visible.count
    }

    /// Calls a function with the visible rows from an index to the end of its chunk; the index is less than `count`.
    func withChunk(at index: Int, _ body: (UnsafeBufferPointer<RowSequence<Reference>.Entry>) -> Void) {
        let position = rows.position(ofIndex: visible.lowerBound + index)
        rows.chunks[position.chunk].withUnsafeBufferPointer { chunk in
            let count = Swift.min(chunk.count - position.offset, visible.count - index)
            body(UnsafeBufferPointer(rebasing: chunk[position.offset..<(position.offset + count)]))
        }
    }

    /// The visible index of the row with exactly this key.
    func index(of key: RowKey) -> Int? {
        var position = RowPosition.start
        return index(of: key, after: &position)
    }

    /// The visible index of the row with exactly this key, searched forward; the place moves to the key.
    func index(of key: RowKey, after position: inout RowPosition) -> Int? {
        position = rows.lowerBound(of: key, from: position)
        guard rows.holds(key, at: position) else { return nil }
        let index = rows.index(of: position)
        return visible.contains(index) ? index - visible.lowerBound : nil
    }
}

extension ResultSnapshot: RandomAccessCollection {
    package var startIndex: Int { 0 }
    package var endIndex: Int { visible.count }

    package subscript(index: Int) -> Reference {
        precondition(index >= 0 && index < visible.count, "index of a visible document")
        return rows[visible.lowerBound + index].document
    }

    package func makeIterator() -> Iterator {
        Iterator(chunks: rows.chunks, position: rows.position(ofIndex: visible.lowerBound), remaining: visible.count)
    }

    /// Walks the chunks without searching.
    package struct Iterator: IteratorProtocol {
        let chunks: ContiguousArray<RowSequence<Reference>.Chunk>
        var position: RowPosition
        var remaining: Int

        package mutating func next() -> Reference? {
            guard remaining > 0 else { return nil }
            remaining -= 1
            let document = chunks[position.chunk][position.offset].row.document
            position.offset += 1
            if position.offset == chunks[position.chunk].count {
                position = RowPosition(chunk: position.chunk + 1, offset: 0)
            }
            return document
        }
    }
}
