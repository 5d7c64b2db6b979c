package import DocDBCore
import DocDBQuery
import DocDBStorage

/// An interest with its predicates parsed.
struct ParsedInterest {
    /// Nil is everything.
    var filters: [CollectionName: Filter]?

    /// - Throws: `DocDBError.invalidPredicate`.
    init(_ interest: Interest) throws(DocDBError) {
        guard case .collections(let elements) = interest else { return }
        var filters: [CollectionName: Filter] = [:]
        for element in elements {
            let filter = try Filter.parse(element.predicate)
            let name = CollectionName(element.collection)
            filters[name] = filters[name].map { Filter.any(of: [$0, filter]) } ?? filter
        }
        self.filters = filters
    }

    /// The filter of a collection; nil where nothing of it is meant.
    func filter(_ collection: String) -> Filter? {
        guard let filters else { return .everything }
        return filters[CollectionName(collection)]
    }
}

extension Interest {
    /// What at least one of the interests wants, in the one form that is hashed.
    ///
    /// - Throws: `DocDBError.invalidPredicate`.
    package static func union(_ interests: [Interest]) throws(DocDBError) -> Interest {
        if interests.contains(.everything) { return .everything }
        var predicates: [CollectionName: Set<[UInt8]>] = [:]
        for case .collections(let elements) in interests {
            for element in elements {
                predicates[CollectionName(element.collection), default: []].insert(
                    Array(try Filter.parse(element.predicate).description.utf8))
            }
        }
        var elements: [Element] = []
        for (name, texts) in predicates.sorted(by: { $0.key.text.utf8.lexicographicallyPrecedes($1.key.text.utf8) }) {
            let everything = Filter.everything.description
            var predicate = everything
            if !texts.contains(Array(everything.utf8)) {
                var filters: [Filter] = []
                for text in texts.sorted(by: { $0.lexicographicallyPrecedes($1) }) {
                    filters.append(try Filter.parse(String(decoding: text, as: UTF8.self)))
                }
                predicate = Filter.any(of: filters).description
            }
            elements.append(Element(collection: name.text, predicate: predicate))
        }
        return .collections(elements)
    }

    /// The hash that a cursor carries: equal for interests that want the same.
    package var hash: StateDigest { hash(for: nil) }

    /// The hash that a cursor carries: equal for interests of one user that want the same. What one user was told is no
    /// place to go on from for another.
    package func hash(for userID: String?) -> StateDigest {
        var input = ByteBuffer()
        if let userID { input.appendCBOR(userID) }
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
