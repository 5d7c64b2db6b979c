import DocDB
import DocDBCore
import Foundation
import Testing

@Suite("Codable documents") struct CodingTests {
    typealias Types = CodingTypes

    static func encode<D: Encodable>(
        _ document: D, names: FieldNames = FieldNames()
    ) throws -> (body: [UInt8], id: [UInt8], value: Value) {
        var body = ByteBuffer()
        var id = ByteBuffer()
        body.append(0xEE)
        try DocumentEncoder().encode(document, names: names, body: &body, id: &id)
        let bytes = Array(body.array.dropFirst())
        let value = try bytes.withUnsafeBytes { bytes in
            try CBOR.validate(bytes, internedKeyCount: names.count)
            if id.count > 0 { return try Value.document(body: bytes, id: id.bytes, names: names) }
            return try Value.decode(bytes, names: names)
        }
        return (bytes, id.array, value)
    }

    static func decode<D: Decodable>(_ type: D.Type, _ document: Value) throws -> D {
        let names = FieldNames()
        var body = ByteBuffer()
        var id = ByteBuffer()
        try document.appendDocument(names: names, body: &body, id: &id)
        return try DocumentDecoder(names: names).decode(type, body: body.bytes, id: id.bytes)
    }

    static func roundTrip<D: Codable & Equatable>(_ document: D) throws {
        let names = FieldNames()
        let (body, id, _) = try encode(document, names: names)
        let decoder = DocumentDecoder(names: names)
        for _ in 0..<2 {
            let decoded = try body.withUnsafeBytes { body in
                try id.withUnsafeBytes { try decoder.decode(D.self, body: body, id: $0) }
            }
            #expect(decoded == document)
        }
    }

    @Test("documents of every shape come back")
    func roundTrips() throws {
        try Self.roundTrip(Types.Flat())
        try Self.roundTrip(Types.Nested())
        try Self.roundTrip(Types.WithEnums())
        try Self.roundTrip(Types.Interleaved())
        try Self.roundTrip(Types.Wrapper(Types.Wrapper(Types.Flat())))
        try Self.roundTrip(["x": 1, "_id": 2])
        try Self.roundTrip(["_id": "x", "a": [1, ["b": nil]], "bytes": .bytes([1])] as Value)
        try Self.roundTrip(Optional(Types.Nested.Inner()))
    }

    @Test("types have their own forms")
    func forms() throws {
        let value = try Self.encode(Types.Flat()).value
        #expect(value["bytes"] == .bytes([0, 255, 7]))
        #expect(value["uuid"] == "01020304-0506-0708-090A-0B0C0D0E0F10")
        #expect(value["url"] == "https://example.com/a?b=c")
        #expect(value["decimal"] == "12345678901234567890.123456789")
        // 717171717 s after 2001-01-01: 8300 days and 51717 s.
        #expect(value["date"] == "2023-09-23T14:21:57.250000000Z")
        #expect(value["missing"] == nil)
        #expect(value["present"] == 7)
        #expect(value["single"] == .float(Double(Float(0.1))))
        #expect(value["ratios"] == [0.5, 1.0, -0.25])
    }

    @Test("superclasses are written as they ask to be")
    func classes() throws {
        #expect(try Self.encode(Types.Derived()).value == ["derived": "d", "super": ["base": 1]])
        #expect(try Self.decode(Types.Derived.self, ["derived": "x", "super": ["base": 5]]).base == 5)
        #expect(try Self.encode(Types.Shared()).value == ["derived": "d", "base": 1])
        #expect(try Self.decode(Types.Shared.self, ["derived": "x", "base": 6]).base == 6)
        #expect(throws: DocDBError.self) { _ = try Self.decode(Types.Derived.self, ["derived": "x"]) }
    }

    struct Identified<ID: Codable & Equatable>: Codable, Equatable {
        var id: ID
        var x = 1
        enum CodingKeys: String, CodingKey { case id = "_id", x }
    }

