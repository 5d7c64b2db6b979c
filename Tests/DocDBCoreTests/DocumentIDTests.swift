import DocDBCore
import Testing

@Suite("DocumentID") struct DocumentIDTests {
    @Test(
        "values become ids and come back",
        arguments: [
            "car-1", "", 42, -7, true, .bytes([1, 2]), [1, "a"], ["storeID": 7, "number": "A-12"], ["x": 1.5], [nil],
        ] as [Value])
    func roundTrip(value: Value) throws {
        let id = try DocumentID(value)
        #expect(id.value == value)
        var buffer = ByteBuffer()
        id.appendCBOR(to: &buffer)
        #expect(try DocumentID(canonicalCBOR: buffer.bytes) == id)
    }

    @Test("null and floats are refused", arguments: [nil, 1.0, -0.0, 1.5] as [Value])
    func refusesNullAndFloats(value: Value) throws {
        let error = try #require(throws: DocDBError.self) { _ = try DocumentID(value) }
        #expect(error.code == .invalidDocumentID)
    }

    @Test("an id has at most 256 bytes encoded")
    func longest() throws {
        // Heads of strings and byte strings from 24 to 255 bytes take two bytes.
        #expect(throws: Never.self) { _ = try DocumentID(.string(String(repeating: "a", count: 254))) }
        #expect(throws: Never.self) { _ = try DocumentID(.bytes(Array(repeating: 0, count: 254))) }
        for value: Value in [.string(String(repeating: "a", count: 255)), .bytes(Array(repeating: 0, count: 255))] {
            let error = try #require(throws: DocDBError.self) { _ = try DocumentID(value) }
            #expect(error.code == .invalidDocumentID)
        }
    }

    @Test(
        "bytes that are no canonical id are refused",
        arguments: [
            "", "f6", "f93c00", "1800", "6161 00", "a1 00 01", "a2 6162 01 6161 01", "61ff", "82 01", "f97e00",
            "fb7ff0000000000000",
            "ff", "1bffffffffffffffff", "c0 6161",
        ])
    func refusesBytes(hexadecimal: String) throws {
        let encoded = bytes(hexadecimal)
        let error = try #require(throws: DocDBError.self) {
            _ = try encoded.withUnsafeBytes { try DocumentID(canonicalCBOR: $0) }
        }
        #expect(error.code == .invalidDocumentID)
    }

    @Test("an object id has one encoding whatever the order of its members")
    func canonical() throws {
        var buffer = ByteBuffer()
        try DocumentID(["number": "A-12", "storeID": 7, "a": 1]).appendCBOR(to: &buffer)
        #expect(buffer.hexadecimal == "a3" + "616101" + "666e756d62657264412d3132" + "6773746f7265494407")
    }

    @Test("descriptions are the string, the number, or JSON")
    func description() throws {
        #expect("\("car-1" as DocumentID)" == "car-1")
        #expect("\(12 as DocumentID)" == "12")
        #expect(try DocumentID(["b": 1, "aa": true]).description == "{\"aa\":true,\"b\":1}")
    }

    @Test("a version 7 UUID holds its time, and later ones are greater")
    func uuid() throws {
        // The example of RFC 9562, appendix A.6: 2022-02-22 19:22:22 GMT, unix milliseconds 0x017F22E279B0.
        let id = DocumentID.uuidVersion7(nanosecondsSince1970: 1_645_557_742_000_000_000, random: 0x18C4_DC0C_0C07_398F)
        #expect(id.value == "017f22e2-79b0-7000-98c4-dc0c0c07398f")
        let half = DocumentID.uuidVersion7(nanosecondsSince1970: 1_645_557_742_000_500_000, random: .max)
        #expect(half.value == "017f22e2-79b0-7800-bfff-ffffffffffff")
    }
}
