import DocDBCore
import DocDBInspect

extension FuzzTarget {
    /// A file of records as `docdb-inspect import` reads it: one array, or objects one after the other.
    static let splitter = FuzzTarget(
        name: "splitter", words: ["[{", "},{", "}]", "}\n{", "\\\"", "\\u0041", "\"_id\":", "\u{FEFF}", "{\"a\":"],
        seeds: {
            [
                "{\"a\":1}\n  {\"b\":\"}{\\\"][\"}\r\n\n{\"c\":[{\"d\":[]},{}]}{\"é\":\"ü\"} {\"e\":2}",
                "\u{FEFF} [ {\"a\":\"x\\\\\"} ,\n{\"b\":{\"c\":\"\\\\\\\"\"}},{}\n]\n ",
                "[{\"_id\":7,\"a\":7},{\"a\":{\"_id\":null}},{\"\\u0061\":\"\\ud83d\\ude00\"}]",
                "{\"a\":[[[[[[[[[[[[[[[[[[[[[[[[{}]]]]]]]]]]]]]]]]]]]]]]]]}\n", "[ ]", "",
            ].map { Array($0.utf8) }
        },
        run: runSplitter)

    private struct Split: Equatable {
        var offsets: [Range<Int>] = []
        var positions: [TextPosition] = []
        var fault: RecordError?
    }

    private static func runSplitter(_ bytes: [UInt8]) throws {
        let whole = try split(bytes, chunkByteCount: max(1, bytes.count))
        for count in [1, 2, 7, 64] {
            try require(try split(bytes, chunkByteCount: count) == whole, "chunks of \(count) bytes split otherwise")
        }
        try checkBetween(bytes, whole)
        let limited = try split(bytes, chunkByteCount: 16, recordLimit: 24)
        try require(limited.offsets.allSatisfy { $0.count <= 24 }, "a record is longer than the limit")
        try require(
            zip(limited.offsets, whole.offsets).allSatisfy { $0 == $1 }, "a limit moves the records before it")
        for range in whole.offsets { try withBlock(bytes[range]) { try identify($0) } }
    }

    private static func split(
        _ bytes: [UInt8], chunkByteCount: Int, recordLimit: Int = Limits.jsonDocumentByteCount
    ) throws -> Split {
        let source = BytesSource(bytes)
        var splitter = RecordSplitter(source, chunkByteCount: chunkByteCount, recordLimit: recordLimit)
        var result = Split()
        do {
            while let record = try splitter.next() {
                let range = record.offset..<record.offset + record.bytes.count
                try require(range.upperBound <= bytes.count, "a record lies behind the input")
                try require(record.bytes.elementsEqual(bytes[range]), "a record is not what the input holds there")
                try require(splitter.consumedByteCount == range.upperBound, "a record ends elsewhere than it says")
                result.offsets.append(range)
                result.positions.append(splitter.position())
            }
            try require(source.isAtEnd, "the input is not read to its end")
        } catch let fault as RecordError {
            result.fault = fault
            try require(try splitter.next() == nil, "there is a record behind a fault")
        }
        return result
    }

    /// Nothing but structure is left out between records, and each is an object by its braces.
    private static func checkBetween(_ bytes: [UInt8], _ split: Split) throws {
        var end = 0
        for range in split.offsets {
            try require(range.lowerBound >= end && range.count >= 2, "records overlap")
            try require(
                bytes[range.lowerBound] == UInt8(ascii: "{") && bytes[range.upperBound - 1] == UInt8(ascii: "}"),
                "a record is no object")
            try require(isStructure(bytes[end..<range.lowerBound], isFirst: end == 0), "something is left out")
            end = range.upperBound
        }
        if split.fault == nil {
            try require(isStructure(bytes[end...], isFirst: end == 0), "something is left out at the end")
        }
    }

    private static func isStructure(_ bytes: ArraySlice<UInt8>, isFirst: Bool) -> Bool {
        let mark: [UInt8] = [0xEF, 0xBB, 0xBF]
        let rest = isFirst && bytes.starts(with: mark) ? bytes.dropFirst(mark.count) : bytes
        return rest.allSatisfy { " \t\r\n[],".utf8.contains($0) }
    }

    /// Puts the value of a field in front as `_id`: where both are documents, they differ by that alone.
    private static func identify(_ record: UnsafeRawBufferPointer) throws {
        var identifier = RecordIdentifier(field: "a")
        let identified: UnsafeRawBufferPointer
        do { identified = try identifier.identified(record) } catch { return }
        for offset in 0...identified.count {
            try require(0...record.count ~= identifier.recordOffset(offset), "a place lies outside the record")
        }
        let names = FieldNames()
        var transcoder = JSONTranscoder()
        var body = ByteBuffer()
        var id = ByteBuffer()
        guard (try? transcoder.transcode(record, names: names, body: &body, id: &id)) != nil else { return }
        let isOwn = id.count > 0
        let before = (body: body.array, id: id.array)
        body.removeAll()
        id.removeAll()
        let codes: [DocDBError.Code] = [.invalidDocumentID, .documentTooLarge]
        guard
            try accepted(codes, { try transcoder.transcode(identified, names: names, body: &body, id: &id) }) != nil
        else { return }
        try require(body.array == before.body, "an id put in front changes the document")
        try require(id.count > 0 && (!isOwn || id.array == before.id), "an id put in front is another")
    }
}

/// A source over bytes in memory.
private final class BytesSource: ByteSource {
    private let bytes: [UInt8]
    private var position = 0

    init(_ bytes: [UInt8]) { self.bytes = bytes }

    var byteCount: Int? { bytes.count }
    var isAtEnd: Bool { position == bytes.count }

    func read(into buffer: UnsafeMutableRawBufferPointer) -> Int {
        let count = min(buffer.count, bytes.count - position)
        buffer.copyBytes(from: bytes[position..<position + count])
        position += count
        return count
    }
}
