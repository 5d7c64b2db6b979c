import DocDBCore
import Testing

@Suite("Value coding") struct ValueCodingTests {
    @Test("a body has interned keys in ascending order, text keys behind them, and no _id")
    func body() throws {
        let names = FieldNames()
        _ = names.intern("zebra")
        var body = ByteBuffer()
        var id = ByteBuffer()
        let document: Value = ["_id": "x", "odd key": 1, "make": "toyota", "zebra": true, "b b": 2, "s": ["make": nil]]
        try document.appendDocument(names: names, body: &body, id: &id)
        // zebra is 0; the new names are numbered in the order of their bytes: make 1, s 2.
        #expect(
            body.hexadecimal
                == "a5" + "00f5" + "0166746f796f7461" + "02a101f6" + "6362206202" + "676f6464206b657901")
        #expect(id.hexadecimal == "6178")
        #expect(try Value.document(body: body.bytes, id: id.bytes, names: names) == document)
    }

    @Test("random documents come back from their bodies, which are deterministic", arguments: [UInt64(21), 22, 23])
    func roundTrip(seed: UInt64) throws {
        var random = RandomValues(seed: seed)
        let names = FieldNames()
        for _ in 0..<300 {
            var members = random.members()
            members["_id"] = nil
            var body = ByteBuffer()
            try Value.appendBody(of: members, names: names, to: &body)
            try CBOR.validate(body.bytes, internedKeyCount: names.count)
            #expect(try Value.decode(body.bytes, names: names) == .object(members), "seed \(seed)")
        }
    }

    @Test(
        "a value prints as JSON, what cannot be stored as a question mark",
        arguments: [
            (nil, "null"), (true, "true"), (9_500, "9500"), (1.0, "1.0"), ("a \"b\"", #""a \"b\"""#),
            (.bytes([1, 2]), "\"AQI=\""),
            ([1, "b", []], #"[1,"b",[]]"#), (["b": 1, "a": ["c": nil]], #"{"a":{"c":null},"b":1}"#),
            (.float(.nan), "?"),
        ] as [(Value, String)])
    func description(value: Value, text: String) { #expect("\(value)" == text) }

    @Test("looking names up only adds none")
    func lookup() throws {
        let names = FieldNames()
        var body = ByteBuffer()
        try Value.appendBody(of: ["a": 1], names: names, interning: false, to: &body)
        #expect(names.count == 0)
        #expect(body.hexadecimal == "a1616101")
    }

    @Test("an object of many members has a wider head")
    func wideHead() throws {
        for count in [23, 24, 255, 256, 300] {
            let members = Dictionary(uniqueKeysWithValues: (0..<count).map { ("f\($0)", Value.int(Int64($0))) })
            var body = ByteBuffer()
            try Value.appendBody(of: ["x": .object(members)], names: FieldNames(), to: &body)
            let head: [UInt8] =
                count < 24
                ? [0xA0 | UInt8(count)] : count < 256 ? [0xB8, UInt8(count)] : [0xB9, 1, UInt8(count - 256)]
            #expect(Array(body.array[2..<(2 + head.count)]) == head)
        }
    }

    @Test(
        "NaN and infinities are refused and leave the buffer as it was", arguments: [Double.nan, .infinity, -.infinity])
    func notFinite(value: Double) throws {
        var body = ByteBuffer()
        body.append(7)
        let error = try #require(throws: DocDBError.self) {
            try Value.appendBody(of: ["a": [.float(value)]], names: nil, to: &body)
        }
        #expect(error.code == .invalidValue)
        #expect(body.array == [7])
    }

    @Test("documents too deep or too large are refused")
    func limits() throws {
        func nested(_ depth: Int) -> Value { depth == 0 ? .array([]) : .array([nested(depth - 1)]) }
        var body = ByteBuffer()
        try Value.appendBody(of: ["a": nested(Limits.nestingDepth - 2)], names: nil, to: &body)
        var error = try #require(throws: DocDBError.self) {
            try Value.appendBody(of: ["a": nested(Limits.nestingDepth - 1)], names: nil, to: &body)
        }
        #expect(error.code == .documentTooDeep)
        // A map of one member: head, key of two bytes, head of five bytes, content.
        let largest = Limits.documentByteCount - 8
        body.removeAll()
        try Value.appendBody(of: ["a": .bytes(Array(repeating: 0, count: largest))], names: nil, to: &body)
        #expect(body.count == Limits.documentByteCount)
        error = try #require(throws: DocDBError.self) {
            try Value.appendBody(of: ["a": .bytes(Array(repeating: 0, count: largest + 1))], names: nil, to: &body)
        }
        #expect(error.code == .documentTooLarge)
        #expect(body.count == Limits.documentByteCount)
    }

    @Test("only objects are documents, and only with suitable ids")
    func unsuitable() throws {
        var body = ByteBuffer()
        var id = ByteBuffer()
        var error = try #require(throws: DocDBError.self) {
            try Value.array([]).appendDocument(names: nil, body: &body, id: &id)
        }
        #expect(error.code == .invalidValue)
        error = try #require(throws: DocDBError.self) {
            try Value.object(["_id": nil]).appendDocument(names: nil, body: &body, id: &id)
        }
        #expect(error.code == .invalidDocumentID)
        #expect(body.count == 0)
    }
}

extension FieldNames {
    func intern(_ name: String) -> Int? {
        var name = name
        return name.withUTF8 { intern(UnsafeRawBufferPointer($0)) }
    }
}
