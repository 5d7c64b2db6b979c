/// A 128-bit digest of a document's state; equal digests mean equal states.
package struct StateDigest: Hashable, Sendable {
    package var high: UInt64
    package var low: UInt64

    package init(high: UInt64, low: UInt64) {
        self.high = high
        self.low = low
    }
}

extension DocumentDelta {
    /// The delta with names interned as in another table.
    ///
    /// - Throws: `DocDBError.corrupted` where a name is not in `source`.
    package func transcoded(from source: FieldNames, to target: FieldNames?) throws(DocDBError) -> DocumentDelta {
        DocumentDelta(base: base, state: try state.transcoded(from: source, to: target))
    }
}

extension DocumentState {
    /// The state with names interned as in another table, which gets those that it lacks; all text where there is none.
    ///
    /// - Throws: `DocDBError.corrupted` where a name is not in `source`.
    /// - Complexity: O(n log n).
    package func transcoded(from source: FieldNames, to target: FieldNames?) throws(DocDBError) -> DocumentState {
        if source === target { return self }
        do {
            return try transcoded(by: CBORTranscoder(from: source, to: target))
        } catch {
            throw Self.damaged(error)
        }
    }

    /// The state with names as a transcoder spells them.
    package func transcoded(by transcoder: CBORTranscoder) throws(CBORError) -> DocumentState {
        var result = DocumentState()
        result.seen = seen
        result.deleted = deleted
        var output = ByteBuffer(capacity: arena.count + 64)
        for entry in assignments {
            var copy = entry
            copy.path = try rewritten(entry.path, &output, transcoder.appendPath)
            copy.payload = try rewritten(entry.payload, &output, Self.valueAppender(transcoder))
            result.assignments.append(copy)
        }
        for tally in tallies {
            var copy = tally
            copy.path = try rewritten(tally.path, &output, transcoder.appendPath)
            result.tallies.append(copy)
        }
        for entry in unknowns {
            var copy = entry
            copy.path = try rewritten(entry.path, &output, transcoder.appendPath)
            copy.key = try rewritten(entry.key, &output) { bytes, output throws(CBORError) in output.append(bytes) }
            copy.payload = try rewritten(entry.payload, &output) { bytes, output throws(CBORError) in
                output.append(bytes)
            }
            result.unknowns.append(copy)
        }
        result.arena.append(contentsOf: output.bytes)
        guard result.sortEntries() else { throw .malformed }
        return result
    }

    private typealias Rewriter = (UnsafeRawBufferPointer, inout ByteBuffer) throws(CBORError) -> Void

    private static func valueAppender(_ transcoder: CBORTranscoder) -> Rewriter {
        { bytes, output throws(CBORError) in
            guard !bytes.isEmpty else { return }
            var cursor = ByteCursor(bytes)
            try transcoder.appendValue(&cursor, to: &output)
        }
    }

    private func rewritten(_ slice: Slice, _ output: inout ByteBuffer, _ rewrite: Rewriter) throws(CBORError) -> Slice {
        let start = output.count
        let bytes = bytes(of: slice)
        let failure: CBORError? = bytes.withUnsafeBytes { bytes in
            do throws(CBORError) { try rewrite(bytes, &output) } catch { return error }
            return nil
        }
        if let failure { throw failure }
        return Slice(offset: start, count: output.count - start)
    }

    /// Sorts the entries by their keys; returns false where a key comes twice.
    private mutating func sortEntries() -> Bool {
        let arena = arena
        return arena.withUnsafeBytes { arena in
            assignments.sort { CBOR.compare(arena[$0.path], arena[$1.path]) < 0 }
            tallies.sort { Self.compare($0, $1, arena) < 0 }
            unknowns.sort { Self.compare($0, $1, arena) < 0 }
            let isStrict =
                zip(assignments, assignments.dropFirst()).allSatisfy {
                    CBOR.compare(arena[$0.path], arena[$1.path]) < 0
                }
            return isStrict
                && zip(tallies, tallies.dropFirst()).allSatisfy { Self.compare($0, $1, arena) < 0 }
                && zip(unknowns, unknowns.dropFirst()).allSatisfy { Self.compare($0, $1, arena) < 0 }
        }
    }

