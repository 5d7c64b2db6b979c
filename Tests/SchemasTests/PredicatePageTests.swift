import DocDBCore
import DocDBQuery
import Foundation
import Testing

/// The examples, words and bounds of `Schemas/predicates.md` against the code.
@Suite("The page of the predicate language")
struct PredicatePageTests {
    /// A cell without the backquotes around it.
    private static func code(_ cell: String) -> String {
        let ticks = cell.prefix { $0 == "`" }.count
        return cell.dropFirst(ticks).dropLast(ticks).trimmingCharacters(in: .whitespaces)
    }

    private static func filter(_ text: String) throws -> Filter { try Filter.parse(text, arguments: [:]) }

    @Test("each example prints as its canonical text and is true where the page says so")
    func examples() throws {
        let section = try SchemaFiles.section("Examples", of: "predicates.md")
        let block = try #require(SchemaFiles.blocks(of: section).first)
        let names = FieldNames()
        var transcoder = JSONTranscoder()
        var body = ByteBuffer()
        var id = ByteBuffer()
        try Array(block.utf8).withUnsafeBytes { try transcoder.transcode($0, names: names, body: &body, id: &id) }
        let rows = SchemaFiles.rows(of: section)
        #expect(rows.count > 30)
        #expect(Set(rows.map { $0[2] }) == ["yes", "no"])
        for row in rows {
            let (text, canonical) = (Self.code(row[0]), Self.code(row[1]))
            let filter = try Self.filter(text)
            #expect(filter.description == canonical, "\(text)")
            #expect(try Self.filter(canonical) == filter, "\(text)")
            let evaluator = Evaluator(filter, names: names)
            #expect(evaluator.matches(body: body.bytes, id: id.bytes) == (row[2] == "yes"), "\(text)")
        }
    }

    @Test("every function of the page's tables is one, and others are not")
    func functions() throws {
        let section = try SchemaFiles.section("Meaning", of: "predicates.md")
        let calls = SchemaFiles.rows(of: section).flatMap { row in
            row[0].matches(of: /`(\w+)\((\w+(?:, \w+)?)\)`/).map { (String($0.output.1), String($0.output.2)) }
        }
        #expect(calls.count == 12)
        for (name, arguments) in calls {
            let isRegex = name == "regex"
            let text = "\(name)(\(isRegex ? "a, 'p'" : arguments))"
            #expect(throws: Never.self, "\(text)") { try Self.filter(text) }
            let unknown = "x\(name)(\(isRegex ? "a, 'p'" : arguments))"
            #expect(throws: DocDBError.self, "\(unknown)") { try Self.filter(unknown) }
        }
    }

    @Test("the keywords of the page cannot begin a path, in any case, and can in backquotes")
    func keywords() throws {
        let page = try SchemaFiles.text("predicates.md")
        let list = try #require(page.firstMatch(of: /Keywords \(`([^`]*)`\)/)).output.1.split(separator: " ")
        #expect(list.count == 10)
        for keyword in list {
            for spelt in [String(keyword), keyword.uppercased()] {
                let paths = (try? Self.filter("\(spelt) == 1").description) ?? "refused"
                #expect(!paths.hasPrefix("`\(spelt)`"), "\(spelt)")
                #expect(try Self.filter("`\(spelt)` == 1").description == "`\(spelt)` == 1")
            }
        }
        #expect(try Self.filter("sometimes == 1").description == "sometimes == 1")
    }

    @Test("the page tells the bounds that the code has")
    func bounds() throws {
        let rows = SchemaFiles.rows(of: try SchemaFiles.section("Bounds", of: "predicates.md"))
        let values: [[Int]] = [
            [QueryLimits.textByteCount], [QueryLimits.nestingDepth, QueryLimits.literalDepth], [QueryLimits.nodeCount],
            [QueryLimits.literalValueCount], [QueryLimits.patternByteCount], [QueryLimits.evaluationStepCount],
            [
                QueryLimits.regexStepCount, Int(QueryLimits.regexMatchCount), Int(QueryLimits.regexDepth),
                Int(QueryLimits.regexHeapKibibytes) * 1024,
            ],
        ]
        #expect(rows.count == values.count)
        for (row, values) in zip(rows, values) {
            let told = row[1].split(separator: ";").map {
                SchemaFiles.number($0.trimmingCharacters(in: .whitespaces))
            }
            #expect(told == values, "\(row[0])")
        }
    }
}
