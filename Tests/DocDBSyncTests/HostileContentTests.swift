import DocDBCore
import DocDBSync
import Testing

/// Contents that no store wrote.
@Suite("Hostile contents of documents")
struct HostileContentTests {
    /// Names 0 `a` and 1 `b`, actor 0, collection 0 `cars`.
    static let definitions = "80 8100 0161 8101 0162 8200 00000000000000010000000000000001 83 04 63617273"
    /// In scope, whole, id 7.
    static let head = definitions + "08 00 07"
    static let fresh = "10 00 0000000000100000"

    static func read(_ hexadecimal: String) throws -> [IncomingDocument] {
        try DocumentsReader.documents(bytes(hexadecimal), dictionary: ReceivingDictionary(), names: FieldNames())
    }

    @Test("What the broken ones are made of is sound")
    func sound() throws {
        #expect(try Self.read(Self.head + "a1 00 01" + Self.fresh).count == 1)
        #expect(try Self.read(Self.head + "a2 00 01 01 02" + "11 00 01 00 0000000000100000").count == 1)
        #expect(try Self.read(Self.definitions + "1b 00 07 0000000000100000 01 00 00").count == 1)
        #expect(try Self.read(Self.definitions + "04 00 07").count == 1)
    }

    @Test(
        "Bodies that a store would not write are refused",
        arguments: [
            "a1 00 1801", "a1 00 fb3ff0000000000000", "a1 00 f97e00", "a1 00 f97c00",  // not shortest, NaN, infinity
            "a1 00 61ff", "a1 00 fa", "a1 00 f8ff", "a1 00 c001",  // not UTF-8, cut, an unknown simple value, a tag
            "a2 01 02 00 01", "a2 00 01 00 02",  // out of order, twice
            "a1 02 01", "a1 1819 01", "a1 20 01", "a1 f6 01",  // not defined, no key
            "a2 6161 01 6162 02" + "00", "a2 00 01 6161 02",  // left over; one name as number and as text
            "a1 63 5f6964 01",  // _id at the top
            "80", "00", "bb7fffffffffffffff", "a1 00 9b7fffffffffffffff",  // no map, counts that nothing holds
            "a1 00 1bffffffffffffffff",  // beyond Int64
        ])
    func bodies(_ body: String) {
        #expect(throws: DocDBError.self) { try Self.read(Self.head + body + Self.fresh) }
    }

    @Test(
        "States that a store would not write are refused",
        arguments: [
            "10 02 0000000000100000", "10 00 0000000000000000", "10 00 00000000001000",  // unknown actor, no time, cut
            "12", "11 10 01 00 0000000000100000",  // unknown form, unknown flag
            "11 00 00", "11 00 02 00 0000000000100000 00 00",  // leaves without a stamp, stamps not ascending
            "11 01 01 00 0000000000100000 01 00", "11 01 01 00 0000000000100000 02 02",  // runs of nothing, of no stamp
            "11 02 01 00 0000000000100000 01 00 22",  // seen that does not cover the entries (tick 8)
            "11 04 01 00 0000000000100000 01 00 00",  // dead, with a body
            "11 08 01 00 0000000000100000 01 02 00 01 01",  // a value for the whole document
            "11 08 01 00 0000000000100000 01 00 01 02 01",  // a path whose name is not defined
            "11 08 01 00 0000000000100000 01 00 04 635f6964 01",  // a path beneath _id
            "11 08 01 00 0000000000100000 01 02 01 01 01 1801",  // a value that is not in its shortest form
            "11 08 01 00 0000000000100000 01 02 01 01 01 a0",  // a map as a value
        ])
    func states(_ state: String) {
        #expect(throws: DocDBError.self) { try Self.read(Self.head + "a1 00 01" + state) }
    }

    @Test(
        "Definitions and names that break a rule are refused",
        arguments: [
            "8100 0161", "08 00 07 a0" + fresh, definitions + "8100 0163",  // before the beginning, twice
            "80 8100 00", "80 8100 0120", "80 81 8020 0161", "80 8100 21" + String(repeating: "61", count: 33),
            "80 84", "80 8200 00", "80 83 00", "80 83 02 5f5f", "80 83 01 ff", "80 83 02 6100",
            definitions + "04 01 07", definitions + "04 00 f6", definitions + "04 00 f93c00",
            definitions + "04 00 1801",
            definitions + "04 00 ff 00", definitions + "04 00 a1 00 01", definitions + "05 00 07",
            definitions + "44 00", definitions + "24 01 00 07", definitions + "24 8008 00 07", definitions + "64 00",
            definitions + "18 00 07 0000000000100000 00", definitions + "18 00 07 0000000000100000 01 01 00",
        ])
    func names(_ content: String) {
        #expect(throws: DocDBError.self) { try Self.read(content) }
    }

