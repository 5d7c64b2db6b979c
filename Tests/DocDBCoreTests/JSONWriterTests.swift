import DocDBCore
import Testing

@Suite("JSONWriter") struct JSONWriterTests {
    static func write(_ value: Value, layout: JSONWriter.Layout = .compact) throws -> String {
        var buffer = ByteBuffer()
        var writer = JSONWriter(layout: layout)
        try value.canonicalCBOR().withUnsafeBytes { try writer.append(value: $0, names: nil, to: &buffer) }
        return String(decoding: buffer.bytes, as: UTF8.self)
    }

    /// Values and the one text each is written as.
    ///
    /// One call a case: the type checker takes very long over them as one array literal.
    private static let writtenForms: [(Value, String)] = {
        var cases: [(Value, String)] = []
        func add(_ v0: Value, _ v1: String) { cases.append((v0, v1)) }
        add(.null, "null")
        add(true, "true")
        add(false, "false")
        add(0, "0")
        add(-1, "-1")
        add(10, "10")
        add(99, "99")
        add(100, "100")
        add(1_000_000_007, "1000000007")
        add(.int(.max), "9223372036854775807")
        add(.int(.min), "-9223372036854775808")
        add(1.0, "1.0")
        add(-0.0, "-0.0")
        add(0.1, "0.1")
        add(1e300, "1e+300")
        add(.float(.leastNonzeroMagnitude), "5e-324")
        add(1e16, "1e+16")
        add("", "\"\"")
        add("a\"\\/\n\r\t\u{8}\u{c}\u{1}\u{1f}\u{7f}é", "\"a\\\"\\\\/\\n\\r\\t\\b\\f\\u0001\\u001f\u{7f}é\"")
        add("12345678\"90\u{1F600}12345678", "\"12345678\\\"90\u{1F600}12345678\"")
        add("Â¢¢¢¢¢", "\"Â¢¢¢¢¢\"")
        add(.bytes([]), "\"\"")
        add(.bytes([0x66]), "\"Zg==\"")
        add(.bytes(Array("fo".utf8)), "\"Zm8=\"")
        add(.bytes(Array("foobar".utf8)), "\"Zm9vYmFy\"")
        add(.bytes([0xFB, 0xFF]), "\"+/8=\"")
        add([], "[]")
        add([1, [], "x"], "[1,[],\"x\"]")
        add(.object([:]), "{}")
        add(["b": 1, "aa": ["d": 1, "c": 2], "é": 3, "Z": 4], "{\"Z\":4,\"aa\":{\"c\":2,\"d\":1},\"b\":1,\"é\":3}")
        return cases
    }()

    @Test(
        "values are written in their one form",
        arguments: writtenForms)
    func compact(value: Value, text: String) throws {
        #expect(try Self.write(value) == text)
    }

    @Test("pretty text has a line a member and an indent a level")
    func pretty() throws {
        let text = try Self.write(["b": [1, [], ["x": nil]], "a": .object([:])], layout: .pretty)
        let expected = """
            {
              "a": {},
              "b": [
                1,
                [],
                {
                  "x": null
                }
              ]
            }
            """
        #expect(text == expected)
    }

    @Test("a document begins with its id, and names are sorted by their bytes whatever their numbers")
    func document() throws {
        let names = FieldNames()
        for name in ["zoo", "b", "a"] { _ = names.intern(name) }
        let document: Value = ["_id": ["k": 1], "a": 1, "Z z": 2, "zoo": ["b": 1, "a": 2], "B": 3]
        var body = ByteBuffer()
        var id = ByteBuffer()
        try document.appendDocument(names: names, body: &body, id: &id)
        var buffer = ByteBuffer()
        var writer = JSONWriter()
        try writer.append(body: body.bytes, id: id.bytes, names: names, to: &buffer)
        #expect(
            String(decoding: buffer.bytes, as: UTF8.self)
                == "{\"_id\":{\"k\":1},\"B\":3,\"Z z\":2,\"a\":1,\"zoo\":{\"a\":2,\"b\":1}}")
    }

    @Test("random documents survive writing and reading", arguments: [UInt64(71), 72, 73])
    func roundTrip(seed: UInt64) throws {
        var random = RandomValues(seed: seed)
        var transcoder = JSONTranscoder()
        for layout in [JSONWriter.Layout.compact, .pretty] {
            for _ in 0..<200 {
                let value = Value.object(random.members()).withoutBytes
                let text = Array(try Self.write(value, layout: layout).utf8)
                var buffer = ByteBuffer()
                try text.withUnsafeBytes { try transcoder.transcodeValue($0, names: nil, to: &buffer) }
                #expect(try Value.decode(buffer.bytes, names: nil) == value, "seed \(seed)")
            }
        }
    }

    @Test(
        "damaged bodies are refused and leave the buffer as it was",
        arguments: ["a1 00", "a1 05 01", "01", "a0 00", "a1 00 f97e00"])
    func damaged(hexadecimal: String) throws {
        var buffer = ByteBuffer()
        buffer.append(7)
        var writer = JSONWriter()
        let names = FieldNames()
        _ = names.intern("a")
        #expect(throws: CBORError.self) {
            try bytes(hexadecimal).withUnsafeBytes {
                try writer.append(body: $0, id: UnsafeRawBufferPointer(start: nil, count: 0), names: names, to: &buffer)
            }
        }
        #expect(buffer.array == [7])
    }
}
