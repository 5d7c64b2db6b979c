import DocDBCore

/// What a filter demands of single paths: what a planner can look for in an index.
///
/// A document that matches the filter satisfies every constraint. Made from the filter's top-level conjunction alone.
package struct FilterConstraints: Sendable {
    /// The parts of the filter's top-level conjunction; all of them hold for a document that matches.
    package let conjuncts: [Filter]
    /// One constraint per path that leads to one value; of array paths one per conjunct, as different elements may
    /// satisfy different ones. In order of first mention.
    package let constraints: [PathConstraint]
    /// No document matches, whatever it holds.
    package let isProvablyEmpty: Bool

    /// Analyses a filter.
    ///
    /// - Complexity: O(conjuncts² + n log n) in the number of literals.
    package init(_ filter: Filter) {
        let parts = if case .and(let parts) = filter { parts } else { [filter] }
        conjuncts = parts.filter { $0 != .everything }
        var constraints: [PathConstraint] = []
        var isEmpty = false
        for (index, conjunct) in conjuncts.enumerated() {
            guard let demand = try? Demand(conjunct) else { continue }
            switch demand {
            case .nothing: isEmpty = true
            case .values(let path, let values, let isExact):
                let constraint = PathConstraint(
                    path: path, values: values, conjuncts: [index], exactConjuncts: isExact ? [index] : [])
                Self.add(constraint, to: &constraints)
            }
        }
        self.constraints = constraints
        isProvablyEmpty = isEmpty || constraints.contains(where: \.values.isEmpty)
    }

    private static func add(_ new: PathConstraint, to constraints: inout [PathConstraint]) {
        if !new.path.isMultiValued, let known = constraints.firstIndex(where: { $0.path == new.path }),
            let both = try? constraints[known].values.intersection(new.values)
        {
            constraints[known].values = both
            constraints[known].conjuncts += new.conjuncts
            constraints[known].exactConjuncts += new.exactConjuncts
        } else {
            constraints.append(new)
        }
    }

    /// What is left to test on documents that satisfy these constraints of this filter; `everything` where nothing is.
    package func residual(after satisfied: [PathConstraint]) -> Filter {
        let settled = satisfied.flatMap(\.exactConjuncts)
        return Filter.all(of: conjuncts.indices.filter { !settled.contains($0) }.map { conjuncts[$0] })
    }
}

/// The values that a filter allows at one path.
package struct PathConstraint: Equatable, Sendable {
    /// Names, positions and `[*]`. A first name `_id` is the document's id.
    package let path: Filter.Path
    package var values: ValueSet
    /// The conjuncts, by position, that demand it.
    package var conjuncts: [Int]
    /// Those of them that hold for just the documents whose value lies in the set: an index needs no second look.
    package var exactConjuncts: [Int]
}

/// What one condition demands.
private enum Demand {
    /// No document can satisfy it.
    case nothing
    case values(Filter.Path, ValueSet, isExact: Bool)

    /// Finds the demand of a condition, or nil where there is none that an index could answer.
    init?(_ filter: Filter) throws(DocDBError) {
        let found: Demand?
        switch filter {
        case .isTrue(.literal(let value)): found = value == .bool(true) ? nil : .nothing
        case .isTrue(.path(let path)): found = try Demand.points(path, [.bool(true)])
        case .compare(let comparison, .path(let path), let literal):
            found = try Demand.comparison(comparison, path, literal)
        case .compare(let comparison, let literal, .path(let path)):
            found = try Demand.comparison(comparison.swapped, path, literal)
        case .isIn(.path(let path), .literal(.array(let values))):
            found = try Demand.points(path, values.flatMap { Demand.pointsEqual(to: $0) })
        case .isIn(.literal(let value), .path(let path)):
            found = try Demand.points(path.eachElement, [value])
        case .contains(.path(let path), .literal(let value)):
            if case .string = value, !path.isMultiValued { return nil }
            found = try Demand.points(path.eachElement, [value])
        case .between(.path(let path), let low, let high):
            found = try Demand.between(path, low, high)
        case .like(.path(let path), let pattern): found = try Demand.like(path, pattern.string)
        case .startsWith(.path(let path), .literal(let value)):
            guard case .string(let prefix) = value else { found = .nothing; break }
            found = Demand.prefix(path, prefix, isExact: true)
        case .isMissing(let path): found = try Demand.points(path, [Value?.none])
        case .or(let parts): found = try Demand.disjunction(parts)
        default: found = nil
        }
        guard let found else { return nil }
        self = found
    }

    /// The values that equal a literal: `null` also equals missing ones.
    private static func pointsEqual(to value: Value) -> [Value?] { value == .null ? [Value?.none, .null] : [value] }

