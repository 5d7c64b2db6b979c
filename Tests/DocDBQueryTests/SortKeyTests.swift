import DocDBCore
import DocDBQuery
import Testing

@Suite("Sort keys")
struct SortKeyTests {
    /// The place of a value's type in the total order; truth values, numbers and so on compare within theirs.
    private static func rank(_ value: Value?) -> Int {
        switch value {
        case nil: 0
        case .null?: 1
        case .bool?: 2
        case .int?, .float?: 3
        case .string?: 4
        case .bytes?: 5
        case .array?: 6
        case .object?: 7
        }
    }

    /// The total order of values, for those that sorting is tested with: no arrays or objects of more than one part.
    private static func order(_ left: Value?, _ right: Value?) -> Int {
        if rank(left) != rank(right) { return rank(left) - rank(right) }
        return ReferenceEvaluator.order(left, right) ?? 0
    }

    private static func key(_ encoder: SortKeyEncoder, _ document: TestDocument) -> [UInt8] {
        var buffer = ByteBuffer()
        let isEncoded = document.body.withUnsafeBytes { body in
            document.id.withUnsafeBytes { encoder.append(body: body, id: $0, to: &buffer) }
        }
        #expect(isEncoded)
        return buffer.array
    }

    @Test("the order of keys is the order of values, ties broken by _id", arguments: 0..<4 as Range<UInt64>)
    func totalOrder(_ seed: UInt64) throws {
        var input = RandomInput(seed: seed &+ 4000)
        let names = FieldNames()
        var documents: [[String: Value]] = []
        for index in 0..<60 {
            var document: [String: Value] = ["_id": .int(Int64(index * 7 % 60))]
            if input.chance(85) { document["a"] = input.scalar() }
            if input.chance(85) { document["b"] = ["c": input.scalar()] }
            documents.append(document)
        }
        for (firstDescending, secondDescending) in [(false, false), (true, false), (false, true), (true, true)] {
            let keys = [
                try SortKey("a", descending: firstDescending), try SortKey("b.c", descending: secondDescending),
            ]
            let encoder = try SortKeyEncoder(keys, names: names)
            let encoded = try documents.map { try TestDocument($0, names: names) }
            let recompiled = encoder.needsRecompile(names) ? try SortKeyEncoder(keys, names: names) : encoder
            let sorted = zip(documents, encoded.map { Self.key(recompiled, $0) })
                .sorted { $0.1.lexicographicallyPrecedes($1.1) }
            for (left, right) in zip(sorted, sorted.dropFirst()) {
                var order = Self.order(left.0["a"], right.0["a"]) * (firstDescending ? -1 : 1)
                if order == 0 {
                    order = Self.order(left.0["b"]?["c"], right.0["b"]?["c"]) * (secondDescending ? -1 : 1)
                }
                if order == 0 { order = Self.order(left.0["_id"], right.0["_id"]) * (secondDescending ? -1 : 1) }
                #expect(order < 0, "seed \(seed): \(left.0) before \(right.0)")
            }
        }
    }

    @Test("without keys the order is that of _id; by _id it follows the direction")
    func idOrder() throws {
        let names = FieldNames()
        let one = try TestDocument(["_id": 1], names: names)
        let text = try TestDocument(["_id": "x"], names: names)
        let none = try SortKeyEncoder([], names: names)
        #expect(Self.key(none, one).lexicographicallyPrecedes(Self.key(none, text)))
        let descending = try SortKeyEncoder([try SortKey("_id", descending: true)], names: names)
        #expect(Self.key(descending, text).lexicographicallyPrecedes(Self.key(descending, one)))
    }

    @Test("paths that may lead to many values, and too many paths, are refused")
    func refusal() throws {
        for path in ["tags[*]", "a[? b].c"] {
            do {
                _ = try SortKey(path)
                Issue.record("\(path) was accepted")
            } catch {
                #expect(error.code == .invalidPath)
                #expect(error.message.contains("many values"))
            }
        }
        #expect(throws: DocDBError.self) { try SortKey("a ==") }
        let keys = try (0...QueryLimits.sortPathCount).map { try SortKey("a\($0)") }
        #expect(throws: DocDBError.self) { try SortKeyEncoder(keys, names: FieldNames()) }
        _ = try SortKeyEncoder(Array(keys.dropLast()), names: FieldNames())
    }

    @Test("positions and names in quotes sort too; damaged bodies append nothing")
    func pathsAndDamage() throws {
        let names = FieldNames()
        let first = try TestDocument(["_id": 1, "a": [1, 9], "odd key": "x"], names: names)
        let second = try TestDocument(["_id": 2, "a": [2, 3], "odd key": "w"], names: names)
        let byPosition = try SortKeyEncoder([try SortKey("a[1]")], names: names)
        #expect(Self.key(byPosition, second).lexicographicallyPrecedes(Self.key(byPosition, first)))
        let byName = try SortKeyEncoder([try SortKey("`odd key`")], names: names)
        #expect(Self.key(byName, second).lexicographicallyPrecedes(Self.key(byName, first)))
        for cut in 1...first.body.count {
            var buffer = ByteBuffer()
            buffer.append(7)
            let isEncoded = first.body.dropLast(cut).withUnsafeBytes { body in
                first.id.withUnsafeBytes { byPosition.append(body: body, id: $0, to: &buffer) }
            }
            #expect(isEncoded || buffer.array == [7])
        }
        // The field is found, but its value, an array of two, ends after one.
        let whole = try SortKeyEncoder([try SortKey("a")], names: names)
        var buffer = ByteBuffer()
        let isEncoded = [0xA1, 0x00, 0x82, 0x01 as UInt8].withUnsafeBytes { body in
            first.id.withUnsafeBytes { whole.append(body: body, id: $0, to: &buffer) }
        }
        #expect(!isEncoded && buffer.count == 0)
    }
}
