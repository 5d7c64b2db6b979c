/// Many texts in one block of memory that stays where it is, so that their addresses can be bound as they are.
///
/// Nothing changes after `init`, which is why threads may share it.
package final class TextTable: @unchecked Sendable {
    private let bytes: UnsafeMutableBufferPointer<UInt8>
    private let ends: [Int]

    /// Copies texts that lie one after the other in `bytes`, each ending at its offset in `ends`.
    package init(_ bytes: [UInt8], ends: [Int]) {
        self.bytes = .allocate(capacity: bytes.count)
        _ = self.bytes.initialize(from: bytes)
        self.ends = ends
    }

    deinit { bytes.deallocate() }

    package var count: Int { ends.count }

    /// All texts, without anything between them.
    package var all: UnsafeBufferPointer<UInt8> { UnsafeBufferPointer(bytes) }

    /// The bytes of one text; they live as long as the table.
    package subscript(position: Int) -> UnsafeBufferPointer<UInt8> {
        let start = position == 0 ? 0 : ends[position - 1]
        return UnsafeBufferPointer(rebasing: bytes[start..<ends[position]])
    }

    /// The texts as strings.
    package func strings() -> [String] { (0..<count).map { String(decoding: self[$0], as: UTF8.self) } }
}
