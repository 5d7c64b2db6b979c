/// Local writes. Their stamp is newer than everything the state holds; several of one transaction may carry the same
/// stamp, and the later of them wins.
extension DocumentState {
    /// Replaces the value at a path by an encoded value: a scalar, an array, or a map, which becomes a map marker plus
    /// leaves. The empty path takes a map only, and replaces the whole document.
    ///
    /// - Throws: `DocDBError.invalidPath`, `.invalidValue` or `.documentTooDeep`; the state is then unchanged.
    package mutating func set(
        _ path: UnsafeRawBufferPointer, to payload: UnsafeRawBufferPointer, stamp: Stamp
    ) throws(DocDBError) {
        let depth = try Self.checkPath(path)
        if let first = payload.first, first >> 5 == CBOR.Major.map {
            return try setMap(path, depth, to: payload, stamp)
        }
        guard depth > 0 else { throw Self.rootMustBeObject }
        try Self.check(payload, depth)
        let pathSlice = store(path)
        let payloadSlice = store(payload)
        setLeaf(pathSlice, payloadSlice, .value, begin(stamp))
    }

    /// Writes the leaves of an encoded map at a path and keeps all other fields: a merge of documents.
    ///
    /// An empty map makes its path an object where it is none. A document that was never written comes to be.
    ///
    /// - Parameter skippingEqual: leaves alone those leaves that show the same value already.
    /// - Returns: whether anything was written.
    /// - Throws: `DocDBError.invalidPath`, `.invalidValue` or `.documentTooDeep`; the state is then unchanged.
    @discardableResult
    package mutating func merge(
        _ map: UnsafeRawBufferPointer, at path: UnsafeRawBufferPointer, skippingEqual: Bool, stamp: Stamp
    ) throws(DocDBError) -> Bool {
        let depth = try Self.checkPath(path)
        let prefix = store(path)
        var leaves: [Assignment] = []
        try appendLeaves(of: map, prefix, depth, stamp, to: &leaves)
        if leaves.isEmpty, depth > 0 {
            leaves.append(Assignment(path: prefix, payload: .empty, stamp: stamp, kind: .map))
        }
        var started = isAlive ? nil : begin(stamp)
        if started != nil, hasNoEntries {
            for index in leaves.indices { leaves[index].stamp = started ?? stamp }
            assignments = leaves
            return true
        }
        for leaf in leaves where isWorthWriting(leaf, skippingEqual: skippingEqual) {
            let effective = started ?? begin(stamp)
            started = effective
            setLeaf(leaf.path, leaf.payload, leaf.kind, effective)
        }
        return started != nil
    }

    /// Makes the field at a path missing. A document that is not alive stays as it is.
    ///
    /// - Throws: `DocDBError.invalidPath` also for the empty path: whole documents are deleted.
    package mutating func unset(_ path: UnsafeRawBufferPointer, stamp: Stamp) throws(DocDBError) {
        guard try Self.checkPath(path) > 0 else { throw Self.rootMustBeObject }
        guard isAlive else { return }
        let slice = store(path)
        let stamp = begin(stamp)
        insert(Assignment(path: slice, payload: .empty, stamp: stamp, kind: .absent))
    }

    /// Adds a number to the counter at a path; a missing field counts as zero.
    ///
    /// Concurrent increments add up. Writes no map markers above the path: a marker would cancel them.
    ///
    /// - Throws: `DocDBError.typeMismatch` where the path shows something that is no number, `.invalidValue` where the
    ///   amount is not finite or the actor's own sum overflows, `.invalidPath`; the state is then unchanged.
    package mutating func increment(
        _ path: UnsafeRawBufferPointer, by amount: Number, stamp: Stamp
    ) throws(DocDBError) {
        guard try Self.checkPath(path) > 0 else { throw Self.rootMustBeObject }
        guard amount.isFinite else { throw DocDBError.notFinite }
        let slice = store(path)
        guard showsNumberOrNothing(at: slice) else {
            throw DocDBError(.typeMismatch, "only a number can be incremented; set the field to a number first")
        }
        var total = amount
        if isAlive, let index = ownTallyIndex(at: slice, stamp.actor).index {
            guard let sum = tallies[index].sum.adding(amount) else { throw Self.sumOverflows }
            total = sum
        }
        let stamp = begin(stamp)
        let place = ownTallyIndex(at: slice, stamp.actor)
        let tally = Tally(path: slice, base: place.base, actor: stamp.actor, time: stamp.time, sum: total)
        if let index = place.index {
            tallies[index] = tally
        } else {
            tallies.insert(tally, at: place.insertion)
        }
    }

    /// Deletes the document: covers every change seen, this one included. Does nothing where it is not alive.
    ///
    /// - Parameter forgets: drops the entries, which a dead document does not need.
    package mutating func delete(stamp: Stamp, forgets: Bool) {
        guard isAlive else { return }
        seen.advance(stamp.actor, to: stamp.time)
        deleted.join(seen)
        forgetIfDead(forgets)
    }

