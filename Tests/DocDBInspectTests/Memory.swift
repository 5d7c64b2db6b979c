import DocDBInspect

/// A source over bytes in memory, handed out in pieces of at most `pieceByteCount`.
final class MemorySource: ByteSource {
    private let bytes: [UInt8]
    private let pieceByteCount: Int
    private var position = 0
    private(set) var largestRequest = 0

    init(_ bytes: [UInt8], pieceByteCount: Int = Int.max) {
        self.bytes = bytes
        self.pieceByteCount = pieceByteCount
    }

    convenience init(_ text: String, pieceByteCount: Int = Int.max) {
        self.init(Array(text.utf8), pieceByteCount: pieceByteCount)
    }

    var byteCount: Int? { bytes.count }

    func read(into buffer: UnsafeMutableRawBufferPointer) -> Int {
        largestRequest = max(largestRequest, buffer.count)
        let count = min(buffer.count, bytes.count - position, pieceByteCount)
        buffer.copyBytes(from: bytes[position..<position + count])
        position += count
        return count
    }
}

/// A sink that keeps what it is given.
final class MemorySink: ByteSink {
    private(set) var bytes: [UInt8] = []
    /// Throws `OutputClosed` once this many bytes have been taken.
    var capacity = Int.max

    var text: String { String(decoding: bytes, as: UTF8.self) }

    func write(_ bytes: UnsafeRawBufferPointer) throws {
        guard self.bytes.count + bytes.count <= capacity else { throw OutputClosed() }
        self.bytes.append(contentsOf: bytes)
    }
}

/// A console in memory, with what a command printed.
struct TestConsole {
    let output = MemorySink()
    let error = MemorySink()
    var terminal = Terminal()
    var input = ""

    func run(_ arguments: [String]) -> Int32 {
        let input = input
        return Inspector.run(
            arguments,
            on: Console(
                output: output, error: error, openInput: { MemorySource(input) }, terminal: terminal, clock: { 0 },
                catchInterrupts: {}, isInterrupted: { false }))
    }
}
