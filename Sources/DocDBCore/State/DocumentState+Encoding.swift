// The storage encoding of Schemas/document-state.md.

extension DocumentState {
    enum Format {
        /// All leaves carry one stamp, `seen` is just its dot, and there is nothing else.
        static let fresh: UInt8 = 0x10
        /// Everything spelt out.
        static let general: UInt8 = 0x11

        static let hasRuns: UInt8 = 1
        static let hasSeen: UInt8 = 2
        static let hasDeleted: UInt8 = 4
        static let hasExtras: UInt8 = 8
        static let allFlags: UInt8 = 15

        static let map: UInt64 = 0
        static let absent: UInt64 = 1
        static let value: UInt64 = 2
        static let tally: UInt64 = 3
    }

    /// Appends the state of a document that was just created by one write: all leaves of the body have this stamp.
    ///
    /// Gives the bytes that `encode` gives, without a state at hand. Of a body without members pass `isBodyEmpty`: it
    /// has no leaf to keep a default flag.
    package static func appendFreshState(
        stamp: Stamp, isBodyEmpty: Bool = false, actors: ActorTable, padding: Int, to state: inout ByteBuffer
    ) {
        state.append(Format.fresh)
        state.appendVarint(UInt64(actors.intern(stamp.actor)) << 1 | (stamp.isDefault && !isBodyEmpty ? 1 : 0))
        state.appendBigEndian(stamp.time.rawValue)
        state.appendZeros(padding)
    }

    /// Appends the visible document to `body` and everything else to `state`.
    ///
    /// - Parameter padding: zero bytes put after the state, for later growth.
    /// - Parameter byteCount: the number of bytes that body and state took so far: padding then makes up the difference,
    ///   so that the row keeps its size, unless the row has outgrown it or would be mostly padding.
    /// - Returns: whether the document is alive; of a dead one nothing is appended to `body`.
    /// - Complexity: O(n), plus O(n log n) where entries carry many stamps.
    @discardableResult
    package func encode(
        into body: inout ByteBuffer, state: inout ByteBuffer, actors: ActorTable, padding: Int = 0,
        keeping byteCount: Int? = nil
    ) -> Bool {
        let bodyStart = body.count
        let stateStart = state.count
        let isAlive = isAlive
        if !appendFresh(isAlive, &body, &state, actors) {
            body.truncate(to: bodyStart)
            state.truncate(to: stateStart)
            appendGeneral(isAlive, &body, &state, actors)
        }
        var zeros = padding
        if let byteCount {
            let spare = byteCount - (body.count - bodyStart) - (state.count - stateStart)
            if spare >= 0, spare <= 4 * padding { zeros = spare }
        }
        state.appendZeros(zeros)
        return isAlive
    }

    /// Appends only the visible document; returns false, with nothing appended, where it is not alive.
    @discardableResult
    package func appendBody(to body: inout ByteBuffer) -> Bool {
        guard isAlive else { return false }
        appendLeaves(to: &body) { _ in }
        return true
    }

    /// Appends the visible document as a map and tells each of its leaves.
    @inline(__always)
    private func appendLeaves(to body: inout ByteBuffer, _ tell: (VisibleLeaf) -> Void) {
        arena.withUnsafeBytes { arena in
            BodyWriter.withWriter(into: &body) { writer, body in
                var leaves = VisibleLeaves(arena)
                while let leaf = leaves.next(in: self) {
                    writer.openLeaf(arena[leaf.path], &body)
                    switch leaf.value {
                    case .payload(let payload): body.append(arena[payload])
                    case .map: body.append(CBOR.emptyMapByte)
                    case .sum(let number): body.appendCBOR(number)
                    }
                    tell(leaf)
                }
            }
        }
    }

    /// Appends the fresh form where the state has it; returns false otherwise, with the buffers in any state.
    private func appendFresh(
        _ isAlive: Bool, _ body: inout ByteBuffer, _ state: inout ByteBuffer, _ actors: ActorTable
    ) -> Bool {
        guard isAlive, deleted.isEmpty, tallies.isEmpty, unknowns.isEmpty, seen.elements.count == 1 else {
            return false
        }
        let dot = seen.elements[0]
        let stamp = Stamp(time: dot.time, actor: dot.actor, isDefault: assignments.first?.stamp.isDefault ?? false)
        for entry in assignments where entry.stamp != stamp { return false }
        var plainCount = 0
        appendLeaves(to: &body) { _ in plainCount += 1 }
        guard plainCount == assignments.count else { return false }
        Self.appendFreshState(stamp: stamp, actors: actors, padding: 0, to: &state)
        return true
    }

