extension DocumentState {
    /// Reads a document's body, nil for a dead document, and its state, padded or not.
    ///
    /// - Throws: `DocDBError.corrupted` where the bytes are not what `encode` writes.
    package init(
        body: UnsafeRawBufferPointer?, state: UnsafeRawBufferPointer, actors: ActorTable
    ) throws(DocDBError) {
        try decode(body: body, state: state, actors: actors)
    }

    /// Becomes the state that a document's body and state bytes tell, within the memory it has.
    ///
    /// - Throws: `DocDBError.corrupted` where the bytes are not what `encode` writes; the state is then unspecified.
    /// - Complexity: O(n).
    package mutating func decode(
        body: UnsafeRawBufferPointer?, state: UnsafeRawBufferPointer, actors: ActorTable
    ) throws(DocDBError) {
        removeAll()
        do {
            guard (body?.count ?? 0) + state.count < UInt32.max / 4 else { throw CBORError.malformed }
            var cursor = ByteCursor(state)
            switch try cursor.readByte() {
            case Format.fresh: try decodeFresh(body, &cursor, actors)
            case Format.general: try decodeGeneral(body, &cursor, actors)
            default: throw CBORError.malformed
            }
            while !cursor.isAtEnd {
                guard try cursor.readByte() == 0 else { throw CBORError.malformed }
            }
            guard isAlive == (body != nil) else { throw CBORError.malformed }
        } catch {
            throw Self.damaged(error)
        }
    }

    static func damaged(_ error: any Error) -> DocDBError {
        DocDBError(
            .corrupted, "a document's replication state is damaged (\(error)); restore it from a backup or a peer")
    }

    /// Tells whether two encoded states are the same but for padding.
    package static func isEqual(_ left: UnsafeRawBufferPointer, _ right: UnsafeRawBufferPointer) -> Bool {
        let (short, long) = left.count <= right.count ? (left, right) : (right, left)
        return long.hasPrefix(short) && long[short.count...].allSatisfy { $0 == 0 }
    }

    private mutating func decodeFresh(
        _ body: UnsafeRawBufferPointer?, _ cursor: inout ByteCursor, _ actors: ActorTable
    ) throws(CBORError) {
        let (actor, isDefault) = try cursor.readActor(actors)
        let time = HybridTime(rawValue: try cursor.readBigEndian(as: UInt64.self))
        guard let body, time > .zero else { throw .malformed }
        try decodeLeaves(of: body, Stamp(time: time, actor: actor, isDefault: isDefault))
        seen = VersionVector(actor: actor, time: time)
    }

    private mutating func decodeLeaves(of body: UnsafeRawBufferPointer, _ stamp: Stamp) throws(CBORError) {
        let byteCount = try Self.appendLeaves(
            of: body, prefix: .empty, prefixDepth: 0, stamp: stamp, arena: &arena, to: &assignments)
        guard byteCount == body.count else { throw .malformed }
    }

    private mutating func decodeGeneral(
        _ body: UnsafeRawBufferPointer?, _ cursor: inout ByteCursor, _ actors: ActorTable
    ) throws(CBORError) {
        let flags = try cursor.readByte()
        guard flags <= Format.allFlags else { throw .malformed }
        let stamps = try Self.readStamps(&cursor, actors)
        if let body {
            try decodeLeaves(of: body, stamps.first ?? .none)
            if flags & Format.hasRuns != 0 {
                try applyRuns(&cursor, stamps)
            } else {
                guard assignments.isEmpty || !stamps.isEmpty else { throw .malformed }
            }
        } else {
            guard flags & Format.hasRuns == 0 else { throw .malformed }
        }
        let reference = stamps.last?.time ?? .zero
        var seenDifferences: ByteCursor?
        if flags & Format.hasSeen != 0 {
            seenDifferences = cursor
            var ignored = VersionVector()
            try cursor.readDifferences(into: &ignored, reference: reference, actors)
        }
        if flags & Format.hasDeleted != 0 {
            try cursor.readDifferences(into: &deleted, reference: reference, actors)
        }
        if flags & Format.hasExtras != 0 { try decodeExtras(&cursor, stamps) }
        seen = impliedSeen()
        if var differences = seenDifferences {
            try differences.readDifferences(into: &seen, reference: reference, actors)
        }
    }