    private static func points(_ path: Filter.Path, _ values: [Value?]) throws(DocDBError) -> Demand? {
        guard let (path, isExact) = path.indexable else { return nil }
        // An array path without values counts as missing, and so has no element to find.
        if path.isMultiValued, values.contains(where: { $0 == nil }) { return nil }
        return .values(path, try ValueSet.points(sorting: values), isExact: isExact)
    }

    private static func comparison(
        _ comparison: Filter.Comparison, _ path: Filter.Path, _ operand: Filter.Operand
    ) throws(DocDBError) -> Demand? {
        let value: Value?
        switch operand {
        case .literal(let literal): value = literal
        case .missing: value = nil
        case .path, .function, .condition: return nil
        }
        let equalPoints = value.map { pointsEqual(to: $0) } ?? [Value?.none]
        let type = value.flatMap { ValueSet.ValueType(of: $0) }
        switch comparison {
        case .notEqual: return nil
        case .equal: return try points(path, equalPoints)
        case .less, .greater:
            guard let type, let value else { return .nothing }
            return range(path, type, value, comparison)
        case .lessOrEqual, .greaterOrEqual:
            guard let type, let value else { return try points(path, equalPoints) }
            return range(path, type, value, comparison)
        }
    }

    private static func range(
        _ path: Filter.Path, _ type: ValueSet.ValueType, _ value: Value, _ comparison: Filter.Comparison
    ) -> Demand? {
        guard let (path, isExact) = path.indexable else { return nil }
        let set: ValueSet =
            switch comparison {
            case .less: .range(type, lower: nil, upper: .exclusive(value))
            case .lessOrEqual: .range(type, lower: nil, upper: .inclusive(value))
            case .greater: .range(type, lower: .exclusive(value), upper: nil)
            case .greaterOrEqual: .range(type, lower: .inclusive(value), upper: nil)
            case .equal, .notEqual: .points([value])
            }
        return .values(path, set, isExact: isExact)
    }

    /// Both bounds hold for the same value, so that they may be intersected for array paths too.
    private static func between(
        _ path: Filter.Path, _ low: Filter.Operand, _ high: Filter.Operand
    ) throws(DocDBError) -> Demand? {
        guard case .values(let path, let lower, let isLowerExact)? = try comparison(.greaterOrEqual, path, low),
            case .values(_, let upper, let isUpperExact)? = try comparison(.lessOrEqual, path, high)
        else { return nil }
        return .values(path, try lower.intersection(upper), isExact: isLowerExact && isUpperExact)
    }

    private static func like(_ path: Filter.Path, _ pattern: String) throws(DocDBError) -> Demand? {
        let (text, isWhole, isPrefix) = LikePattern.prefix(of: pattern)
        if isWhole { return try points(path, [.string(text)]) }
        return isPrefix || !text.isEmpty ? prefix(path, text, isExact: isPrefix) : nil
    }

    private static func prefix(_ path: Filter.Path, _ text: String, isExact: Bool) -> Demand? {
        guard let (path, isPathExact) = path.indexable else { return nil }
        let set = ValueSet.range(.string, lower: .inclusive(.string(text)), upper: .prefix(text))
        return .values(path, set, isExact: isExact && isPathExact)
    }

    /// Single values of one path, one or another of which a document must have.
    private static func disjunction(_ parts: [Filter]) throws(DocDBError) -> Demand? {
        var common: (path: Filter.Path, values: [Value?], isExact: Bool)?
        for part in parts {
            guard let demand = try Demand(part) else { return nil }
            guard case .values(let path, let set, let isExact) = demand else { continue }
            guard case .points(let values) = set else { return nil }
            guard let known = common else {
                common = (path, values, isExact)
                continue
            }
            guard known.path == path else { return nil }
            common = (path, known.values + values, known.isExact && isExact)
        }
        guard let common else { return .nothing }
        return .values(common.path, try ValueSet.points(sorting: common.values), isExact: common.isExact)
    }
}

extension Filter.Path {
    /// The path with `[*]` at its end where it leads to one value: what `in` and `contains` look through.
    fileprivate var eachElement: Filter.Path { isMultiValued ? self : Filter.Path(steps + [.all]) }

    /// The path as an index may have it, element filters widened to all elements; nil for an element itself.
    fileprivate var indexable: (path: Filter.Path, isExact: Bool)? {
        guard case .name? = steps.first else { return nil }
        var isExact = true
        var widened: [Filter.Step] = []
        for step in steps {
            switch step {
            case .name, .all, .index: widened.append(step)
            case .filter:
                widened.append(.all)
                isExact = false
            }
        }
        return (Filter.Path(widened), isExact)
    }
}
