package import DocDBCore

/// What a user may read and write, as a provider or a configuration states it: predicates in text, not yet bound.
package struct Permissions: Equatable, Sendable {
    package var read: Rules
    package var write: Rules

    package init(read: Rules, write: Rules) {
        self.read = read
        self.write = write
    }

    /// Permissions to nothing at all: what is not stated is not permitted.
    package static let nothing = Permissions(read: .nothing, write: .nothing)
    /// Permissions to everything.
    package static let everything = Permissions(read: .everything, write: .everything)

    /// The two directions, as errors name them.
    package enum Direction: String, Sendable, CaseIterable {
        case read, write
    }

    package func rules(_ direction: Direction) -> Rules { direction == .read ? read : write }
}

/// What a user may do in one direction.
package enum Rules: Equatable, Sendable {
    /// Every document of every collection.
    case everything
    /// The documents of the named collections that match one of the predicates; no others.
    case queriesByCollection([ExactString: [String]])

    package static let nothing = Rules.queriesByCollection([:])

    /// Both together: what either permits.
    package func union(_ other: Rules) -> Rules {
        guard case .queriesByCollection(let mine) = self, case .queriesByCollection(let others) = other else {
            return .everything
        }
        return .queriesByCollection(mine.merging(others) { $0 + $1 })
    }
}

extension Permissions {
    /// Both together: what either permits.
    package func union(_ other: Permissions) -> Permissions {
        Permissions(read: read.union(other.read), write: write.union(other.write))
    }
}

// Reading, see `Schemas/permissions.schema.json`.
extension Permissions {
    /// Reads the object `{read: {everything, queriesByCollection}, write: {...}}`.
    ///
    /// Members of other names are passed over. An absent direction permits nothing.
    ///
    /// - Throws: `invalidPermissions` where something has the wrong type, `everything` is beside queries that narrow it, a
    ///   collection's name is impossible, or there is too much.
    package init(_ value: Value) throws(DocDBError) {
        guard case .object(let members) = value else { throw Self.failure("they are no object") }
        read = try Self.readRules(members["read"], .read)
        write = try Self.readRules(members["write"], .write)
        let counts = Direction.allCases.map { Self.size(of: rules($0)) }
        guard counts.allSatisfy({ $0.collections <= AuthenticationLimits.permissionCollectionCount }) else {
            throw Self.failure("they name more than \(AuthenticationLimits.permissionCollectionCount) collections")
        }
        guard counts.reduce(0, { $0 + $1.predicates }) <= AuthenticationLimits.permissionPredicateCount else {
            throw Self.failure("they have more than \(AuthenticationLimits.permissionPredicateCount) predicates")
        }
    }

    private static func size(of rules: Rules) -> (collections: Int, predicates: Int) {
        guard case .queriesByCollection(let queries) = rules else { return (0, 0) }
        return (queries.count, queries.values.reduce(0) { $0 + $1.count })
    }

    private static func readRules(_ value: Value?, _ direction: Direction) throws(DocDBError) -> Rules {
        guard let value else { return .nothing }
        guard case .object(let members) = value else { throw failure("'\(direction.rawValue)' is no object") }
        var isEverything = false
        if let everything = members["everything"] {
            guard case .bool(let flag) = everything else {
                throw failure("'\(direction.rawValue).everything' is neither true nor false")
            }
            isEverything = flag
        }
        let queries = try readQueries(members["queriesByCollection"], direction)
        guard isEverything else { return .queriesByCollection(queries) }
        guard queries.isEmpty else {
            throw failure("'\(direction.rawValue)' permits everything and names queries; leave one of them out")
        }
        return .everything
    }

    private static func readQueries(
        _ value: Value?, _ direction: Direction
    ) throws(DocDBError) -> [ExactString: [String]] {
        guard let value else { return [:] }
        let place = "'\(direction.rawValue).queriesByCollection'"
        guard case .object(let members) = value else { throw failure("\(place) is no object") }
        var queries: [ExactString: [String]] = [:]
        for (collection, list) in members.sorted(by: { $0.key < $1.key }) {
            guard isCollectionName(collection) else { throw failure("\(place) names an impossible collection") }
            guard case .array(let elements) = list else {
                throw failure("\(place) gives '\(collection)' no array of predicates")
            }
            let texts = elements.compactMap(\.stringValue)
            guard texts.count == elements.count else {
                throw failure("\(place) gives '\(collection)' a predicate that is no text")
            }
            queries[ExactString(collection)] = texts
        }
        return queries
    }

    /// Tells whether documents can be in a collection of this name; those of the system's own are never permitted.
    static func isCollectionName(_ name: String) -> Bool {
        (1...Limits.collectionNameByteCount).contains(name.utf8.count) && !name.utf8.starts(with: "__".utf8)
            && !name.utf8.contains(0)
    }

    static func failure(_ reason: String, context: [String: String] = [:]) -> DocDBError {
        DocDBError(.invalidPermissions, "the permissions cannot be used: \(reason)", context: context)
    }
}
