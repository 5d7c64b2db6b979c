import DocDBCore

extension QueryMatcher {
    /// What a change is to one predicate; at least one of the two is true.
    package struct Match: Equatable, Sendable, BitwiseCopyable {
        package let id: MatcherID
        package let matchedBefore: Bool
        package let matchesAfter: Bool

        package init(id: MatcherID, matchedBefore: Bool, matchesAfter: Bool) {
            self.id = id
            self.matchedBefore = matchedBefore
            self.matchesAfter = matchesAfter
        }
    }

    /// Replaces `matches` with the predicates that a changed document matched before or matches after, ascending.
    ///
    /// Allocates only where a predicate or path is met for the first time, or predicates wait for objects.
    ///
    /// - Parameters:
    ///   - before: The document's body before the change; nil where it was not there.
    ///   - after: The body after it; nil where it is not there.
    ///   - id: The canonical CBOR of its `_id`, keys as text.
    package func match(
        collection number: Int64, before: UnsafeRawBufferPointer?, after: UnsafeRawBufferPointer?,
        id: UnsafeRawBufferPointer, into matches: inout [Match]
    ) {
        if !matches.isEmpty { matches.removeAll(keepingCapacity: true) }
        guard count > 0, let collection = collections[number], collection.count > 0 else { return }
        let sides = (before == nil ? 0 : Candidates.before) | (after == nil ? 0 : Candidates.after)
        guard sides != 0 else { return }
        let change = Change(before: before, after: after, id: id, sides: sides)
        guard collect(change, in: collection) else {
            candidates.removeAll()
            return matchEach(change, of: collection, into: &matches)
        }
        guard candidates.count > 0 else { return }
        candidateCount += candidates.count
        candidates.drain { number, candidateSides in
            var sides = candidateSides
            if !predicates[Int(number)].isDecidedByIndex { evaluate(number, change, &sides) }
            if sides != 0 { matches.append(Match(number, sides)) }
        }
    }

    /// A document before and after a change.
    private struct Change {
        let before: UnsafeRawBufferPointer?
        let after: UnsafeRawBufferPointer?
        let id: UnsafeRawBufferPointer
        /// The sides that are there.
        let sides: UInt8
    }

    // MARK: Candidates

    /// Finds the candidates; false where the document's bytes are damaged.
    @inline(__always)
    private func collect(_ change: Change, in collection: MatcherCollection) -> Bool {
        for number in collection.unindexed { candidates.mark(number, change.sides) }
        guard !collection.paths.isEmpty else { return true }
        let readers = collection.currentReaders(names)
        if let before = change.before, !readers.before.begin(body: before, id: change.id) { return false }
        if let after = change.after, !readers.after.begin(body: after, id: change.id) { return false }
        for position in collection.paths.indices {
            let path = collection.paths[position]
            if path.kinds == 0 { continue }
            let isSound: Bool
            if path.isMultiValued {
                isSound = collectEach(path, position, readers, change.sides)
            } else if path.isID || change.sides != Candidates.before | Candidates.after {
                let reader = change.before == nil ? readers.after : readers.before
                isSound = collectOne(path, position, reader, change.sides)
            } else {
                isSound = collectBoth(path, position, readers)
            }
            guard isSound else { return false }
        }
        return (change.before == nil || readers.before.isSound) && (change.after == nil || readers.after.isSound)
    }

    /// Looks one value up, for the sides that have it.
    @inline(__always)
    private func collectOne(_ path: PathIndex, _ position: Int, _ reader: PathReader, _ sides: UInt8) -> Bool {
        switch reader.encode(path, at: position, into: &scratch) {
        case .encoded: path.collect(scratch.key.bytes, sides, into: &candidates)
        case .unwanted: break
        case .damaged: return false
        }
        return true
    }

