package import DocDBCore
import DocDBQuery
import DocDBStorage

/// What a peer wants AND may have, compiled for the bodies of one store.
///
/// One thread at a time. Call `refresh` once a moment of the replica has been opened, and before its documents are matched.
package final class ScopeFilter {
    private enum Entry {
        case nothing
        case everything
        case matching(Filter, Evaluator)
    }

    /// Whether every document of every collection matches.
    package let isEverything: Bool
    private let wanted: ParsedInterest
    private let permitted: ParsedInterest
    private let names: FieldNames
    private let stepCount: Int
    /// By number of the collection; filled as collections are met.
    private var entries: [Int64: Entry] = [:]
    private var last: (number: Int64, entry: Entry)?
    /// The top-level fields that the permission tests, by number of the collection.
    private var tested: [Int64: [String]] = [:]

    /// - Parameter stepCount: the most steps of a match on one document.
    /// - Throws: `DocDBError.invalidPredicate`.
    package init(
        _ interest: Interest, permitted: Interest, names: FieldNames, stepCount: Int = SyncLimits.predicateStepCount
    ) throws(DocDBError) {
        self.stepCount = stepCount
        wanted = try ParsedInterest(interest)
        self.permitted = try ParsedInterest(permitted)
        isEverything = interest == .everything && permitted == .everything
        self.names = names
    }

    /// How many documents were judged in the reading of all that is under way, and on how many the steps did not suffice.
    private var reading: (judged: Int, exhausted: Int)?

    /// Whether the filters cost too much on most documents, whoever wrote those: then nothing matches for the rest of a reading.
    var isTooCostly: Bool {
        guard let reading else { return false }
        return reading.exhausted >= SyncLimits.exhaustedMatchCount && reading.exhausted > reading.judged / 2
    }

    /// Begins or ends the counting of what a reading of all documents costs.
    func count(_ isReading: Bool) { reading = isReading ? (0, 0) : nil }

    private func makeEvaluator(_ filter: Filter) -> Evaluator {
        Evaluator(filter, names: names, stepCount: stepCount)
    }

    /// Compiles filters anew whose names have been interned since.
    package func refresh() {
        last = nil
        for (number, entry) in entries {
            if case .matching(let filter, let evaluator) = entry, evaluator.needsRecompile(names) {
                entries[number] = .matching(filter, makeEvaluator(filter))
            }
        }
    }

    private func entry(_ number: Int64, _ name: String) -> Entry {
        if let last, last.number == number { return last.entry }
        let entry: Entry
        if let known = entries[number] {
            entry = known
        } else if let filter = filter(name) {
            entry = filter == .everything ? .everything : .matching(filter, makeEvaluator(filter))
        } else {
            entry = .nothing
        }
        entries[number] = entry
        last = (number, entry)
        return entry
    }

    /// The filter of a collection, nil where nothing of it is in scope.
    private func filter(_ collection: String) -> Filter? {
        guard let left = wanted.filter(collection), let right = permitted.filter(collection) else { return nil }
        if left == .everything { return right }
        return right == .everything ? left : Filter.all(of: [left, right])
    }

    /// The top-level fields that the permission on a collection tests; none where it tests nothing.
    ///
    /// Entries of kinds that this version does not know read as missing, so a document that has some there matches no
    /// permission, whatever it seems to be: `!` and `missing` would let it pass.
    func testedFields(_ number: Int64, _ name: String) -> [String] {
        if permitted.filters == nil { return [] }
        if let known = tested[number] { return known }
        var fields: [String] = []
        for path in permitted.filter(name)?.paths ?? [] {
            if let field = path.components.first, !fields.contains(field) { fields.append(field) }
        }
        tested[number] = fields
        return fields
    }

    /// Whether no document of any collection matches.
    var isNothing: Bool { wanted.filters?.isEmpty == true || permitted.filters?.isEmpty == true }

    /// Tells whether nothing of a collection is in scope.
    package func isEmpty(_ number: Int64, _ name: String) -> Bool {
        if isEverything { return false }
        if case .nothing = entry(number, name) { return true }
        return false
    }

    /// Tells whether nothing of a collection is in scope, which may not be there yet.
    func hasNothing(of collection: String) -> Bool { !isEverything && filter(collection) == nil }

    /// Tells whether a document is in scope; a dead one (without a body) just where its whole collection is.
    package func matches(
        body: UnsafeRawBufferPointer?, id: UnsafeRawBufferPointer, collection number: Int64, _ name: String
    ) -> Bool {
        if isEverything { return true }
        switch entry(number, name) {
        case .nothing: return false
        case .everything: return true
        case .matching(_, let evaluator):
            guard let body, !isTooCostly else { return false }
            let isMatch = evaluator.matches(body: body, id: id)
            if reading != nil {
                reading?.judged += 1
                if evaluator.didExhaustLimits { reading?.exhausted += 1 }
            }
            return isMatch
        }
    }

    /// The same as standing predicates.
    package var scope: SessionScope {
        if isEverything { return SessionScope(filters: [], isEverything: true) }
        let collections = Set((wanted.filters ?? [:]).keys).union((permitted.filters ?? [:]).keys)
        let filters = collections.map(\.text).sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
            .compactMap { collection in filter(collection).map { (collection: collection, filter: $0) } }
        return SessionScope(filters: filters, isEverything: false)
    }
}
