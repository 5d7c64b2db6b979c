import DocDBCore
import Testing

@Suite("DocumentState")
struct DocumentStateTests {
    let actors = ActorTable()

    // MARK: Writes

    @Test("Setting an object replaces all members, merging keeps the others")
    func setAndMerge() throws {
        var document = DocumentState()
        try document.merge(["a": 1, "m": ["p": 1, "q": 2]], stamp(1))
        try document.merge(["m": ["p": 7]], stamp(2))
        #expect(try document.visible() == ["a": 1, "m": ["p": 7, "q": 2]])
        try document.set(["m"], ["r": ["s": true]], stamp(3))
        #expect(try document.visible() == ["a": 1, "m": ["r": ["s": true]]])
        try document.set([], ["b": []], stamp(4))
        #expect(try document.visible() == ["b": []])
    }

    @Test("Writing through a scalar makes its path an object for good")
    func writeThrough() throws {
        var document = DocumentState()
        try document.merge(["m": 5], stamp(1))
        try document.set(["m", "p", "q"], 1, stamp(2))
        #expect(try document.visible() == ["m": ["p": ["q": 1]]])
        try document.unset(["m", "p", "q"], stamp(3))
        #expect(try document.visible() == ["m": [:]])
    }

    enum WriteBeneath: CaseIterable { case set, setObject, merge }

    @Test("Writing beside what shows over a scalar keeps it", arguments: WriteBeneath.allCases)
    func writeBesideHiddenScalar(write: WriteBeneath) throws {
        func writeBeside(_ document: inout DocumentState) throws {
            switch write {
            case .set: try document.set(["m", "q"], 7, stamp(4))
            case .setObject: try document.set(["m", "q"], ["r": 7], stamp(4))
            case .merge: try document.merge(["m": ["q": 7]], stamp(4))
            }
        }
        let written: Value = write == .setObject ? ["r": 7] : 7
        // A counter that was begun beneath a scalar, and beneath a field that was removed.
        for isRemoved in [false, true] {
            var counted = DocumentState()
            try counted.merge(["m": "text"], stamp(1))
            if isRemoved { try counted.unset(["m"], stamp(2)) }
            try counted.increment(["m", "p"], .int(3), stamp(3))
            try writeBeside(&counted)
            #expect(try counted.visible() == ["m": ["p": 3, "q": written]])
        }
        // A field that another replica wrote while this one wrote a scalar above it.
        var document = DocumentState()
        try document.merge(["a": 1], stamp(1))
        var other = document
        try document.merge(["m": "text"], stamp(2))
        try other.merge(["m": ["p": 3]], stamp(3, "B"))
        document = document.joined(other)
        #expect(try document.visible() == ["a": 1, "m": ["p": 3]])
        try writeBeside(&document)
        #expect(try document.visible() == ["a": 1, "m": ["p": 3, "q": written]])
        #expect(try other.joined(document).visible() == document.visible())
    }

    @Test("A merge that skips equal leaves writes only what differs")
    func mergeSkippingEqual() throws {
        var document = DocumentState()
        try document.merge(["a": 1, "b": "text", "m": ["p": [1, 2]], "e": [:]], stamp(1))
        let isChanged = try document.merge(
            ["a": 1, "b": "text", "m": ["p": [1, 2]], "e": [:]], skippingEqual: true, stamp(2, "B"))
        #expect(!isChanged)
        #expect(document.seen.elements.map(\.time.rawValue) == [1])
        #expect(try document.merge(["a": 1, "b": "other"], skippingEqual: true, stamp(3)))
        let times = Dictionary(
            uniqueKeysWithValues: document.assignments.map { (document.bytes(of: $0.path), $0.stamp.time.rawValue) })
        #expect(times[path(["a"])] == 1)
        #expect(times[path(["b"])] == 3)
        // An integer and a float of one value are different values.
        #expect(try document.merge(["a": 1.0], skippingEqual: true, stamp(4)))
    }

    @Test("Merging an empty object keeps an object's members and replaces a scalar")
    func mergeEmptyObject() throws {
        var document = DocumentState()
        try document.merge(["m": ["p": 1], "s": 1], stamp(1))
        try document.merge(["m": [:], "s": [:]], stamp(2))
        #expect(try document.visible() == ["m": ["p": 1], "s": [:]])
    }

