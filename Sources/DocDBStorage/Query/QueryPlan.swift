import DocDBQuery

/// How a query is answered: where its documents come from, and what is left to do with them.
struct QueryPlan {
    /// Where documents come from.
    enum Access {
        /// Nowhere: the filter can never hold.
        case nothing
        /// All of them, in storage order.
        case documents
        /// By their ids, each in canonical CBOR.
        case ids([[UInt8]])
        /// By the index on `_id`, all or a part, in its order.
        case idOrder(IDRange, isBackward: Bool)
        case index(IndexScan)
    }

    /// Parts of a secondary index.
    struct IndexScan {
        var index: IndexInfo
        /// The parts, in the order of the index.
        var ranges: [KeyByteRange]
        var isBackward = false
        /// A document may be found more than once, as several elements of an array are looked for.
        var findsDuplicates: Bool
        /// The constraints that the ranges express, one per component from the first.
        var satisfied: [PathConstraint]
    }

    var access: Access
    /// The documents come in the order that is wanted.
    var isOrdered: Bool
    /// What is tested on each document; nil where the access finds just the documents that match.
    var residual: Filter?
    /// The order that is wanted.
    var sort: [SortKey]
}
