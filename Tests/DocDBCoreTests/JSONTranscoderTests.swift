import DocDBCore
import Testing

@Suite("JSONTranscoder") struct JSONTranscoderTests {
    static func transcode(_ json: [UInt8], names: FieldNames = FieldNames()) throws -> (body: [UInt8], id: [UInt8]) {
        var transcoder = JSONTranscoder()
        var body = ByteBuffer()
        var id = ByteBuffer()
        body.append(0xEE)
        try json.withUnsafeBytes { try transcoder.transcode($0, names: names, body: &body, id: &id) }
        return (Array(body.array.dropFirst()), id.array)
    }

    static func value(_ json: String) throws -> Value {
        var transcoder = JSONTranscoder()
        var buffer = ByteBuffer()
        try Array(json.utf8).withUnsafeBytes { try transcoder.transcodeValue($0, names: nil, to: &buffer) }
        try CBOR.validate(buffer.bytes, internedKeyCount: 0)
        return try Value.decode(buffer.bytes, names: nil)
    }

    /// Texts and the values they stand for.
    ///
    /// One call a case: the type checker takes very long over them as one array literal.
    private static let validTexts: [(String, Value)] = {
        var cases: [(String, Value)] = []
        func add(_ v0: String, _ v1: Value) { cases.append((v0, v1)) }
        add("null", .null)
        add(" true ", true)
        add("false", false)
        add("0", 0)
        add("-0", 0)
        add("-0.0", -0.0)
        add("1", 1)
        add("-1", -1)
        add("23", 23)
        add("24", 24)
        add("255", 255)
        add("256", 256)
        add("65536", 65536)
        add("4294967296", 4_294_967_296)
        add("9223372036854775807", .int(.max))
        add("-9223372036854775808", .int(.min))
        add("999999999999999999", 999_999_999_999_999_999)
        add("1.0", 1.0)
        add("1e3", 1000.0)
        add("1E+3", 1000.0)
        add("1e-3", 0.001)
        add("0.1", 0.1)
        add("-0.5", -0.5)
        add("0e0", 0.0)
        add("-0e5", -0.0)
        add("123456789012345678901234567890.0", 123456789012345678901234567890.0)
        add("5e-324", .float(.leastNonzeroMagnitude))
        add("1e-400", 0.0)
        add("1.7976931348623157e308", .float(.greatestFiniteMagnitude))
        add("9007199254740993.0", 9007199254740992.0)
        add("2.2250738585072011e-308", .float(Double.leastNormalMagnitude.nextDown))
        add("0.000000000000000000000000000001", 1e-30)
        add("10000000000000000000000000000000000e-34", 1.0)
        add("1e22", 1e22)
        add("1e23", 1e23)
        add("100000000000000000000.5", 1e20)
        add("\"\"", "")
        add("\"a\"", "a")
        add("\"\\u0041\\n\\r\\t\\b\\f\\/\\\\\\\"\"", "A\n\r\t\u{8}\u{c}/\\\"")
        add("\"\\ud83d\\ude00\"", "\u{1F600}")
        add("\"\\u0000\"", "\0")
        add("\"é水\u{1F600}\"", "é水\u{1F600}")
        add("\"\u{7F}\"", "\u{7F}")
        add("\"1234567\\\\\"", "1234567\\")
        add("\"12345678é901234567890\"", "12345678é901234567890")
        add("[]", [])
        add("[ ]", [])
        add("[1,[2 , \"3\"],{}]", [1, [2, "3"], .object([:])])
        add("{}", .object([:]))
        add("{ }", .object([:]))
        add("{\"a\":{\"b\":[null]}}", ["a": ["b": [nil]]])
        add("\t\r\n {\"\" : 1 , \"b\" : 2}\n", ["": 1, "b": 2])
        add("{\"\\u0061\":1}", ["a": 1])
        add("{\"_id\":1,\"x\":{\"_id\":2}}", ["_id": 1, "x": ["_id": 2]])
        return cases
    }()

    @Test(
        "valid texts become their values",
        arguments: validTexts)
    func valid(json: String, expected: Value) throws {
        #expect(try Self.value(json) == expected)
    }

