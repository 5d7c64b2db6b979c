import DocDBCore
import DocDBStorage
import Testing

/// Blocks of the change log whose head lies about what they unfold to.
@Suite("Blocks of the change log")
struct ChangeLogBlockTests {
    private static func unpack(
        _ data: [UInt8], _ codec: ChangeLogFormat.Codec, rawLength: Int64
    ) throws -> [UInt8] {
        var output = ByteBuffer()
        try data.withUnsafeBytes { data in
            try ChangeLogBlock.unpack(
                data, codec: codec, rawLength: rawLength,
                checksum: Int64(bitPattern: ContentHash.checksum(data)), into: &output)
        }
        return output.array
    }

    private static func packed(_ raw: [UInt8]) -> [UInt8] {
        var output = ByteBuffer()
        let codec = raw.withUnsafeBytes { ChangeLogBlock.pack($0, into: &output) }
        #expect(codec == .lz4Block)
        return output.array
    }

    @Test("come back as they were packed")
    func roundTrip() throws {
        let raw = [UInt8](repeating: 7, count: 100_000)
        let data = Self.packed(raw)
        #expect(data.count < 1000)
        #expect(try Self.unpack(data, .lz4Block, rawLength: 100_000) == raw)
    }

    @Test(
        "are refused where they claim another length, before memory is taken for it",
        arguments: [-1, 0, 99_999, 100_001, 1 << 30, .max, .min] as [Int64])
    func wrongLength(_ length: Int64) {
        let data = Self.packed([UInt8](repeating: 7, count: 100_000))
        #expect(throws: CBORError.self) { try Self.unpack(data, .lz4Block, rawLength: length) }
        #expect(throws: CBORError.self) { try Self.unpack(data, .rawBlock, rawLength: length) }
    }

    @Test("are refused where they claim more than compression can have saved")
    func bomb() {
        let data = [UInt8](repeating: 0xFF, count: 64)
        #expect(throws: CBORError.self) { try Self.unpack(data, .lz4Block, rawLength: 64 * 256) }
        #expect(throws: CBORError.self) { try Self.unpack(data, .lz4Block, rawLength: 64 * 256 + 1) }
        #expect(throws: CBORError.self) { try Self.unpack([], .lz4Block, rawLength: 1) }
    }

    @Test("a record tells of no more insertions than a store can hold")
    func insertions() throws {
        var record = ByteBuffer()
        record.append(1)
        record.appendZeros(16)
        record.append(utf8: "\u{0}\u{1}\u{1}\u{2}\u{2}")
        record.appendVarint(1000)
        let entries = try ChangeLogRecord(sequence: 9, bytes: record.bytes, insertionLimit: 1000).entries
        #expect(entries.count == 1000)
        #expect(throws: CBORError.self) {
            try ChangeLogRecord(sequence: 9, bytes: record.bytes, insertionLimit: 999)
        }
    }

    @Test("a record whose keys run beyond the last one is written again as it was")
    func lastKeys() throws {
        var record = ByteBuffer()
        record.append(1)
        record.appendZeros(16)
        record.append(utf8: "\u{0}\u{1}\u{1}\u{2}")
        // Zigzag: the greatest key is the greatest even number of 64 bits.
        record.appendVarint(.max - 1)
        record.append(3)
        let read = try ChangeLogRecord(sequence: 9, bytes: record.bytes, insertionLimit: 10)
        #expect(read.entries.map(\.key) == [.max, .min, .min + 1])
        var written = ByteBuffer()
        read.append(to: &written)
        #expect(written.array == record.array)
    }
}
