import DocDBCore
import Testing

@Suite("CBOR") struct CBORTests {
    /// Examples of RFC 8949, appendix A, of the types that documents have.
    static let vectors: [(String, Value)] = [
        ("00", 0), ("01", 1), ("0a", 10), ("17", 23), ("1818", 24), ("1819", 25), ("1864", 100), ("1903e8", 1000),
        ("1a000f4240", 1_000_000), ("1b000000e8d4a51000", 1_000_000_000_000), ("20", -1), ("29", -10), ("3863", -100),
        ("3903e7", -1000), ("f90000", 0.0), ("f98000", -0.0), ("f93c00", 1.0), ("fb3ff199999999999a", 1.1),
        ("f93e00", 1.5), ("f97bff", 65504.0), ("fa47c35000", 100000.0), ("fa7f7fffff", 3.4028234663852886e+38),
        ("fb7e37e43c8800759c", 1.0e+300), ("f90001", 5.960464477539063e-8), ("f90400", 0.00006103515625),
        ("f9c400", -4.0), ("fbc010666666666666", -4.1), ("f4", false), ("f5", true), ("f6", nil),
        ("40", .bytes([])), ("4401020304", .bytes([1, 2, 3, 4])), ("60", ""), ("6161", "a"), ("6449455446", "IETF"),
        ("62225c", "\"\\"), ("62c3bc", "\u{fc}"), ("63e6b0b4", "\u{6c34}"), ("64f0908591", "\u{10151}"),
        ("80", []), ("83010203", [1, 2, 3]), ("8301820203820405", [1, [2, 3], [4, 5]]),
        (
            "98190102030405060708090a0b0c0d0e0f101112131415161718181819",
            .array((1...25).map { .int($0) })
        ),
        ("a0", .object([:])), ("a26161016162820203", ["a": 1, "b": [2, 3]]), ("826161a161626163", ["a", ["b": "c"]]),
        (
            "a56161614161626142616361436164614461656145",
            ["a": "A", "b": "B", "c": "C", "d": "D", "e": "E"]
        ),
        ("3b7fffffffffffffff", .int(.min)), ("1b7fffffffffffffff", .int(.max)),
    ]

    @Test("the examples of RFC 8949 encode and decode", arguments: vectors)
    func vector(hexadecimal: String, value: Value) throws {
        #expect(try value.canonicalCBOR() == bytes(hexadecimal))
        let encoded = bytes(hexadecimal)
        try encoded.withUnsafeBytes {
            #expect(try Value.decode($0, names: nil) == value)
            try CBOR.validate($0, internedKeyCount: 0)
        }
    }

    @Test(
        "bytes that are not in the one deterministic form, or no CBOR of ours, are refused",
        arguments: [
            "1817", "190017", "1a00000017", "1b0000000000000017", "fa3fc00000", "fb3ff8000000000000", "7801 61",
            "9801 01",
            "a2 6162 01 6161 02", "a2 6161 01 6161 02", "f97e00", "f97c00", "fa7f800000", "f7", "f0", "f818",
            "5f4101ff",
            "9fff", "bfff", "c000", "a1 01 01", "a1 20 01", "61 80", "1b8000000000000000", "3b8000000000000000", "",
            "18",
            "61", "82 01", "a1 6161", "9bffffffffffffffff", "bbffffffffffffffff", "7bffffffffffffffff", "1c", "00 00",
        ])
    func invalid(hexadecimal: String) {
        let encoded = bytes(hexadecimal)
        #expect(throws: CBORError.self) {
            try encoded.withUnsafeBytes { try CBOR.validate($0, internedKeyCount: 0) }
        }
    }

    @Test("interned keys are allowed up to their number")
    func internedKeys() throws {
        let body = bytes("a2 01 01 02 02")
        try body.withUnsafeBytes { try CBOR.validate($0, internedKeyCount: 3) }
        #expect(throws: CBORError.self) { try body.withUnsafeBytes { try CBOR.validate($0, internedKeyCount: 2) } }
    }

    @Test("nesting is limited to 64 arrays or maps")
    func depth() throws {
        let deepest = Array(repeating: UInt8(0x81), count: 63) + [0x80]
        try deepest.withUnsafeBytes {
            try CBOR.validate($0, internedKeyCount: 0)
            _ = try Value.decode($0, names: nil)
        }
        let tooDeep = Array(repeating: UInt8(0x81), count: 64) + [0x80]
        tooDeep.withUnsafeBytes { bytes in
            #expect(throws: CBORError.self) { try CBOR.validate(bytes, internedKeyCount: 0) }
            #expect(throws: CBORError.self) { _ = try Value.decode(bytes, names: nil) }
        }
    }

    @Test("hostile bytes are read or refused, never trapped on", arguments: [UInt64(11), 12, 13])
    func hostile(seed: UInt64) throws {
        var random = RandomValues(seed: seed)
        let names = FieldNames()
        for _ in 0..<2000 {
            var encoded = try random.value().canonicalCBOR()
            for _ in 0...random.below(3) where !encoded.isEmpty {
                encoded[random.below(encoded.count)] = UInt8(random.below(256))
            }
            if random.below(3) == 0 { encoded.removeLast(random.below(encoded.count + 1)) }
            encoded.withUnsafeBytes { bytes in
                let isValid: Void? = try? CBOR.validate(bytes, internedKeyCount: 0)
                let value = try? Value.decode(bytes, names: names)
                if isValid != nil { #expect(value != nil, "seed \(seed): valid bytes decode") }
                var buffer = ByteBuffer()
                var writer = JSONWriter()
                try? writer.append(value: bytes, names: names, to: &buffer)
                var cursor = ByteCursor(bytes)
                try? OrderEncoding.append(cborValue: &cursor, names: names, descending: false, to: &buffer)
                _ = try? DocumentID(canonicalCBOR: bytes)
                _ = try? FieldPath.decode(bytes, names: names)
                var keyCursor = ByteCursor(bytes)
                _ = try? OrderEncoding.decode(&keyCursor, descending: seed == 11)
            }
        }
    }
}
