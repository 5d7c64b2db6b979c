import DocDBCore
import DocDBStorage
import DocDBSync
import Testing

/// Documents as frames carry them, between stores whose tables differ.
@Suite("Contents of documents")
struct DocumentsContentTests {
    static let fields = ["make", "price", "seller", "a", "b", "c", "odd key", "é", "", "tags"]

    /// One direction between two stores.
    struct Wire {
        let sending = SendingDictionary()
        let receiving = ReceivingDictionary()
        var number: UInt64 = 1

        func documents(
            from store: MemoryStore, to other: MemoryStore, _ write: (inout DocumentsWriter) throws -> Void
        ) throws -> [IncomingDocument] {
            var writer = DocumentsWriter(
                number: number, dictionary: sending, names: store.names, actors: store.actors)
            try write(&writer)
            return try DocumentsReader.documents(writer.finish(), dictionary: receiving, names: other.names)
        }
    }

    static func randomValue(_ random: inout SeededGenerator, depth: Int = 2) -> Value {
        switch random.below(depth > 0 ? 9 : 6) {
        case 0: .int(Int64(bitPattern: random.next() >> UInt64(random.below(64))))
        case 1: .string(["", "toyota", "é", String(repeating: "x", count: random.below(300))][random.below(4)])
        case 2: .float([0.5, -0.0, 1e300, 0.1][random.below(4)])
        case 3: .bool(random.below(2) == 0)
        case 4: .null
        case 5: .bytes(random.bytes(random.below(30)))
        case 6: .array((0..<random.below(4)).map { _ in randomValue(&random, depth: depth - 1) })
        default: .object(randomMembers(&random, depth: depth - 1))
        }
    }

    static func randomMembers(_ random: inout SeededGenerator, depth: Int = 2) -> [String: Value] {
        var members: [String: Value] = [:]
        for _ in 0..<random.below(7) {
            members[fields[random.below(fields.count)]] = randomValue(&random, depth: depth)
        }
        return members
    }

    static func change(_ store: MemoryStore, _ name: DocumentName, _ random: inout SeededGenerator) throws {
        let field = fields[random.below(fields.count)]
        let other = fields[random.below(fields.count)]
        switch random.below(9) {
        case 0, 1: try store.merge(name, .object(randomMembers(&random)), isDefault: random.below(3) == 0)
        case 2: try store.set(name, [field], randomValue(&random))
        case 3: try store.set(name, [field, other], randomValue(&random))
        case 4: try store.unset(name, random.below(2) == 0 ? [field] : [field, other])
        case 5: try? store.increment(name, [field], random.below(2) == 0 ? .int(3) : .float(0.25))
        case 6: try? store.increment(name, [field, "n"], .int(-1))
        case 7 where random.below(3) == 0: store.delete(name, forgets: random.below(2) == 0)
        default: try store.set(name, [], .object(randomMembers(&random)))
        }
    }

    static let ids: [DocumentID] = [
        "car-000001", 7, -1, "0192f8a0-1b2c-7d3e-8f40-123456789abc", "0192F8A0-1b2c-7d3e-8f40-123456789abc",
        "0192f8a0-1b2c-7d3e-8f40-12345678_abc",
    ]