    /// Drops the entries and `seen` of a deleted document.
    package mutating func forgetIfDead(_ forgets: Bool) {
        guard forgets, !deleted.isEmpty, !isAlive else { return }
        removeEntries()
        arena.removeAll(keepingCapacity: true)
        seen = VersionVector()
    }
}

extension DocumentState {
    /// Starts a local write: a new life where the document is known to be deleted, and the stamp's dot in `seen`.
    ///
    /// Returns the stamp to write with: the default flag stays only where the document was never written, or a
    /// newcomer's default would lie beneath the new life's root marker.
    private mutating func begin(_ stamp: Stamp) -> Stamp {
        var stamp = stamp
        if !deleted.isEmpty, !isAlive {
            // Deleted and written again within one transaction: the dot is that of the write, not of the delete.
            if deleted[stamp.actor] == stamp.time {
                deleted.set(stamp.actor, to: HybridTime(rawValue: stamp.time.rawValue - 1))
            }
            stamp.isDefault = false
            removeEntries()
            assignments.append(Assignment(path: .empty, payload: .empty, stamp: stamp, kind: .map))
        } else if stamp.isDefault, !deleted.isEmpty || seen.elements.contains(where: { $0 != stamp.dot }) {
            stamp.isDefault = false
        }
        seen.advance(stamp.actor, to: stamp.time)
        return stamp
    }

    private mutating func setMap(
        _ path: UnsafeRawBufferPointer, _ depth: Int, to map: UnsafeRawBufferPointer, _ stamp: Stamp
    ) throws(DocDBError) {
        let slice = store(path)
        var leaves: [Assignment] = []
        try appendLeaves(of: map, slice, depth, stamp, to: &leaves)
        let stamp = begin(stamp)
        for index in leaves.indices { leaves[index].stamp = stamp }
        markAncestors(of: slice, stamp)
        let index = insert(Assignment(path: slice, payload: .empty, stamp: stamp, kind: .map))
        assignments.insert(contentsOf: leaves, at: index + 1)
    }

    /// Writes one leaf over everything at its path and beneath.
    private mutating func setLeaf(_ path: Slice, _ payload: Slice, _ kind: PayloadKind, _ stamp: Stamp) {
        markAncestors(of: path, stamp)
        insert(Assignment(path: path, payload: payload, stamp: stamp, kind: kind))
    }

    /// Gives each strict ancestor that shows something else than an object a map marker, the root left out.
    ///
    /// One that shows an object over another's scalar gets none: the marker would cancel what shows beneath it.
    private mutating func markAncestors(of path: Slice, _ stamp: Stamp) {
        var end = 0
        while let next = arena.withUnsafeBytes({ Self.keyEnd(in: $0[path], from: end) }), next < Int(path.count) {
            end = next
            let ancestor = Slice(offset: Int(path.offset), count: end)
            let found = arena.withUnsafeBytes { assignmentIndex(of: $0[ancestor], $0) }
            guard let index = found, assignments[index].kind != .map, !showsObject(at: ancestor) else { continue }
            assignments[index].kind = .map
            assignments[index].payload = .empty
            assignments[index].stamp = stamp
            removeOlderEntries(beneath: ancestor, stamp)
        }
    }

    /// Removes what a new marker at `path` dominates; what the same transaction wrote stays.
    private mutating func removeOlderEntries(beneath path: Slice, _ stamp: Stamp) {
        let (entries, counters, others) = subtrees(of: path)
        for index in others.reversed() where unknowns[index].base < stamp { unknowns.remove(at: index) }
        for index in counters.reversed() where tallies[index].base < stamp { tallies.remove(at: index) }
        for index in entries.reversed() where assignments[index].stamp < stamp { assignments.remove(at: index) }
    }

    /// Puts an assignment in the place of everything at its path and beneath; returns its index.
    @discardableResult
    private mutating func insert(_ assignment: Assignment) -> Int {
        let (entries, counters, others) = subtrees(of: assignment.path)
        if !others.isEmpty { unknowns.removeSubrange(others) }
        if !counters.isEmpty { tallies.removeSubrange(counters) }
        if entries.count == 1 {
            assignments[entries.lowerBound] = assignment
        } else {
            assignments.replaceSubrange(entries, with: CollectionOfOne(assignment))
        }
        return entries.lowerBound
    }

    private func subtrees(of path: Slice) -> (entries: Range<Int>, tallies: Range<Int>, unknowns: Range<Int>) {
        arena.withUnsafeBytes { arena in
            let path = arena[path]
            return (
                Self.subtree(of: path, in: assignments, arena), Self.subtree(of: path, in: tallies, arena),
                Self.subtree(of: path, in: unknowns, arena)
            )
        }
    }

    /// Tells whether writing a leaf of a merge would change what its path shows.
    private func isWorthWriting(_ leaf: Assignment, skippingEqual: Bool) -> Bool {
        guard skippingEqual || leaf.kind == .map else { return true }
        return arena.withUnsafeBytes { arena in
            switch visibleValue(at: leaf.path, arena) {
            case nil: return true
            case .map: return leaf.kind != .map
            case .payload(let slice): return leaf.kind == .map || CBOR.compare(arena[slice], arena[leaf.payload]) != 0
            case .sum(let number): return leaf.kind == .map || Number(cbor: arena[leaf.payload]) != number
            }
        }
    }

