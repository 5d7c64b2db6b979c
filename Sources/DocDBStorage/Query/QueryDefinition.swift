package import DocDBCore
package import DocDBQuery

/// What a query asks for: documents of one collection that match a filter, their order, and which part of them.
///
/// A value that is made once and run many times: what is costly to compare is computed when it is made.
package struct QueryDefinition: Sendable {
    package let collection: String
    package let filter: Filter
    /// The order of results; without keys that of storage. Ties go by `_id`, in the direction of the last key.
    package let sort: [SortKey]
    /// The most results, or nil for all of them.
    package let limit: Int?
    /// How many results are passed over first.
    package let offset: Int
    /// What is the same for all queries that one plan answers.
    let shape: QueryShape

    package init(
        collection: String, filter: Filter, sort: [SortKey] = [], limit: Int? = nil, offset: Int = 0
    ) {
        self.init(
            collection: collection, filter: filter, filterText: filter.description, sort: sort, limit: limit,
            offset: offset)
    }

    private init(
        collection: String, filter: Filter, filterText: String, sort: [SortKey], limit: Int?, offset: Int
    ) {
        self.collection = collection
        self.filter = filter
        self.sort = sort
        self.limit = limit.map { max($0, 0) }
        self.offset = max(offset, 0)
        shape = QueryShape(collection: collection, filter: filterText, sort: sort, isLimited: limit != nil)
    }

    /// Creates a query from the text of a predicate and the values of its arguments.
    ///
    /// - Throws: `invalidPredicate` where the text does not parse or an argument is absent.
    package init(
        collection: String, predicate: String, arguments: [String: Value] = [:], sort: [SortKey] = [],
        limit: Int? = nil, offset: Int = 0
    ) throws(DocDBError) {
        self.init(
            collection: collection, filter: try Filter.parse(predicate, arguments: arguments), sort: sort,
            limit: limit, offset: offset)
    }

    /// The same query with another order.
    package func sorted(by sort: [SortKey]) -> QueryDefinition { with(sort: sort, limit: limit, offset: offset) }

    /// The same query for another part of the results.
    package func limited(to limit: Int?, offset: Int) -> QueryDefinition {
        with(sort: sort, limit: limit, offset: offset)
    }

    private func with(sort: [SortKey], limit: Int?, offset: Int) -> QueryDefinition {
        QueryDefinition(
            collection: collection, filter: filter, filterText: shape.filterText, sort: sort, limit: limit,
            offset: offset)
    }

    /// How many results in order must be known to give the wanted part, or nil for all of them.
    var wantedCount: Int? {
        guard let limit else { return nil }
        let (sum, overflow) = limit.addingReportingOverflow(offset)
        return overflow ? Int.max : sum
    }
}

/// What makes two queries ask for the same results: collection, canonical filter, order, and the part of them.
package struct QueryIdentity: Hashable, Sendable {
    private let shape: QueryShape
    private let limit: Int?
    private let offset: Int

    package init(_ definition: QueryDefinition) {
        shape = definition.shape
        limit = definition.limit
        offset = definition.offset
    }
}

/// The part of a query that its plan depends on, as a key of the cache: equal byte for byte, hashed once.
struct QueryShape: Hashable, Sendable {
    let filterText: String
    private let bytes: [UInt8]
    private let hash: Int
    /// The results are wanted in order; else only which there are.
    var isOrdered = true

    init(collection: String, filter: String, sort: [SortKey], isLimited: Bool) {
        filterText = filter
        var bytes: [UInt8] = [isLimited ? 1 : 0]
        bytes.reserveCapacity(collection.utf8.count + filter.utf8.count + 32)
        // No part can hold a byte that UTF-8 never has, so that the parts cannot be taken for one another.
        bytes += collection.utf8
        bytes.append(0xFF)
        bytes += filter.utf8
        for key in sort {
            bytes.append(key.isDescending ? 0xFE : 0xFF)
            bytes += key.path.description.utf8
        }
        self.bytes = bytes
        var hasher = Hasher()
        bytes.withUnsafeBytes { hasher.combine(bytes: $0) }
        hash = hasher.finalize()
    }

    static func == (left: QueryShape, right: QueryShape) -> Bool {
        left.hash == right.hash && left.isOrdered == right.isOrdered && left.bytes == right.bytes
    }

    func hash(into hasher: inout Hasher) { hasher.combine(hash) }
}
