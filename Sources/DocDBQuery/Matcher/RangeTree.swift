import DocDBCore

/// Half-open ranges of order-encoded bytes, each with the head of a list of postings, which finds those around a key.
///
/// An interval tree (Cormen, Leiserson, Rivest and Stein, "Introduction to Algorithms", chapter on augmenting data
/// structures): a search tree by lower, then upper bound, each node of which knows the greatest upper bound beneath it.
/// It is balanced as a treap (Seidel and Aragon, "Randomized Search Trees", Algorithmica 16, 1996) whose priorities are
/// hashes of the bounds, seeded for each process: one set of ranges has one shape however it came about, and a peer
/// cannot craft a bad one.
///
/// - Complexity: O(log n) expected to insert, find and remove; O(log n + k) for k ranges around a key where few other
///   ranges begin among them, O(k log n) at most.
struct RangeTree: ~Copyable {
    /// One bound: its bytes, and the first eight of them as a number, which decides most comparisons.
    struct Bound: BitwiseCopyable {
        var prefix: UInt64
        var start: UnsafeRawPointer
        var count: Int

        @inline(__always)
        init(_ start: UnsafeRawPointer, count: Int) {
            self.start = start
            self.count = count
            if count >= 8 {
                prefix = UInt64(bigEndian: start.loadUnaligned(as: UInt64.self))
            } else {
                prefix = 0
                for offset in 0..<count {
                    prefix |= UInt64(start.load(fromByteOffset: offset, as: UInt8.self)) << UInt64(56 - 8 * offset)
                }
            }
        }

        @inline(__always)
        static func compare(_ left: Bound, _ right: Bound) -> Int {
            if left.prefix != right.prefix { return left.prefix < right.prefix ? -1 : 1 }
            return CBOR.compare(
                UnsafeRawBufferPointer(start: left.start, count: left.count),
                UnsafeRawBufferPointer(start: right.start, count: right.count))
        }
    }

    struct Node: BitwiseCopyable {
        var lower: Bound
        var upper: Bound
        /// The greatest upper bound of this node and all beneath it.
        var greatest: Bound
        var left: Int32 = -1
        var right: Int32 = -1
        var priority: Int
        /// The bytes of both bounds, owned; nil in a free node.
        var bytes: UnsafeMutableRawPointer?
        var postings = PostingList()
    }

    private var nodes = Pool<Node>()
    private var root: Int32 = -1

    init() {}

    deinit {
        for number in 0..<Int32(nodes.bound) { nodes[number].pointee.bytes?.deallocate() }
    }

    var isEmpty: Bool { root < 0 }

    /// The predicates that wait for the values of a node's range.
    @inline(__always)
    func postings(_ number: Int32) -> PostingList { nodes[number].pointee.postings }

    func setPostings(_ number: Int32, _ postings: PostingList) { nodes[number].pointee.postings = postings }

    /// Calls `body` with the node of each range around `key` until it says true, and tells whether it did.
    @inline(__always)
    func anyRange(around key: UnsafeRawBufferPointer, _ body: (Int32) -> Bool) -> Bool {
        guard root >= 0, let start = key.baseAddress else { return false }
        return anyRange(around: Bound(start, count: key.count), beneath: root, body)
    }

    private func anyRange(around key: Bound, beneath top: Int32, _ body: (Int32) -> Bool) -> Bool {
        var number = top
        while number >= 0 {
            let node = nodes[number]
            if Bound.compare(key, node.pointee.greatest) >= 0 { return false }
            if Bound.compare(key, node.pointee.lower) < 0 {
                number = node.pointee.left
                continue
            }
            if node.pointee.left >= 0, anyRange(around: key, beneath: node.pointee.left, body) { return true }
            if Bound.compare(key, node.pointee.upper) < 0, body(number) { return true }
            number = node.pointee.right
        }
        return false
    }

