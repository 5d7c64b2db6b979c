import DocDBCore
import DocDBInspect
import Testing

@Suite("RowWriter")
struct RowWriterTests {
    /// Runs rows through a writer as the commands do.
    private func print(
        _ rows: [[(String, Value)]], as format: OutputFormat, terminal: Terminal = Terminal(), columns: [String] = []
    ) throws -> String {
        let sink = MemorySink()
        var writer = format.writer(to: sink, terminal: terminal, columns: columns)
        if writer.needsSurvey { for row in rows { try writer.survey(FactRow(row)) } }
        for row in rows { try writer.write(FactRow(row)) }
        try writer.finish()
        return sink.text
    }

    static let rows: [[(String, Value)]] = [
        [("_id", 1), ("name", "Ann"), ("tags", ["a", "b"])],
        [("_id", 20), ("age", 3.5), ("name", nil)],
    ]

    @Test("jsonl has one row a line")
    func jsonLines() throws {
        #expect(
            try print(Self.rows, as: .jsonl) == """
                {"_id":1,"name":"Ann","tags":["a","b"]}
                {"_id":20,"age":3.5,"name":null}

                """)
        #expect(try print([], as: .jsonl).isEmpty)
    }

    @Test("json is one array, also when empty")
    func json() throws {
        #expect(
            try print(Self.rows, as: .json) == """
                [
                {"_id":1,"name":"Ann","tags":["a","b"]},
                {"_id":20,"age":3.5,"name":null}
                ]

                """)
        #expect(try print([], as: .json) == "[]\n")
    }

    @Test("csv has the union of the keys as its header, _id first")
    func csv() throws {
        #expect(
            try print(Self.rows, as: .csv)
                == "_id,age,name,tags\r\n1,,Ann,\"[\"\"a\"\",\"\"b\"\"]\"\r\n20,3.5,null,\r\n")
        #expect(try print([], as: .csv).isEmpty)
        #expect(try print([], as: .csv, columns: ["a", "b"]) == "a,b\r\n")
    }

    static let cells: [(Value, String)] = [
        ("plain", "plain"), ("", "\"\""), ("a,b", "\"a,b\""), ("say \"x\"", "\"say \"\"x\"\"\""),
        ("two\nlines", "\"two\nlines\""), ("a\r\nb", "\"a\r\nb\""), (nil, "null"), (true, "true"),
        (-7, "-7"), (0.5, "0.5"), (["b": [1, nil], "a": "é"], "\"{\"\"a\"\":\"\"é\"\",\"\"b\"\":[1,null]}\""),
        (.bytes([0, 255]), "\"\"\"AP8=\"\"\""),
    ]

    @Test("csv cells are quoted where RFC 4180 asks for it, and missing differs from empty", arguments: cells)
    func csvCells(value: Value, cell: String) throws {
        #expect(try print([[("a", value)]], as: .csv) == "a\r\n\(cell)\r\n")
    }

    @Test("a table aligns its columns, numbers to the right, without spaces at the ends")
    func table() throws {
        #expect(
            try print(Self.rows, as: .table) == """
                _id  age  name  tags
                  1       Ann   ["a","b"]
                 20  3.5  null

                """)
        #expect(try print([], as: .table).isEmpty)
    }

    @Test("a table measures display width, not characters or bytes")
    func tableWidths() throws {
        let rows: [[(String, Value)]] = [
            [("a", "日本"), ("b", "x")], [("a", "e\u{301}"), ("b", "y")], [("a", "👩‍👩‍👧"), ("b", "z")],
            [("a", "❤️"), ("b", "w")],
        ]
        #expect(
            try print(rows, as: .table) == """
                a     b
                日本  x
                e\u{301}     y
                👩‍👩‍👧    z
                ❤️    w

                """)
    }

    @Test("a table on a terminal is cut to its width and has a bold header unless colour is refused")
    func tableOnTerminal() throws {
        let rows: [[(String, Value)]] = [[("_id", 1), ("text", "abcdefghijklmnopqrstuvwxyz"), ("z", "short")]]
        let terminal = Terminal(outputIsTerminal: true, width: 24)
        #expect(
            try print(rows, as: .table, terminal: terminal)
                == "\u{1B}[1m_id  text          z\u{1B}[0m\n  1  abcdefghijk…  short\n")
        let plain = Terminal(outputIsTerminal: true, width: 24, refusesColour: true)
        #expect(try print(rows, as: .table, terminal: plain) == "_id  text          z\n  1  abcdefghijk…  short\n")
    }

    @Test("ids that leave half of the terminal stay whole where other columns are cut")
    func wholeIDs() throws {
        let text = Value.string("abcdefghijklmnopqrstuvwxyz")
        let rows: [[(String, Value)]] = [[("_id", "abcdefghijklmnop"), ("other", text), ("text", text)]]
        let terminal = Terminal(outputIsTerminal: true, width: 40, refusesColour: true)
        #expect(
            try print(rows, as: .table, terminal: terminal)
                == "_id               other       text\nabcdefghijklmnop  abcdefghi…  abcdefghi…\n")
    }

    @Test("a table with more columns than the terminal holds is cut at its edge")
    func narrowTerminal() throws {
        let rows: [[(String, Value)]] = [(0..<5).map { ("column\($0)", .string("0123456789")) }]
        let text = try print(
            rows, as: .table, terminal: Terminal(outputIsTerminal: true, width: 25, refusesColour: true))
        #expect(text == "column0   column1   colu…\n0123456…  0123456…  0123…\n")
    }

    @Test("a table shows control characters escaped, so that no document drives the terminal")
    func controlCharacters() throws {
        let rows: [[(String, Value)]] = [[("a\u{1B}", "x\u{1B}[2J\n\t\u{9B}\u{202E}y")]]
        #expect(
            try print(rows, as: .table) == """
                a\\u001b
                x\\u001b[2J\\n\\t\\u009b\\u202ey

                """)
    }

    @Test("a result with more fields than columns are allowed is refused with a way out")
    func tooManyColumns() throws {
        let rows: [[(String, Value)]] = [(0..<4097).map { ("f\($0)", 1) }]
        let error = #expect(throws: DocDBError.self) { try print(rows, as: .csv) }
        #expect(error?.message.contains("--format jsonl") == true)
    }

    static let widths: [(String, Int)] = [
        ("", 0), ("abc", 3), ("é", 1), ("e\u{301}", 1), ("日本語", 6), ("한글", 4), ("\u{1112}\u{1161}\u{11AB}", 2),
        ("😀", 2), ("👨‍👩‍👧‍👦", 2), ("🇩🇪", 2), ("❤️", 2), ("❤", 1), ("a\u{200B}b", 2), ("Ａ", 2), ("ﾊ", 1), ("👍🏽", 2),
    ]

    @Test("display widths", arguments: widths)
    func width(text: String, columns: Int) { #expect(DisplayWidth.of(text) == columns) }

    static let cuts: [(String, Int, String)] = [
        ("abc", 3, "abc"), ("abcd", 3, "ab…"), ("日本語", 5, "日本…"), ("日本語", 4, "日…"), ("abc", 1, "…"), ("abc", 0, ""),
    ]

    @Test("texts are cut at a character", arguments: cuts)
    func cut(text: String, width: Int, expected: String) {
        #expect(DisplayWidth.truncated(text, to: width) == expected)
    }
}

