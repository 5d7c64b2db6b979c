import DocDBCore
import DocDBSync
import Testing

/// What becomes of documents whose field names the peer's user may not bring into the store.
@Suite("Field names of a user")
struct FieldNameAllowanceTests {
    private static let fresh = HostileContentTests.fresh
    private static let general = "11 00 01 00 0000000000100000"

    /// Reads documents of id 7 with names 0 `a` and 1 `b` in a store that knows none, of which one may come in.
    private func read(
        _ bodies: [String], limit: Int?
    ) throws -> (documents: [IncomingDocument], names: FieldNames, allowance: FieldNameAllowance?) {
        let names = FieldNames()
        let allowance = limit.map { FieldNameAllowance(limit: $0) }
        let content = HostileContentTests.definitions + bodies.map { "08 00 07" + $0 }.joined()
        let documents = try DocumentsReader.documents(
            bytes(content), dictionary: ReceivingDictionary(allowance: allowance), names: names)
        return (documents, names, allowance)
    }

    @Test(
        "A document with a name that may not come in is told by that, wherever the name is, and the store learns none",
        arguments: [
            ("a1 01 02" + Self.fresh, "at the top"),
            ("a1 00 a1 01 02" + Self.fresh, "beneath another"),
            ("a1 00 81 a1 01 02" + Self.fresh, "in a list"),
            ("a1 6163 01" + Self.fresh, "spelt as text"),
            ("a2 00 01 01 02" + Self.general, "in a state in general form"),
            ("a1 00 01" + "11 08 01 00 0000000000100000 01 02 01 01 01 02", "in an entry that something hides"),
        ])
    func refused(_ body: String, _ place: String) throws {
        let known = "a1 00 05" + Self.fresh
        let (free, _, _) = try read([known, body, known], limit: nil)
        #expect(free.map(\.usesRefusedNames) == [false, false, false])
        let (documents, names, allowance) = try read([known, body, known], limit: 1)
        #expect(documents.map(\.usesRefusedNames) == [false, true, false], "\(place)")
        #expect(names.count == 1 && names.string(0) == "a")
        #expect(allowance?.takenCount == 1)
        // What the sender has seen of it is told all the same.
        #expect(documents[1].seen == free[1].seen && !documents[1].seen.isEmpty)
        #expect(documents[1].digest == free[1].digest)
        let (all, both, full) = try read([known, body, known], limit: 3)
        #expect(all.map(\.usesRefusedNames) == [false, false, false])
        #expect(full?.takenCount == both.count)
    }

    @Test("Names that are not interned anyway, and those that the store knows, need no allowance")
    func free() throws {
        let names = FieldNames()
        for name in ["a", "b"] { _ = Array(name.utf8).withUnsafeBytes { names.intern($0) } }
        let allowance = FieldNameAllowance(limit: 0)
        let content = HostileContentTests.head + "a3 00 01 01 02 63612d62 03" + Self.fresh
        let documents = try DocumentsReader.documents(
            bytes(content), dictionary: ReceivingDictionary(allowance: allowance), names: names)
        #expect(documents.map(\.usesRefusedNames) == [false])
        #expect(names.count == 2 && allowance.takenCount == 0)
    }
}