    @Test("Within one transaction the later operation wins")
    func oneStampManyOperations() throws {
        var document = DocumentState()
        try document.merge(["c": 1, "m": 2], stamp(1))
        let now = stamp(2)
        try document.increment(["c"], .int(5), now)
        try document.set(["c"], 10, now)
        try document.increment(["c"], .int(1), now)
        try document.increment(["c"], .int(1), now)
        #expect(try document.visible() == ["c": 12, "m": 2])
        try document.set(["c"], 3, now)
        try document.set(["m"], ["p": 1], now)
        try document.set(["m"], 9, now)
        try document.set(["m", "q"], 4, now)
        #expect(try document.visible() == ["c": 3, "m": ["q": 4]])
        try document.unset(["m"], now)
        #expect(try document.visible() == ["c": 3])
    }

    @Test("A document deleted and written again in one transaction lives, without its old fields")
    func deleteAndWriteInOneTransaction() throws {
        for forgets in [false, true] {
            var document = DocumentState()
            try document.merge(["old": 1], stamp(1))
            let other = document
            document.delete(stamp: stamp(2), forgets: forgets)
            try document.merge(["new": 1], stamp(2))
            #expect(try document.visible() == ["new": 1])
            #expect(!document.needsActorRotation(actorID("A")))
            #expect(try other.joined(document).visible() == ["new": 1])
            #expect(try document.joined(other).visible() == ["new": 1])
        }
    }

    @Test("A deleted document that is written again does not bring old fields back")
    func newLife() throws {
        var a = DocumentState()
        try a.merge(["old": 1], stamp(1))
        var b = DocumentState()
        b.join(a)
        a.delete(stamp: stamp(2), forgets: true)
        #expect(!a.isAlive)
        #expect(a.hasNoEntries && a.seen.isEmpty)
        try a.merge(["new": 2], stamp(3, "A", isDefault: true))
        b.join(a)
        #expect(try b.visible() == ["new": 2])
        #expect(b.assignments.allSatisfy { !$0.stamp.isDefault })
    }

    @Test("A concurrent update brings a deleted document back whole, never as a husk", arguments: [false, true])
    func noHusk(forgets: Bool) throws {
        var a = DocumentState()
        try a.merge(["x": 1, "y": 2, "m": ["p": 3]], stamp(1, "A"))
        var b = a
        a.delete(stamp: stamp(2, "A"), forgets: forgets)
        try b.set(["x"], 9, stamp(2, "B"))
        let whole: Value = ["x": 9, "y": 2, "m": ["p": 3]]
        #expect(try a.joined(b, forgets: forgets).visible() == whole)
        #expect(try b.joined(a, forgets: forgets).visible() == whole)
        // A delta alone does not fit what the deleting side still has seen.
        let delta = b.delta(since: VersionVector(actor: actorID("A"), time: HybridTime(rawValue: 1)))
        #expect(a.apply(delta, forgets: forgets, names: noNames) == !forgets)
    }

    @Test("Unset and delete do nothing to a document that is not alive")
    func nothingToRemove() throws {
        var document = DocumentState()
        document.delete(stamp: stamp(1), forgets: false)
        try document.unset(["a"], stamp(1))
        #expect(document.isUnwritten)
    }

    // MARK: Default writes

    @Test("Any real write wins over a default, however old")
    func defaultsRankLowest() throws {
        var a = DocumentState()
        try a.merge(["x": 1, "y": 1], stamp(100, "A", isDefault: true))
        var b = DocumentState()
        try b.merge(["x": 2, "z": 2], stamp(1, "B"))
        let expected: Value = ["x": 2, "y": 1, "z": 2]
        #expect(try a.joined(b).visible() == expected)
        #expect(try b.joined(a).visible() == expected)
        try a.set(["y"], 5, stamp(101, "A", isDefault: true))
        #expect(a.assignments.contains { !$0.stamp.isDefault }, "a default to a document that exists is none")
    }

    @Test("Of two defaults the later wins, and its dot is sent")
    func defaultsAmongThemselves() throws {
        var a = DocumentState()
        try a.merge(["x": 1], stamp(5, "A", isDefault: true))
        var b = DocumentState()
        try b.merge(["x": 2], stamp(6, "B", isDefault: true))
        let isJoined = a.apply(b.delta(since: a.seen), forgets: false, names: noNames)
        #expect(isJoined)
        #expect(try a.visible() == ["x": 2])
        #expect(a.seen.elements.count == 2)
    }

    // MARK: Counters

    @Test("Concurrent increments add up, on a plain number and on nothing")
    func concurrentIncrements() throws {
        var a = DocumentState()
        try a.merge(["n": 10], stamp(1, "A"))
        var b = a
        try a.increment(["n"], .int(1), stamp(2, "A"))
        try a.increment(["n"], .int(1), stamp(3, "A"))
        try b.increment(["n"], .int(5), stamp(2, "B"))
        try b.increment(["fresh"], .int(7), stamp(3, "B"))
        #expect(try a.joined(b).visible() == ["n": 17, "fresh": 7])
        #expect(try b.joined(a).joined(a).visible() == ["n": 17, "fresh": 7])
    }

