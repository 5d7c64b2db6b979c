/// The predicates to look at for one change: each once, with a bit for each side on which it may match.
struct Candidates: ~Copyable {
    static let before: UInt8 = 1
    static let after: UInt8 = 2

    private var marks: UnsafeMutablePointer<UInt8>
    private var numbers: UnsafeMutablePointer<Int32>
    private var capacity = 64
    private(set) var count = 0

    init() {
        marks = UnsafeMutablePointer<UInt8>.allocate(capacity: capacity)
        marks.initialize(repeating: 0, count: capacity)
        numbers = UnsafeMutablePointer<Int32>.allocate(capacity: capacity)
    }

    deinit {
        marks.deallocate()
        numbers.deallocate()
    }

    /// Makes room for predicates numbered below `bound`; call with no candidates in it.
    mutating func reserve(_ bound: Int) {
        guard bound > capacity else { return }
        capacity = max(bound.roundedUp(toMultipleOf: 64), capacity * 2)
        marks.deallocate()
        numbers.deallocate()
        marks = UnsafeMutablePointer<UInt8>.allocate(capacity: capacity)
        marks.initialize(repeating: 0, count: capacity)
        numbers = UnsafeMutablePointer<Int32>.allocate(capacity: capacity)
    }

    /// Adds sides to a predicate, which must be below the bound of `reserve`.
    @inline(__always)
    mutating func mark(_ number: Int32, _ sides: UInt8) {
        let place = marks + Int(number)
        if place.pointee == 0 {
            numbers[count] = number
            count += 1
        }
        place.pointee |= sides
    }

    /// Calls `body` with each candidate in ascending order, and forgets them all.
    ///
    /// - Complexity: O(1) for a few candidates, O(bound + count) for many; nothing is allocated.
    @inline(__always)
    mutating func drain(_ body: (Int32, UInt8) -> Void) {
        if count > Self.sortedCount {
            drainInOrderOfMarks(body)
        } else {
            if count > 1 { sortNumbers() }
            for place in 0..<count {
                let number = numbers[place]
                let sides = marks[Int(number)]
                marks[Int(number)] = 0
                body(number, sides)
            }
        }
        count = 0
    }

    /// The most candidates that are sorted; of more, all marks are looked through, eight at a time.
    private static let sortedCount = 32

    private mutating func sortNumbers() {
        for place in 1..<count {
            let number = numbers[place]
            var gap = place
            while gap > 0, numbers[gap - 1] > number {
                numbers[gap] = numbers[gap - 1]
                gap -= 1
            }
            numbers[gap] = number
        }
    }

    private mutating func drainInOrderOfMarks(_ body: (Int32, UInt8) -> Void) {
        let words = UnsafeMutableRawPointer(marks)
        var left = count
        var offset = 0
        while left > 0, offset < capacity {
            if words.load(fromByteOffset: offset, as: UInt64.self) != 0 {
                for number in offset..<(offset + 8) where marks[number] != 0 {
                    let sides = marks[number]
                    marks[number] = 0
                    left -= 1
                    body(Int32(number), sides)
                }
            }
            offset += 8
        }
    }

    /// Forgets all candidates.
    mutating func removeAll() {
        for place in 0..<count { marks[Int(numbers[place])] = 0 }
        count = 0
    }
}

extension Int {
    fileprivate func roundedUp(toMultipleOf unit: Int) -> Int { (self + unit - 1) / unit * unit }
}