    @Test(
        "invalid texts are refused at the byte where they fail",
        arguments: [
            ("", 0), ("  ", 2), ("nul", 0), ("nulll", 4), ("True", 0), ("01", 0), ("-", 1), ("-a", 1), ("+1", 0),
            (".5", 0), ("1.", 2),
            ("1.e3", 2), ("1e", 2), ("1e+", 3), ("0x10", 1), ("1 2", 2), ("NaN", 0), ("Infinity", 0), ("-Infinity", 1),
            ("-01", 0),
            ("9223372036854775808", 0), ("-9223372036854775809", 0), ("18446744073709551616", 0),
            ("[1,99999999999999999999999]", 3),
            ("1e309", 0), ("-1e999999999999", 0), ("[1e400]", 1),
            ("\"", 1), ("\"a", 2), ("'a'", 0), ("\"\\x\"", 1), ("\"\\u12\"", 1), ("\"\\u12g4\"", 1), ("\"\\ud800\"", 1),
            ("\"\\ud800\\u0041\"", 1), ("\"\\udc00\"", 1), ("\"\\ud800x\"", 1), ("\"a\nb\"", 2), ("\"\u{0}\"", 1),
            ("\"abcdefgh\t\"", 9),
            ("\"\\", 2), ("\"\\u", 1), ("[", 1), ("[1", 2), ("[1,", 3), ("[1,]", 3), ("[,1]", 1), ("[1 2]", 3),
            ("]", 0), ("[1}", 2),
            ("{", 1), ("{\"a\"", 4), ("{\"a\":", 5), ("{\"a\":1", 6), ("{\"a\":1,", 7), ("{\"a\":1,}", 7), ("{a:1}", 1),
            ("{\"a\" 1}", 5),
            ("{1:2}", 1), ("{\"a\":1 \"b\":2}", 7), ("{\"a\":1]", 6), ("{\"a\":1}}", 7), ("// x", 0), ("[1] x", 4),
            ("\u{FEFF}1", 0),
            ("{\"a\":1,\"a\":2}", 12), ("{\"b b\":1,\"c\":2,\"b b\":3}", 22), ("{\"a\":1,\"\\u0061\":2}", 17),
            ("[1,\u{a0}2]", 3), ("\u{c}1", 0),
        ])
    func invalid(json: String, offset: Int) throws {
        let error = try #require(throws: DocDBError.self) { _ = try Self.value(json) }
        #expect(error.code == .invalidJSON)
        #expect(error.context["offset"] == String(offset))
    }

    @Test(
        "text that is not UTF-8 is refused",
        arguments: [
            "80", "c0af", "c1bf", "e08080", "eda080", "edbfbf", "f0808080", "f4908080", "f5808080", "ff", "c3", "e6b0",
            "f09f98",
        ])
    func invalidUTF8(hexadecimal: String) throws {
        for padding in [0, 5, 8, 20] {
            let json =
                Array("{\"a\":\"".utf8) + Array(repeating: 0x78, count: padding) + bytes(hexadecimal)
                + Array("\"}".utf8)
            let error = try #require(throws: DocDBError.self) { _ = try Self.transcode(json) }
            #expect(error.context["offset"] == String(6 + padding))
        }
    }

