import DocDBCore
import DocDBQuery
import DocDBStorage

/// The order of sorted results.
public enum SortOrder: Sendable {
    /// From the least value to the greatest: missing, null, false, true, numbers, strings, bytes, arrays, objects.
    case ascending
    /// From the greatest value to the least.
    case descending
}

/// What documents are wanted, in which order, and which part of them: a value, of which nothing runs until it is asked.
///
/// A query runs where it comes from: one of a ``Collection`` on the database as it is at each call, one of a snapshot, a
/// transaction or a past state on that. It can be kept, and asked any number of times.
///
/// ```swift
/// let query = try cars.find("state == 'for sale'").sort("price").limit(20)
/// for car in try query.documents() { print(car["price"] ?? .null) }
/// let typed = try query.documents(as: Car.self)
/// ```
///
/// Results that are not sorted come in storage order, which is that of insertion. <doc:Querying> shows the language.
public struct Query: Sendable {
    /// Where a query runs.
    enum Source: Sendable {
        /// On the store as it is at each call.
        case store(Store)
        /// Within a snapshot or a transaction.
        case scope(Scope)
        /// On the store as it was after a commit.
        case past(Store, sequence: Int64)
    }

    let source: Source
    private(set) var definition: QueryDefinition
    /// What was wrong with the parts of the query; it is thrown when the query runs.
    private var failure: DocDBError?

    /// A query for all documents of a collection.
    init(_ source: Source, collection: String) {
        self.source = source
        definition = QueryDefinition(collection: collection, filter: .everything)
    }

    init(
        _ source: Source, collection: String, predicate: String, arguments: [String: Value]
    ) throws(DocDBError) {
        self.source = source
        definition = try QueryDefinition(collection: collection, predicate: predicate, arguments: arguments)
    }

    /// The same query with its results sorted by a path, after the paths it is sorted by already.
    ///
    /// Ties are broken by `_id`, in the direction of the last path. A path that is invalid, or leads to many values, makes
    /// the query throw `invalidPath` or `invalidPredicate` when it runs.
    ///
    /// - Parameters:
    ///   - path: such as `price` or `seller.name`.
    ///   - order: ascending unless given.
    public func sort(_ path: String, _ order: SortOrder = .ascending) -> Query {
        changed { (query) throws(DocDBError) in
            let key = try SortKey(path, descending: order == .descending)
            query.definition = query.definition.sorted(by: query.definition.sort + [key])
        }
    }

    /// The same query for at most so many results.
    ///
    /// - Parameter count: zero or more; else the query throws `misuse` when it runs.
    public func limit(_ count: Int) -> Query {
        changed { (query) throws(DocDBError) in
            guard count >= 0 else { throw DocDBError(.misuse, "a limit is zero or more; leave it out for all results") }
            query.definition = query.definition.limited(to: count, offset: query.definition.offset)
        }
    }

    /// The same query without its first results.
    ///
    /// - Parameter count: zero or more; else the query throws `misuse` when it runs.
    public func offset(_ count: Int) -> Query {
        changed { (query) throws(DocDBError) in
            guard count >= 0 else { throw DocDBError(.misuse, "an offset is zero or more") }
            query.definition = query.definition.limited(to: query.definition.limit, offset: count)
        }
    }

    private func changed(_ change: (inout Query) throws(DocDBError) -> Void) -> Query {
        var query = self
        do throws(DocDBError) {
            try change(&query)
        } catch {
            query.failure = query.failure ?? error
        }
        return query
    }

    /// Checks that the query's parts are valid and that it may run here.
    func checkIsRunnable() throws(DocDBError) {
        if let failure { throw failure }
        if case .scope(let scope) = source { try scope.checkThread() }
    }
}
