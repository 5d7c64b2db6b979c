/// Work that waits for its time, by key: a binary heap in which what was replaced or cancelled is skipped when it is met.
///
/// - Complexity: O(log n) to set and to take, O(1) to cancel.
package struct TimerQueue {
    private struct Entry {
        var deadline: UInt64
        var order: UInt64
        var work: @Sendable () -> Void
    }

    private struct Node {
        var deadline: UInt64
        var order: UInt64
        var key: UInt64

        func precedes(_ other: Node) -> Bool { (deadline, order) < (other.deadline, other.order) }
    }

    private var entries: [UInt64: Entry] = [:]
    private var heap: [Node] = []
    private var nextOrder: UInt64 = 0

    package init() {}

    /// How many keys wait.
    package var count: Int { entries.count }

    /// Sets what is to be done under a key, and when, in place of what was set before.
    package mutating func set(key: UInt64, deadline: UInt64, _ work: @escaping @Sendable () -> Void) {
        nextOrder += 1
        entries[key] = Entry(deadline: deadline, order: nextOrder, work: work)
        if heap.count > 2 * entries.count + 64 {
            heap = entries.map { Node(deadline: $0.value.deadline, order: $0.value.order, key: $0.key) }
            heap.sort { $0.precedes($1) }
        } else {
            heap.append(Node(deadline: deadline, order: nextOrder, key: key))
            siftUp(heap.count - 1)
        }
    }

    /// Forgets what was set under a key.
    package mutating func cancel(key: UInt64) { entries[key] = nil }

    /// The earliest time that something waits for; nil where nothing does.
    package mutating func nextDeadline() -> UInt64? {
        while let first = heap.first {
            if entries[first.key]?.order == first.order { return first.deadline }
            removeFirst()
        }
        return nil
    }

    /// Takes the earliest work whose time has come.
    package mutating func takeDue(now: UInt64) -> (@Sendable () -> Void)? {
        guard let deadline = nextDeadline(), deadline <= now, let first = heap.first else { return nil }
        removeFirst()
        return entries.removeValue(forKey: first.key)?.work
    }

    private mutating func removeFirst() {
        let last = heap.removeLast()
        guard !heap.isEmpty else { return }
        heap[0] = last
        siftDown()
    }

    private mutating func siftUp(_ from: Int) {
        var index = from
        while index > 0 {
            let parent = (index - 1) / 2
            guard heap[index].precedes(heap[parent]) else { return }
            heap.swapAt(index, parent)
            index = parent
        }
    }

    private mutating func siftDown() {
        var index = 0
        while true {
            var least = index
            for child in [2 * index + 1, 2 * index + 2] where child < heap.count && heap[child].precedes(heap[least]) {
                least = child
            }
            guard least != index else { return }
            heap.swapAt(index, least)
            index = least
        }
    }
}
