import DocDBCore
import Testing

@Suite("Undo entries of the change log")
struct StateUndoTests {
    let actors = ActorTable()

    private func time(_ ticks: UInt64) -> HybridTime { HybridTime(rawValue: ticks << 16) }

    @Test("Golden: one field changed within the hour takes the displaced value, its stamp and its path")
    func goldenFieldChange() throws {
        var old = DocumentState()
        try old.merge(["a": 1, "b": 500], stamp(0x1000_0000, "A"))
        var new = old
        try new.set(["b"], 600, stamp(0x2000_0000, "A"))
        let undo = new.undo(from: old, at: time(0x2000), actors)
        // One item, no flags; written and displaced; path "b"; actor 0; 0x1000 ticks back: zigzag 0x1fff, shifted 0x3ffe.
        #expect(undo == [0x08, 0x03, 2, 0x61, 0x62, 1, 0xFE, 0x7F, 0x19, 0x01, 0xF4])
        let previous = try new.unwound(undo, at: time(0x2000), actors)
        #expect(try previous?.visible() == ["a": 1, "b": 500])
    }

    @Test("Golden: a creation is one byte, and nothing stood before it")
    func goldenCreation() throws {
        var buffer = ByteBuffer()
        DocumentState.appendUndoOfCreation(to: &buffer)
        #expect(buffer.array == [0x01])
        var document = DocumentState()
        try document.merge(["a": 1], stamp(1 << 16))
        let previous = try document.unwound(buffer.array, at: time(1), actors)
        #expect(previous == nil)
    }

    @Test("A small interned change with an hour between takes at most twelve bytes")
    func sizeOfAFieldChange() throws {
        let names = FieldNames()
        let start: UInt64 = 1_790_000_000_000_000_000 & ~0xFFFF
        let hour: UInt64 = 3_600_000_000_000
        var old = DocumentState()
        try old.merge(["a": 1, "b": 9_500, "c": true], stamp(start, "A"), names)
        var new = old
        let commit = HybridTime(nanosecondsSince1970: start + hour)
        try new.set(["b"], 9_000, Stamp(time: commit, actor: actorID("A")), names)
        #expect(new.undo(from: old, at: commit, actors).count <= 12)
    }

    @Test("What a change wrote and displaced can be read")
    func reading() throws {
        var old = DocumentState()
        try old.merge(["a": 1, "n": 2], stamp(1 << 16, "A"))
        var new = old
        try new.unset(["a"], stamp(2 << 16, "A"))
        try new.increment(["n"], .int(5), stamp(2 << 16, "A"))
        try new.set(["z"], 3, stamp(2 << 16, "A"))
        let undo = new.undo(from: old, at: time(2), actors)
        var lines: [String] = []
        try undo.withUnsafeBytes { bytes in
            var cursor = ByteCursor(bytes)
            var reader = try UndoReader(&cursor, reference: time(2), actors: actors)
            #expect(!reader.isCreation)
            while let item = try reader.next(&cursor) {
                var line = "\([UInt8](item.path)) written \(item.isWritten)"
                switch item.displaced {
                case .assignment(let stamp, let kind, let payload):
                    line += " displaced \(stamp.time.rawValue >> 16) \(kind) \([UInt8](payload))"
                case nil: break
                default: line += " other"
                }
                if case .tally(let base, _) = item.key { line += " tally on \(base.time.rawValue >> 16)" }
                lines.append(line)
            }
            var (seen, deleted) = (VersionVector(), VersionVector())
            try reader.readVectors(&cursor, seen: &seen, deleted: &deleted)
            #expect(cursor.isAtEnd)
            var skipping = ByteCursor(bytes)
            try UndoReader.skip(&skipping, reference: time(2), actors: actors)
            #expect(skipping.isAtEnd)
        }
        #expect(
            lines == [
                "[97, 97] written true displaced 1 value [1]", "[97, 122] written true",
                "[97, 110] written true tally on 1",
            ])
    }

    @Test("A long history of one document unwinds to nothing, through the very bytes that stood", arguments: 0..<6)
    func longHistory(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        let paths = [["a"], ["m"], ["m", "p"], ["m", "p", "x"], ["n"]]
        var document = DocumentState()
        var remote = DocumentState()
        var history: [(stored: StoredDocument, undo: [UInt8], time: HybridTime)] = []
        for step in 1...200 {
            let before = document
            let now = HybridTime(rawValue: UInt64(step) * 50_000)
            let local = Stamp(time: now, actor: actorID("A"))
            let keys = paths[random.below(paths.count)]
            switch random.below(9) {
            case 0...1: try document.set(keys, random.chance() < 0.3 ? [1, 2] : .int(Int64(step)), local)
            case 2: try document.unset(keys, local)
            case 3: try? document.increment(keys, random.chance() < 0.5 ? .int(1) : .float(0.5), local)
            case 4: try document.merge(["m": ["q": 1, "e": [:]]], skippingEqual: random.chance() < 0.5, local)
            case 5: if random.chance() < 0.3 { document.delete(stamp: local, forgets: random.chance() < 0.5) }
            case 6: try document.set([], ["fresh": .int(Int64(step))], local)
            case 7:
                try remote.set(keys, .string("remote"), Stamp(time: now, actor: actorID("B")))
                fallthrough
            default:
                document.join(remote)
                if random.chance() < 0.5 { remote = document }
            }
            if document.isUnwritten { continue }
            var undo = ByteBuffer()
            if before.isUnwritten {
                DocumentState.appendUndoOfCreation(to: &undo)
            } else {
                DocumentState.appendUndo(from: before, to: document, reference: now, actors: actors, to: &undo)
            }
            history.append((StoredDocument(document, actors), undo.array, now))
        }
        var current: DocumentState? = document
        while let last = history.popLast() {
            let present = try #require(current, "seed \(seed)")
            #expect(StoredDocument(present, actors) == last.stored, "seed \(seed)")
            current = try present.unwound(last.undo, at: last.time, actors)
        }
        #expect(current == nil, "seed \(seed)")
    }

    @Test("An entry that belongs to another state is refused")
    func wrongState() throws {
        var old = DocumentState()
        try old.merge(["a": 1], stamp(1 << 16))
        var new = old
        try new.set(["b"], 2, stamp(2 << 16))
        let undo = new.undo(from: old, at: time(2), actors)
        let error = #expect(throws: DocDBError.self) { try old.unwound(undo, at: time(2), actors) }
        #expect(error?.code == .corrupted)
    }
}

