package import DocDBCore

/// The handle of a standing predicate: a small number, given out again once its predicate is removed.
package struct MatcherID: Hashable, Comparable, Sendable, BitwiseCopyable {
    package let number: Int32

    package static func < (left: MatcherID, right: MatcherID) -> Bool { left.number < right.number }
}

/// Holds standing predicates and tells which of them a changed document matched before and matches after.
///
/// Predicates are indexed by collection, then by the values that one of their constraints allows at one path: single
/// values in a hash table, ranges and prefixes in an interval tree. A change looks up the document's values at the paths
/// in use and touches only the predicates found there, and those that no constraint describes. Of several constraints a
/// predicate is indexed by the one with the fewest neighbours at the time, after Fabret, Jacobsen, Llirbat, Pereira,
/// Ross and Shasha, "Filtering Algorithms and Implementation for Very Fast Publish/Subscribe Systems" (SIGMOD 2001).
///
/// Names that no document had when a predicate was added are looked up again as the store's names grow. It knows
/// nothing of what is done with the answer. Not thread-safe: its owner locks.
///
/// - Complexity: to add and remove, O(size of the filter) and O(log n) expected. Of a change, with p paths in use, n
///   predicates and c candidates: one walk over each body, O(p · log n + c) expected, and the evaluation of candidates
///   that their constraint does not decide. Predicates without a usable constraint are always candidates.
package final class QueryMatcher {
    let names: FieldNames
    let stepCount: Int
    var predicates: [StandingPredicate] = []
    private var freeNumbers: [Int32] = []
    var collections: [Int64: MatcherCollection] = [:]
    var candidates = Candidates()
    var scratch = KeyScratch()
    var otherScratch = KeyScratch()

    /// The number of standing predicates.
    package private(set) var count = 0
    /// How many predicates have been looked at for all changes so far, and how often one was evaluated: for tests.
    package internal(set) var candidateCount = 0
    package internal(set) var evaluationCount = 0

    /// Creates a matcher without predicates.
    ///
    /// - Parameters:
    ///   - names: The field names of the store whose documents are matched.
    ///   - stepCount: The most steps of one predicate on one document; one that needs more is denied.
    package init(names: FieldNames, stepCount: Int = QueryLimits.evaluationStepCount) {
        self.names = names
        self.stepCount = stepCount
    }

    /// Adds a predicate over the documents of a collection, named by its number.
    ///
    /// - Complexity: O(size of the filter) and O(log n) expected. The filter is compiled when it is first evaluated.
    package func add(collection number: Int64, filter: Filter) -> MatcherID {
        let collection = collection(number)
        let predicate: Int32
        if let free = freeNumbers.popLast() {
            predicate = free
        } else {
            predicate = Int32(predicates.count)
            predicates.append(StandingPredicate())
            candidates.reserve(predicates.count)
        }
        predicates[Int(predicate)] = collection.insert(predicate, filter, scratch: &scratch)
        count += 1
        return MatcherID(number: predicate)
    }

    private func collection(_ number: Int64) -> MatcherCollection {
        if let known = collections[number] { return known }
        let new = MatcherCollection()
        collections[number] = new
        return new
    }

    /// Removes a predicate, which must be one of this matcher.
    ///
    /// - Complexity: O(values of its constraint) and O(log n) expected.
    package func remove(_ id: MatcherID) {
        let number = Int(id.number)
        precondition(
            predicates.indices.contains(number) && predicates[number].collection != nil,
            "a standing predicate can be removed once")
        let predicate = predicates[number]
        predicates[number] = StandingPredicate()
        if let moved = predicate.collection?.remove(predicate) { predicates[Int(moved)].place = predicate.place }
        freeNumbers.append(id.number)
        count -= 1
    }

    /// Forgets a collection over which no predicate stands.
    package func forget(collection number: Int64) {
        if !hasPredicates(collection: number) { collections[number] = nil }
    }

    /// Tells whether any predicate stands over a collection: where none does, its changes match nothing.
    package func hasPredicates(collection: Int64) -> Bool { (collections[collection]?.count ?? 0) > 0 }
}

/// A predicate, and where its collection holds it.
struct StandingPredicate {
    /// Nil where the number is free.
    var collection: MatcherCollection?
    var filter = Filter.nothing
    /// What is left to test on candidates.
    var residual = Filter.everything
    /// Nothing is left to test.
    var isDecidedByIndex = false
    /// The path it is indexed at; nil where it is a candidate for every change, or for none.
    var path: PathIndex?
    /// The first posting at that path, or the place in the list of predicates without a path; negative for neither.
    var place: Int32 = -1
    /// The residual, compiled when first needed, and the number of names when it last was up to date.
    var evaluator: Evaluator?
    var checkedNameCount = 0
}