    @Test("Integers add up exactly, beyond their range as a float; floats add up in the order of actors")
    func sums() throws {
        var a = DocumentState()
        try a.merge(["n": .int(.max)], stamp(1, "A"))
        var b = a
        var c = a
        try a.increment(["n"], .int(.max), stamp(2, "A"))
        try b.increment(["n"], .int(-.max), stamp(2, "B"))
        #expect(try a.visible() == ["n": .float(0x1p64)])
        #expect(try a.joined(b).visible() == ["n": .int(.max)])
        try c.set(["n"], 0, stamp(3, "C"))
        var (d, e, f) = (c, c, c)
        try d.increment(["n"], .float(0x1p60), stamp(4, "D"))
        try e.increment(["n"], .float(-0x1p60), stamp(4, "E"))
        try f.increment(["n"], .float(0.5), stamp(4, "F"))
        #expect(try f.joined(e).joined(d).visible() == ["n": .float(0.5)])
        #expect(try d.joined(f).joined(e).visible() == ["n": .float(0.5)])
    }

    @Test("Only numbers can be incremented, and an actor's own sum stays in range")
    func refusedIncrements() throws {
        var document = DocumentState()
        try document.merge(["s": "text", "m": ["p": 1], "z": .null, "n": 1, "e": [:]], stamp(1))
        let before = StoredDocument(document, actors)
        for field in ["s", "m", "z", "e"] {
            let error = #expect(throws: DocDBError.self) { try document.increment([field], .int(1), stamp(2)) }
            #expect(error?.code == .typeMismatch)
        }
        let rootError = #expect(throws: DocDBError.self) { try document.increment([], .int(1), stamp(2)) }
        #expect(rootError?.code == .invalidPath)
        let infinite = #expect(throws: DocDBError.self) { try document.increment(["n"], .float(.infinity), stamp(2)) }
        #expect(infinite?.code == .invalidValue)
        #expect(StoredDocument(document, actors) == before)
        try document.increment(["n"], .int(.max), stamp(2))
        let overflow = #expect(throws: DocDBError.self) { try document.increment(["n"], .int(1), stamp(3)) }
        #expect(overflow?.code == .invalidValue)
    }

    @Test("An increment beneath a scalar hides it without a marker, so that concurrent increments there add up")
    func incrementThroughScalar() throws {
        var a = DocumentState()
        try a.merge(["m": 5], stamp(1, "A"))
        var b = a
        try a.increment(["m", "p"], .int(1), stamp(2, "A"))
        try b.increment(["m", "p"], .int(2), stamp(2, "B"))
        #expect(try a.joined(b).visible() == ["m": ["p": 3]])
    }

    // MARK: Refusals

