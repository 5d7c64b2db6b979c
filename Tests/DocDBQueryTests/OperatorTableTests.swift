import DocDBCore
import DocDBQuery
import Testing

/// Every operator and function on every pair of types, from tables written by hand.
@Suite("Operators on each pair of types")
struct OperatorTableTests {
    /// A value as a field and as a literal of the language.
    private struct Sample {
        let name: String
        let value: Value?
        let literal: String
    }

    private static let samples: [Sample] = [
        Sample(name: "missing", value: nil, literal: "missing"),
        Sample(name: "null", value: .null, literal: "null"),
        Sample(name: "false", value: false, literal: "false"),
        Sample(name: "true", value: true, literal: "true"),
        Sample(name: "int", value: 1, literal: "1"),
        Sample(name: "float", value: 2.5, literal: "2.5"),
        Sample(name: "string", value: "a", literal: "'a'"),
        Sample(name: "bytes", value: .bytes([97]), literal: "x'61'"),
        Sample(name: "array", value: [1], literal: "[1]"),
        Sample(name: "object", value: ["k": 1], literal: "{'k': 1}"),
    ]

    /// Field against field: `=` equal, `<` less, `>` greater, `.` not to be compared.
    private static let fieldTable = [
        // missing, null, false, true, int, float, string, bytes, array, object
        "..........",
        ".=........",
        "..=<......",
        "..>=......",
        "....=<....",
        "....>=....",
        "......=...",
        ".......=..",
        "........=.",
        ".........=",
    ]

    /// Field against literal: the literals `missing` and `null` equal missing values.
    private static let literalTable = [
        "==........",
        ".=........",
        "..=<......",
        "..>=......",
        "....=<....",
        "....>=....",
        "......=...",
        ".......=..",
        "........=.",
        ".........=",
    ]

    private static let operators = ["==", "!=", "<", "<=", ">", ">="]

    private static func expected(_ relation: Character, _ comparison: String) -> Bool {
        switch comparison {
        case "==": relation == "="
        case "!=": relation != "="
        case "<": relation == "<"
        case "<=": relation == "<" || relation == "="
        case ">": relation == ">"
        default: relation == ">" || relation == "="
        }
    }

    private static func document(_ left: Sample, _ right: Sample) -> [String: Value] {
        var members: [String: Value] = ["deep": ["l": left.value ?? 0, "r": right.value ?? 0]]
        if left.value == nil { members["deep"] = right.value.map { ["r": $0] } ?? [:] }
        if right.value == nil { members["deep"] = left.value.map { ["l": $0] } ?? [:] }
        members["l"] = left.value
        members["r"] = right.value
        return members
    }

    @Test("comparisons of two fields", arguments: 0..<10)
    func fields(_ row: Int) throws {
        for (column, relation) in Self.fieldTable[row].enumerated() {
            let (left, right) = (Self.samples[row], Self.samples[column])
            let document = Self.document(left, right)
            for comparison in Self.operators {
                let expected = Self.expected(relation, comparison)
                for text in ["l \(comparison) r", "deep.l \(comparison) deep.r", "l \(comparison) deep.r"] {
                    #expect(try matches(document, text) == expected, "\(left.name) \(text) \(right.name)")
                }
            }
        }
    }

    @Test("comparisons of a field and a literal, either way round", arguments: 0..<10)
    func literals(_ row: Int) throws {
        for (column, relation) in Self.literalTable[row].enumerated() {
            let (left, right) = (Self.samples[row], Self.samples[column])
            let document = Self.document(left, right)
            for comparison in Self.operators {
                let expected = Self.expected(relation, comparison)
                let swapped = Filter.Comparison(rawValue: comparison)!.swapped.rawValue
                for text in [
                    "l \(comparison) \(right.literal)", "deep.l \(comparison) \(right.literal)",
                    "\(right.literal) \(swapped) l",
                ] {
                    #expect(try matches(document, text) == expected, "\(left.name): \(text)")
                }
            }
        }
    }

    @Test("comparisons of two literals", arguments: 0..<10)
    func twoLiterals(_ row: Int) throws {
        // Beside the table, the literal null equals the literal missing.
        for (column, relation) in Self.literalTable[row].enumerated() {
            let relation = row == 1 && column == 0 ? "=" : relation
            for comparison in Self.operators {
                let text = "\(Self.samples[row].literal) \(comparison) \(Self.samples[column].literal)"
                #expect(try matches([:], text) == Self.expected(relation, comparison), "\(text)")
            }
        }
    }

    @Test("in, with a list of one literal and with a field that is an array", arguments: 0..<10)
    func membership(_ row: Int) throws {
        let left = Self.samples[row]
        for (column, relation) in Self.literalTable[row].enumerated() where column > 0 {
            let right = Self.samples[column]
            let document = Self.document(left, right)
            #expect(try matches(document, "l in [\(right.literal)]") == (relation == "="), "\(left.name) \(right.name)")
            #expect(try matches(document, "l not in [\(right.literal)]") == (relation != "="))
            #expect(try matches(document, "l in [7, \(right.literal), 'z']") == (relation == "="))
        }
        for (column, relation) in Self.fieldTable[row].enumerated() {
            guard let element = Self.samples[column].value else { continue }
            var document = Self.document(left, left)
            document["list"] = [7, element]
            #expect(
                try matches(document, "l in list") == (relation == "="), "\(left.name) \(Self.samples[column].name)")
            #expect(try matches(document, "contains(list, l)") == (relation == "="))
            // Of literals, null equals null elements; elements are never missing.
            if column > 0 { #expect(try matches(document, "\(left.literal) in list") == (relation == "=")) }
        }
        #expect(try matches(Self.document(left, left), "7 in l") == false)
        #expect(try matches(Self.document(left, left), "1 in l") == (left.name == "array"))
    }