    private func appendGeneral(
        _ isAlive: Bool, _ body: inout ByteBuffer, _ state: inout ByteBuffer, _ actors: ActorTable
    ) {
        var table = StampTable(self)
        state.append(Format.general)
        let flagsAt = state.count
        state.append(0)
        state.append(table, actors)
        var flags: UInt8 = 0
        var plainCount = 0
        if isAlive {
            let runs = appendBodyAndRuns(&body, &state, &table)
            if runs.areNeeded { flags |= Format.hasRuns }
            plainCount = runs.plainCount
        }
        let reference = table.stamps.last?.time ?? .zero
        let implied = impliedSeen()
        if implied != seen {
            flags |= Format.hasSeen
            state.appendDifferences(from: implied, to: seen, reference: reference, actors)
        }
        if !deleted.isEmpty {
            flags |= Format.hasDeleted
            state.appendDifferences(from: VersionVector(), to: deleted, reference: reference, actors)
        }
        let extraCount = assignments.count - plainCount + tallies.count + unknowns.count
        if extraCount > 0 {
            flags |= Format.hasExtras
            state.appendVarint(UInt64(extraCount))
            appendExtras(isAlive, &state, &table)
        }
        state[flagsAt] = flags
    }

    /// Appends the body, and the runs of stamp references of its leaves unless each is to the first stamp.
    private func appendBodyAndRuns(
        _ body: inout ByteBuffer, _ state: inout ByteBuffer, _ table: inout StampTable
    ) -> (plainCount: Int, areNeeded: Bool) {
        let runsAt = state.count
        var plainCount = 0
        var areNeeded = false
        var reference: UInt64 = 1
        var length: UInt64 = 0
        appendLeaves(to: &body) { leaf in
            let next = leaf.isPlain ? table.reference(to: assignments[leaf.assignment].stamp) : 0
            if leaf.isPlain { plainCount += 1 }
            if next != 1 { areNeeded = true }
            if next != reference {
                state.appendRun(reference, length)
                (reference, length) = (next, 0)
            }
            length += 1
        }
        state.appendRun(reference, length)
        if !areNeeded { state.truncate(to: runsAt) }
        return (plainCount, areNeeded)
    }

    /// Appends every entry that is no plain leaf of the body.
    private func appendExtras(_ isAlive: Bool, _ state: inout ByteBuffer, _ table: inout StampTable) {
        var isPlain = [Bool](repeating: false, count: assignments.count)
        arena.withUnsafeBytes { arena in
            var leaves = VisibleLeaves(arena)
            while isAlive, let leaf = leaves.next(in: self) {
                if leaf.isPlain { isPlain[leaf.assignment] = true }
            }
            for (index, entry) in assignments.enumerated() where !isPlain[index] {
                switch entry.kind {
                case .map: state.appendVarint(Format.map)
                case .absent: state.appendVarint(Format.absent)
                case .value: state.appendVarint(Format.value)
                }
                state.appendCounted(arena[entry.path])
                state.appendVarint(table.reference(to: entry.stamp))
                state.append(arena[entry.payload])
            }
            for tally in tallies {
                state.appendVarint(Format.tally)
                state.appendCounted(arena[tally.path])
                state.appendVarint(table.reference(to: tally.base))
                state.appendVarint(table.reference(to: Stamp(time: tally.time, actor: tally.actor)))
                state.appendCBOR(tally.sum)
            }
            for entry in unknowns {
                state.appendVarint(UInt64(entry.kind))
                state.appendCounted(arena[entry.path])
                state.appendVarint(table.reference(to: entry.base))
                state.appendVarint(table.reference(to: Stamp(time: entry.time, actor: entry.actor)))
                state.appendCounted(arena[entry.key])
                state.appendCounted(arena[entry.payload])
            }
        }
    }
}

extension ByteBuffer {
    /// Appends a table of stamps: the first time in full, the others as distances from the one before.
    fileprivate mutating func append(_ table: StampTable, _ actors: ActorTable) {
        appendVarint(UInt64(table.stamps.count))
        var previous: HybridTime?
        for stamp in table.stamps {
            appendActor(of: stamp, actors)
            if let previous { appendTime(stamp.time, from: previous) } else { appendBigEndian(stamp.time.rawValue) }
            previous = stamp.time
        }
    }

    @inline(__always)
    fileprivate mutating func appendRun(_ reference: UInt64, _ length: UInt64) {
        guard length > 0 else { return }
        appendVarint(reference)
        appendVarint(length)
    }
}