@Suite("Merge laws of document states")
struct StateMergeLawTests {
    let actors = ActorTable()

    /// States that arise from one another by random writes and joins.
    private func states(_ random: inout SeededGenerator) throws -> [DocumentState] {
        var states = [DocumentState(), DocumentState(), DocumentState()]
        let paths = [["a"], ["m"], ["m", "p"], ["m", "p", "x"], ["n"]]
        for step in 1...12 {
            let index = random.below(3)
            let now = stamp(UInt64(step / 3 + 1) * 10 + UInt64(index), "ABC".map(String.init)[index])
            guard states[index].seen[now.actor] < now.time, states[index].deleted[now.actor] < now.time else {
                continue
            }
            let keys = paths[random.below(paths.count)]
            switch random.below(6) {
            case 0...1: try states[index].set(keys, .int(Int64(step)), now)
            case 2: try states[index].unset(keys, now)
            case 3: try? states[index].increment(keys, .int(1), now)
            case 4: states[index].delete(stamp: now, forgets: false)
            default: states[index].join(states[random.below(3)])
            }
        }
        return states
    }

    @Test("Merging is commutative, associative and idempotent", arguments: 0..<4)
    func laws(part: UInt64) throws {
        for seed in part * 100..<(part + 1) * 100 {
            var random = SeededGenerator(seed: seed)
            let states = try states(&random)
            let (a, b, c) = (states[0], states[1], states[2])
            func bytes(_ state: DocumentState) -> StoredDocument { StoredDocument(state, actors) }
            #expect(bytes(a.joined(b)) == bytes(b.joined(a)), "seed \(seed)")
            #expect(bytes(a.joined(b).joined(c)) == bytes(a.joined(b.joined(c))), "seed \(seed)")
            #expect(bytes(a.joined(a)) == bytes(a), "seed \(seed)")
            #expect(bytes(a.joined(b).joined(b)) == bytes(a.joined(b)), "seed \(seed)")
            // A delta since what the receiver has seen does what the whole state does.
            var byDelta = a
            let isApplied = byDelta.apply(b.delta(since: a.seen), forgets: false, names: noNames)
            #expect(isApplied, "seed \(seed)")
            #expect(bytes(byDelta) == bytes(a.joined(b)), "seed \(seed)")
        }
    }
}

@Suite("ActorTable")
struct ActorTableTests {
    @Test("Numbers are given in order, stay, and lead back to their actors")
    func numbering() {
        let table = ActorTable()
        let ids = (0..<1_000).map { ActorID(high: UInt64($0) &* 0x9E37_79B9_7F4A_7C15, low: UInt64($0)) }
        for (index, id) in ids.enumerated() {
            #expect(table.number(of: id) == nil)
            #expect(table.intern(id) == UInt32(index))
            #expect(table.intern(id) == UInt32(index))
        }
        #expect(table.count == 1_000)
        #expect(ids.indices.allSatisfy { table.actor(UInt64($0)) == ids[$0] })
        #expect(ids.indices.allSatisfy { table.number(of: ids[$0]) == UInt32($0) })
        #expect(table.actor(1_000) == nil && table.actor(.max) == nil)
    }
}