    /// Looks the values of both sides up, only once where they are the same.
    @inline(__always)
    private func collectBoth(
        _ path: PathIndex, _ position: Int, _ readers: (before: PathReader, after: PathReader)
    ) -> Bool {
        let before = readers.before.encode(path, at: position, into: &scratch)
        let after = readers.after.encode(path, at: position, into: &otherScratch)
        if before == .damaged || after == .damaged { return false }
        if before == .encoded, after == .encoded, scratch.key.hasSameBytes(as: otherScratch.key) {
            path.collect(scratch.key.bytes, Candidates.before | Candidates.after, into: &candidates)
            return true
        }
        if before == .encoded { path.collect(scratch.key.bytes, Candidates.before, into: &candidates) }
        if after == .encoded { path.collect(otherScratch.key.bytes, Candidates.after, into: &candidates) }
        return true
    }

    /// Looks up each value of an array path.
    private func collectEach(
        _ path: PathIndex, _ position: Int, _ readers: (before: PathReader, after: PathReader), _ sides: UInt8
    ) -> Bool {
        (sides & Candidates.before == 0 || collectEach(path, position, readers.before, Candidates.before))
            && (sides & Candidates.after == 0 || collectEach(path, position, readers.after, Candidates.after))
    }

    private func collectEach(_ path: PathIndex, _ position: Int, _ reader: PathReader, _ side: UInt8) -> Bool {
        reader.forEachKey(path, at: position, scratch: &scratch) { key in
            path.collect(key, side, into: &candidates)
        }
    }

    // MARK: Evaluation

    /// Takes away the sides on which a candidate's residual does not hold.
    private func evaluate(_ number: Int32, _ change: Change, _ sides: inout UInt8) {
        let evaluator = evaluator(number)
        Self.evaluate(evaluator, change, &sides, &evaluationCount)
    }

    private static func evaluate(_ evaluator: Evaluator, _ change: Change, _ sides: inout UInt8, _ count: inout Int) {
        if sides & Candidates.before != 0, let before = change.before {
            count += 1
            if !evaluator.matches(body: before, id: change.id) { sides &= ~Candidates.before }
        }
        if sides & Candidates.after != 0, let after = change.after {
            count += 1
            if !evaluator.matches(body: after, id: change.id) { sides &= ~Candidates.after }
        }
    }

    private func evaluator(_ number: Int32) -> Evaluator {
        let predicate = predicates[Int(number)]
        if let evaluator = predicate.evaluator {
            let nameCount = names.count
            if nameCount == predicate.checkedNameCount { return evaluator }
            predicates[Int(number)].checkedNameCount = nameCount
            if !evaluator.needsRecompile(names) { return evaluator }
        }
        let nameCount = names.count
        let evaluator = Evaluator(predicate.residual, names: names, stepCount: stepCount)
        predicates[Int(number)].evaluator = evaluator
        predicates[Int(number)].checkedNameCount = nameCount
        return evaluator
    }

    /// Evaluates each predicate of the collection whole: the answer for a document whose bytes are damaged.
    ///
    /// - Complexity: O(predicates of all collections), each compiled anew. Damage is rare.
    private func matchEach(_ change: Change, of collection: MatcherCollection, into matches: inout [Match]) {
        for number in predicates.indices where predicates[number].collection === collection {
            var sides = change.sides
            let evaluator = Evaluator(predicates[number].filter, names: names, stepCount: stepCount)
            candidateCount += 1
            Self.evaluate(evaluator, change, &sides, &evaluationCount)
            if sides != 0 { matches.append(Match(Int32(number), sides)) }
        }
    }
}

extension QueryMatcher.Match {
    fileprivate init(_ number: Int32, _ sides: UInt8) {
        self.init(
            id: MatcherID(number: number), matchedBefore: sides & Candidates.before != 0,
            matchesAfter: sides & Candidates.after != 0)
    }
}

extension ByteBuffer {
    @inline(__always)
    fileprivate func hasSameBytes(as other: borrowing ByteBuffer) -> Bool {
        count == other.count && EncodedValue.isEqual(start, other.start, count: count)
    }
}
