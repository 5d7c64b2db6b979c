import DocDBCore
import DocDBQuery

extension QueryPlan {
    /// The plan in words, without literals.
    func explanation(limit: Int?) -> String {
        var parts = [access.explanation]
        if residual != nil { parts.append("tests the rest on each document") }
        if isOrdered, !sort.isEmpty { parts.append(isTrivial ? "at most one result" : "in order, no sort") }
        if !isOrdered {
            if sort.isEmpty {
                parts.append("put in storage order")
            } else if let limit {
                parts.append("sorts in memory, keeping \(limit)")
            } else {
                parts.append("sorts in memory")
            }
        }
        if isOrdered, let limit, !isTrivial { parts.append("stops at \(limit)") }
        return parts.joined(separator: "; ")
    }

    private var isTrivial: Bool {
        switch access {
        case .nothing, .ids: true
        default: false
        }
    }

    /// What there is to say about counting, where no document is looked at for it.
    var countExplanation: String? {
        if residual == nil, case .index = access { "count from the index alone" } else { nil }
    }
}

extension QueryPlan.Access {
    fileprivate var explanation: String {
        switch self {
        case .nothing: return "no documents: the filter never holds"
        case .documents: return "full scan"
        case .ids(let ids): return ids.count == 1 ? "lookup by _id" : "lookup by \(ids.count) ids"
        case .idOrder(let range, let isBackward):
            let direction = isBackward ? " backward" : ""
            return "scan by _id\(direction)" + (range.constraint.map { " \($0.explanation)" } ?? "")
        case .index(let scan):
            let direction = scan.isBackward ? " backward" : ""
            let conditions = scan.satisfied.map(\.explanation).joined(separator: ", ")
            let repetitions = scan.findsDuplicates ? "; each document once" : ""
            return "index scan on (\(scan.index.definition.text))\(direction)"
                + (conditions.isEmpty ? "" : " \(conditions)") + repetitions
        }
    }
}

extension PathConstraint {
    /// The constraint with `?` for each literal.
    fileprivate var explanation: String {
        switch values {
        case .points(let points):
            if points == [nil] { return "\(path) == missing" }
            if points == [nil, .null] { return "\(path) == null" }
            return points.count == 1 ? "\(path) == ?" : "\(path) in (\(points.count) values)"
        case .range(let type, let lower, let upper):
            if case .prefix? = upper { return "starts_with(\(path), ?)" }
            let bounds = [
                lower.map { "\(path) >\($0.isInclusive ? "=" : "") ?" },
                upper.map { "\(path) <\($0.isInclusive ? "=" : "") ?" },
            ].compactMap { $0 }
            return bounds.isEmpty ? "type(\(path)) == '\(type)'" : bounds.joined(separator: ", ")
        }
    }
}

extension ValueSet.Bound {
    fileprivate var isInclusive: Bool { if case .inclusive = self { true } else { false } }
}
