import DocDBCore
import Foundation
import Testing

/// `Schemas/document-body.cddl` and the limits of `Schemas/document-body.md` against what the code encodes.
@Suite("The schema of documents' bodies")
struct BodySchemaTests {
    static func schema() throws -> DataSchema { try DataSchema(SchemaFiles.text("document-body.cddl")) }

    /// Documents with every kind of value at every kind of place.
    static let documents: [Value] = [
        [:], ["a": 1, "b": -1, "c": 1.5, "d": "text", "e": .bytes([1]), "f": true, "g": nil],
        ["list": [1, -1, 1.5, "text", .bytes([]), false, nil, [], [:]], "odd key": ["": ["deep": 0]]],
        [
            "most": .int(.max), "least": .int(.min), "great": 1e308, "small": .float(.leastNonzeroMagnitude),
            "zero": -0.0,
        ],
    ]

    static let ids: [Value] = [
        0, -1, .int(.max), .int(.min), "", "car", .bytes([1, 2]), true,
        [1, -1, 1.5, "t", .bytes([3]), false, nil, [[]], ["k": nil]],
        ["a": 1, "b": -1, "c": 1.5, "d": "t", "e": .bytes([4]), "f": true, "g": nil, "h": [0], "i": ["k": 0]],
    ]

    private static func encoded(_ document: Value, _ names: FieldNames) throws -> [UInt8] {
        var body = ByteBuffer()
        var id = ByteBuffer()
        try document.appendDocument(names: names, body: &body, id: &id)
        return body.array
    }

    @Test("describes bodies with values of every kind")
    func describesBodies() throws {
        let schema = try Self.schema()
        let names = FieldNames()
        for document in Self.documents {
            let item = try DataItem(cbor: Self.encoded(document, names))
            #expect(schema.describes(item, as: "body"), "\(document)")
        }
    }

    @Test("describes random bodies, which hold what was encoded")
    func describesRandomBodies() throws {
        let schema = try Self.schema()
        let seed = UInt64.random(in: 0...UInt64.max)
        var random = SeededGenerator(seed: seed)
        for _ in 0..<500 {
            let names = FieldNames()
            let document = Self.object(0, &random)
            let item = try DataItem(cbor: Self.encoded(document, names))
            #expect(schema.describes(item, as: "body"), "seed \(seed): \(document)")
            #expect(Self.isSame(item, document, names), "seed \(seed): \(document)")
        }
    }

    @Test("describes ids of every kind, and none that is null or a float")
    func describesIDs() throws {
        let schema = try Self.schema()
        for id in Self.ids {
            #expect(schema.describes(try DataItem(cbor: id.canonicalCBOR()), as: "document-id"), "\(id)")
            #expect(throws: Never.self, "\(id)") { try DocumentID(id) }
        }
        for id in [nil, 1.5] as [Value] {
            #expect(!schema.describes(try DataItem(cbor: id.canonicalCBOR()), as: "document-id"), "\(id)")
            #expect(throws: DocDBError.self, "\(id)") { try DocumentID(id) }
        }
    }

    @Test("no longer describes these where it is changed in any one place")
    func mutations() throws {
        let names = FieldNames()
        let bodies = try Self.documents.map { try DataItem(cbor: Self.encoded($0, names)) }
        let ids = try Self.ids.map { try DataItem(cbor: $0.canonicalCBOR()) }
        let mutations = try SchemaMutations.all(of: SchemaFiles.text("document-body.cddl"))
        #expect(mutations.count >= 20)
        for mutation in mutations {
            let schema = try DataSchema(mutation.text)
            let isSeen =
                bodies.contains { !schema.describes($0, as: "body") }
                || ids.contains { !schema.describes($0, as: "document-id") }
            #expect(isSeen, "\(mutation.place) makes no difference")
        }
    }

    @Test("what the code refuses as a body is not described either, or is not deterministic CBOR")
    func refused() throws {
        let schema = try Self.schema()
        let refused = [
            "f6", "80", "a1 01", "a1 f6 01", "a1 20 01", "a1 191000 01", "a1 00 f7", "a1 00 c0 01", "a1 00 1801",
            "a2 01 00 00 00", "a1 00 1b8000000000000000", "a1 00 fb7ff8000000000000", "bf ff",
        ]
        for text in refused {
            let body = bytes(text)
            let isRefused = body.withUnsafeBytes { body in
                (try? CBOR.validate(body, internedKeyCount: 4096)) == nil
                    || body.first.map { $0 >> 5 } != CBOR.Major.map
            }
            #expect(isRefused, "\(text)")
            let item = try? DataItem(cbor: body)
            // Not a number is a float all the same to the schema, which the page excludes in words.
            let isNaN = if case .map(let members) = item { members.contains { Self.isNaN($0.value) } } else { false }
            #expect(item.map { !schema.describes($0, as: "body") || isNaN } ?? true, "\(text)")
        }
    }

