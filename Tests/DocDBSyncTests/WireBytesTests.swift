import DocDBCore
import DocDBSync
import Testing

/// How many bytes replication takes.
@Suite("Bytes on the wire")
struct WireBytesTests {
    static let car: Value = [
        "make": "toyota", "model": "corolla-512", "state": "for sale", "price": 9500, "year": 2014, "mileage": 120_000,
        "seller": ["name": "Anna Berg", "city": "Lower Town"], "tags": ["clean", "family", "diesel"],
        "description": "well kept, one owner, garage",
    ]

    /// Updates one field in turn, as A or B, and returns the bytes of the last commit with its acknowledgement.
    static func updateByteCount(byOther: Bool, documentCount: Int) throws -> Int {
        let seconds: UInt64 = 1_796_000_000
        let inserter = MemoryStore(actor: actor(1), clock: seconds * 15_258)
        let store = MemoryStore(actor: byOther ? actor(2) : actor(1), clock: (seconds + 86_400) * 15_258)
        let sending = SendingDictionary()
        let receiving = ReceivingDictionary()
        let other = MemoryStore(actor: actor(3))
        var last = 0
        for round in 0..<2 {
            for number in 0..<documentCount {
                let id = DocumentID.uuidVersion7(
                    nanosecondsSince1970: seconds * 1_000_000_000, random: UInt64(number) &* 0x9E37_79B9_7F4A_7C15)
                let name = DocumentName(collection: "cars", id: encoded(id))
                if round == 0 {
                    try inserter.merge(name, car)
                    store[name] = try inserter[name].transcoded(from: inserter.names, to: store.names)
                }
                let base = store[name].seen
                try store.set(name, ["price"], .int(Int64(10_000 + number)))
                var writer = DocumentsWriter(
                    number: 1, dictionary: sending, names: store.names, actors: store.actors)
                try name.id.withUnsafeBytes {
                    try writer.append(
                        .inScope, store[name].delta(since: base),
                        DocumentReference(collection: 1, key: Int64(number)), collection: "cars", id: $0)
                }
                let content = writer.finish()
                #expect(try DocumentsReader.documents(content, dictionary: receiving, names: other.names).count == 1)
                let snapshot = UInt64(1000 + number)
                let commit = MessageCodec.frame(
                    .commit(CommitMessage(number: 1, snapshot: snapshot, sequence: 100_000, content: content)))
                let acknowledge = MessageCodec.frame(
                    .acknowledge(Acknowledge(number: 1, snapshot: snapshot, except: [])))
                last = commit.count + acknowledge.count
            }
        }
        return last
    }

    @Test("A one-field update and its acknowledgement take at most 65 bytes, of ever new documents 80")
    func updates() throws {
        for byOther in [false, true] {
            let known = try Self.updateByteCount(byOther: byOther, documentCount: 3)
            let new = try Self.updateByteCount(byOther: byOther, documentCount: 600)
            #expect(known <= 65, "by another actor: \(byOther), \(known)")
            #expect(new <= 80, "by another actor: \(byOther), \(new)")
            #expect(new > known)
        }
    }

    @Test("A first sync takes less than 0.45 of the JSON text")
    func firstSync() throws {
        var random = SeededGenerator(seed: 3)
        let store = MemoryStore(actor: actor(1), clock: 1_796_000_000 * 15_258)
        var writer = DocumentsWriter(
            number: 1, dictionary: SendingDictionary(), names: store.names, actors: store.actors)
        var textCount = 0
        for number in 0..<400 {
            let words = ["toyota", "springfield", "corolla", "diesel", "family", "garage", "anna", "berg", "north"]
            func word() -> Value { .string("\(words[random.below(9)])-\(random.below(900))") }
            let car: Value = [
                "make": .string(words[random.below(9)]), "model": word(), "state": "for sale",
                "price": .int(Int64(random.below(90_000))), "year": .int(Int64(1990 + random.below(37))),
                "mileage": .int(Int64(random.below(300_000))), "seller": ["name": word(), "city": word()],
                "tags": [word(), word(), word()],
            ]
            let name = DocumentName(
                collection: "cars",
                id: encoded(
                    DocumentID.uuidVersion7(
                        nanosecondsSince1970: 1_796_000_000_000_000_000 + UInt64(number) << 20, random: random.next())))
            try store.merge(name, car)
            try store.withStored(name) { document in
                var text = ByteBuffer()
                var json = JSONWriter()
                try json.append(value: document.body!, names: store.names, to: &text)
                textCount += text.count + 47  // `"_id":"` and 36 characters, quote, comma
                try writer.append(.inScope, document, collection: "cars")
            }
        }
        let frame = MessageCodec.frame(.documents(DocumentsMessage(number: 1, content: writer.finish())))
        #expect(Double(frame.count) < 0.45 * Double(textCount), "\(frame.count) of \(textCount)")
    }
}