@Suite("JSONText")
struct JSONTextTests {
    static let values: [(Value, String)] = [
        (nil, "null"), (true, "true"), (.int(Int64.min), "-9223372036854775808"), (1.0, "1.0"), (1e20, "1e+20"),
        ("a\"\\\n\t\u{1}\u{7F}é😀", "\"a\\\"\\\\\\n\\t\\u0001\u{7F}é😀\""), ([], "[]"), ([:], "{}"),
        (["b": 1, "_id": 2, "a": 3, "B": 4], "{\"B\":4,\"_id\":2,\"a\":3,\"b\":1}"),
        (.bytes([]), "\"\""), (.bytes([77]), "\"TQ==\""), (.bytes([77, 97]), "\"TWE=\""),
        (.bytes([77, 97, 110]), "\"TWFu\""),
    ]

    @Test("values print as compact JSON", arguments: values)
    func text(value: Value, expected: String) throws {
        #expect(try JSONText.text(of: value) == expected)
        #expect(try JSONText.text(ofMembers: [("b\"", value), ("a", 1)]) == "{\"b\\\"\":\(expected),\"a\":1}")
    }
}

@Suite("Figures")
struct FiguresTests {
    static let counts: [(Int, String)] = [
        (0, "0"), (999, "999"), (1000, "1,000"), (123_456, "123,456"), (1_234_567, "1,234,567"), (-1000, "-1,000"),
        (Int.min, "-9,223,372,036,854,775,808"),
    ]

    @Test("counts have commas between thousands", arguments: counts)
    func grouped(count: Int, expected: String) { #expect(Figures.grouped(count) == expected) }

    static let bytes: [(Int, String)] = [
        (0, "0 B"), (999, "999 B"), (1000, "1.0 kB"), (26_149_000, "26.1 MB"), (999_960, "1.0 MB"),
        (5_000_000_000_000, "5.0 TB"), (Int.max, "9,223,372.0 TB"),
    ]

    @Test("bytes have a unit", arguments: bytes)
    func byteUnits(count: Int, expected: String) { #expect(Figures.bytes(count) == expected) }

    @Test("decimals round to the nearest")
    func decimals() {
        #expect(Figures.decimal(1.005, places: 1) == "1.0")
        #expect(Figures.decimal(0.06, places: 1) == "0.1")
        #expect(Figures.decimal(-2.5, places: 2) == "-2.50")
        #expect(Figures.decimal(-0.001, places: 2) == "0.00")
        #expect(Figures.decimal(7, places: 0) == "7")
    }
}
