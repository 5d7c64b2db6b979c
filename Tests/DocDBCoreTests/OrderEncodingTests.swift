import DocDBCore
import Testing

@Suite("OrderEncoding") struct OrderEncodingTests {
    /// The total order of values, written from its definition: nil is missing. Negative, zero or positive.
    static func compare(_ left: Value?, _ right: Value?) -> Int {
        func rank(_ value: Value?) -> Int {
            switch value {
            case nil: 0
            case .null: 1
            case .bool(false): 2
            case .bool(true): 3
            case .int, .float: 4
            case .string: 5
            case .bytes: 6
            case .array: 7
            case .object: 8
            }
        }
        guard let left, let right, rank(left) == rank(right) else { return rank(left) - rank(right) }
        switch (left, right) {
        case (.int(let a), .int(let b)): return a < b ? -1 : a > b ? 1 : 0
        case (.float(let a), .float(let b)): return a < b ? -1 : a > b ? 1 : 0
        case (.int(let a), .float(let b)): return compare(a, b)
        case (.float(let a), .int(let b)): return -compare(b, a)
        case (.string(let a), .string(let b)): return compare(Array(a.utf8), Array(b.utf8))
        case (.bytes(let a), .bytes(let b)): return compare(a, b)
        case (.array(let a), .array(let b)): return compare(a, b)
        case (.object(let a), .object(let b)):
            func flat(_ members: [String: Value]) -> [Value] {
                members.sorted { compare(Array($0.key.utf8), Array($1.key.utf8)) < 0 }
                    .flatMap { [.string($0.key), $0.value] }
            }
            return compare(flat(a), flat(b))
        default: return 0
        }
    }

    private static func compare(_ left: [UInt8], _ right: [UInt8]) -> Int {
        left.lexicographicallyPrecedes(right) ? -1 : left == right ? 0 : 1
    }

    private static func compare(_ left: [Value], _ right: [Value]) -> Int {
        for (a, b) in zip(left, right) where compare(a, b) != 0 { return compare(a, b) }
        return left.count - right.count
    }

    /// Compares an integer with a double without converting the integer, which could round.
    private static func compare(_ integer: Int64, _ double: Double) -> Int {
        if double >= 0x1p63 { return -1 }
        if double < -0x1p63 { return 1 }
        let whole = Int64(double.rounded(.down))
        if integer != whole { return integer < whole ? -1 : 1 }
        return double > double.rounded(.down) ? -1 : 0
    }

    static func encode(_ value: Value?, descending: Bool = false) throws -> [UInt8] {
        var buffer = ByteBuffer()
        if let value {
            try OrderEncoding.append(value, descending: descending, to: &buffer)
        } else {
            OrderEncoding.appendMissing(descending: descending, to: &buffer)
        }
        return buffer.array
    }

    static let corners: [Value?] = {
        var values: [Value?] = [
            nil, .null, false, true, "", "a", "a\0", "a\0\0", "a\0b", "a\u{1}", "ab", "b", "\0", "é", "e\u{301}",
        ]
        let limit: Int64 = 1 << 53
        for offset: Int64 in -3...3 {
            values += [
                .int(limit + offset), .int(-limit + offset), .float(Double(limit + offset)),
                .float(Double(-limit + offset)),
            ]
        }
        for offset: Int64 in [0, 1, 2, 511, 512, 513, 1023, 1024, 1025] {
            values += [.int(.max - offset), .int(.min + offset), .int(1 << 62 + offset), .int(-(1 << 62) - offset)]
        }
        values += [
            0x1p63, -0x1p63, (0x1p63 as Double).nextUp, (0x1p63 as Double).nextDown, (-0x1p63 as Double).nextDown,
            0x1p62,
        ]
        .map { .float($0) }
        values += [
            0.0, -0.0, .float(.leastNonzeroMagnitude), .float(-.leastNonzeroMagnitude), .float(.leastNormalMagnitude),
            .float(Double.leastNormalMagnitude.nextDown), 1e308, -1e308, 0.5, 1.0, 1.5,
        ]
        values += [0, 1, -1, 2, 10, .float(.greatestFiniteMagnitude), .float(-.greatestFiniteMagnitude)]
        values += [.bytes([]), .bytes([0]), .bytes([0, 0xFF]), .bytes([0, 0]), .bytes([1]), .bytes([0xFF])]
        values += [[], [nil], [1], [1, 2], [[]], ["a"], ["a\0"], ["a", "b"], [1.5], [[1], 2]]
        values += [.object([:]), ["a": 1], ["a": 2], ["a": 1, "b": 1], ["b": 0], ["": nil], ["a\0": 1], ["a": []]]
        return values
    }()