    @Test("Stores with other numbers of names and actors come to the same documents", arguments: 0..<150)
    func convergence(seed: Int) throws {
        var random = SeededGenerator(seed: UInt64(seed))
        let interned = Self.fields.shuffled(using: &random)
        let tables: [[String]] = [[], interned, interned.reversed()]
        let stores: [MemoryStore] = (0..<3).map { (number: Int) -> MemoryStore in
            MemoryStore(actor: actor(UInt64(number + 1)), interned: tables[number], clock: UInt64(1000 + number))
        }
        stores[1].intern([actor(99), actor(3)])
        var names = Self.ids.map { DocumentName(collection: "cars", id: encoded($0)) }
        names.append(DocumentName(collection: "é", id: encoded(try DocumentID(["storeID": 7, "number": "A"]))))
        let wires = (0..<9).map { _ in Wire() }
        for _ in 0..<60 {
            let (from, to) = (random.below(3), random.below(3))
            if from == to {
                try Self.change(stores[from], names[random.below(names.count)], &random)
                continue
            }
            let chosen = names.filter { !stores[from][$0].isUnwritten && random.below(2) == 0 }
            let isDelta = random.below(2) == 0
            let documents = try wires[3 * from + to].documents(from: stores[from], to: stores[to]) { writer in
                for name in chosen {
                    let key = Int64(names.firstIndex(of: name)!)
                    if isDelta {
                        let delta = stores[from][name].delta(since: stores[to][name].seen)
                        let reference = DocumentReference(collection: name.collection == "cars" ? 1 : 2, key: key)
                        try name.id.withUnsafeBytes {
                            try writer.append(.inScope, delta, reference, collection: name.collection, id: $0)
                        }
                    } else {
                        try stores[from].withStored(name, key: key) {
                            var document = $0
                            document.reference.collection = name.collection == "cars" ? 1 : 2
                            try writer.append(.inScope, document, collection: name.collection)
                        }
                    }
                }
            }
            #expect(documents.map { $0.name } == chosen)
            for document in documents {
                // Of a dead document only `deleted` travels, whether or not its entries are forgotten.
                let full = stores[from][document.name]
                let sent = full.isAlive ? full : DocumentState(deleted: full.deleted)
                // What is computed independently: the same join in the sender's own tables.
                var expected = try stores[to][document.name].transcoded(from: stores[to].names, to: stores[from].names)
                let isExpected = expected.apply(
                    sent.delta(since: VersionVector()), forgets: true, names: stores[from].names)
                #expect(isExpected)
                #expect(try stores[to].join(document))
                #expect(
                    try stores[to].canonical(document.name) == (try stores[from].canonical(expected)), "seed \(seed)")
                let newest: HybridTime = document.seen.elements.map { $0.time }.max() ?? .zero
                #expect(document.newestTime >= newest)
                let digest = document.name.id.withUnsafeBytes { id in
                    sent.digest(collection: document.name.collection, id: id) { bytes in
                        let hash = ContentHash.sha256(bytes)
                        let halves = ActorID(bytes: hash[..<16])!
                        return StateDigest(high: halves.high, low: halves.low)
                    }
                }
                #expect(document.digest == digest)
            }
        }
    }

    @Test("The digest of stored bytes is that of the decoded state", arguments: 0..<100)
    func storedDigests(seed: Int) throws {
        var random = SeededGenerator(seed: UInt64(seed))
        let stores = [MemoryStore(actor: actor(5)), MemoryStore(actor: actor(4))]
        stores[0].intern([actor(4)])
        let name = DocumentName(collection: "cars", id: encoded("1"))
        var digester = DocumentDigester(actors: stores[0].actors)
        for _ in 0..<40 {
            let store = stores[random.below(2)]
            try Self.change(store, name, &random)
            let delta = try store[name].delta(since: VersionVector()).transcoded(
                from: store.names, to: stores[0].names)
            if store !== stores[0] {
                let isJoined = stores[0][name].apply(delta, forgets: random.below(2) == 0, names: stores[0].names)
                #expect(isJoined)
            }
            if stores[0][name].isUnwritten { continue }
            let expected = name.id.withUnsafeBytes {
                DocumentDigester.digest(stores[0][name], collection: "cars", id: $0)
            }
            let digest = try stores[0].withStored(name) { try digester.digest($0, collection: "cars") }
            #expect(digest == expected, "seed \(seed)")
        }
    }

    @Test("A document by itself survives as the receiver's bytes", arguments: 0..<60)
    func contentByItself(seed: Int) throws {
        var random = SeededGenerator(seed: UInt64(seed))
        let store = MemoryStore(actor: actor(1))
        let name = DocumentName(collection: "cars", id: encoded("1"))
        for _ in 0..<8 { try Self.change(store, name, &random) }
        if store[name].isUnwritten { return }
        let wire = Wire()
        let other = MemoryStore(actor: actor(2), interned: ["c", "b", "a"])
        let document = try wire.documents(from: store, to: other) { writer in
            try store.withStored(name) { try writer.append(.leftFilter, $0, collection: "cars") }
        }[0]
        let again = try WireContent.document(WireContent.bytes(document, names: other.names), names: other.names)
        #expect(again.name == name)
        #expect(again.kind == .leftFilter)
        #expect(again.digest == document.digest)
        #expect(try other.join(again))
        #expect(try other.canonical(name) == store.canonical(name))
    }

    @Test("Only names and actors of the documents sent are told")
    func nothingLeaks() throws {
        let store = MemoryStore(actor: actor(1), interned: ["secretField", "make"])
        store.intern([actor(77)])
        let name = DocumentName(collection: "cars", id: encoded("1"))
        try store.merge(DocumentName(collection: "secrets", id: encoded("1")), ["hidden": 1])
        try store.merge(name, ["make": "toyota"])
        let sending = SendingDictionary()
        func content() throws -> [UInt8] {
            var writer = DocumentsWriter(number: 1, dictionary: sending, names: store.names, actors: store.actors)
            try store.withStored(name) { try writer.append(.inScope, $0, collection: "cars") }
            return writer.finish()
        }
        let first = try content()
        #expect(first.filter { $0 == WireByte.definesName }.count == 1)
        let text = String(decoding: first, as: UTF8.self)
        #expect(text.contains("make") && !text.contains("secret") && !text.contains("hidden"))
        #expect(!hexadecimal(first).contains(hexadecimal(actor(77).bytes)))
        // The second time nothing is defined again.
        #expect(try content().count == first.count - 1 - (3 + 4) - (2 + 16) - (2 + 4))
    }

    enum WireByte { static let definesName: UInt8 = 0x81 }

    @Test("Golden: a whole document, a delta by slot, a deleted one")
    func golden() throws {
        let store = MemoryStore(actor: actor(1))
        let other = ActorID(high: 2, low: 2)
        let id = encoded("0192f8a0-1b2c-7d3e-8f40-123456789abc")
        var state = DocumentState()
        let stamp = Stamp(time: HybridTime(rawValue: 0x10_0000), actor: other)
        try store.encoded(["a": 1, "b": 2]).withUnsafeBytes {
            _ = try state.merge(
                $0, at: UnsafeRawBufferPointer(start: nil, count: 0), skippingEqual: false, stamp: stamp)
        }
        let base = state.seen
        let name = DocumentName(collection: "cars", id: id)
        store[name] = state
        let sending = SendingDictionary()
        var writer = DocumentsWriter(number: 1, dictionary: sending, names: store.names, actors: store.actors)
        try store.withStored(name) { try writer.append(.inScope, $0, collection: "cars") }
        // Begin anew; names 0 and 1; actor 0; collection; in scope and whole; collection 0, the UUID; body; state.
        #expect(
            hexadecimal(writer.finish())
                == "80" + "8100" + "0161" + "8101" + "0162" + "8200" + "0000000000000002" + "0000000000000002"
                + "83" + "0463617273" + "08" + "00" + "ff0192f8a01b2c7d3e8f40123456789abc" + "a200010102"
                + "1000" + "0000000000100000")
        try store.set(name, ["b"], 9)
        let later = store.clock
        #expect(later == 1003)
        for expectsSlot in [false, true] {
            var writer = DocumentsWriter(number: 1, dictionary: sending, names: store.names, actors: store.actors)
            try id.withUnsafeBytes {
                try writer.append(
                    .inScope, store[name].delta(since: base), DocumentReference(collection: 1, key: 1),
                    collection: "cars", id: $0)
            }
            // Tick 1003 is 3eb; actor 1 is new. In scope (0), a delta (10), by a new slot (30) or a known one (50).
            // State: general, seen, one stamp of actor 1; seen corrected by actor 0 at tick 16: -987 ticks, zigzag 1973,
            // doubled 3946. Base: one difference from seen, actor 1 is absent.
            let defined = expectsSlot ? "" : "8201" + hexadecimal(actor(1).bytes)
            let named = expectsSlot ? "50" + "00" : "30" + "00" + "00" + "ff0192f8a01b2c7d3e8f40123456789abc"
            #expect(
                hexadecimal(writer.finish())
                    == defined + named + "a10109" + "11" + "02" + "01" + "02" + "0000000003eb0000" + "01" + "00"
                    + "ea1e"
                    + "01" + "03")
        }
        store.delete(name, forgets: true)
        var last = DocumentsWriter(number: 1, dictionary: sending, names: store.names, actors: store.actors)
        try store.withStored(name) { try last.append(.leftDeleted, $0, collection: "cars") }
        try id.withUnsafeBytes {
            try last.append(.notHeld, DocumentReference(collection: 1, key: 1), collection: "cars", id: $0)
        }
        // Ticks 1006 (3ee) and 16: newest time, two elements: actor 0 at -990 (zigzag 1979, doubled 3958), actor 1 at 0.
        // Actor 1 of this test is less than actor 2, by its id.
        #expect(
            hexadecimal(last.finish())
                == "1b" + "00" + "ff0192f8a01b2c7d3e8f40123456789abc" + "0000000003ee0000" + "02" + "01" + "00" + "00"
                + "f61e" + "04" + "00" + "ff0192f8a01b2c7d3e8f40123456789abc")
    }

    @Test("A new number of the interest, or a content that was dropped, begins the dictionaries anew")
    func beginsAnew() throws {
        let store = MemoryStore(actor: actor(1))
        let other = MemoryStore(actor: actor(2))
        let name = DocumentName(collection: "cars", id: encoded("1"))
        try store.merge(name, ["make": "toyota"])
        var wire = Wire()
        for number: UInt64 in [1, 1, 2, 2] {
            wire.number = number
            let dropped = DocumentsWriter(
                number: number, dictionary: wire.sending, names: store.names, actors: store.actors)
            #expect(dropped.documentCount == 0)
            _ = consume dropped
            let documents = try wire.documents(from: store, to: other) { writer in
                try store.withStored(name) { try writer.append(.inScope, $0, collection: "cars") }
            }
            #expect(documents.count == 1)
        }
        #expect(throws: DocDBError.self) {
            // A reader that has not followed from the beginning knows no names.
            var writer = DocumentsWriter(
                number: 2, dictionary: wire.sending, names: store.names, actors: store.actors)
            try store.withStored(name) { try writer.append(.inScope, $0, collection: "cars") }
            _ = try DocumentsReader.documents(writer.finish(), dictionary: ReceivingDictionary(), names: other.names)
        }
    }
}
