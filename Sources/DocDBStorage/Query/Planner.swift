import DocDBCore
import DocDBQuery

/// Chooses how a query is answered, from its filter's constraints and the collection's indexes.
///
/// The rule: ids that are named are looked up. Else the index with the most components that equality binds wins; then,
/// where there is a limit, one that gives the wanted order, then one that a range narrows (without a limit the other way
/// round); then one that needs no second look at documents. Nothing is estimated from the data.
struct Planner {
    let filter: Filter
    let sort: [SortKey]
    let isLimited: Bool
    /// The results are wanted in order, that of storage where `sort` is empty; else only which there are.
    let isOrdered: Bool
    let constraints: FilterConstraints
    let order: WantedOrder?

    /// The most ranges of one index that one query looks at; past it the further components are tested on documents.
    static let rangeCountLimit = 4096

    init(filter: Filter, sort: [SortKey], isLimited: Bool, isOrdered: Bool) {
        self.filter = filter
        self.sort = isOrdered ? sort : []
        self.isLimited = isLimited && isOrdered && !sort.isEmpty
        self.isOrdered = isOrdered
        constraints = FilterConstraints(filter)
        order = isOrdered && !sort.isEmpty ? WantedOrder(sort, constraints) : nil
    }

    /// One way to answer the query.
    private struct Candidate {
        var access: QueryPlan.Access
        var equalityCount = 0
        var hasRange = false
        var givesOrder = false
        var satisfied: [PathConstraint] = []
        var isExact = false
        var findsDuplicates = false
        /// The fewer the better, where all else is equal.
        var size = 0

        /// What is compared, most important first.
        func rank(isLimited: Bool) -> [Int] {
            let order = givesOrder ? 1 : 0
            let range = hasRange ? 1 : 0
            return [equalityCount] + (isLimited ? [order, range] : [range, order]) + [
                isExact ? 1 : 0, findsDuplicates ? 0 : 1, -size,
            ]
        }
    }

    /// The best plan with these indexes.
    func plan(indexes: [IndexInfo]) -> QueryPlan {
        if constraints.isProvablyEmpty {
            return QueryPlan(access: .nothing, isOrdered: true, residual: nil, sort: sort)
        }
        if let lookup = lookup() { return lookup }
        if !isOrdered, filter == .everything, let smallest = wholeIndex(indexes) { return smallest }
        var best: Candidate?
        var bestRank: [Int] = []
        for candidate in candidates(indexes) {
            let rank = candidate.rank(isLimited: isLimited)
            if best == nil || bestRank.lexicographicallyPrecedes(rank) { (best, bestRank) = (candidate, rank) }
        }
        guard let best else {
            let needsOrder = isOrdered && !sort.isEmpty
            return QueryPlan(
                access: .documents, isOrdered: !needsOrder, residual: filter == .everything ? nil : filter, sort: sort)
        }
        return QueryPlan(
            access: best.access, isOrdered: best.givesOrder, residual: residual(after: best.satisfied), sort: sort)
    }

    private func residual(after satisfied: [PathConstraint]) -> Filter? {
        let rest = constraints.residual(after: satisfied)
        return rest == .everything ? nil : rest
    }

    private func lookup() -> QueryPlan? {
        guard let constraint = constraints.constraints.first(where: { $0.path.isID }),
            let ids = IDLookup.ids(constraint)
        else { return nil }
        let access: QueryPlan.Access = ids.isEmpty ? .nothing : .ids(ids)
        return QueryPlan(
            access: access, isOrdered: ids.count <= 1, residual: residual(after: [constraint]), sort: sort)
    }

    /// An index that has every document once is smaller than the documents, where only their number is wanted.
    private func wholeIndex(_ indexes: [IndexInfo]) -> QueryPlan? {
        let single = indexes.filter { $0.definition.multiValuedComponent == nil }
        guard let index = single.min(by: { $0.definition.components.count < $1.definition.components.count }) else {
            return nil
        }
        let scan = QueryPlan.IndexScan(index: index, ranges: [.everything], findsDuplicates: false, satisfied: [])
        return QueryPlan(access: .index(scan), isOrdered: false, residual: nil, sort: [])
    }