    @Test("Bad paths, values and depths are refused and change nothing")
    func refusals() throws {
        var document = DocumentState()
        try document.merge(["a": 1], stamp(1))
        let before = StoredDocument(document, actors)
        let deep = [String](repeating: "k", count: Limits.nestingDepth + 1)
        #expect(throws: DocDBError.self) { try document.set(deep, 1, stamp(2)) }
        #expect(throws: DocDBError.self) { try document.set(Array(deep.dropLast()), ["k": 1], stamp(2)) }
        var nested: Value = []
        for _ in 0..<Limits.nestingDepth - 2 { nested = [nested] }
        #expect(throws: DocDBError.self) { try document.set(["x", "y"], nested, stamp(2)) }
        #expect(throws: DocDBError.self) { try document.merge(["x": ["y": nested]], stamp(2)) }
        #expect(throws: DocDBError.self) { try document.set([], 1, stamp(2)) }
        #expect(throws: DocDBError.self) { try document.unset([], stamp(2)) }
        for bad: [UInt8] in [
            [], [0x01, 0x01], [0x18], [0xA1, 0x01], [0xA2, 0x02, 0x01, 0x01, 0x01], [0xA1, 0x80, 0x01],
        ] {
            #expect(throws: DocDBError.self, "\(bad)") {
                try path(["a"]).withUnsafeBytes { path in
                    try bad.withUnsafeBytes { try document.set(path, to: $0, stamp: stamp(2)) }
                }
            }
        }
        #expect(throws: DocDBError.self) {
            try [UInt8](arrayLiteral: 0x80).withUnsafeBytes { path in
                try encoded(1).withUnsafeBytes { try document.set(path, to: $0, stamp: stamp(2)) }
            }
        }
        #expect(StoredDocument(document, actors) == before)
        try document.set(["x"], nested, stamp(2))
        try document.merge(["y": nested], stamp(2))
        try document.set(Array(deep.dropLast()), 1, stamp(2))
        #expect(try StoredDocument(document, actors).load(actors).isAlive)
    }

    // MARK: Ties and conflicts

    @Test("At equal times the greater actor wins, on every side")
    func equalTimes() throws {
        var a = DocumentState()
        try a.merge(["x": "a"], stamp(7, "A"))
        var b = DocumentState()
        try b.merge(["x": "b"], stamp(7, "B"))
        #expect(try a.joined(b).visible() == ["x": "b"])
        #expect(try b.joined(a).visible() == ["x": "b"])
    }

    @Test("Of two payloads under one stamp the greater canonical bytes win everywhere, and it is reported")
    func conflictingPayloads() throws {
        let names = FieldNames()
        var a = DocumentState()
        try a.merge(["x": [["long": 1]]], stamp(7), names)
        var b = DocumentState()
        try b.merge(["x": [["lang": 2]]], stamp(7), names)
        for (first, second) in [(a, b), (b, a)] {
            var result = first
            var reported: [Stamp] = []
            _ = result.apply(second.delta(since: VersionVector()), forgets: false, names: names) { reported.append($0) }
            #expect(reported == [stamp(7)])
            // "long" sorts after "lang", though it was interned first.
            #expect(try result.visible(names) == ["x": [["long": 1]]])
        }
        var same = a
        _ = same.apply(a.delta(since: VersionVector()), forgets: false, names: names) { _ in Issue.record("no conflict")
        }
    }

    @Test("Of zeros of either sign under one stamp one stays everywhere, and the change can be undone")
    func conflictingZeros() throws {
        var a = DocumentState()
        try a.increment(["n"], .float(0.0), stamp(7))
        var b = DocumentState()
        try b.increment(["n"], .float(-0.0), stamp(7))
        #expect(try a.canonical() != b.canonical())
        let joined = a.joined(b)
        #expect(try joined.canonical() == b.joined(a).canonical())
        for old in [a, b] {
            let undo = joined.undo(from: old, at: stamp(9).time, actors)
            let back = try #require(try joined.unwound(undo, at: stamp(9).time, actors))
            #expect(StoredDocument(back, actors) == StoredDocument(old, actors))
        }
    }

    // MARK: Stores that intern differently

    @Test("States of stores with different interned names have one canonical form and one digest")
    func transcoding() throws {
        let (mine, theirs) = (FieldNames(), FieldNames())
        for name in ["z", "b", "inner"] { _ = Array(name.utf8).withUnsafeBytes { theirs.intern($0) } }
        var document = DocumentState()
        let value: Value = ["b": [["z": 1, "inner": ["b": 2, "odd key": 3]]], "inner": ["z": 4], "odd key": 5]
        try document.merge(value, stamp(1), mine)
        try document.increment(["inner", "b"], .int(2), stamp(2), mine)
        let there = try document.transcoded(from: mine, to: theirs)
        #expect(try there.visible(theirs) == document.visible(mine))
        #expect(there.bytes(of: there.assignments[0].path) != document.bytes(of: document.assignments[0].path))
        #expect(try there.canonical(theirs) == document.canonical(mine))
        let back = try there.transcoded(from: theirs, to: mine)
        #expect(StoredDocument(back, actors) == StoredDocument(document, actors))
        #expect(throws: DocDBError.self) { try document.transcoded(from: FieldNames(), to: theirs) }
    }

    @Test("A digest tells states apart by collection, id and vectors; a dead one's by `deleted` alone")
    func digests() throws {
        func digest(_ document: DocumentState, _ collection: String = "cars", _ id: Value = "1") -> [UInt8] {
            var input: [UInt8] = []
            _ = encoded(id).withUnsafeBytes { id in
                document.digest(collection: collection, id: id) {
                    input = [UInt8]($0)
                    return StateDigest(high: 0, low: 0)
                }
            }
            return input
        }
        var a = DocumentState()
        try a.merge(["x": 1], stamp(1))
        #expect(digest(a) != digest(a, "dogs") && digest(a) != digest(a, "cars", "2"))
        var changed = a
        try changed.set(["x"], 2, stamp(2))
        #expect(digest(a) != digest(changed))
        var (kept, forgotten) = (a, a)
        kept.delete(stamp: stamp(3), forgets: false)
        forgotten.delete(stamp: stamp(3), forgets: true)
        #expect(digest(kept) == digest(forgotten))
        #expect(try kept.canonical() == forgotten.canonical())
    }
}