    private static func readStamps(_ cursor: inout ByteCursor, _ actors: ActorTable) throws(CBORError) -> [Stamp] {
        let count = try cursor.readCount(atMost: cursor.remaining / 2)
        var stamps: [Stamp] = []
        stamps.reserveCapacity(count)
        for index in 0..<count {
            let (actor, isDefault) = try cursor.readActor(actors)
            let time =
                index == 0
                ? HybridTime(rawValue: try cursor.readBigEndian(as: UInt64.self))
                : try cursor.readTime(from: stamps[index - 1].time)
            let stamp = Stamp(time: time, actor: actor, isDefault: isDefault)
            guard time > .zero else { throw .malformed }
            if index > 0, !StampTable.isBefore(stamps[index - 1], stamp) { throw .notCanonical }
            stamps.append(stamp)
        }
        return stamps
    }

    /// Gives each leaf the stamp of its run, and takes those out whose entries are among the extras.
    private mutating func applyRuns(_ cursor: inout ByteCursor, _ stamps: [Stamp]) throws(CBORError) {
        var kept = 0
        var index = 0
        while index < assignments.count {
            let reference = try cursor.readCount(atMost: stamps.count)
            let length = try cursor.readCount(atMost: assignments.count - index)
            guard length > 0 else { throw .malformed }
            if reference > 0 {
                for leaf in index..<index + length {
                    assignments[kept] = assignments[leaf]
                    assignments[kept].stamp = stamps[reference - 1]
                    kept += 1
                }
            }
            index += length
        }
        assignments.removeLast(assignments.count - kept)
    }

    private mutating func decodeExtras(_ cursor: inout ByteCursor, _ stamps: [Stamp]) throws(CBORError) {
        let count = try cursor.readCount(atMost: cursor.remaining / 3)
        let leafCount = assignments.count
        for _ in 0..<count {
            let tag = try cursor.readVarint()
            let path = store(try cursor.readPath())
            switch tag {
            case Format.map, Format.absent, Format.value:
                let stamp = try cursor.readReference(stamps)
                guard stamp != .none, tallies.isEmpty, unknowns.isEmpty else { throw .malformed }
                let kind: PayloadKind = tag == Format.map ? .map : tag == Format.absent ? .absent : .value
                let payload = kind == .value ? store(try cursor.readPayload()) : .empty
                assignments.append(Assignment(path: path, payload: payload, stamp: stamp, kind: kind))
            case Format.tally:
                let base = try cursor.readReference(stamps)
                let dot = try cursor.readReference(stamps)
                guard dot != .none, !dot.isDefault, unknowns.isEmpty else { throw .malformed }
                let sum = try cursor.readNumber()
                tallies.append(Tally(path: path, base: base, actor: dot.actor, time: dot.time, sum: sum))
            default:
                guard let kind = UInt32(exactly: tag) else { throw .malformed }
                let base = try cursor.readReference(stamps)
                let dot = try cursor.readReference(stamps)
                guard dot != .none, !dot.isDefault else { throw .malformed }
                let key = store(try cursor.readCounted())
                let payload = store(try cursor.readCounted())
                unknowns.append(
                    Unknown(
                        path: path, kind: kind, base: base, time: dot.time, actor: dot.actor, key: key,
                        payload: payload))
            }
        }
        try arrangeExtras(leafCount)
    }

    /// Puts the extra assignments, which stand behind the leaves, in order among them, and checks every order.
    private mutating func arrangeExtras(_ leafCount: Int) throws(CBORError) {
        let entries = assignments
        let arranged: [Assignment]? = arena.withUnsafeBytes { arena in
            for index in tallies.indices.dropFirst() where Self.compare(tallies[index - 1], tallies[index], arena) >= 0
            {
                return nil
            }
            for index in unknowns.indices.dropFirst()
            where Self.compare(unknowns[index - 1], unknowns[index], arena) >= 0 {
                return nil
            }
            if entries.count == leafCount { return entries }
            var arranged: [Assignment] = []
            arranged.reserveCapacity(entries.count)
            var (leaf, extra) = (0, leafCount)
            while leaf < leafCount || extra < entries.count {
                var takesLeaf = leaf < leafCount
                if takesLeaf, extra < entries.count {
                    takesLeaf = CBOR.compare(arena[entries[leaf].path], arena[entries[extra].path]) < 0
                }
                let next = entries[takesLeaf ? leaf : extra]
                if takesLeaf { leaf += 1 } else { extra += 1 }
                if let last = arranged.last, CBOR.compare(arena[last.path], arena[next.path]) >= 0 { return nil }
                arranged.append(next)
            }
            return arranged
        }
        guard let arranged else { throw .notCanonical }
        assignments = arranged
    }
}

extension ByteCursor {
    /// Reads a reference into a table of stamps; zero is the stamp of nothing.
    fileprivate mutating func readReference(_ stamps: [Stamp]) throws(CBORError) -> Stamp {
        let reference = try readCount(atMost: stamps.count)
        return reference == 0 ? .none : stamps[reference - 1]
    }
}
