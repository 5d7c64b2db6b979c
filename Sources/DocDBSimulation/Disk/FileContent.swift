/// The bytes of a file, which grow by doubling; copied as wholes, which keeps unoptimised test builds fast.
struct FileContent: ~Copyable {
    private var storage: UnsafeMutableRawBufferPointer
    private(set) var count = 0

    init() { storage = .allocate(byteCount: 0, alignment: 1) }

    init(copying other: borrowing FileContent) {
        storage = .allocate(byteCount: other.count, alignment: 1)
        count = other.count
        storage.copyMemory(from: other.bytes)
    }

    deinit { storage.deallocate() }

    var bytes: UnsafeRawBufferPointer { UnsafeRawBufferPointer(rebasing: storage[..<count]) }

    var array: [UInt8] { Self.array(bytes) }

    static func array(_ bytes: UnsafeRawBufferPointer) -> [UInt8] {
        [UInt8](unsafeUninitializedCapacity: bytes.count) { buffer, count in
            UnsafeMutableRawBufferPointer(buffer).copyMemory(from: bytes)
            count = bytes.count
        }
    }

    /// Writes bytes; what lies between the end and `offset` becomes zero.
    mutating func write(_ bytes: UnsafeRawBufferPointer, at offset: Int) {
        let end = offset + bytes.count
        if end > count { resize(to: end) }
        UnsafeMutableRawBufferPointer(rebasing: storage[offset..<end]).copyMemory(from: bytes)
    }

    /// Cuts the bytes, or adds zeros.
    mutating func resize(to newCount: Int) {
        if newCount > storage.count {
            let larger = UnsafeMutableRawBufferPointer.allocate(
                byteCount: max(newCount, 2 * storage.count, 4_096), alignment: 16)
            larger.copyMemory(from: bytes)
            storage.deallocate()
            storage = larger
        }
        if newCount > count {
            _ = UnsafeMutableRawBufferPointer(rebasing: storage[count..<newCount])
                .initializeMemory(as: UInt8.self, repeating: 0)
        }
        count = newCount
    }
}