    private func showsObject(at path: Slice) -> Bool {
        arena.withUnsafeBytes { if case .map? = visibleValue(at: path, $0) { true } else { false } }
    }

    private func showsNumberOrNothing(at path: Slice) -> Bool {
        arena.withUnsafeBytes { arena in
            switch visibleValue(at: path, arena) {
            case nil, .sum: true
            case .map: false
            case .payload(let slice): Number(cbor: arena[slice]) != nil
            }
        }
    }

    /// The index of an actor's tally on the present base at a path, or the place where it belongs.
    private func ownTallyIndex(at path: Slice, _ actor: ActorID) -> (index: Int?, insertion: Int, base: Stamp) {
        arena.withUnsafeBytes { arena in
            let base = newestStamp(atOrAbove: arena[path], arena)
            let probe = Tally(path: path, base: base, actor: actor, time: .zero, sum: .int(0))
            var index = Self.lowerBound(of: arena[path], in: tallies, arena)
            while index < tallies.count {
                let order = Self.compare(tallies[index], probe, arena)
                if order == 0 { return (index, index, base) }
                if order > 0 { break }
                index += 1
            }
            return (nil, index, base)
        }
    }

    private mutating func appendLeaves(
        of map: UnsafeRawBufferPointer, _ prefix: Slice, _ depth: Int, _ stamp: Stamp, to leaves: inout [Assignment]
    ) throws(DocDBError) {
        do {
            let byteCount = try Self.appendLeaves(
                of: map, prefix: prefix, prefixDepth: depth, stamp: stamp, arena: &arena, to: &leaves)
            guard byteCount == map.count else { throw CBORError.malformed }
            try checkNesting(of: leaves)
        } catch CBORError.tooDeep {
            throw Self.tooDeep
        } catch {
            throw Self.malformedValue
        }
    }

    /// Checks that bytes are a path that documents can have; returns the number of its keys.
    private static func checkPath(_ path: UnsafeRawBufferPointer) throws(DocDBError) -> Int {
        guard let depth = depth(of: path) else {
            throw DocDBError(.invalidPath, "the path is not a sequence of encoded field names")
        }
        guard depth <= Limits.nestingDepth else { throw tooDeep }
        return depth
    }

    /// Checks that a payload is one value that does not nest too deep beneath a path of `depth` keys.
    private static func check(_ payload: UnsafeRawBufferPointer, _ depth: Int) throws(DocDBError) {
        var cursor = ByteCursor(payload)
        do {
            try cursor.skipCBOR(depth: depth)
            guard cursor.isAtEnd else { throw CBORError.malformed }
        } catch CBORError.tooDeep {
            throw tooDeep
        } catch {
            throw malformedValue
        }
    }

    /// Checks that the arrays among new leaves do not nest too deep.
    private func checkNesting(of leaves: [Assignment]) throws(CBORError) {
        let failure: CBORError? = arena.withUnsafeBytes { arena in
            for leaf in leaves {
                let payload = arena[leaf.payload]
                guard let first = payload.first, first >> 5 == CBOR.Major.array else { continue }
                var cursor = ByteCursor(payload)
                do throws(CBORError) {
                    try cursor.skipCBOR(depth: Self.depth(of: arena[leaf.path]) ?? 0)
                } catch {
                    return error
                }
            }
            return nil
        }
        if let failure { throw failure }
    }

    private static var tooDeep: DocDBError {
        DocDBError(.documentTooDeep, "the document would nest deeper than \(Limits.nestingDepth) levels; flatten it")
    }
    private static var malformedValue: DocDBError {
        DocDBError(.invalidValue, "the encoded value is not one deterministic CBOR value")
    }
    private static var rootMustBeObject: DocDBError {
        DocDBError(.invalidPath, "the document itself is always an object; name a field, or delete the document")
    }
    private static var sumOverflows: DocDBError {
        DocDBError(
            .invalidValue, "the increments of this store would leave the range of their type; set the field instead")
    }
}

extension Stamp {
    /// The change's entry of a version vector.
    var dot: VersionVector.Element { VersionVector.Element(actor: actor, time: time) }
}

extension ByteCursor {
    /// Moves past one whole value that lies within `depth` objects and arrays, to the nesting limit.
    fileprivate mutating func skipCBOR(depth: Int) throws(CBORError) {
        var probe = self
        let (major, _, argument) = try probe.readCBORHead()
        guard major == CBOR.Major.array || major == CBOR.Major.map else { return try skipCBOR() }
        guard depth < Limits.nestingDepth else { throw .tooDeep }
        guard argument <= UInt64(probe.remaining) else { throw .truncated }
        self = probe
        for _ in 0..<Int(argument) {
            if major == CBOR.Major.map { _ = try readKey() }
            try skipCBOR(depth: depth + 1)
        }
    }
}
