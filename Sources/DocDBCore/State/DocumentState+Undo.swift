extension DocumentState {
    /// Appends the undo entry of a commit that created the document: nothing stood there before.
    package static func appendUndoOfCreation(to output: inout ByteBuffer) {
        output.appendVarint(UndoReader.Flag.created)
    }

    /// Appends an undo entry: the keys that a commit wrote, the entries it displaced, and how the vectors stood.
    ///
    /// `unwound` takes the change back. Format: Schemas/document-state.md.
    ///
    /// - Parameter old: the state before the commit; for a document that did not exist use `appendUndoOfCreation`.
    /// - Parameter reference: the time of the commit, from which other times are told; the same must be given on reading.
    /// - Complexity: O(n + m).
    package static func appendUndo(
        from old: borrowing DocumentState, to new: borrowing DocumentState, reference: HybridTime,
        actors: ActorTable, to output: inout ByteBuffer
    ) {
        let start = output.count
        output.append(0)
        var writer = UndoWriter(reference: reference, actors: actors)
        old.arena.withUnsafeBytes { oldArena in
            new.arena.withUnsafeBytes { newArena in
                writer.appendAssignments(old, oldArena, new, newArena, &output)
                writer.appendTallies(old, oldArena, new, newArena, &output)
                writer.appendUnknowns(old, oldArena, new, newArena, &output)
            }
        }
        var flags: UInt64 = 0
        let implied = old.impliedSeen()
        if implied != old.seen {
            flags |= UndoReader.Flag.hasSeen
            output.appendDifferences(from: implied, to: old.seen, reference: reference, actors)
        }
        if new.deleted != old.deleted {
            flags |= UndoReader.Flag.hasDeleted
            output.appendDifferences(from: new.deleted, to: old.deleted, reference: reference, actors)
        }
        let head = writer.count << UndoReader.Flag.shift | flags
        if head < 0x80 {
            output[start] = UInt8(head)
        } else {
            output.patchVarint(head, at: start)
        }
    }

    /// The state before a commit, nil where the document did not exist; the cursor then stands behind the undo entry.
    ///
    /// - Throws: `DocDBError.corrupted` where the entry is damaged, or was not written for a change that led to this state.
    /// - Complexity: O(n + m).
    package func unwound(
        by cursor: inout ByteCursor, reference: HybridTime, actors: ActorTable
    ) throws(DocDBError) -> DocumentState? {
        do {
            var reader = try UndoReader(&cursor, reference: reference, actors: actors)
            if reader.isCreation { return nil }
            var unwinder = Unwinder(current: self)
            while let item = try reader.next(&cursor) { try unwinder.take(item) }
            var previous = unwinder.finish()
            previous.seen = previous.impliedSeen()
            previous.deleted = deleted
            try reader.readVectors(&cursor, seen: &previous.seen, deleted: &previous.deleted)
            previous.compactIfWasteful()
            return previous
        } catch {
            throw DocDBError(
                .corrupted, "the change log does not lead to this document's state (\(error)); restore from a backup")
        }
    }
}

extension ByteBuffer {
    /// Replaces the one byte at `offset` by a longer LEB128 number.
    fileprivate mutating func patchVarint(_ value: UInt64, at offset: Int) {
        var number = ByteBuffer(capacity: 16)
        number.appendVarint(value)
        insertGap(at: offset, count: number.count - 1)
        for index in 0..<number.count { self[offset + index] = number[index] }
    }
}

/// Writes the items of an undo entry.
private struct UndoWriter {
    typealias Tag = UndoReader.Tag

    let reference: HybridTime
    let actors: ActorTable
    var count: UInt64 = 0
    private var lastStamp: Stamp?

    init(reference: HybridTime, actors: ActorTable) {
        self.reference = reference
        self.actors = actors
    }

    @inline(__always)
    private static func operation(written: Bool, displaced: Bool) -> UInt8 {
        (written ? Tag.written : 0) | (displaced ? Tag.displaced : 0)
    }

    @inline(__always)
    mutating func appendAssignments(
        _ old: borrowing DocumentState, _ oldArena: UnsafeRawBufferPointer,
        _ new: borrowing DocumentState, _ newArena: UnsafeRawBufferPointer, _ output: inout ByteBuffer
    ) {
        var (i, j) = (0, 0)
        while i < old.assignments.count || j < new.assignments.count {
            var order = i < old.assignments.count ? -1 : 1
            if order < 0, j < new.assignments.count {
                order = CBOR.compare(oldArena[old.assignments[i].path], newArena[new.assignments[j].path])
            }
            if order == 0 {
                let (before, after) = (old.assignments[i], new.assignments[j])
                let isSame =
                    before.stamp == after.stamp && before.kind == after.kind
                    && CBOR.compare(oldArena[before.payload], newArena[after.payload]) == 0
                if !isSame { append(before, oldArena, isWritten: true, &output) }
            } else if order < 0 {
                append(old.assignments[i], oldArena, isWritten: false, &output)
            } else {
                count += 1
                output.append(Self.operation(written: true, displaced: false))
                output.appendCounted(newArena[new.assignments[j].path])
            }
            if order <= 0 { i += 1 }
            if order >= 0 { j += 1 }
        }
    }

