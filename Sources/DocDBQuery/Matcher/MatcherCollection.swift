import DocDBCore

/// The standing predicates of one collection.
final class MatcherCollection {
    private(set) var count = 0
    /// The predicates that no constraint describes: candidates for every change.
    private(set) var unindexed: [Int32] = []
    /// The paths by which the others are found; those left without predicates go with the next change of this list.
    private(set) var paths: [PathIndex] = []
    private var pathsByName: [PathName: PathIndex] = [:]
    private var lastPath: PathIndex?
    private var emptyPathCount = 0
    private var readers: (before: PathReader, after: PathReader)?
    private var checkedNameCount = 0

    /// The most paths of one collection that are indexed: each is looked up for each change. Predicates that need
    /// further ones are evaluated one by one.
    static let pathCount = 1024
    /// Paths without predicates are kept up to this many, as the next predicate is likely to need one of them.
    private static let emptyPathLimit = 16

    /// Registers a predicate.
    func insert(_ number: Int32, _ filter: Filter, scratch: inout KeyScratch) -> StandingPredicate {
        count += 1
        var predicate = StandingPredicate(collection: self, filter: filter)
        if let (name, value) = Self.onlyEquality(filter), index(number, name, .points([value]), &predicate, &scratch) {
            predicate.isDecidedByIndex = true
            return predicate
        }
        let analysis = FilterConstraints(filter)
        guard !analysis.isProvablyEmpty else { return predicate }
        if let constraint = leastCrowded(analysis.constraints, scratch: &scratch),
            index(number, constraint.path, constraint.values, &predicate, &scratch)
        {
            predicate.isDecidedByIndex = constraint.exactConjuncts.count == analysis.conjuncts.count
            predicate.residual = predicate.isDecidedByIndex ? .everything : analysis.residual(after: [constraint])
            return predicate
        }
        predicate.isDecidedByIndex = analysis.conjuncts.isEmpty
        predicate.residual = filter
        predicate.place = Int32(unindexed.count)
        unindexed.append(number)
        return predicate
    }

    /// The path and the value of a filter that is nothing but their equality, the most common one by far: what the
    /// analysis of constraints would say, found without it.
    private static func onlyEquality(_ filter: Filter) -> (path: Filter.Path, value: Value)? {
        guard case .compare(.equal, .path(let path), .literal(let value)) = filter,
            ValueSet.ValueType(of: value) != nil,
            case .name? = path.steps.first, !path.isMultiValued
        else { return nil }
        return (path, value)
    }

    /// Indexes a predicate at a path; false where that is not possible.
    private func index(
        _ number: Int32, _ name: Filter.Path, _ values: ValueSet, _ predicate: inout StandingPredicate,
        _ scratch: inout KeyScratch
    ) -> Bool {
        guard let path = path(name) else { return false }
        let wasEmpty = path.predicateCount == 0
        guard let posting = try? path.add(number, values, scratch: &scratch) else { return false }
        if wasEmpty { emptyPathCount -= 1 }
        predicate.path = path
        predicate.place = posting
        return true
    }

    /// Takes a predicate out; returns the number of the one that has got its place, if any.
    func remove(_ predicate: StandingPredicate) -> Int32? {
        count -= 1
        if let path = predicate.path {
            path.remove(predicate.place)
            if path.predicateCount == 0 { emptyPathCount += 1 }
            return nil
        }
        guard predicate.place >= 0, let last = unindexed.popLast(), predicate.place < unindexed.count else {
            return nil
        }
        unindexed[Int(predicate.place)] = last
        return last
    }

    // MARK: Paths

    private func path(_ path: Filter.Path) -> PathIndex? {
        if let known = knownPath(path) { return known }
        dropEmptyPaths(beyond: paths.count < Self.pathCount ? Self.emptyPathLimit : 0)
        guard paths.count < Self.pathCount else { return nil }
        let new = PathIndex(path)
        paths.append(new)
        pathsByName[PathName(path: path)] = new
        emptyPathCount += 1
        readers = nil
        return new
    }

    private func knownPath(_ path: Filter.Path) -> PathIndex? {
        if let lastPath, lastPath.path == path { return lastPath }
        guard let known = pathsByName[PathName(path: path)] else { return nil }
        lastPath = known
        return known
    }

    private func dropEmptyPaths(beyond limit: Int) {
        guard emptyPathCount > limit else { return }
        for path in paths where path.predicateCount == 0 { pathsByName[PathName(path: path.path)] = nil }
        paths.removeAll { $0.predicateCount == 0 }
        lastPath = nil
        emptyPathCount = 0
        readers = nil
    }

    // MARK: The choice of a constraint

    /// The constraint by which a predicate meets the fewest others.
    private func leastCrowded(_ constraints: [PathConstraint], scratch: inout KeyScratch) -> PathConstraint? {
        guard constraints.count > 1 else { return constraints.first }
        var best: (constraint: PathConstraint, cost: Int)?
        for constraint in constraints {
            let base = Self.baseCost(constraint)
            let limit = best?.cost ?? Int.max
            guard base < limit else { continue }
            var cost = base
            if let path = knownPath(constraint.path) {
                guard let crowd = try? path.crowd(at: constraint.values, limit: limit - base, scratch: &scratch) else {
                    continue
                }
                cost += crowd
            } else if paths.count >= Self.pathCount {
                continue
            } else {
                // A further path costs every change a look-up.
                cost += 1
            }
            if cost < limit { best = (constraint, cost) }
        }
        return best?.constraint
    }

    /// How many documents' changes a constraint alone lets through, as a guess: few for one id, more for one value, a
    /// range, a range open on one side.
    private static func baseCost(_ constraint: PathConstraint) -> Int {
        switch constraint.values {
        case .points:
            if case .name(let name)? = constraint.path.steps.first, name.string == "_id" { return 0 }
            return 2
        case .range(_, let lower, let upper): return lower != nil && upper != nil ? 4 : 12
        }
    }

    // MARK: Reading documents

    /// The readers of the document before and after, up to date with paths and names.
    @inline(__always)
    func currentReaders(_ names: FieldNames) -> (before: PathReader, after: PathReader) {
        if let readers, names.count == checkedNameCount { return readers }
        return renewReaders(names)
    }

    @inline(never)
    private func renewReaders(_ names: FieldNames) -> (before: PathReader, after: PathReader) {
        checkedNameCount = names.count
        if let readers, !readers.before.needsRecompile, !readers.after.needsRecompile { return readers }
        let new = (
            before: PathReader(paths.map(\.path), names: names), after: PathReader(paths.map(\.path), names: names)
        )
        readers = new
        return new
    }
}

/// A path as a key: names by their bytes.
private struct PathName: Hashable {
    let path: Filter.Path

    func hash(into hasher: inout Hasher) {
        for step in path.steps {
            switch step {
            case .name(let name):
                var text = name.string
                text.withUTF8 { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
                hasher.combine(UInt8(0xFF))
            case .index(let index): hasher.combine(index)
            case .all, .filter: hasher.combine(UInt8(0xFE))
            }
        }
    }
}