    @Test("bytes order as values do, for every pair of corner cases", arguments: [false, true])
    func corners(descending: Bool) throws {
        let encoded = try Self.corners.map { try Self.encode($0, descending: descending) }
        for (left, leftBytes) in zip(Self.corners, encoded) {
            for (right, rightBytes) in zip(Self.corners, encoded) {
                let expected = Self.compare(left, right).signum() * (descending ? -1 : 1)
                let actual = Self.compare(leftBytes, rightBytes)
                #expect(actual == expected, "\(String(describing: left)) and \(String(describing: right))")
            }
        }
    }

    @Test("bytes of random composites order as their components do", arguments: [UInt64(31), 32, 33, 34])
    func composites(seed: UInt64) throws {
        var random = RandomValues(seed: seed)
        func component(_ random: inout RandomValues) -> Value? {
            switch random.below(8) {
            case 0: nil
            case 1: Self.corners[random.below(Self.corners.count)]
            default: random.value(depth: 2)
            }
        }
        for _ in 0..<3000 {
            let directions = (0..<3).map { _ in random.below(2) == 0 }
            let left = (0..<3).map { _ in component(&random) }
            var right = (0..<3).map { _ in component(&random) }
            for index in 0..<random.below(4) { right[index] = left[index] }
            var expected = 0
            for index in 0..<3 where expected == 0 {
                expected = Self.compare(left[index], right[index]).signum() * (directions[index] ? -1 : 1)
            }
            let leftBytes = try zip(left, directions).flatMap { try Self.encode($0, descending: $1) }
            let rightBytes = try zip(right, directions).flatMap { try Self.encode($0, descending: $1) }
            #expect(Self.compare(leftBytes, rightBytes) == expected, "seed \(seed): \(left) and \(right)")
        }
    }

    @Test("components decode to equal values and leave the cursor behind them", arguments: [false, true])
    func decodes(descending: Bool) throws {
        for value in Self.corners {
            let encoded = try Self.encode(value, descending: descending) + [descending ? ~0x40 : 0x40]
            try encoded.withUnsafeBytes { bytes in
                var cursor = ByteCursor(bytes)
                let component = try OrderEncoding.decode(&cursor, descending: descending)
                #expect(cursor.remaining == 1)
                switch component {
                case .missing: #expect(value == nil)
                case .value(let decoded): #expect(Self.compare(decoded, value) == 0, "\(String(describing: value))")
                }
            }
        }
    }

    /// Values, nil for a missing one, and their encodings in hexadecimal.
    ///
    /// One call a case: the type checker takes very long over them as one array literal.
    private static let tableForms: [(Value?, String)] = {
        var cases: [(Value?, String)] = []
        func add(_ v0: Value?, _ v1: String) { cases.append((v0, v1)) }
        add(nil, "10")
        add(.null, "20")
        add(false, "30")
        add(true, "31")
        add(0, "40 8000000000000000")
        add(-0.0, "40 8000000000000000")
        add(1, "40 bff0000000000000")
        add(1.0, "40 bff0000000000000")
        add(-1, "40 400fffffffffffff")
        add(9_007_199_254_740_992, "40 c340000000000000 8000")
        add(9_007_199_254_740_993, "40 c340000000000000 8001")
        add(.int(.max), "40 c3e0000000000000 7fff")
        add(.int(.min), "40 3c1fffffffffffff 8000")
        add(0x1p63, "40 c3e0000000000000 8000")
        add("", "50 00")
        add("a\0b", "50 6100ff62 00")
        add(.bytes([0xFF, 0]), "60 ff00ff 00")
        add(["a", 1], "70 506100 40bff0000000000000 01")
        add(["b": nil, "a": true], "80 506100 31 506200 20 01")
        return cases
    }()

    @Test(
        "encodings are those of the byte table",
        arguments: tableForms)
    func table(value: Value?, hexadecimal: String) throws {
        #expect(try Self.encode(value) == bytes(hexadecimal))
    }

    @Test("a string at the end of a descending component has a second zero, inverted like the rest")
    func descendingString() throws {
        #expect(try Self.encode("a", descending: true) == bytes("af 9e ff ff"))
    }

    @Test("bodies are encoded in place, objects by name")
    func inPlace() throws {
        let names = FieldNames()
        let value: Value = ["b": [1, "x"], "a": ["c": nil]]
        _ = names.intern("b")
        var encoded = ByteBuffer()
        try value.appendCBOR(names: names, to: &encoded)
        encoded.append(0x55)
        var cursor = ByteCursor(encoded.bytes)
        var key = ByteBuffer()
        try OrderEncoding.append(cborValue: &cursor, names: names, descending: false, to: &key)
        #expect(cursor.remaining == 1)
        #expect(key.array == (try Self.encode(value)))
    }
}