    /// Appends the state in a form that is the same in every store: names spelt out, whole actor ids and times.
    ///
    /// Of a document that is not alive only `deleted` counts.
    ///
    /// - Throws: `DocDBError.corrupted` where a name is not in `names`.
    package func appendCanonical(to output: inout ByteBuffer, names: FieldNames) throws(DocDBError) {
        guard isAlive else { return appendCanonicalVectors(to: &output) }
        let spelt = try transcoded(from: names, to: nil)
        appendCanonicalVectors(to: &output)
        spelt.arena.withUnsafeBytes { arena in
            output.appendVarint(UInt64(spelt.assignments.count))
            for entry in spelt.assignments {
                output.append(entry.kind.rawValue)
                output.appendCounted(arena[entry.path])
                output.appendCanonical(entry.stamp)
                output.appendCounted(arena[entry.payload])
            }
            output.appendVarint(UInt64(spelt.tallies.count))
            for tally in spelt.tallies {
                output.appendCounted(arena[tally.path])
                output.appendCanonical(tally.base)
                output.appendCanonical(Stamp(time: tally.time, actor: tally.actor))
                output.appendCBOR(tally.sum)
            }
            output.appendVarint(UInt64(spelt.unknowns.count))
            for entry in spelt.unknowns {
                output.appendVarint(UInt64(entry.kind))
                output.appendCounted(arena[entry.path])
                output.appendCanonical(entry.base)
                output.appendCanonical(Stamp(time: entry.time, actor: entry.actor))
                output.appendCounted(arena[entry.key])
                output.appendCounted(arena[entry.payload])
            }
        }
    }

    /// Appends whether the document is alive, `seen` if it is, and `deleted`.
    private func appendCanonicalVectors(to output: inout ByteBuffer) {
        Self.appendCanonicalVectors(seen, deleted, isAlive: isAlive, to: &output)
    }

    private static func appendCanonicalVectors(
        _ seen: VersionVector, _ deleted: VersionVector, isAlive: Bool, to output: inout ByteBuffer
    ) {
        output.append(isAlive ? 1 : 0)
        for vector in isAlive ? [seen, deleted] : [deleted] {
            output.appendVarint(UInt64(vector.elements.count))
            for element in vector.elements {
                output.appendCanonical(Stamp(time: element.time, actor: element.actor))
            }
        }
    }

    /// The digest of the document's state.
    ///
    /// - Parameter id: the canonical CBOR of the document's id.
    /// - Parameter hash: the first 128 bits of SHA-256.
    package func digest(
        collection: String, id: UnsafeRawBufferPointer, hash: (UnsafeRawBufferPointer) -> StateDigest
    ) -> StateDigest {
        var input = ByteBuffer(capacity: 256)
        input.appendCBOR(collection)
        input.append(id)
        appendCanonicalVectors(to: &input)
        return hash(input.bytes)
    }

    /// The digest of the state of a document that has these vectors.
    package static func digest(
        collection: String, id: UnsafeRawBufferPointer, seen: VersionVector, deleted: VersionVector,
        hash: (UnsafeRawBufferPointer) -> StateDigest
    ) -> StateDigest {
        let isAlive = seen.elements.contains { $0.time > deleted[$0.actor] }
        var input = ByteBuffer(capacity: 256)
        input.appendCBOR(collection)
        input.append(id)
        appendCanonicalVectors(seen, deleted, isAlive: isAlive, to: &input)
        return hash(input.bytes)
    }
}

extension ByteBuffer {
    /// Appends a stamp in full: flag, time, actor.
    fileprivate mutating func appendCanonical(_ stamp: Stamp) {
        append(stamp.isDefault ? 1 : 0)
        appendBigEndian(stamp.time.rawValue)
        appendBigEndian(stamp.actor.high)
        appendBigEndian(stamp.actor.low)
    }
}