    @Test("the page tells the limits that the code has")
    func limits() throws {
        let rows = SchemaFiles.rows(of: try SchemaFiles.section("Limits", of: "document-body.md"))
        let values = [
            "`documentByteCount`": Limits.documentByteCount, "`nestingDepth`": Limits.nestingDepth,
            "`documentIDByteCount`": Limits.documentIDByteCount,
            "`internedFieldNameByteCount`": Limits.internedFieldNameByteCount,
            "`internedFieldNameCount`": Limits.internedFieldNameCount,
            "`jsonDocumentByteCount`": Limits.jsonDocumentByteCount,
        ]
        #expect(rows.count == values.count)
        for row in rows { #expect(SchemaFiles.number(row[1]) == values[row[2]], "\(row[0])") }
    }

    // MARK: What items mean

    private static func isNaN(_ item: DataItem) -> Bool {
        if case .float(let value) = item { value.isNaN } else { false }
    }

    /// Whether an item says what a value is, told from the page alone.
    private static func isSame(_ item: DataItem, _ value: Value, _ names: FieldNames) -> Bool {
        switch (item, value) {
        case (.null, .null): true
        case (.bool(let a), .bool(let b)): a == b
        case (.unsigned(let a), .int(let b)): b >= 0 && a == UInt64(b)
        case (.negative(let a), .int(let b)): b < 0 && a == UInt64(-1 - b)
        case (.float(let a), .float(let b)): a.bitPattern == b.bitPattern
        case (.text(let a), .string(let b)): a.utf8.elementsEqual(b.utf8)
        case (.bytes(let a), .bytes(let b)): a == [UInt8](b)
        case (.array(let a), .array(let b)): a.count == b.count && zip(a, b).allSatisfy { isSame($0, $1, names) }
        case (.map(let a), .object(let b)):
            a.count == b.count
                && a.allSatisfy { member in
                    let name: String? =
                        switch member.key {
                        case .unsigned(let number): names.string(Int(number))
                        case .text(let text): text
                        default: nil
                        }
                    return name.flatMap { b[$0] }.map { isSame(member.value, $0, names) } ?? false
                }
        default: false
        }
    }

    private static func object(_ depth: Int, _ random: inout SeededGenerator) -> Value {
        let names = ["a", "make", "odd key", "", "größe", "a_long_name_of_more_than_thirty_two_bytes"]
        var members: [String: Value] = [:]
        for name in names where Bool.random(using: &random) { members[name] = value(depth + 1, &random) }
        return .object(members)
    }

    private static func value(_ depth: Int, _ random: inout SeededGenerator) -> Value {
        switch Int.random(in: 0...(depth < 5 ? 8 : 6), using: &random) {
        case 0: nil
        case 1: .bool(.random(using: &random))
        case 2: .int(Int64.random(in: .min ... .max, using: &random) >> Int64.random(in: 0...63, using: &random))
        case 3: .float(Double(Int.random(in: -4000...4000, using: &random)) / 64)
        case 4: .float(.random(in: -1e300...1e300, using: &random))
        case 5: .string(String(repeating: "ü", count: .random(in: 0...40, using: &random)))
        case 6: .bytes((0..<Int.random(in: 0...3, using: &random)).map { UInt8($0) })
        case 7: .array((0..<Int.random(in: 0...4, using: &random)).map { _ in value(depth + 1, &random) })
        default: object(depth, &random)
        }
    }
}

/// A small generator of random numbers whose seed replays it (SplitMix64).
struct SeededGenerator: RandomNumberGenerator {
    private var state: UInt64
    init(seed: UInt64) { state = seed }
    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var value = state
        value = (value ^ (value >> 30)) &* 0xBF58_476D_1CE4_E5B9
        value = (value ^ (value >> 27)) &* 0x94D0_49BB_1331_11EB
        return value ^ (value >> 31)
    }
}