    /// The node of a range, which is made where there is none.
    mutating func findOrInsert(_ range: KeyByteRange) -> Int32 {
        let bytes = UnsafeMutableRawPointer.allocate(
            byteCount: max(range.lower.count + range.upper.count, 1), alignment: 8)
        range.lower.withUnsafeBytes {
            if let from = $0.baseAddress { bytes.copyMemory(from: from, byteCount: $0.count) }
        }
        let middle = bytes + range.lower.count
        range.upper.withUnsafeBytes {
            if let from = $0.baseAddress { middle.copyMemory(from: from, byteCount: $0.count) }
        }
        let lower = Bound(bytes, count: range.lower.count)
        let upper = Bound(middle, count: range.upper.count)
        let known = find(lower, upper)
        if known >= 0 {
            bytes.deallocate()
            return known
        }
        var hasher = Hasher()
        hasher.combine(range.lower.count)
        hasher.combine(
            bytes: UnsafeRawBufferPointer(start: bytes, count: range.lower.count + range.upper.count))
        let number = nodes.insert(
            Node(lower: lower, upper: upper, greatest: upper, priority: hasher.finalize(), bytes: bytes))
        root = insert(number, beneath: root)
        return number
    }

    /// Removes a node, whose list must be empty.
    mutating func remove(_ number: Int32) {
        root = remove(number, beneath: root)
        nodes[number].pointee.bytes?.deallocate()
        nodes[number].pointee.bytes = nil
        nodes.remove(number)
    }

    private func find(_ lower: Bound, _ upper: Bound) -> Int32 {
        var number = root
        while number >= 0 {
            let order = Self.order(lower, upper, nodes[number])
            if order == 0 { return number }
            number = order < 0 ? nodes[number].pointee.left : nodes[number].pointee.right
        }
        return number
    }

    private static func order(_ lower: Bound, _ upper: Bound, _ node: UnsafeMutablePointer<Node>) -> Int {
        let order = Bound.compare(lower, node.pointee.lower)
        return order != 0 ? order : Bound.compare(upper, node.pointee.upper)
    }
}

// The treap: each function returns the root of the subtree as it is afterwards.
extension RangeTree {
    private func insert(_ new: Int32, beneath number: Int32) -> Int32 {
        guard number >= 0 else { return new }
        let node = nodes[number]
        let (lower, upper) = (nodes[new].pointee.lower, nodes[new].pointee.upper)
        if Self.order(lower, upper, node) < 0 {
            let child = insert(new, beneath: node.pointee.left)
            node.pointee.left = child
            if nodes[child].pointee.priority > node.pointee.priority {
                node.pointee.left = nodes[child].pointee.right
                nodes[child].pointee.right = number
                refresh(number)
                refresh(child)
                return child
            }
        } else {
            let child = insert(new, beneath: node.pointee.right)
            node.pointee.right = child
            if nodes[child].pointee.priority > node.pointee.priority {
                node.pointee.right = nodes[child].pointee.left
                nodes[child].pointee.left = number
                refresh(number)
                refresh(child)
                return child
            }
        }
        refresh(number)
        return number
    }

    private func remove(_ target: Int32, beneath number: Int32) -> Int32 {
        guard number >= 0 else { return number }
        let node = nodes[number]
        if number == target { return merge(node.pointee.left, node.pointee.right) }
        if Self.order(nodes[target].pointee.lower, nodes[target].pointee.upper, node) < 0 {
            node.pointee.left = remove(target, beneath: node.pointee.left)
        } else {
            node.pointee.right = remove(target, beneath: node.pointee.right)
        }
        refresh(number)
        return number
    }

    private func merge(_ left: Int32, _ right: Int32) -> Int32 {
        guard left >= 0 else { return right }
        guard right >= 0 else { return left }
        if nodes[left].pointee.priority > nodes[right].pointee.priority {
            nodes[left].pointee.right = merge(nodes[left].pointee.right, right)
            refresh(left)
            return left
        }
        nodes[right].pointee.left = merge(left, nodes[right].pointee.left)
        refresh(right)
        return right
    }

    private func refresh(_ number: Int32) {
        let node = nodes[number]
        node.pointee.greatest = node.pointee.upper
        raiseGreatest(of: node, by: node.pointee.left)
        raiseGreatest(of: node, by: node.pointee.right)
    }

    private func raiseGreatest(of node: UnsafeMutablePointer<Node>, by child: Int32) {
        guard child >= 0 else { return }
        let greatest = nodes[child].pointee.greatest
        if Bound.compare(node.pointee.greatest, greatest) < 0 { node.pointee.greatest = greatest }
    }
}