    @Test("Nesting beyond the limit is refused, in objects, arrays and paths")
    func depth() throws {
        func nested(_ open: String, _ count: Int) -> String { String(repeating: open, count: count) }
        #expect(try Self.read(Self.head + nested("a100", 63) + "a10001" + Self.fresh).count == 1)
        #expect(throws: DocDBError.self) { try Self.read(Self.head + nested("a100", 64) + "a10001" + Self.fresh) }
        #expect(throws: DocDBError.self) { try Self.read(Self.head + "a100" + nested("81", 64) + "01" + Self.fresh) }
        #expect(throws: DocDBError.self) {
            try Self.read(Self.head + "a100" + nested("81", 200_000) + "01" + Self.fresh)
        }
        let path = nested("00", 65)
        #expect(throws: DocDBError.self) {
            try Self.read(Self.head + "a10101" + "11 08 01 00 0000000000100000 01 00 41" + path + "01")
        }
    }

    @Test("A long name over many fields, which would take memory without end, is refused")
    func longPaths() throws {
        // A name of 64 KiB over 3,000 fields: 192 MB of paths from 70 KB.
        var body = bytes("a1 7a00010000") + [UInt8](repeating: 0x78, count: 65_536) + bytes("b90bb8")
        for number in 0..<3000 {
            let name = String(10_000 + number)
            body += [0x65] + Array(name.utf8) + [0x01]
        }
        let content = bytes(Self.head) + body + bytes(Self.fresh)
        #expect(throws: DocDBError.self) {
            try DocumentsReader.documents(content, dictionary: ReceivingDictionary(), names: FieldNames())
        }
    }

    @Test("A full table of names keeps further ones as text")
    func fullTable() throws {
        let names = FieldNames()
        for number in 0..<Limits.internedFieldNameCount {
            _ = Array("n\(number)".utf8).withUnsafeBytes { names.intern($0) }
        }
        let content = bytes(Self.head + "a2 00 01 01 02" + Self.fresh)
        let document = try DocumentsReader.documents(content, dictionary: ReceivingDictionary(), names: names)[0]
        guard case .fresh(let body, _) = document.content else {
            Issue.record("not fresh")
            return
        }
        #expect(hexadecimal(body) == "a2616101616202")
        // The same names in a general state.
        let general = bytes(Self.head + "a2 00 01 01 02" + "11 00 01 00 0000000000100000")
        let other = try DocumentsReader.documents(general, dictionary: ReceivingDictionary(), names: names)[0]
        var joined = DocumentState()
        let delta = try #require(try other.delta(actors: ActorTable()))
        let isJoined = joined.apply(delta, forgets: true, names: names)
        #expect(isJoined)
        var output = ByteBuffer()
        joined.appendBody(to: &output)
        #expect(hexadecimal(output.array) == "a2616101616202")
    }

    @Test("An entry of a newer kind comes through as it is")
    func unknownEntry() throws {
        let names = FieldNames()
        let content = bytes(
            Self.head + "a1 00 01" + "11 08 02 00 0000000000010000 00 04 01 05 01 01 01 02 01 6b 02 706c")
        let document = try DocumentsReader.documents(content, dictionary: ReceivingDictionary(), names: names)[0]
        let state = try #require(try document.delta(actors: ActorTable())).state
        let entry = try #require(state.unknowns.first)
        #expect(entry.kind == 5)
        #expect(state.bytes(of: entry.key) == [0x6B])
        #expect(state.bytes(of: entry.payload) == [0x70, 0x6C])
        #expect(document.newestTime == HybridTime(rawValue: 0x2_0000))
    }

    @Test("Contents cut short or changed end in a protocol error or in documents that are sound", arguments: 0..<60)
    func changedContents(seed: Int) throws {
        var random = SeededGenerator(seed: UInt64(seed))
        let store = MemoryStore(actor: actor(1))
        var writer = DocumentsWriter(
            number: 1, dictionary: SendingDictionary(), names: store.names, actors: store.actors)
        var bases: [VersionVector] = []
        for number in 0..<6 {
            let name = DocumentName(collection: "cars", id: encoded(DocumentID(Int64(number))))
            for _ in 0...random.below(4) { try DocumentsContentTests.change(store, name, &random) }
            bases.append(store[name].seen)
            try DocumentsContentTests.change(store, name, &random)
            if store[name].isUnwritten { continue }
            let delta = store[name].delta(since: random.below(2) == 0 ? VersionVector() : bases[number])
            try name.id.withUnsafeBytes {
                try writer.append(
                    .inScope, delta, DocumentReference(collection: 1, key: Int64(number)), collection: "cars", id: $0)
            }
        }
        let content = writer.finish()
        let names = FieldNames()
        for _ in 0..<150 {
            var changed = content
            switch random.below(4) {
            case 0: changed.removeLast(random.below(changed.count))
            case 1: changed.insert(UInt8(random.below(256)), at: random.below(changed.count))
            case 2: changed.remove(at: random.below(changed.count))
            default: for _ in 0...random.below(4) { changed[random.below(changed.count)] = UInt8(random.below(256)) }
            }
            do {
                for document in try DocumentsReader.documents(
                    changed, dictionary: ReceivingDictionary(), names: names)
                {
                    try Self.checkSound(document, names)
                }
            } catch let error as DocDBError {
                #expect(error.code == .protocolError, "seed \(seed)")
            }
        }
    }

    /// Joins a document to nothing and checks that what would be stored is valid by the checks of the store's own formats.
    static func checkSound(_ document: IncomingDocument, _ names: FieldNames) throws {
        #expect(throws: Never.self) { try document.name.id.withUnsafeBytes { try DocumentID(canonicalCBOR: $0) } }
        if case .fresh(let body, _) = document.content {
            #expect(throws: Never.self) {
                try body.withUnsafeBytes { try CBOR.validate($0, internedKeyCount: names.count) }
            }
        }
        let actors = ActorTable()
        guard let delta = try document.delta(actors: actors) else { return }
        var state = DocumentState()
        let whole = DocumentDelta(base: VersionVector(), state: delta.state)
        let isJoined = state.apply(whole, forgets: true, names: names)
        #expect(isJoined)
        var body = ByteBuffer()
        var stored = ByteBuffer()
        guard state.encode(into: &body, state: &stored, actors: actors) else { return }
        #expect(throws: Never.self) { try CBOR.validate(body.bytes, internedKeyCount: names.count) }
        #expect(throws: Never.self) { try DocumentState(body: body.bytes, state: stored.bytes, actors: actors) }
    }
}
