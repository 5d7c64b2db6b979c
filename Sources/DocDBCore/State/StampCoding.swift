// Times, stamps and version vectors in the formats of Schemas/document-state.md.

extension ByteBuffer {
    /// Appends a time as its distance from a reference in ticks, and its counter where that is not zero.
    package mutating func appendTime(_ time: HybridTime, from reference: HybridTime) {
        let distance = Int64(time.rawValue >> 16) - Int64(reference.rawValue >> 16)
        let zigzag = UInt64(bitPattern: distance << 1 ^ distance >> 63)
        let counter = time.rawValue & 0xFFFF
        appendVarint(zigzag << 1 | (counter == 0 ? 0 : 1))
        if counter != 0 { appendVarint(counter) }
    }

    /// Appends an actor's number with the default flag.
    mutating func appendActor(of stamp: Stamp, _ actors: ActorTable) {
        appendVarint(UInt64(actors.intern(stamp.actor)) << 1 | (stamp.isDefault ? 1 : 0))
    }

    /// Appends a stamp, or one zero byte for the stamp of nothing.
    mutating func appendStamp(_ stamp: Stamp, from reference: HybridTime, _ actors: ActorTable) {
        if stamp == .none { return append(0) }
        appendVarint((UInt64(actors.intern(stamp.actor)) << 1 | (stamp.isDefault ? 1 : 0)) + 1)
        appendTime(stamp.time, from: reference)
    }

    /// Appends what must be set in `old` to make it `new`: a count, and per actor its number and time, zero for none.
    mutating func appendDifferences(
        from old: VersionVector, to new: VersionVector, reference: HybridTime, _ actors: ActorTable
    ) {
        let changed = new.elements.filter { old[$0.actor] != $0.time }
        let dropped = old.elements.filter { new[$0.actor] == .zero }
        appendVarint(UInt64(changed.count + dropped.count))
        for element in changed {
            appendVarint(UInt64(actors.intern(element.actor)))
            appendTime(element.time, from: reference)
        }
        for element in dropped {
            appendVarint(UInt64(actors.intern(element.actor)))
            appendTime(.zero, from: reference)
        }
    }

    /// Appends bytes after their number.
    mutating func appendCounted(_ bytes: UnsafeRawBufferPointer) {
        appendVarint(UInt64(bytes.count))
        append(bytes)
    }
}

extension ByteCursor {
    /// Reads a time that stands as its distance from a reference.
    package mutating func readTime(from reference: HybridTime) throws(CBORError) -> HybridTime {
        let word = try readVarint()
        let zigzag = word >> 1
        let distance = Int64(bitPattern: zigzag >> 1) ^ -Int64(bitPattern: zigzag & 1)
        let ticks = Int64(reference.rawValue >> 16) &+ distance
        guard ticks >= 0, ticks < 1 << 48 else { throw .malformed }
        var counter: UInt64 = 0
        if word & 1 == 1 {
            counter = try readVarint()
            guard counter > 0, counter <= 0xFFFF else { throw .malformed }
        }
        return HybridTime(rawValue: UInt64(ticks) << 16 | counter)
    }

    /// Reads an actor's number with the default flag.
    @inline(__always)
    mutating func readActor(_ actors: ActorTable) throws(CBORError) -> (actor: ActorID, isDefault: Bool) {
        let word = try readVarint()
        guard let actor = actors.actor(word >> 1) else { throw .malformed }
        return (actor, word & 1 == 1)
    }

    mutating func readStamp(from reference: HybridTime, _ actors: ActorTable) throws(CBORError) -> Stamp {
        let word = try readVarint()
        if word == 0 { return .none }
        guard let actor = actors.actor((word - 1) >> 1) else { throw .malformed }
        return Stamp(time: try readTime(from: reference), actor: actor, isDefault: (word - 1) & 1 == 1)
    }

    /// Reads differences and applies them to `vector`.
    mutating func readDifferences(
        into vector: inout VersionVector, reference: HybridTime, _ actors: ActorTable
    ) throws(CBORError) {
        let count = try readCount(atMost: remaining / 2)
        for _ in 0..<count {
            guard let actor = actors.actor(try readVarint()) else { throw .malformed }
            vector.set(actor, to: try readTime(from: reference))
        }
    }

    /// Reads bytes that stand after their number.
    mutating func readCounted() throws(CBORError) -> UnsafeRawBufferPointer {
        try read(count: try readCount(atMost: remaining))
    }

    /// Reads a path that stands after its number of bytes.
    mutating func readPath() throws(CBORError) -> UnsafeRawBufferPointer {
        let path = try readCounted()
        guard let depth = DocumentState.depth(of: path) else { throw .malformed }
        guard depth <= Limits.nestingDepth else { throw .tooDeep }
        return path
    }

    /// Reads the payload of an assignment: one value that is no map.
    mutating func readPayload() throws(CBORError) -> UnsafeRawBufferPointer {
        let payload = try readCBORSlice()
        if let first = payload.first, first >> 5 == CBOR.Major.map { throw .malformed }
        return payload
    }
}

extension DocumentState {
    /// What `seen` is at least: the dots of the entries.
    func impliedSeen() -> VersionVector {
        var vector = VersionVector()
        var run: VersionVector.Element?
        func add(_ actor: ActorID, _ time: HybridTime) {
            if let last = run, last.actor == actor {
                if last.time < time { run?.time = time }
                return
            }
            if let last = run { vector.advance(last.actor, to: last.time) }
            run = VersionVector.Element(actor: actor, time: time)
        }
        for entry in assignments { add(entry.stamp.actor, entry.stamp.time) }
        for tally in tallies { add(tally.actor, tally.time) }
        for entry in unknowns { add(entry.actor, entry.time) }
        if let last = run { vector.advance(last.actor, to: last.time) }
        return vector
    }
}