    struct Unidentified: Codable, Equatable {
        var id: String?
        var x = 1
        enum CodingKeys: String, CodingKey { case id = "_id", x }
    }

    struct Composite: Codable, Equatable {
        var storeID = 7
        var number = "A"
    }

    @Test("_id goes beside the body, with text keys, and comes back")
    func identities() throws {
        let names = FieldNames()
        let (body, id, _) = try Self.encode(Identified(id: Composite()), names: names)
        // x is the only name interned; the id's keys are sorted as text: number before storeID as it is shorter.
        #expect(body == [0xA1, 0x00, 0x01])
        #expect(id == [0xA2, 0x66] + Array("number".utf8) + [0x61, 0x41, 0x67] + Array("storeID".utf8) + [0x07])
        try Self.roundTrip(Identified(id: Composite()))
        try Self.roundTrip(Identified(id: "abc"))
        try Self.roundTrip(Identified(id: 12))
        try Self.roundTrip(Identified(id: UUID()))
        try Self.roundTrip(Identified(id: "abc" as DocumentID))
        try Self.roundTrip(Identified(id: try DocumentID(["a": 1])))
        #expect(try Self.encode(Unidentified()).id == [])
        #expect(try Self.decode(Unidentified.self, ["x": 2]) == Unidentified(x: 2))
    }

    @Test("unsuitable ids are refused")
    func unsuitableIdentities() throws {
        func code<D: Encodable>(_ document: D) -> DocDBError.Code? {
            do { _ = try Self.encode(document); return nil } catch { return (error as? DocDBError)?.code }
        }
        #expect(code(Identified(id: 1.5)) == .invalidDocumentID)
        #expect(code(["_id": Int?.none]) == .invalidDocumentID)
        #expect(code(Identified(id: String(repeating: "x", count: 300))) == .invalidDocumentID)
        #expect(code([1, 2]) == .invalidValue)
        #expect(code("text") == .invalidValue)
        #expect(code(Types.Wrapper(1)) == .invalidValue)
    }

    struct One<Content: Codable>: Codable {
        var field: Content
    }

    @Test("numbers are lenient where nothing is lost")
    func numbers() throws {
        #expect(try Self.decode(One<Int>.self, ["field": 3.0]).field == 3)
        #expect(try Self.decode(One<Double>.self, ["field": 3]).field == 3.0)
        #expect(try Self.decode(One<[Double]>.self, ["field": [3, 1.5]]).field == [3, 1.5])
        #expect(try Self.decode(One<[Int]>.self, ["field": [3.0]]).field == [3])
        #expect(try Self.decode(One<UInt8>.self, ["field": 255]).field == 255)
    }

    static func error<D: Decodable>(_ type: D.Type, _ document: Value) -> DocDBError? {
        do { _ = try decode(type, document); return nil } catch { return error as? DocDBError }
    }

    @Test("what does not fit names the path and nothing of the contents")
    func mismatches() throws {
        let secret: Value = "secret"
        let cases: [(DocDBError?, String)] = [
            (Self.error(One<Int>.self, ["field": secret]), "field"),
            (Self.error(One<Int>.self, ["field": 1.5]), "field"),
            (Self.error(One<UInt8>.self, ["field": 256]), "field"),
            (Self.error(One<UInt>.self, ["field": -1]), "field"),
            (Self.error(One<Int>.self, ["field": nil]), "field"),
            (Self.error(One<Int>.self, ["other": 1]), "field"),
            (Self.error(One<Bool>.self, ["field": 1]), "field"),
            (Self.error(One<String>.self, ["field": 1]), "field"),
            (Self.error(One<[Int]>.self, ["field": [1, secret]]), "field[1]"),
            (
                Self.error(One<[String: [One<Int>]]>.self, ["field": ["odd key": [["field": 1], ["field": secret]]]]),
                "field.`odd key`[1].field"
            ),
            (Self.error(One<One<Int>>.self, ["field": ["field": secret]]), "field.field"),
            (Self.error(One<One<Int>>.self, ["field": 1]), "field"),
            (Self.error(One<Types.State>.self, ["field": secret]), "field"),
            (Self.error(One<UUID>.self, ["field": secret]), "field"),
            (Self.error(One<Date>.self, ["field": secret]), "field"),
            (Self.error(One<Data>.self, ["field": secret]), "field"),
            (Self.error(Identified<Int>.self, ["_id": secret, "x": 1]), "_id"),
            (Self.error([Int].self, ["a": 1]), "(document)"),
        ]
        for (index, (error, path)) in cases.enumerated() {
            let error = try #require(error, "case \(index)")
            #expect(error.code == .typeMismatch, "case \(index)")
            #expect(error.context["path"] == path, "case \(index)")
            #expect(!error.message.contains("secret"), "case \(index)")
        }
    }

