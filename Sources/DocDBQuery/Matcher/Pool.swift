/// Elements of plain bits under small numbers that stay theirs until they are freed, and are then given out again.
struct Pool<Element: BitwiseCopyable>: ~Copyable {
    private var base: UnsafeMutablePointer<Element>
    private var capacity: Int
    private var freeNumbers: [Int32] = []
    /// All numbers given out so far are below it.
    private(set) var bound = 0

    init() {
        capacity = 8
        base = UnsafeMutablePointer<Element>.allocate(capacity: capacity)
    }

    deinit { base.deallocate() }

    /// Stores an element and returns its number, which is not negative.
    ///
    /// - Complexity: O(1) amortised. Pointers into the pool are void afterwards.
    mutating func insert(_ element: Element) -> Int32 {
        if let number = freeNumbers.popLast() {
            (base + Int(number)).initialize(to: element)
            return number
        }
        if bound == capacity { grow() }
        (base + bound).initialize(to: element)
        bound += 1
        return Int32(bound - 1)
    }

    private mutating func grow() {
        let newBase = UnsafeMutablePointer<Element>.allocate(capacity: capacity * 2)
        newBase.initialize(from: base, count: bound)
        base.deallocate()
        base = newBase
        capacity *= 2
    }

    /// Frees a number, which must be in use.
    mutating func remove(_ number: Int32) { freeNumbers.append(number) }

    /// The place of an element in use, until the next `insert`.
    @inline(__always)
    subscript(number: Int32) -> UnsafeMutablePointer<Element> { base + Int(number) }
}
