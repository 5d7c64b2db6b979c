import DocDBCore
import DocDBInspect
import Testing

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

@Suite("ByteStreams")
struct ByteStreamsTests {
    private func openPipe() throws -> (reading: Int32, writing: Int32) {
        var ends: [Int32] = [0, 0]
        try #require(pipe(&ends) == 0)
        return (ends[0], ends[1])
    }

    private func read(_ source: any ByteSource, atMost count: Int) throws -> String {
        var bytes = [UInt8](repeating: 0, count: count)
        let taken = try bytes.withUnsafeMutableBytes { try source.read(into: $0) }
        return String(decoding: bytes[..<taken], as: UTF8.self)
    }

    @Test("what goes into a pipe's sink comes out of its source")
    func pipes() throws {
        let ends = try openPipe()
        try DescriptorSink(ends.writing).write("hello")
        close(ends.writing)
        let source = DescriptorSource(descriptor: ends.reading, isInterrupted: { false })
        #expect(source.byteCount == nil)
        #expect(try read(source, atMost: 3) == "hel")
        #expect(try read(source, atMost: 3) == "lo")
        #expect(try read(source, atMost: 3).isEmpty)
        close(ends.reading)
    }

    @Test("a pipe that nobody reads closes the output")
    func closedPipe() throws {
        Interruption.ignoreClosedPipes()
        let ends = try openPipe()
        close(ends.reading)
        #expect(throws: OutputClosed.self) { try DescriptorSink(ends.writing).write("hello") }
        close(ends.writing)
    }

    @Test("a descriptor that cannot be written gives an error, not silence")
    func unwritable() throws {
        let ends = try openPipe()
        let error = #expect(throws: DocDBError.self) { try DescriptorSink(ends.reading).write("hello") }
        #expect(error?.code == .storageFailed)
        close(ends.reading)
        close(ends.writing)
    }

    @Test("a directory is no input")
    func directory() {
        let error = #expect(throws: DocDBError.self) { try DescriptorSource(path: "/", isInterrupted: { false }) }
        #expect(error?.message.contains("is a directory") == true)
    }

    @Test("buffered writes keep their order, whatever their sizes")
    func buffered() throws {
        let sink = MemorySink()
        let buffered = BufferedSink(sink)
        var expected = ""
        for count in [1, 70_000, 5, 65_536, 65_535, 2, 0, 3] {
            let text = String(repeating: Character(UnicodeScalar(UInt8(97 + count % 26))), count: count)
            expected += text
            try buffered.write(text)
        }
        try buffered.flush()
        #expect(sink.text == expected)
    }

    @Test("small writes reach the sink at the flush")
    func unflushed() throws {
        let sink = MemorySink()
        let buffered = BufferedSink(sink)
        try buffered.write("hello")
        #expect(sink.bytes.isEmpty)
        try buffered.flush()
        #expect(sink.text == "hello")
    }
}