    @Test("what cannot be stored is refused with its path")
    func unstorable() throws {
        func path<D: Encodable>(_ document: D) -> String? {
            do { _ = try Self.encode(document); return nil } catch {
                let error = error as? DocDBError
                return error?.code == .invalidValue ? error?.context["path"] : nil
            }
        }
        #expect(path(One(field: Double.nan)) == "field")
        #expect(path(One(field: [1, -Double.infinity])) == "field[1]")
        #expect(path(One(field: UInt64(1) << 63)) == "field")
        #expect(path(One(field: ["k k": Float.infinity])) == "field.`k k`")
        #expect(path(One(field: Date(timeIntervalSinceReferenceDate: 1e300))) == "field")
        #expect(path(One(field: Date(timeIntervalSinceReferenceDate: .nan))) == "field")
        #expect(path(One(field: Decimal.nan)) == "field")
    }

    @Test("documents nested too deep are refused, as are types that never end")
    func depth() throws {
        func nested(_ depth: Int) -> Types.Nested.Inner {
            depth == 0 ? Types.Nested.Inner() : Types.Nested.Inner(deeper: [nested(depth - 1)])
        }
        try Self.roundTrip(nested(31))
        for depth in [32, 1000] {
            let error = #expect(throws: DocDBError.self) { _ = try Self.encode(nested(depth)) }
            #expect(error?.code == .documentTooDeep || error?.code == .invalidValue)
        }
    }

    @Test("a dictionary's order does not show in the body")
    func deterministic() throws {
        let keys = (0..<50).map { "key\($0)" }
        let (body, _, _) = try Self.encode(Dictionary(uniqueKeysWithValues: keys.map { ($0, 1) }))
        for _ in 0..<10 {
            var dictionary = [String: Int](minimumCapacity: Int.random(in: 50...500))
            for key in keys.shuffled() { dictionary[key] = 1 }
            #expect(try Self.encode(dictionary).body == body)
        }
    }