    @Test("errors name line and column in characters")
    func position() throws {
        let error = try #require(throws: DocDBError.self) {
            _ = try Self.transcode(Array("{\n  \"é\": 1,\n  \"水水\": tru\n}".utf8))
        }
        #expect(error.context == ["line": "3", "column": "9", "offset": "25"])
        #expect(error.message.contains("line 3, column 9"))
    }

    @Test("integers out of range are refused with the remedy")
    func remedy() throws {
        let error = try #require(throws: DocDBError.self) { _ = try Self.value("9223372036854775808") }
        #expect(error.message.contains("decimal point") && error.message.contains("string"))
    }

    @Test("only objects are documents", arguments: ["1", "[]", "\"a\"", "null", ""])
    func noObject(json: String) throws {
        let error = try #require(throws: DocDBError.self) { _ = try Self.transcode(Array(json.utf8)) }
        #expect(error.code == .invalidJSON)
    }

    @Test("the body has interned keys in order and the id stands beside it")
    func body() throws {
        let names = FieldNames()
        let json =
            "{\"_id\": {\"z\": 1, \"a\": 2.5}, \"make\": \"toyota\", \"tags\": [\"x\"], \"o o\": {\"tags\": 1, \"make\": 2}}"
        let (body, id) = try Self.transcode(Array(json.utf8), names: names)
        #expect(body == bytes("a3 00 66746f796f7461 01 816178 63 6f206f a2 0002 0101"))
        #expect(id == bytes("a2 6161 f94100 617a 01"))
        #expect(names.count == 2)
    }

    @Test("an absent id leaves nothing; unsuitable ones are refused")
    func identities() throws {
        #expect(try Self.transcode(Array("{\"a\":1}".utf8)).id == [])
        for json in [
            "null", "1.0", "1e3", "\"" + String(repeating: "a", count: 255) + "\"",
            "[" + String(repeating: "9,", count: 300) + "9]",
        ] {
            let error = try #require(throws: DocDBError.self) {
                _ = try Self.transcode(Array("{\"a\":1,\"_id\":\(json)}".utf8))
            }
            #expect(error.code == .invalidDocumentID)
            #expect(error.context["offset"] == "13")
        }
        let error = try #require(throws: DocDBError.self) {
            _ = try Self.transcode(Array("{\"_id\":1,\"_id\":1}".utf8))
        }
        #expect(error.code == .invalidJSON)
    }

    @Test("nesting is limited to 64 levels, for hostile texts as well")
    func depth() throws {
        func nested(_ depth: Int) -> [UInt8] {
            Array(
                (String(repeating: "{\"a\":", count: depth - 1) + "{}" + String(repeating: "}", count: depth - 1)).utf8)
        }
        #expect(try Self.transcode(nested(64)).body.count == 63 * 2 + 1)
        for text in [nested(65), Array(String(repeating: "{\"a\":[", count: 100_000).utf8)] {
            let error = try #require(throws: DocDBError.self) { _ = try Self.transcode(text) }
            #expect(error.code == .documentTooDeep)
        }
    }

    @Test("documents over the limit are refused, and buffers stay as they were")
    func tooLarge() throws {
        var transcoder = JSONTranscoder()
        var body = ByteBuffer()
        var id = ByteBuffer()
        body.append(1)
        let json = Array("{\"_id\":1,\"a\":\"\(String(repeating: "x", count: Limits.documentByteCount))\"}".utf8)
        let error = try #require(throws: DocDBError.self) {
            try json.withUnsafeBytes { try transcoder.transcode($0, names: FieldNames(), body: &body, id: &id) }
        }
        #expect(error.code == .documentTooLarge)
        #expect(body.array == [1] && id.array == [])
    }

    @Test(
        "output never needs more room than was made", arguments: ["1.1", "1e9", "9", "\"\"", "[]", "{}", "null", "-1"])
    func room(element: String) throws {
        for count in [1, 2, 23, 24, 255, 256, 70_000] {
            let json = "[" + Array(repeating: element, count: count).joined(separator: ",") + "]"
            guard case .array(let elements) = try Self.value(json) else { Issue.record("no array"); return }
            #expect(elements.count == count)
        }
    }

    @Test("strings of every length around words and heads come through", arguments: ["x", "é", "\\n", "\u{1F600}"])
    func lengths(piece: String) throws {
        let unescaped = piece == "\\n" ? "\n" : piece
        for count in Array(0...70) + [127, 255, 256, 65535, 65536] {
            let json = "[\"\(String(repeating: piece, count: count))\",1]"
            #expect(try Self.value(json) == [.string(String(repeating: unescaped, count: count)), 1])
        }
    }

    @Test("names in any order give one body", arguments: [UInt64(41), 42, 43])
    func deterministic(seed: UInt64) throws {
        var random = RandomValues(seed: seed)
        let names = FieldNames()
        for _ in 0..<200 {
            let members = random.members().filter { $0.key != "_id" }.map { ($0.key, $0.value.withoutBytes) }
            var first: [UInt8]?
            for _ in 0..<3 {
                var shuffled = members
                for index in shuffled.indices.dropLast() {
                    shuffled.swapAt(index, index + random.below(shuffled.count - index))
                }
                let json = JSONText.object(shuffled, &random)
                let body = try Self.transcode(Array(json.utf8), names: names).body
                if let first { #expect(body == first, "seed \(seed)") }
                first = body
            }
            var direct = ByteBuffer()
            try Value.appendBody(of: Dictionary(uniqueKeysWithValues: members), names: names, to: &direct)
            #expect(direct.array == first, "seed \(seed)")
        }
    }

    @Test("objects of many members are sorted and duplicates found")
    func many() throws {
        var random = RandomValues(seed: 51)
        for count in [24, 100, 300, 5000] {
            var keys = (0..<count).map { $0 % 3 == 0 ? "k k\($0)" : "k\($0)" }
            for index in keys.indices.dropLast() { keys.swapAt(index, index + random.below(count - index)) }
            let text = keys.map { "\"\($0)\":{\"v\":\"\($0)\"}" }.joined(separator: ",")
            let names = FieldNames()
            let body = try Self.transcode(Array("{\(text)}".utf8), names: names).body
            try body.withUnsafeBytes {
                try CBOR.validate($0, internedKeyCount: names.count)
                let expected = Dictionary(uniqueKeysWithValues: keys.map { ($0, Value.object(["v": .string($0)])) })
                #expect(try Value.decode($0, names: names) == .object(expected))
            }
            #expect(throws: DocDBError.self) { _ = try Self.transcode(Array("{\(text),\"\(keys[0])\":1}".utf8)) }
        }
    }

    @Test("damaged texts are read or refused, never trapped on", arguments: [UInt64(61), 62, 63])
    func hostile(seed: UInt64) throws {
        var random = RandomValues(seed: seed)
        let names = FieldNames()
        for _ in 0..<1000 {
            let members = random.members().map { ($0.key, $0.value.withoutBytes) }
            var json = Array(JSONText.object(members, &random).utf8)
            for _ in 0...random.below(3) { json[random.below(json.count)] = UInt8(random.below(256)) }
            if random.below(3) == 0 { json.removeLast(random.below(json.count + 1)) }
            guard let body = try? Self.transcode(json, names: names).body else { continue }
            try body.withUnsafeBytes { try CBOR.validate($0, internedKeyCount: names.count) }
        }
    }
}

