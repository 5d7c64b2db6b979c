import DocDBQuery

/// The order that a query wants, reduced to what decides: paths that are bound to one value have no say.
struct WantedOrder {
    /// A place in the order: a path, or the id, which comes last and decides all that is left.
    private struct Term: Equatable {
        /// Nil stands for the id.
        var path: Filter.Path?
        var isDescending: Bool
    }

    private let terms: [Term]
    private let pinned: [Filter.Path]

    init(_ sort: [SortKey], _ constraints: FilterConstraints) {
        let pinned = constraints.constraints.filter { !$0.path.isMultiValued && $0.values.isSinglePoint }.map(\.path)
        self.pinned = pinned
        terms = Self.reduced(
            sort.map { Term(path: $0.path, isDescending: $0.isDescending) },
            idIsDescending: sort.last?.isDescending ?? false, pinned: pinned)
    }

    private static func reduced(_ all: [Term], idIsDescending: Bool, pinned: [Filter.Path]) -> [Term] {
        var terms: [Term] = []
        for term in all {
            guard let path = term.path else { continue }
            if path.isID { return terms + [Term(path: nil, isDescending: term.isDescending)] }
            if pinned.contains(path) || terms.contains(where: { $0.path == path }) { continue }
            terms.append(term)
        }
        return terms + [Term(path: nil, isDescending: idIsDescending)]
    }

    /// Whether an index gives the order when it is read forward (false) or backward (true); nil where it does not.
    ///
    /// - Parameter isMultiValuedPinned: the component that may have several values is bound to one of them.
    func direction(of components: [IndexDefinition.Component], isMultiValuedPinned: Bool) -> Bool? {
        let relevant = components.filter { !(isMultiValuedPinned && $0.path.isMultiValued) }
        let given = Self.reduced(
            relevant.map { Term(path: $0.path, isDescending: $0.isDescending) },
            idIsDescending: components.last?.isDescending ?? false, pinned: pinned)
        if given == terms { return false }
        return given.map { Term(path: $0.path, isDescending: !$0.isDescending) } == terms ? true : nil
    }

    /// The direction of the order by `_id` alone, true being descending; nil where other paths have a say.
    var directionOfIDAlone: Bool? { terms.count == 1 ? terms[0].isDescending : nil }
}

extension ValueSet {
    /// Tells whether the set allows one value only.
    var isSinglePoint: Bool { if case .points(let values) = self { values.count == 1 } else { false } }
}
