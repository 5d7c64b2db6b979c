/// The limits of predicates, all in one place: predicates also arrive from remote peers.
package enum QueryLimits {
    /// The most bytes of a predicate's text.
    package static let textByteCount = 64 * 1024
    /// The deepest nesting of conditions, functions and element filters in a predicate.
    package static let nestingDepth = 64
    /// The deepest nesting of arrays and objects in one literal or argument.
    package static let literalDepth = 64
    /// The most conditions, operands and path steps of a predicate.
    package static let nodeCount = 4096
    /// The most values of a predicate's literals and arguments together, elements of lists counted one by one.
    package static let literalValueCount = 65_536
    /// The most bytes of one regular expression.
    package static let patternByteCount = 4096
    /// The most steps of one match of a regular expression: an item of the pattern tried at a place of the text.
    package static let regexStepCount = 1_000_000
    /// The most backtracking points of one match of a regular expression from one place of the text.
    package static let regexMatchCount: UInt32 = 1_000_000
    /// The deepest backtracking of one match of a regular expression.
    package static let regexDepth: UInt32 = 100_000
    /// The most memory, in KiB, of one match of a regular expression.
    package static let regexHeapKibibytes: UInt32 = 16 * 1024
    /// The most steps of one predicate on one document: a value looked at, or a few bytes of text compared.
    ///
    /// The largest document has about five million values, so that an ordinary predicate never comes near it.
    package static let evaluationStepCount = 32 * 1024 * 1024
    /// The most paths of one sort order.
    package static let sortPathCount = 16
}
