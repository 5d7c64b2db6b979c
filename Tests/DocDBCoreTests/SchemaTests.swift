import DocDBCore
import Foundation
import Testing

/// Checks the golden vectors in the descriptions of formats, so that those stay true.
@Suite("Schemas") struct SchemaTests {
    /// The cells of the table of golden vectors in a file of `Schemas`, without the head.
    static func vectors(_ file: String) throws -> [[String]] {
        let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
        let text = try String(contentsOf: root.appending(path: "Schemas/\(file)"), encoding: .utf8)
        let section = try #require(text.components(separatedBy: "## Golden vectors").last)
        return section.split(separator: "\n").filter { $0.hasPrefix("|") }.dropFirst(2).map { row in
            row.dropFirst().dropLast().components(separatedBy: " |").map {
                $0.trimmingCharacters(in: .whitespaces).trimmingCharacters(in: ["`"])
            }
        }
    }

    @Test("document bodies are those of the byte table")
    func documentBody() throws {
        let rows = try Self.vectors("document-body.md")
        #expect(rows.count == 6)
        for row in rows {
            let names = FieldNames()
            let (body, id) = try JSONTranscoderTests.transcode(Array(row[0].utf8), names: names)
            #expect(body == bytes(row[1]), "\(row[0])")
            #expect(id == bytes(row[2]), "\(row[0])")
            #expect((0..<names.count).compactMap(names.string).joined(separator: " ") == row[3], "\(row[0])")
        }
    }

    @Test("index keys are those of the byte table")
    func orderEncoding() throws {
        let rows = try Self.vectors("order-encoding.md")
        #expect(rows.count == 17)
        for row in rows {
            let value: Value? =
                switch row[0] {
                case "missing": nil
                case let text where text.hasPrefix("h'"): .bytes(bytes(String(text.dropFirst(2).dropLast())))
                default: try JSONTranscoderTests.value(row[0])
                }
            #expect(try OrderEncodingTests.encode(value) == bytes(row[1]), "\(row[0])")
            #expect(try OrderEncodingTests.encode(value, descending: true) == bytes(row[2]), "\(row[0])")
        }
    }
}
