/// A hash table of single values, by their order-encoded bytes, each with the head of a list of postings.
///
/// Hashes are seeded for each process, as predicates also come from remote peers.
///
/// - Complexity: O(bytes of the key) expected for each operation.
struct PointTable: ~Copyable {
    struct Node: BitwiseCopyable {
        /// Nil in a free node.
        var key: UnsafeMutableRawPointer?
        var keyCount: Int
        var hash: Int
        /// The next node of the same slot; negative at the end.
        var next: Int32
        var postings = PostingList()
    }

    private var nodes = Pool<Node>()
    private(set) var count = 0
    /// The first node of each slot, negative where there is none; a power of two of them.
    private var heads: UnsafeMutablePointer<Int32>
    private var headCount = 16

    init() {
        heads = UnsafeMutablePointer<Int32>.allocate(capacity: headCount)
        heads.initialize(repeating: -1, count: headCount)
    }

    deinit {
        for number in 0..<Int32(nodes.bound) { nodes[number].pointee.key?.deallocate() }
        heads.deallocate()
    }

    @inline(__always)
    private static func hash(_ key: UnsafeRawBufferPointer) -> Int {
        var hasher = Hasher()
        hasher.combine(bytes: key)
        return hasher.finalize()
    }

    /// The node of a value, or a negative number where there is none.
    func find(_ key: UnsafeRawBufferPointer) -> Int32 { find(key, hash: Self.hash(key)) }

    @inline(__always)
    private func find(_ key: UnsafeRawBufferPointer, hash: Int) -> Int32 {
        var number = heads[hash & (headCount - 1)]
        while number >= 0 {
            let node = nodes[number]
            if node.pointee.hash == hash, node.pointee.keyCount == key.count, let own = node.pointee.key,
                let base = key.baseAddress,
                EncodedValue.isEqual(own, base, count: key.count)
            {
                return number
            }
            number = node.pointee.next
        }
        return number
    }

    /// The node of a value, which is made where there is none.
    mutating func findOrInsert(_ key: UnsafeRawBufferPointer) -> Int32 {
        let hash = Self.hash(key)
        let known = find(key, hash: hash)
        if known >= 0 { return known }
        if count >= headCount { grow() }
        let copy = UnsafeMutableRawPointer.allocate(byteCount: max(key.count, 1), alignment: 8)
        if let start = key.baseAddress { copy.copyMemory(from: start, byteCount: key.count) }
        let slot = hash & (headCount - 1)
        let number = nodes.insert(Node(key: copy, keyCount: key.count, hash: hash, next: heads[slot]))
        heads[slot] = number
        count += 1
        return number
    }

    private mutating func grow() {
        heads.deallocate()
        headCount *= 2
        heads = UnsafeMutablePointer<Int32>.allocate(capacity: headCount)
        heads.initialize(repeating: -1, count: headCount)
        for number in 0..<Int32(nodes.bound) where nodes[number].pointee.key != nil {
            let slot = nodes[number].pointee.hash & (headCount - 1)
            nodes[number].pointee.next = heads[slot]
            heads[slot] = number
        }
    }

    /// Removes a node, whose list must be empty.
    mutating func remove(_ number: Int32) {
        let node = nodes[number]
        let slot = node.pointee.hash & (headCount - 1)
        if heads[slot] == number {
            heads[slot] = node.pointee.next
        } else {
            var previous = heads[slot]
            while nodes[previous].pointee.next != number { previous = nodes[previous].pointee.next }
            nodes[previous].pointee.next = node.pointee.next
        }
        node.pointee.key?.deallocate()
        node.pointee.key = nil
        nodes.remove(number)
        count -= 1
    }

    /// The predicates that wait for the value of a node.
    @inline(__always)
    func postings(_ number: Int32) -> PostingList { nodes[number].pointee.postings }

    func setPostings(_ number: Int32, _ postings: PostingList) { nodes[number].pointee.postings = postings }
}
