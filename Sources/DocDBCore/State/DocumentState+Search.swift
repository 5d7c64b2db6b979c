/// An entry that stands at a path.
protocol PathEntry {
    var path: DocumentState.Slice { get }
}

extension DocumentState.Assignment: PathEntry {}
extension DocumentState.Tally: PathEntry {}
extension DocumentState.Unknown: PathEntry {}

extension DocumentState {
    /// The index of the first entry whose path is not before `path`.
    ///
    /// - Complexity: O(log n) comparisons.
    @inline(__always)
    static func lowerBound<Entry: PathEntry>(
        of path: UnsafeRawBufferPointer, in entries: [Entry], _ arena: UnsafeRawBufferPointer
    ) -> Int {
        var low = 0
        var high = entries.count
        while low < high {
            let middle = (low + high) / 2
            if CBOR.compare(arena[entries[middle].path], path) < 0 { low = middle + 1 } else { high = middle }
        }
        return low
    }

    /// The range of the entries at `path` and beneath it.
    @inline(__always)
    static func subtree<Entry: PathEntry>(
        of path: UnsafeRawBufferPointer, in entries: [Entry], _ arena: UnsafeRawBufferPointer
    ) -> Range<Int> {
        if entries.isEmpty || path.isEmpty { return 0..<entries.count }
        let start = lowerBound(of: path, in: entries, arena)
        var end = start
        while end < entries.count, arena[entries[end].path].hasPrefix(path) { end += 1 }
        return start..<end
    }

    /// The index of the assignment at just this path, or nil where there is none.
    func assignmentIndex(of path: UnsafeRawBufferPointer, _ arena: UnsafeRawBufferPointer) -> Int? {
        let index = Self.lowerBound(of: path, in: assignments, arena)
        guard index < assignments.count, CBOR.compare(arena[assignments[index].path], path) == 0 else { return nil }
        return index
    }

    /// The newest stamp of an assignment at `path` or above it: what a tally there builds on.
    ///
    /// - Complexity: O(depth · log n) comparisons.
    func newestStamp(atOrAbove path: UnsafeRawBufferPointer, _ arena: UnsafeRawBufferPointer) -> Stamp {
        var newest = Stamp.none
        var end = 0
        while true {
            let prefix = UnsafeRawBufferPointer(start: path.baseAddress, count: end)
            if let index = assignmentIndex(of: prefix, arena) { newest = max(newest, assignments[index].stamp) }
            guard end < path.count, let next = Self.keyEnd(in: path, from: end) else { return newest }
            end = next
        }
    }

    /// The order of two tallies of one state by their keys: negative, zero or positive.
    static func compare(_ left: Tally, _ right: Tally, _ arena: UnsafeRawBufferPointer) -> Int {
        let paths = CBOR.compare(arena[left.path], arena[right.path])
        if paths != 0 { return paths }
        if left.base != right.base { return left.base < right.base ? -1 : 1 }
        if left.actor != right.actor { return left.actor < right.actor ? -1 : 1 }
        return 0
    }

    /// The order of two unknown entries of one state by their keys.
    static func compare(_ left: Unknown, _ right: Unknown, _ arena: UnsafeRawBufferPointer) -> Int {
        let paths = CBOR.compare(arena[left.path], arena[right.path])
        if paths != 0 { return paths }
        if left.kind != right.kind { return left.kind < right.kind ? -1 : 1 }
        if left.base != right.base { return left.base < right.base ? -1 : 1 }
        return CBOR.compare(arena[left.key], arena[right.key])
    }

    /// The offset behind the encoded key that begins at `start`, or nil where no whole key does.
    @inline(__always)
    static func keyEnd(in path: UnsafeRawBufferPointer, from start: Int) -> Int? {
        guard start < path.count else { return nil }
        if path[start] < 24 { return start + 1 }
        return longKeyEnd(in: path, from: start)
    }

    @inline(never)
    private static func longKeyEnd(in path: UnsafeRawBufferPointer, from start: Int) -> Int? {
        var cursor = ByteCursor(UnsafeRawBufferPointer(rebasing: path[start...]))
        guard let head = try? cursor.readCBORHead() else { return nil }
        let headEnd = path.count - cursor.remaining
        switch head.major {
        case CBOR.Major.unsigned: return headEnd
        case CBOR.Major.text where head.argument <= UInt64(cursor.remaining): return headEnd + Int(head.argument)
        default: return nil
        }
    }

    /// The number of keys of a path, or nil where the bytes are no path.
    static func depth(of path: UnsafeRawBufferPointer) -> Int? {
        var depth = 0
        var end = 0
        while end < path.count {
            guard let next = keyEnd(in: path, from: end) else { return nil }
            end = next
            depth += 1
        }
        return depth
    }
}
