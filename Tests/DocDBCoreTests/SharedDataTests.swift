import DocDBCore
import Foundation
import Testing

/// Reads real files, where they lie beside the package.
@Suite("Real files") struct SharedDataTests {
    static func file(_ name: String) -> URL {
        URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
            .appending(path: "../shared/data/\(name)").standardized
    }

    /// Compares a value with what Foundation reads, numbers as doubles.
    static func isEqual(_ value: Value, _ other: Any) -> Bool {
        switch value {
        case .null: return other is NSNull
        case .bool(let value): return (other as? Bool) == value
        case .int, .float: return (other as? NSNumber)?.doubleValue == value.doubleValue
        case .string(let value): return (other as? String) == value
        case .bytes: return false
        case .array(let elements):
            guard let others = other as? [Any], others.count == elements.count else { return false }
            return zip(elements, others).allSatisfy { isEqual($0, $1) }
        case .object(let members):
            guard let others = other as? [String: Any], others.count == members.count else { return false }
            return members.allSatisfy { name, value in others[name].map { isEqual(value, $0) } ?? false }
        }
    }

    @Test(
        "files read as an independent parser reads them, and survive writing",
        arguments: [("cars.json", 406), ("movies.json", 3201)])
    func file(name: String, count: Int) throws {
        guard let text = try? Data(contentsOf: Self.file(name)) else {
            print("skipped: there is no ../shared/data/\(name) beside the package")
            return
        }
        let names = FieldNames()
        var transcoder = JSONTranscoder()
        var encoded = ByteBuffer()
        try text.withUnsafeBytes { try transcoder.transcodeValue($0, names: names, to: &encoded) }
        try CBOR.validate(encoded.bytes, internedKeyCount: names.count)
        let value = try Value.decode(encoded.bytes, names: names)
        let records = try #require(value.arrayValue)
        #expect(records.count == count)
        #expect(Self.isEqual(value, try JSONSerialization.jsonObject(with: text)))

        var writer = JSONWriter(layout: .pretty)
        var json = ByteBuffer()
        for record in records {
            var direct = ByteBuffer()
            var body = ByteBuffer()
            var id = ByteBuffer()
            try record.appendDocument(names: names, body: &direct, id: &id)
            json.removeAll()
            try writer.append(body: direct.bytes, id: id.bytes, names: names, to: &json)
            try transcoder.transcode(json.bytes, names: names, body: &body, id: &id)
            #expect(body.array == direct.array)
        }
    }
}