    @Test("dates order as their texts and come back exactly")
    func dates() throws {
        let intervals: [Double] = [
            -63_113_904_000, -1_000_000_000.125, -978_307_200.5, -1e7, 1e7 + 0.123456789, 717_171_717.123456789,
            717_171_717.1234569,
            64_092_211_200,
        ]
        var texts: [String] = []
        for interval in intervals {
            let document = One(field: Date(timeIntervalSinceReferenceDate: interval))
            let value = try Self.encode(document).value
            texts.append(try #require(value["field"]?.stringValue))
            #expect(try Self.decode(One<Date>.self, value).field == document.field)
        }
        #expect(texts == texts.sorted())
        #expect(texts.allSatisfy { $0.utf8.count == 30 })
        #expect(texts[0] == "0001-01-01T00:00:00.000000000Z")
        #expect(texts[7] == "4032-01-02T00:00:00.000000000Z")
        let parsed = try Self.decode(
            One<[Date]>.self, ["field": ["1970-01-01T01:00:00+01:00", "1969-12-31t23:59:59.5z"]])
        #expect(parsed.field == [Date(timeIntervalSince1970: 0), Date(timeIntervalSince1970: -0.5)])
        for text in [
            "1970-13-01T00:00:00Z", "1970-02-29T00:00:00Z", "1970-01-01", "1970-01-01T00:00:00", "1970-01-01T24:00:00Z",
            "",
        ] {
            #expect(Self.error(One<Date>.self, ["field": .string(text)]) != nil)
        }
    }

    @Test("values encode as they are, for arguments")
    func values() throws {
        #expect(try DocumentEncoder().encode(value: 1) == 1)
        #expect(try DocumentEncoder().encode(value: Types.State.open) == "open")
        #expect(try DocumentEncoder().encode(value: [Composite()]) == [["storeID": 7, "number": "A"]])
        #expect(try DocumentEncoder().encode(value: Int?.none) == .null)
    }

    @Test("damaged bodies are refused, never trapped on")
    func hostile() throws {
        let names = FieldNames()
        let (body, _, _) = try Self.encode(Types.Nested(), names: names)
        let decoder = DocumentDecoder(names: names)
        var state: UInt64 = 7
        func next(_ bound: Int) -> Int {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return Int(state >> 33) % bound
        }
        var refusals = 0
        for _ in 0..<3000 {
            var damaged = body
            for _ in 0...next(3) { damaged[next(damaged.count)] = UInt8(next(256)) }
            if next(3) == 0 { damaged.removeLast(next(damaged.count + 1)) }
            do {
                _ = try damaged.withUnsafeBytes {
                    try decoder.decode(Types.Nested.self, body: $0, id: UnsafeRawBufferPointer(start: nil, count: 0))
                }
            } catch {
                refusals += 1
            }
        }
        #expect(refusals > 1000)
    }

    @Test("encoding leaves nothing behind, also where it fails")
    func released() throws {
        final class Token: Sendable {}
        weak var token: Token?
        do {
            let owned = Token()
            token = owned
            let encoder = DocumentEncoder(userInfo: [.init(rawValue: "token")!: owned])
            var body = ByteBuffer()
            var id = ByteBuffer()
            try encoder.encode(Types.Nested(), names: FieldNames(), body: &body, id: &id)
            try encoder.encode(Identified(id: Composite()), names: FieldNames(), body: &body, id: &id)
            _ = try encoder.encode(value: [Composite()])
            #expect(throws: DocDBError.self) {
                try encoder.encode(One(field: [[1.0], [.nan]]), names: FieldNames(), body: &body, id: &id)
            }
            #expect(token != nil)
        }
        #expect(token == nil)
    }

    @Test("a type may read another document while it is read")
    func reentrant() throws {
        struct Outer: Decodable {
            var inner: Int
            var after: Int
            enum Keys: CodingKey { case after }
            init(from decoder: any Decoder) throws {
                let container = try decoder.container(keyedBy: Keys.self)
                let shared = try #require(decoder.userInfo[.init(rawValue: "decoder")!] as? Box)
                let body: [UInt8] = [0xA1, 0x65, 0x66, 0x69, 0x65, 0x6C, 0x64, 0x07]
                inner = try body.withUnsafeBytes {
                    try shared.decoder!.decode(
                        One<Int>.self, body: $0, id: UnsafeRawBufferPointer(start: nil, count: 0)
                    ).field
                }
                after = try container.decode(Int.self, forKey: .after)
            }
        }
        final class Box: @unchecked Sendable { var decoder: DocumentDecoder? }
        let box = Box()
        let decoder = DocumentDecoder(names: FieldNames(), userInfo: [.init(rawValue: "decoder")!: box])
        box.decoder = decoder
        let body: [UInt8] = [0xA1, 0x65, 0x61, 0x66, 0x74, 0x65, 0x72, 0x08]
        let outer = try body.withUnsafeBytes {
            try decoder.decode(Outer.self, body: $0, id: UnsafeRawBufferPointer(start: nil, count: 0))
        }
        #expect(outer.inner == 7 && outer.after == 8)
        box.decoder = nil
    }
}
