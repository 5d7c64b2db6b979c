/// What a replica that has seen `base` lacks of a document.
package struct DocumentDelta: Sendable {
    /// What the receiver must have seen for the delta to be joined; empty for a whole state.
    package var base: VersionVector
    /// The entries beyond `base`, and the whole of `seen` and `deleted`.
    package var state: DocumentState

    package init(base: VersionVector, state: DocumentState) {
        self.base = base
        self.state = state
    }
}

extension DocumentState {
    /// What a replica that has seen `base` lacks; of an empty `base` the whole state.
    package func delta(since base: VersionVector) -> DocumentDelta {
        var lacking = DocumentState()
        lacking.seen = seen
        lacking.deleted = deleted
        arena.withUnsafeBytes { arena in
            for entry in assignments where !base.covers(entry.stamp.actor, entry.stamp.time) {
                var copy = entry
                copy.path = lacking.store(arena[entry.path])
                copy.payload = lacking.store(arena[entry.payload])
                lacking.assignments.append(copy)
            }
            for tally in tallies where !base.covers(tally.actor, tally.time) {
                var copy = tally
                copy.path = lacking.store(arena[tally.path])
                lacking.tallies.append(copy)
            }
            for entry in unknowns where !base.covers(entry.actor, entry.time) {
                var copy = entry
                copy.path = lacking.store(arena[entry.path])
                copy.key = lacking.store(arena[entry.key])
                copy.payload = lacking.store(arena[entry.payload])
                lacking.unknowns.append(copy)
            }
        }
        return DocumentDelta(base: base, state: lacking)
    }

    /// Joins a delta whose names are interned as in this state.
    ///
    /// - Parameter forgets: drops the entries where the document is dead thereafter.
    /// - Parameter names: the store's field names; two payloads under one stamp are compared with names spelt out.
    /// - Parameter onConflict: is told of each stamp under which two payloads came; the greater canonical bytes stay.
    /// - Returns: false, with nothing joined, where the delta's base reaches beyond `seen`.
    /// - Complexity: O(n + m), plus O(depth · log n) for each tally.
    package mutating func apply(
        _ delta: DocumentDelta, forgets: Bool, names: FieldNames, onConflict: (Stamp) -> Void = { _ in }
    ) -> Bool {
        guard delta.base.isCovered(by: seen) else { return false }
        let other = delta.state
        if !other.hasNoEntries {
            join(other, names, onConflict)
            dropDominated()
        }
        seen.join(other.seen)
        deleted.join(other.deleted)
        forgetIfDead(forgets)
        compactIfWasteful()
        return true
    }

    /// Unites the entries, dominated ones included.
    private mutating func join(_ other: DocumentState, _ names: FieldNames, _ onConflict: (Stamp) -> Void) {
        let shift = UInt32(arena.count)
        arena.append(contentsOf: other.arena)
        let arena = arena
        arena.withUnsafeBytes { arena in
            assignments = Self.union(
                assignments, other.assignments.map { $0.shifted(by: shift) },
                compare: { CBOR.compare(arena[$0.path], arena[$1.path]) },
                choose: { mine, theirs in
                    if mine.stamp != theirs.stamp { return mine.stamp < theirs.stamp ? theirs : mine }
                    let order = Self.comparePayloads(mine, theirs, arena, names)
                    if order != 0 { onConflict(mine.stamp) }
                    return order < 0 ? theirs : mine
                })
            tallies = Self.union(
                tallies, other.tallies.map { $0.shifted(by: shift) },
                compare: { Self.compare($0, $1, arena) },
                choose: { mine, theirs in
                    if mine.time != theirs.time { return mine.time < theirs.time ? theirs : mine }
                    guard !mine.sum.isIdentical(to: theirs.sum) else { return mine }
                    onConflict(Stamp(time: mine.time, actor: mine.actor))
                    return Self.canonicalBytes(mine.sum).lexicographicallyPrecedes(Self.canonicalBytes(theirs.sum))
                        ? theirs : mine
                })
            unknowns = Self.union(
                unknowns, other.unknowns.map { $0.shifted(by: shift) },
                compare: { Self.compare($0, $1, arena) },
                choose: { mine, theirs in
                    if mine.time != theirs.time { return mine.time < theirs.time ? theirs : mine }
                    if mine.actor != theirs.actor { return mine.actor < theirs.actor ? theirs : mine }
                    let order = CBOR.compare(arena[mine.payload], arena[theirs.payload])
                    if order != 0 { onConflict(Stamp(time: mine.time, actor: mine.actor)) }
                    return order < 0 ? theirs : mine
                })
        }
    }

