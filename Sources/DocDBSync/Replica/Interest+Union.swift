package import DocDBCore
import DocDBQuery
import DocDBStorage

/// An interest with its predicates parsed.
struct ParsedInterest {
    /// Nil is everything.
    var filters: [String: Filter]?

    /// - Throws: `DocDBError.invalidPredicate`.
    init(_ interest: Interest) throws(DocDBError) {
        guard case .collections(let elements) = interest else { return }
        var filters: [String: Filter] = [:]
        for element in elements {
            let filter = try Filter.parse(element.predicate)
            filters[element.collection] = filters[element.collection].map { Filter.any(of: [$0, filter]) } ?? filter
        }
        self.filters = filters
    }

    /// The filter of a collection; nil where nothing of it is meant.
    func filter(_ collection: String) -> Filter? {
        guard let filters else { return .everything }
        return filters[collection]
    }
}

extension Interest {
    /// What at least one of the interests wants, in the one form that is hashed.
    ///
    /// - Throws: `DocDBError.invalidPredicate`.
    package static func union(_ interests: [Interest]) throws(DocDBError) -> Interest {
        if interests.contains(.everything) { return .everything }
        var predicates: [String: Set<String>] = [:]
        for case .collections(let elements) in interests {
            for element in elements {
                predicates[element.collection, default: []].insert(try Filter.parse(element.predicate).description)
            }
        }
        var elements: [Element] = []
        for (collection, texts) in predicates.sorted(by: { $0.key.utf8.lexicographicallyPrecedes($1.key.utf8) }) {
            let everything = Filter.everything.description
            var predicate = everything
            if !texts.contains(everything) {
                var filters: [Filter] = []
                for text in texts.sorted(by: { $0.utf8.lexicographicallyPrecedes($1.utf8) }) {
                    filters.append(try Filter.parse(text))
                }
                predicate = Filter.any(of: filters).description
            }
            elements.append(Element(collection: collection, predicate: predicate))
        }
        return .collections(elements)
    }

    /// The hash that a cursor carries: equal for interests that want the same.
    package var hash: StateDigest {
        var input = ByteBuffer()
        switch self {
        case .everything: input.append(1)
        case .collections(let elements):
            input.append(0)
            for element in elements {
                input.appendCBOR(element.collection)
                input.appendCBOR(element.predicate)
            }
        }
        return ContentHash.digest(input.bytes)
    }
}
