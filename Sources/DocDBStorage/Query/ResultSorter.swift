import DocDBCore

/// Puts results in the order of their sort keys, which are compared byte by byte, and names them by document key.
///
/// With a limit it keeps only as many as are wanted, in a heap whose root is the last of them: what comes after that is
/// passed over without being copied. Complexity: O(n log limit), or O(n log n) without one.
struct ResultSorter: ~Copyable {
    /// The most bytes of sort keys that one query sorts in memory.
    static let byteCountLimit = 256 * 1024 * 1024
    /// The largest limit for which a heap is kept; a larger part is cut from all results.
    private static let heapCountLimit = 65_536

    private struct Entry {
        /// The first eight bytes of the sort key, which decide most comparisons.
        var head: UInt64
        var offset: Int
        var count: Int
        var key: Int64
    }

    private struct Kept {
        var head: UInt64
        var bytes: [UInt8]
        var key: Int64
    }

    private let limit: Int?
    private var bytes = ByteBuffer(capacity: 4096)
    private var entries: [Entry] = []
    private var heap: [Kept] = []
    /// The head of the last result that is kept once there are as many as are wanted: greater ones need no other look.
    private var lastHead = UInt64.max

    init(limit: Int?) {
        self.limit = limit.flatMap { $0 <= Self.heapCountLimit ? $0 : nil }
    }

    /// Only so many results are kept as are wanted.
    var isBounded: Bool { limit != nil }

    /// Tells whether a result whose sort key begins so may be one of those that are kept.
    @inline(__always)
    func mayKeep(beginning: UnsafeRawBufferPointer) -> Bool {
        if beginning.count >= 8, Self.head(of: beginning) > lastHead { return false }
        return mayKeepTie(beginning: beginning)
    }

    @inline(never)
    private func mayKeepTie(beginning: UnsafeRawBufferPointer) -> Bool {
        guard let limit, heap.count == limit else { return true }
        guard let last = heap.first else { return false }
        return last.bytes.withUnsafeBytes { bytes in
            CBOR.compare(beginning, UnsafeRawBufferPointer(rebasing: bytes.prefix(beginning.count))) <= 0
        }
    }

    /// Adds a result.
    ///
    /// - Throws: `limitReached` where the sort keys take more memory than is allowed.
    @inline(__always)
    mutating func add(_ sortKey: UnsafeRawBufferPointer, key: Int64) throws(DocDBError) {
        let head = Self.head(of: sortKey)
        if let limit {
            if heap.count == limit {
                guard limit > 0, Self.precedes(head, sortKey, heap[0]) else { return }
                replaceRoot(head, sortKey, key)
            } else {
                push(Kept(head: head, bytes: [UInt8](sortKey), key: key))
            }
            if limit > 0, heap.count == limit { lastHead = heap[0].head }
            return
        }
        guard bytes.count + (entries.count + 1) * MemoryLayout<Entry>.stride <= Self.byteCountLimit else {
            throw DocDBError(
                .limitReached,
                "the query sorts more than \(Self.byteCountLimit) bytes of keys in memory; create an index on the paths it sorts by, or set a limit"
            )
        }
        entries.append(Entry(head: head, offset: bytes.count, count: sortKey.count, key: key))
        bytes.append(sortKey)
    }

    /// The document keys of the results in order; the sorter is empty afterwards.
    mutating func finish() -> [Int64] {
        if limit != nil {
            let sorted = heap.sorted { Self.precedes($0, $1) }
            heap = []
            lastHead = .max
            return sorted.map(\.key)
        }
        let base = bytes.start
        entries.sort { left, right in
            if left.head != right.head { return left.head < right.head }
            return CBOR.compare(
                UnsafeRawBufferPointer(start: base + left.offset, count: left.count),
                UnsafeRawBufferPointer(start: base + right.offset, count: right.count)) < 0
        }
        let keys = entries.map(\.key)
        entries = []
        return keys
    }

    @inline(__always)
    private static func head(of bytes: UnsafeRawBufferPointer) -> UInt64 {
        if bytes.count >= 8 { return UInt64(bigEndian: bytes.loadUnaligned(as: UInt64.self)) }
        var head: UInt64 = 0
        for offset in 0..<8 { head = head << 8 | (offset < bytes.count ? UInt64(bytes[offset]) : 0) }
        return head
    }

    @inline(__always)
    private static func precedes(_ head: UInt64, _ bytes: UnsafeRawBufferPointer, _ other: Kept) -> Bool {
        if head != other.head { return head < other.head }
        return other.bytes.withUnsafeBytes { CBOR.compare(bytes, $0) < 0 }
    }

    private static func precedes(_ left: Kept, _ right: Kept) -> Bool {
        left.bytes.withUnsafeBytes { precedes(left.head, $0, right) }
    }

    private mutating func push(_ new: Kept) {
        heap.append(new)
        var place = heap.count - 1
        while place > 0 {
            let parent = (place - 1) / 2
            guard Self.precedes(heap[parent], heap[place]) else { return }
            heap.swapAt(parent, place)
            place = parent
        }
    }

    /// Puts a result in the place of the last one that is kept.
    private mutating func replaceRoot(_ head: UInt64, _ sortKey: UnsafeRawBufferPointer, _ key: Int64) {
        heap[0].head = head
        heap[0].key = key
        heap[0].bytes.removeAll(keepingCapacity: true)
        heap[0].bytes.append(contentsOf: sortKey)
        var place = 0
        while true {
            var last = place
            for child in 2 * place + 1...2 * place + 2 where child < heap.count {
                if Self.precedes(heap[last], heap[child]) { last = child }
            }
            if last == place { return }
            heap.swapAt(last, place)
            place = last
        }
    }
}