    private func candidates(_ indexes: [IndexInfo]) -> [Candidate] {
        let found = indexes.compactMap { candidate($0) } + [idCandidate()].compactMap { $0 }
        return found.filter { $0.equalityCount > 0 || $0.hasRange || $0.givesOrder }
    }

    /// The index on `_id`, where it narrows or orders.
    private func idCandidate() -> Candidate? {
        let constrained = constraints.constraints.first { $0.path.isID }
        let range = constrained.flatMap { IDRange($0) }
        let direction = order?.directionOfIDAlone
        guard range != nil || direction != nil else { return nil }
        let satisfied = range?.constraint.map { [$0] } ?? []
        return Candidate(
            access: .idOrder(range ?? .all, isBackward: direction ?? false), hasRange: range != nil,
            givesOrder: direction != nil, satisfied: satisfied, isExact: residual(after: satisfied) == nil)
    }

    private func candidate(_ index: IndexInfo) -> Candidate? {
        let components = index.definition.components
        // The keys of the components that equality binds, and the ranges that they are the beginnings of.
        var prefixes: [[UInt8]] = [[]]
        var ranges = [KeyByteRange.everything]
        var hasRange = false
        var satisfied: [PathConstraint] = []
        var equalityCount = 0
        var isMultiValuedPinned = index.definition.multiValuedComponent == nil
        for (position, component) in components.enumerated() {
            guard let constraint = constraint(on: component.path),
                let spans = try? constraint.values.keyRanges(descending: component.isDescending),
                prefixes.count * spans.count <= Self.rangeCountLimit
            else { break }
            satisfied.append(constraint)
            ranges = prefixes.flatMap { prefix in
                KeyByteRange.joiningMissingAndNull(spans).map { $0.prefixed(by: prefix) }
            }
            guard case .points = constraint.values else {
                hasRange = true
                break
            }
            equalityCount += 1
            if position == index.definition.multiValuedComponent, spans.count == 1 { isMultiValuedPinned = true }
            prefixes = prefixes.flatMap { prefix in spans.map { prefix + $0.lower } }
        }
        let direction = isMultiValuedPinned ? order?.direction(of: components, isMultiValuedPinned: true) : nil
        let scan = QueryPlan.IndexScan(
            index: index, ranges: ranges, isBackward: direction ?? false,
            findsDuplicates: !isMultiValuedPinned, satisfied: satisfied)
        return Candidate(
            access: .index(scan), equalityCount: equalityCount, hasRange: hasRange,
            givesOrder: direction != nil, satisfied: satisfied, isExact: residual(after: satisfied) == nil,
            findsDuplicates: scan.findsDuplicates, size: components.count)
    }

    /// The constraint on a path that narrows it most; an array path may have several, which different elements satisfy.
    private func constraint(on path: Filter.Path) -> PathConstraint? {
        let found = constraints.constraints.filter { $0.path == path }
        return found.first { if case .points = $0.values { true } else { false } } ?? found.first
    }
}

extension KeyByteRange {
    /// All keys of an index.
    static let everything = KeyByteRange(lower: [], upper: [0xFF])

    func prefixed(by prefix: [UInt8]) -> KeyByteRange { KeyByteRange(lower: prefix + lower, upper: prefix + upper) }

    /// The ranges of single values, those of missing and null joined where they lie side by side.
    static func joiningMissingAndNull(_ spans: [KeyByteRange]) -> [KeyByteRange] {
        var joined: [KeyByteRange] = []
        for span in spans {
            if let last = joined.last, ends.contains(where: { last.lower == [$0.0] && span.lower == [$0.1] }) {
                joined[joined.count - 1].upper = span.upper
            } else {
                joined.append(span)
            }
        }
        return joined
    }

    /// The one-byte keys of missing and null, in the order of the index, for both directions.
    private static let ends: [(UInt8, UInt8)] = [false, true].compactMap { (isDescending: Bool) -> (UInt8, UInt8)? in
        var buffer = ByteBuffer()
        OrderEncoding.appendMissing(descending: isDescending, to: &buffer)
        guard (try? OrderEncoding.append(.null, descending: isDescending, to: &buffer)) != nil, buffer.count == 2
        else { return nil }
        let keys = (buffer[0], buffer[1])
        return isDescending ? (keys.1, keys.0) : keys
    }
}