    /// Unites two sorted runs; of two entries with one key `choose` picks.
    private static func union<Entry>(
        _ left: [Entry], _ right: [Entry], compare: (Entry, Entry) -> Int, choose: (Entry, Entry) -> Entry
    ) -> [Entry] {
        if left.isEmpty { return right }
        if right.isEmpty { return left }
        var result: [Entry] = []
        result.reserveCapacity(left.count + right.count)
        var (i, j) = (0, 0)
        while i < left.count, j < right.count {
            let order = compare(left[i], right[j])
            if order == 0 {
                result.append(choose(left[i], right[j]))
                (i, j) = (i + 1, j + 1)
            } else if order < 0 {
                result.append(left[i])
                i += 1
            } else {
                result.append(right[j])
                j += 1
            }
        }
        result.append(contentsOf: left[i...])
        result.append(contentsOf: right[j...])
        return result
    }

    /// Removes every entry that a newer assignment at its path or above it dominates.
    private mutating func dropDominated() {
        let arena = arena
        arena.withUnsafeBytes { arena in
            var ancestors: [Assignment] = []
            assignments.removeAll { entry in
                while let last = ancestors.last, !arena[entry.path].hasPrefix(arena[last.path]) {
                    ancestors.removeLast()
                }
                // What stays is no older than what stays above it, so the nearest is the newest.
                if let last = ancestors.last, last.stamp > entry.stamp { return true }
                ancestors.append(entry)
                return false
            }
            if tallies.isEmpty, unknowns.isEmpty { return }
            let kept = self
            tallies.removeAll { kept.newestStamp(atOrAbove: arena[$0.path], arena) > $0.base }
            unknowns.removeAll { kept.newestStamp(atOrAbove: arena[$0.path], arena) > $0.base }
        }
    }

    /// Compares what two assignments say, with field names spelt out: negative, zero or positive.
    private static func comparePayloads(
        _ left: Assignment, _ right: Assignment, _ arena: UnsafeRawBufferPointer, _ names: FieldNames
    ) -> Int {
        if left.kind != right.kind { return left.kind.rawValue < right.kind.rawValue ? -1 : 1 }
        if CBOR.compare(arena[left.payload], arena[right.payload]) == 0 { return 0 }
        let transcoder = CBORTranscoder(from: names, to: nil)
        let a = (try? transcoder.transcodedValue(arena[left.payload])) ?? [UInt8](arena[left.payload])
        let b = (try? transcoder.transcodedValue(arena[right.payload])) ?? [UInt8](arena[right.payload])
        return a == b ? 0 : a.lexicographicallyPrecedes(b) ? -1 : 1
    }

    private static func canonicalBytes(_ number: Number) -> [UInt8] {
        var buffer = ByteBuffer(capacity: 16)
        buffer.appendCBOR(number)
        return buffer.array
    }
}

extension DocumentState.Slice {
    func shifted(by shift: UInt32) -> Self {
        count == 0 ? .empty : Self(offset: Int(offset) + Int(shift), count: Int(count))
    }
}

extension DocumentState.Assignment {
    /// The entry with its bytes `shift` further on in the arena.
    func shifted(by shift: UInt32) -> Self {
        Self(path: path.shifted(by: shift), payload: payload.shifted(by: shift), stamp: stamp, kind: kind)
    }
}

extension DocumentState.Tally {
    /// The entry with its bytes `shift` further on in the arena.
    func shifted(by shift: UInt32) -> Self {
        Self(path: path.shifted(by: shift), base: base, actor: actor, time: time, sum: sum)
    }
}

extension DocumentState.Unknown {
    /// The entry with its bytes `shift` further on in the arena.
    func shifted(by shift: UInt32) -> Self {
        Self(
            path: path.shifted(by: shift), kind: kind, base: base, time: time, actor: actor,
            key: key.shifted(by: shift), payload: payload.shifted(by: shift))
    }
}