/// An independent writer of JSON texts, with random white space and escapes.
enum JSONText {
    static func object(_ members: [(String, Value)], _ random: inout RandomValues) -> String {
        var parts: [String] = []
        for (name, value) in members {
            parts.append(string(name, &random) + space(&random) + ":" + text(value, &random))
        }
        return space(&random) + "{" + parts.joined(separator: ",") + space(&random) + "}" + space(&random)
    }

    static func text(_ value: Value, _ random: inout RandomValues) -> String {
        let text: String =
            switch value {
            case .null: "null"
            case .bool(let value): value ? "true" : "false"
            case .int(let value): "\(value)"
            case .float(let value): "\(value)"
            case .string(let value): string(value, &random)
            case .bytes: "null"
            case .array(let elements):
                "[" + elements.map { Self.text($0, &random) }.joined(separator: ",") + "]"
            case .object(let members): object(members.map { ($0.key, $0.value) }, &random)
            }
        return space(&random) + text + space(&random)
    }

    private static func space(_ random: inout RandomValues) -> String {
        ["", "", " ", "\n", "\t\r\n  "][random.below(5)]
    }

    private static func string(_ text: String, _ random: inout RandomValues) -> String {
        var result = "\""
        for scalar in text.unicodeScalars {
            if scalar == "\"" || scalar == "\\" {
                result += "\\\(scalar)"
            } else if scalar.value < 0x20 || random.below(6) == 0 {
                for unit in UTF16.encode(scalar) ?? UTF16.encodedReplacementCharacter {
                    let digits = String(unit, radix: 16)
                    result += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
                }
            } else {
                result.unicodeScalars.append(scalar)
            }
        }
        return result + "\""
    }
}

extension Value {
    /// The value with null in the place of bytes, which JSON does not know.
    var withoutBytes: Value {
        switch self {
        case .bytes: .null
        case .array(let elements): .array(elements.map(\.withoutBytes))
        case .object(let members): .object(members.mapValues(\.withoutBytes))
        default: self
        }
    }
}
