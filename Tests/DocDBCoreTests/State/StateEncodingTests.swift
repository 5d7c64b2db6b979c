import DocDBCore
import Testing

/// The storage encoding: golden vectors of Schemas/document-state.md, worked out by hand, and round trips.
@Suite("Storage encoding of document states")
struct StateEncodingTests {
    let actors = ActorTable()

    /// Times whose low 16 bits are zero: one tick is 0x10000.
    private func tick(_ ticks: UInt64, _ name: String = "A", isDefault: Bool = false) -> Stamp {
        stamp(ticks << 16, name, isDefault: isDefault)
    }

    private func hex(_ bytes: [UInt8]?) -> String {
        guard let bytes else { return "-" }
        let digits = Array("0123456789abcdef")
        return String(bytes.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] })
    }

    private func check(
        _ document: DocumentState, body: String, state: String, sourceLocation: SourceLocation = #_sourceLocation
    ) throws {
        let stored = StoredDocument(document, actors)
        #expect(hex(stored.body) == body, sourceLocation: sourceLocation)
        #expect(hex(stored.state) == state, sourceLocation: sourceLocation)
        #expect(StoredDocument(try stored.load(actors), actors) == stored, sourceLocation: sourceLocation)
    }

    @Test("Golden: a fresh document")
    func goldenFresh() throws {
        var document = DocumentState()
        try document.merge(["a": 1, "m": ["p": [:]]], tick(0x1234))
        try check(document, body: "a2616101616da16170a0", state: "10" + "00" + "0000000012340000")
        var byDefault = DocumentState()
        try byDefault.merge(["a": 1], tick(0x1234, isDefault: true))
        try check(byDefault, body: "a1616101", state: "10" + "01" + "0000000012340000")
    }

    @Test("Golden: one field changed later, by another actor")
    func goldenTwoStamps() throws {
        var document = DocumentState()
        try document.merge(["a": 1, "b": 2, "c": 3], tick(0x10, "A"))
        var changed = document
        try changed.set(["b"], 9, tick(0x12, "A"))
        // Two stamps: the first in full, the second 2 ticks on (zigzag 4, shifted 8). Runs: 1 x 1, 2 x 1, 1 x 1.
        try check(
            changed, body: "a3616101616209616303",
            state: "11" + "01" + "02" + "00" + "0000000000100000" + "00" + "08" + "0101" + "0201" + "0101")
        try document.set(["b"], 9, stamp(0x12_0005, "B"))
        // The counter 5 makes the distance 9 and follows it; actor 1 is 02.
        try check(
            document, body: "a3616101616209616303",
            state: "11" + "01" + "02" + "00" + "0000000000100000" + "02" + "0905" + "0101" + "0201" + "0101")
    }

    @Test("Golden: a root marker, an absent field, a hidden scalar and tallies are extras")
    func goldenExtras() throws {
        var document = DocumentState()
        try document.set([], ["a": 1, "n": 5, "s": 7], tick(1))
        try document.unset(["a"], tick(1))
        try document.increment(["n"], .int(2), tick(2))
        try document.increment(["s", "t"], .int(3), tick(2))
        // Leaves n and s.t are sums (0). Extras: marker of the root, absent a, the 5 beneath n, the hidden 7 of s; then
        // the tallies, n's and s.t's, each with base 1 and dot 2.
        try check(
            document, body: "a2616e076173a1617403",
            state: "11" + "09" + "02" + "00" + "0000000000010000" + "00" + "04" + "0002" + "06"
                + "00" + "00" + "01" + "01" + "026161" + "01" + "02" + "02616e" + "01" + "05"
                + "02" + "026173" + "01" + "07"
                + "03" + "02616e" + "01" + "02" + "02" + "03" + "0461736174" + "01" + "02" + "03")
    }

    @Test("Golden: documents that are dead or empty")
    func goldenDead() throws {
        var empty = DocumentState()
        try empty.merge([:], tick(3))
        try check(empty, body: "a0", state: "10" + "00" + "0000000000030000")
        var document = DocumentState()
        try document.merge(["a": 1], tick(1))
        var kept = document
        // Deleted at tick 2: one actor; 2 ticks from zero is 8.
        document.delete(stamp: tick(2), forgets: true)
        try check(document, body: "-", state: "11" + "04" + "00" + "01" + "00" + "08")
        // With entries: times are told from the newest stamp, tick 1; `seen` differs from what the entries imply.
        kept.delete(stamp: tick(2), forgets: false)
        try check(
            kept, body: "-",
            state: "11" + "0e" + "01" + "00" + "0000000000010000" + "01" + "00" + "04" + "01" + "00" + "04" + "01"
                + "02" + "026161" + "01" + "01")
    }

    @Test("Golden: entries of unknown kinds are kept byte for byte and read as missing")
    func goldenUnknown() throws {
        let body = encoded(["a": 1])
        // Two stamps, runs, one extra: kind 5 at "l", base stamp 1, dot 2, key 6b, payload 706c.
        let state: [UInt8] = [
            0x11, 0x08, 2, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 4, 1, 5, 2, 0x61, 0x6C, 1, 2, 1, 0x6B, 2, 0x70, 0x6C,
        ]
        _ = actors.intern(actorID("A"))
        let stored = StoredDocument(body: body, state: state)
        let document = try stored.load(actors)
        #expect(StoredDocument(document, actors) == stored)
        #expect(try document.visible() == ["a": 1])
        #expect(document.hasUnknowns(in: ["x", "l"], names: nil))
        #expect(!document.hasUnknowns(in: ["a", "ll", ""], names: nil) && !document.hasUnknowns(in: [], names: nil))
        #expect(state.withUnsafeBytes { DocumentState.mayHoldUnknowns($0) })
        var peer = DocumentState()
        peer.join(document)
        #expect(StoredDocument(peer, actors) == stored)
        // A later write at the path removes it; a write elsewhere does not.
        try peer.set(["k"], 1, tick(9))
        #expect(peer.unknowns.count == 1)
        var replaced = document
        try replaced.set(["l"], 1, tick(9))
        #expect(replaced.unknowns.isEmpty)
        peer.join(replaced)
        #expect(peer.unknowns.isEmpty)
    }

    @Test("The fresh state written without a document is what a document encodes to")
    func freshState() throws {
        for (value, isEmpty): (Value, Bool) in [(["a": 1, "m": ["p": []]], false), ([:], true)] {
            for isDefault in [false, true] {
                var document = DocumentState()
                try document.merge(value, tick(77, "Z", isDefault: isDefault))
                var state = ByteBuffer()
                DocumentState.appendFreshState(
                    stamp: tick(77, "Z", isDefault: isDefault), isBodyEmpty: isEmpty, actors: actors, padding: 20,
                    to: &state)
                #expect(StoredDocument(document, actors, padding: 20).state == state.array)
            }
        }
    }

    @Test("Padding is ignored on reading and shrinks so that the row keeps its size")
    func padding() throws {
        var document = DocumentState()
        try document.merge(["a": 1, "b": 2, "c": 3], tick(1))
        let first = StoredDocument(document, actors, padding: 20)
        #expect(try StoredDocument(first.load(actors), actors) == StoredDocument(document, actors))
        let size = (first.body?.count ?? 0) + first.state.count
        try document.set(["b"], "longer", tick(2))
        var body = ByteBuffer()
        var state = ByteBuffer()
        document.encode(into: &body, state: &state, actors: actors, padding: 20, keeping: size)
        #expect(body.count + state.count == size)
        #expect(try StoredDocument(body: body.array, state: state.array).load(actors).visible() == document.visible())
        let exact = StoredDocument(document, actors).state
        state.array.withUnsafeBytes { padded in
            exact.withUnsafeBytes { #expect(DocumentState.isEqual(padded, $0)) }
        }
        // Outgrown: a full new padding.
        try document.set(["b"], .string(String(repeating: "x", count: 60)), tick(3))
        body.removeAll()
        state.removeAll()
        document.encode(into: &body, state: &state, actors: actors, padding: 20, keeping: size)
        #expect(state.count == StoredDocument(document, actors).state.count + 20)
        var damaged = first
        damaged.state[damaged.state.count - 1] = 1
        #expect(throws: DocDBError.self) { try damaged.load(actors) }
    }

    @Test("Wide and deep documents keep their bytes", arguments: [23, 24, 255, 256, 70_000])
    func wide(count: Int) throws {
        var members: [String: Value] = [:]
        for index in 0..<count { members["key\(index)"] = .int(Int64(index)) }
        let bytes = encoded(.object(["m": .object(members), "n": 1]))
        var document = DocumentState()
        try bytes.withUnsafeBytes {
            _ = try document.merge($0, at: .init(start: nil, count: 0), skippingEqual: false, stamp: tick(1))
        }
        #expect(StoredDocument(document, actors).body == bytes)
        try document.set(["n"], 2, tick(2))
        let stored = StoredDocument(document, actors)
        #expect(try StoredDocument(stored.load(actors), actors) == stored)
    }

    @Test("Many stamps are told apart")
    func manyStamps() throws {
        var random = SeededGenerator(seed: 5)
        var document = DocumentState()
        for index in 0..<300 {
            try document.set(
                ["k\(random.below(200))"], .int(Int64(index)), stamp(UInt64(index * 40_000 + 1), "A\(index % 7)"))
        }
        let stored = StoredDocument(document, actors)
        let loaded = try stored.load(actors)
        #expect(StoredDocument(loaded, actors) == stored)
        #expect(loaded.seen == document.seen)
        #expect(loaded.assignments.map(\.stamp) == document.assignments.map(\.stamp))
    }

    @Test("Damaged bytes are refused or read as some state, never trap", arguments: 0..<4)
    func hostileBytes(part: UInt64) throws {
        var random = SeededGenerator(seed: part)
        let samples = try Self.samples(actors)
        var refused = 0
        for _ in 0..<4_000 {
            let (stored, undo) = samples[random.below(samples.count)]
            let damaged = StoredDocument(
                body: stored.body.map { random.chance() < 0.5 ? $0 : random.damaged($0) },
                state: random.damaged(stored.state))
            do {
                var document = try damaged.load(actors)
                let again = StoredDocument(document, actors)
                #expect(try StoredDocument(again.load(actors), actors) == again, "part \(part)")
                try? document.increment(["n"], .int(1), tick(90))
                try document.set(["m", "p"], 1, tick(91))
                _ = document.joined(try stored.load(actors))
            } catch is DocDBError { refused += 1 }
            let document = try stored.load(actors)
            do {
                let previous = try document.unwound(random.damaged(undo), at: tick(8).time, actors)
                if let previous { _ = StoredDocument(previous, actors) }
            } catch is DocDBError { refused += 1 } catch is CBORError { refused += 1 }
        }
        #expect(refused > 1_000)
    }

    /// States with everything in them, each with the undo entry of its last change.
    static func samples(_ actors: ActorTable) throws -> [(StoredDocument, [UInt8])] {
        var samples: [(StoredDocument, [UInt8])] = []
        for step in 1...8 {
            var document = DocumentState()
            try document.set([], ["a": 1, "n": 5, "s": 7, "m": ["p": 1, "q": ["r": "text"]]], stamp(1 << 16, "A"))
            var before = document
            for index in 1...step {
                before = document
                let now = stamp(UInt64(index) << 16 | UInt64(index % 2), index % 2 == 0 ? "A" : "B")
                switch index {
                case 1: try document.unset(["a"], now)
                case 2: try document.increment(["n"], .int(-2), now)
                case 3: try document.increment(["s", "t"], .float(0.1), now)
                case 4: try document.set(["m", "p", "deep"], [1, ["x": 2]], now)
                case 5: document.delete(stamp: now, forgets: false)
                case 6: try document.merge(["again": 1, "n": 1, "e": [:]], now)
                case 7: try document.set(["m"], 1, now)
                default: document.delete(stamp: now, forgets: true)
                }
            }
            let undo = document.undo(from: before, at: HybridTime(rawValue: 8 << 16), actors)
            samples.append((StoredDocument(document, actors, padding: 3), undo))
        }
        return samples
    }
}

extension SeededGenerator {
    /// The bytes with some flipped, inserted, removed or cut off.
    mutating func damaged(_ bytes: [UInt8]) -> [UInt8] {
        var bytes = bytes
        for _ in 0...below(3) {
            guard !bytes.isEmpty else { return [UInt8(truncatingIfNeeded: next())] }
            let index = below(bytes.count)
            switch below(5) {
            case 0: bytes[index] ^= 1 << UInt8(below(8))
            case 1: bytes[index] = UInt8(truncatingIfNeeded: next())
            case 2: bytes.insert(UInt8(truncatingIfNeeded: next()), at: index)
            case 3: bytes.remove(at: index)
            default: bytes.removeSubrange(index...)
            }
        }
        return bytes
    }
}
