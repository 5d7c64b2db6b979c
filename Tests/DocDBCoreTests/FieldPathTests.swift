import DocDBCore
import Testing

@Suite("FieldPath") struct FieldPathTests {
    @Test(
        "texts parse to their names",
        arguments: [
            ("a", ["a"]),
            ("a.b.c2", ["a", "b", "c2"]),
            ("_id.storeID", ["_id", "storeID"]),
            ("`odd key`.b", ["odd key", "b"]),
            ("a['odd key']", ["a", "odd key"]),
            ("a[\"odd 'key'\"].c", ["a", "odd 'key'", "c"]),
            ("a['it\\'s']", ["a", "it's"]),
            ("`a\\`b`", ["a`b"]),
            ("a['\\\"\\\\\\n\\r\\t']", ["a", "\"\\\n\r\t"]),
            ("`\\u0041\\u00e9\\ud83d\\uDE00`", ["Aé\u{1F600}"]),
            ("``", [""]),
            ("straße.größe", ["straße", "größe"]),
            ("and.true", ["and", "true"]),
        ])
    func parses(text: String, names: [String]) throws {
        let path = try FieldPath(text)
        #expect(path.components == names)
        #expect(try FieldPath(components: names) == path)
    }

    @Test(
        "texts that are no path are refused with the byte where they fail",
        arguments: [
            ("", 0), (".a", 0), ("a.", 2), ("a..b", 2), ("a b", 1), ("9a", 0), ("a[0]", 2), ("a['b'", 5), ("a['b", 4),
            ("`a", 2), ("a-b", 1), ("['a']", 0), ("`\\x`", 1), ("`\\u12g4`", 1), ("`\\ud800`", 7),
            ("`\\ud800\\u0041`", 13), ("`\\udc00`", 7), ("a.`b`c", 5), ("`\\", 1), ("`\\u12", 1),
        ])
    func refuses(text: String, offset: Int) throws {
        let error = try #require(throws: DocDBError.self) { _ = try FieldPath(text) }
        #expect(error.code == .invalidPath)
        #expect(error.context["offset"] == String(offset))
    }

    @Test("limits on names and bytes hold")
    func limits() throws {
        let deepest = Array(repeating: "a", count: Limits.nestingDepth)
        #expect(try FieldPath(deepest.joined(separator: ".")).components == deepest)
        #expect(throws: DocDBError.self) { _ = try FieldPath((deepest + ["a"]).joined(separator: ".")) }
        let longest = String(repeating: "a", count: Limits.fieldPathByteCount)
        #expect(try FieldPath(longest).components == [longest])
        #expect(throws: DocDBError.self) { _ = try FieldPath(longest + "a") }
        #expect(throws: DocDBError.self) { _ = try FieldPath(String(repeating: "a.", count: 100_000)) }
        #expect(throws: DocDBError.self) { _ = try FieldPath(components: []) }
    }

    @Test(
        "descriptions are canonical",
        arguments: [
            ("a['b']", "a.b"), ("a['b c']", "a.`b c`"), ("`a\\u0060`", "`a\\``"), ("`\\n\\u0001`", "`\\n\\u0001`"),
            ("größe", "`größe`"), ("`1`", "`1`"),
        ])
    func description(text: String, canonical: String) throws {
        #expect(try FieldPath(text).description == canonical)
    }

    @Test("random names survive printing and parsing", arguments: [UInt64(1), 2, 3])
    func roundTrip(seed: UInt64) throws {
        var random = RandomValues(seed: seed)
        for _ in 0..<300 {
            let names = (0...random.below(3)).map { _ in random.name() }
            let path = try FieldPath(components: names)
            #expect(try FieldPath(path.description) == path, "seed \(seed)")
        }
    }

    @Test("equality is by bytes, not by normalised characters")
    func equality() throws {
        let composed = try FieldPath(components: ["\u{E9}"])
        let decomposed = try FieldPath(components: ["e\u{301}"])
        #expect(composed != decomposed)
        #expect(Set([composed, decomposed, composed]).count == 2)
    }

    @Test("literals give paths")
    func literals() {
        let path: FieldPath = "seller.name"
        let same: FieldPath = ["seller", "name"]
        #expect(path == same)
    }

    @Test("encoded paths are the keys of the names, interned where they can be")
    func encoded() throws {
        let names = FieldNames()
        var buffer = ByteBuffer()
        let path: FieldPath = "make.`odd key`.name"
        path.appendEncoded(names: names, to: &buffer, interning: false)
        #expect(
            buffer.array == [0x64] + Array("make".utf8) + [0x67] + Array("odd key".utf8) + [0x64] + Array("name".utf8))
        buffer.removeAll()
        path.appendEncoded(names: names, to: &buffer, interning: true)
        #expect(buffer.array == [0x00, 0x67] + Array("odd key".utf8) + [0x01])
        #expect(try FieldPath.decode(buffer.bytes, names: names) == path)
        let before = buffer.array
        buffer.removeAll()
        path.appendEncoded(names: names, to: &buffer, interning: false)
        #expect(buffer.array == before)
    }
}