    @Test("between takes the bounds' type, both bounds included", arguments: 0..<10)
    func between(_ row: Int) throws {
        let expected: [String: [Bool]] = [
            // numbers 1...2.5, strings 'a'...'b', false...true, x'00'...x'ff', null...null
            "missing": [false, false, false, false, true], "null": [false, false, false, false, true],
            "false": [false, false, true, false, false], "true": [false, false, true, false, false],
            "int": [true, false, false, false, false], "float": [true, false, false, false, false],
            "string": [false, true, false, false, false], "bytes": [false, false, false, true, false],
            "array": [false, false, false, false, false], "object": [false, false, false, false, false],
        ]
        let bounds = ["1 and 2.5", "'a' and 'b'", "false and true", "x'00' and x'ff'", "null and null"]
        let sample = Self.samples[row]
        for (index, bound) in bounds.enumerated() {
            let result = try matches(Self.document(sample, sample), "l between \(bound)")
            #expect(result == (try #require(expected[sample.name])[index]), "\(sample.name) between \(bound)")
        }
        #expect(try matches(Self.document(sample, sample), "l between 1 and 'z'") == false)
        #expect(try matches(Self.document(sample, sample), "l between 2 and 1") == false)
    }

    @Test("tests of texts are false on everything else", arguments: 0..<10)
    func textTests(_ row: Int) throws {
        let sample = Self.samples[row]
        let document = Self.document(sample, sample)
        let isText = sample.name == "string"
        for text in [
            "l like '%'", "l like 'a'", "starts_with(l, 'a')", "ends_with(l, 'a')", "contains(l, 'a')", "regex(l, 'a')",
            "starts_with(l, '')", "starts_with(l, l)", "ends_with('xa', l)", "contains('xax', l)",
        ] {
            #expect(try matches(document, text) == isText, "\(sample.name): \(text)")
        }
    }

    @Test(
        "each function on each type",
        arguments: [
            // missing, null, false, true, int, float, string, bytes, array, object; "-" is missing
            ("length(l)", ["-", "-", "-", "-", "-", "-", "1", "1", "1", "1"]),
            ("sum(l)", ["-", "-", "-", "-", "-", "-", "-", "-", "1", "-"]),
            ("lower(l)", ["-", "-", "-", "-", "-", "-", "'a'", "-", "-", "-"]),
            ("upper(l)", ["-", "-", "-", "-", "-", "-", "'A'", "-", "-", "-"]),
            ("abs(l)", ["-", "-", "-", "-", "1", "2.5", "-", "-", "-", "-"]),
            (
                "type(l)",
                [
                    "'missing'", "'null'", "'bool'", "'bool'", "'int'", "'float'", "'string'", "'bytes'", "'array'",
                    "'object'",
                ]
            ),
        ])
    func functions(_ call: String, _ expected: [String]) throws {
        for (sample, literal) in zip(Self.samples, expected) {
            let document = Self.document(sample, sample)
            let literal = literal == "-" ? "missing" : literal
            #expect(try matches(document, "\(call) == \(literal)"), "\(sample.name): \(call) == \(literal)")
            #expect(try matches(document, "\(call) != 'other'"))
        }
    }

    @Test("a bare value counts as true only where it is true", arguments: 0..<10)
    func bareValue(_ row: Int) throws {
        let sample = Self.samples[row]
        #expect(try matches(Self.document(sample, sample), "l") == (sample.name == "true"))
        #expect(try matches(Self.document(sample, sample), "!l") == (sample.name != "true"))
        #expect(try matches([:], sample.literal) == (sample.name == "true"))
    }

    @Test(
        "numbers compare by their exact value, also within arrays and objects",
        arguments: [
            ("9007199254740993", "9007199254740992.0", ">"), ("9007199254740992", "9007199254740992.0", "="),
            ("9223372036854775807", "9223372036854775808.0", "<"),
            ("-9223372036854775808", "-9223372036854775808.0", "="),
            ("1", "1.5", "<"), ("2", "1.5", ">"), ("-1", "-1.5", ">"), ("-2", "-1.5", "<"), ("0", "-0.0", "="),
            ("0", "5e-324", "<"), ("1", "1e300", "<"), ("1", "-1e300", ">"),
        ] as [(String, String, Character)])
    func numbers(_ left: String, _ right: String, _ relation: Character) throws {
        for comparison in Self.operators {
            #expect(
                try matches([:], "\(left) \(comparison) \(right)") == Self.expected(relation, comparison),
                "\(left) \(comparison) \(right)")
        }
        #expect(try matches([:], "[0, {'k': \(left)}] == [0.0, {'k': \(right)}]") == (relation == "="))
        #expect(try matches([:], "\(left) in [\(right)]") == (relation == "="))
        let document: [String: Value] = ["x": try Self.number(left), "y": try Self.number(right)]
        #expect(try matches(document, "x == y") == (relation == "="))
        #expect(try matches(document, "x < \(right)") == (relation == "<"))
        #expect(try matches(document, "y < \(left)") == (relation == ">"))
    }

    private static func number(_ text: String) throws -> Value {
        if let integer = Int64(text) { return .int(integer) }
        return .float(try #require(Double(text)))
    }
}