    private mutating func append(
        _ displaced: DocumentState.Assignment, _ arena: UnsafeRawBufferPointer, isWritten: Bool,
        _ output: inout ByteBuffer
    ) {
        count += 1
        let isSameStamp = lastStamp == displaced.stamp
        output.append(
            Self.operation(written: isWritten, displaced: true) | displaced.kind.rawValue << Tag.kindShift
                | (isSameStamp ? Tag.sameStamp : 0))
        output.appendCounted(arena[displaced.path])
        if !isSameStamp { output.appendStamp(displaced.stamp, from: reference, actors) }
        lastStamp = displaced.stamp
        output.append(arena[displaced.payload])
    }

    mutating func appendTallies(
        _ old: borrowing DocumentState, _ oldArena: UnsafeRawBufferPointer,
        _ new: borrowing DocumentState, _ newArena: UnsafeRawBufferPointer, _ output: inout ByteBuffer
    ) {
        var (i, j) = (0, 0)
        while i < old.tallies.count || j < new.tallies.count {
            var order = i < old.tallies.count ? -1 : 1
            if order < 0, j < new.tallies.count {
                order = Self.compare(old.tallies[i], oldArena, new.tallies[j], newArena)
            }
            let before = order <= 0 ? old.tallies[i] : nil
            let after = order >= 0 ? new.tallies[j] : nil
            if order <= 0 { i += 1 }
            if order >= 0 { j += 1 }
            if let before, let after, before.time == after.time, before.sum.isIdentical(to: after.sum) { continue }
            guard let key = before ?? after else { continue }
            count += 1
            output.append(
                Self.operation(written: after != nil, displaced: before != nil) | Tag.tally << Tag.classShift)
            output.appendCounted(before == nil ? newArena[key.path] : oldArena[key.path])
            output.appendStamp(key.base, from: reference, actors)
            output.appendVarint(UInt64(actors.intern(key.actor)))
            if let before {
                output.appendTime(before.time, from: reference)
                output.appendCBOR(before.sum)
            }
        }
    }

    private static func compare(
        _ left: DocumentState.Tally, _ leftArena: UnsafeRawBufferPointer,
        _ right: DocumentState.Tally, _ rightArena: UnsafeRawBufferPointer
    ) -> Int {
        let paths = CBOR.compare(leftArena[left.path], rightArena[right.path])
        if paths != 0 { return paths }
        if left.base != right.base { return left.base < right.base ? -1 : 1 }
        return left.actor == right.actor ? 0 : left.actor < right.actor ? -1 : 1
    }

    mutating func appendUnknowns(
        _ old: borrowing DocumentState, _ oldArena: UnsafeRawBufferPointer,
        _ new: borrowing DocumentState, _ newArena: UnsafeRawBufferPointer, _ output: inout ByteBuffer
    ) {
        var (i, j) = (0, 0)
        while i < old.unknowns.count || j < new.unknowns.count {
            var order = i < old.unknowns.count ? -1 : 1
            if order < 0, j < new.unknowns.count {
                order = Self.compare(old.unknowns[i], oldArena, new.unknowns[j], newArena)
            }
            let before = order <= 0 ? old.unknowns[i] : nil
            let after = order >= 0 ? new.unknowns[j] : nil
            if order <= 0 { i += 1 }
            if order >= 0 { j += 1 }
            if let before, let after, before.time == after.time, before.actor == after.actor,
                CBOR.compare(oldArena[before.payload], newArena[after.payload]) == 0
            {
                continue
            }
            guard let key = before ?? after else { continue }
            let arena = before == nil ? newArena : oldArena
            count += 1
            output.append(
                Self.operation(written: after != nil, displaced: before != nil) | Tag.unknown << Tag.classShift)
            output.appendCounted(arena[key.path])
            output.appendVarint(UInt64(key.kind))
            output.appendStamp(key.base, from: reference, actors)
            output.appendCounted(arena[key.key])
            if let before {
                output.appendVarint(UInt64(actors.intern(before.actor)))
                output.appendTime(before.time, from: reference)
                output.appendCounted(oldArena[before.payload])
            }
        }
    }

    private static func compare(
        _ left: DocumentState.Unknown, _ leftArena: UnsafeRawBufferPointer,
        _ right: DocumentState.Unknown, _ rightArena: UnsafeRawBufferPointer
    ) -> Int {
        let paths = CBOR.compare(leftArena[left.path], rightArena[right.path])
        if paths != 0 { return paths }
        if left.kind != right.kind { return left.kind < right.kind ? -1 : 1 }
        if left.base != right.base { return left.base < right.base ? -1 : 1 }
        return CBOR.compare(leftArena[left.key], rightArena[right.key])
    }
}
