package import DocDBCore
package import DocDBQuery

/// One user's permissions as filters: nothing is left to look up.
package struct BoundPermissions: Equatable, Sendable {
    package let read: BoundRules
    package let write: BoundRules

    package static let everything = BoundPermissions(read: .everything, write: .everything)
    package static let nothing = BoundPermissions(read: .nothing, write: .nothing)

    /// The documents of a collection that may be read.
    package func readFilter(_ collection: String) -> Filter { read.filter(for: collection) }
    /// The documents of a collection that may be written, before and after the change.
    package func writeFilter(_ collection: String) -> Filter { write.filter(for: collection) }

    /// The permissions in canonical form: permissions that mean the same by the same predicates have one form.
    package var value: Value { ["read": read.value, "write": write.value] }

    /// The SHA-256 of the canonical form, by which a hub tells whether a user's permissions have changed.
    package func hash() throws(DocDBError) -> [UInt8] { Digest.sha256(try StrictJSON.text(value)) }

    /// Reads what `value` gave, as a grant carries it: predicates without arguments.
    package init(_ value: Value) throws(DocDBError) {
        self = try Permissions(value).bound(to: PermissionBinding(userID: "", claims: [:], permitsArguments: false))
    }

    init(read: BoundRules, write: BoundRules) {
        self.read = read
        self.write = write
    }
}

/// One direction of a user's permissions as filters.
package struct BoundRules: Equatable, Sendable {
    /// Whether every document of every collection is permitted.
    package let isEverything: Bool
    private let filters: [ExactString: Filter]

    package static let everything = BoundRules(isEverything: true, filters: [:])
    package static let nothing = BoundRules(isEverything: false, filters: [:])

    init(isEverything: Bool, filters: [ExactString: Filter]) {
        self.isEverything = isEverything
        self.filters = filters
    }

    /// The permitted documents of a collection: those of one that is not named, or is the system's own, are none.
    package func filter(for collection: String) -> Filter {
        guard Permissions.isCollectionName(collection) else { return .nothing }
        return isEverything ? .everything : filters[ExactString(collection)] ?? .nothing
    }

    /// The named collections, in the order of their bytes; none where everything is permitted.
    package var collections: [String] { filters.keys.sorted().map(\.text) }

    /// The rules in canonical form, one predicate a collection.
    package var value: Value {
        if isEverything { return ["everything": true] }
        var members: [String: Value] = [:]
        for (collection, filter) in filters {
            members[collection.text] = [.string(filter.description)]
        }
        return ["queriesByCollection": .object(members)]
    }
}

/// What `$user.id` and `$claims.x` stand for in one user's permissions.
package struct PermissionBinding: Sendable {
    package let userID: String
    package let claims: [String: Value]
    /// Names for claims that have none that is usable in a predicate, such as nested ones and URLs.
    package let aliases: [String: ClaimPath]
    let permitsArguments: Bool

    package init(userID: String, claims: [String: Value] = [:], aliases: [String: ClaimPath] = [:]) {
        self.init(userID: userID, claims: claims, aliases: aliases, permitsArguments: true)
    }

    init(userID: String, claims: [String: Value], aliases: [String: ClaimPath] = [:], permitsArguments: Bool) {
        self.userID = userID
        self.claims = claims
        self.aliases = aliases
        self.permitsArguments = permitsArguments
    }

    /// The value of an argument by its names; a text says why there is none.
    func value(of names: [String]) -> Result<Value, BindingFailure> {
        guard permitsArguments else { return .failure(.notPermitted) }
        guard names.allSatisfy({ $0.utf8.allSatisfy { $0 < 0x80 } }) else { return .failure(.unknown) }
        if names == ["user", "id"] { return .success(.string(userID)) }
        guard names.count >= 2, names[0] == "claims" else { return .failure(.unknown) }
        let found: Value? =
            if let alias = aliases[names[1]] { ClaimPath(alias.names + names.dropFirst(2)).value(in: claims) } else {
                ClaimPath(Array(names.dropFirst())).value(in: claims)
            }
        guard let found, found != .null else { return .failure(.absent) }
        // A null within would match documents that lack the field.
        return found.hasNull ? .failure(.holdsNull) : .success(found)
    }

    enum BindingFailure: Error {
        case notPermitted, unknown, absent, holdsNull

        var message: String {
            switch self {
            case .notPermitted: "has an argument, which must have been bound before"
            case .unknown: "names an argument that is none of $user.id and $claims with names in ASCII"
            case .absent: "needs a claim that is absent or null"
            case .holdsNull: "needs a claim that holds null"
            }
        }
    }
}

extension Value {
    /// Tells whether the value is null or has one in it.
    fileprivate var hasNull: Bool {
        switch self {
        case .null: true
        case .array(let elements): elements.contains(where: \.hasNull)
        case .object(let members): members.values.contains(where: \.hasNull)
        case .bool, .int, .float, .string, .bytes: false
        }
    }
}

extension Permissions {
    /// Parses and binds every predicate for one user.
    ///
    /// - Throws: `invalidPermissions`, whose context names direction, collection and position of the first predicate that
    ///   does not parse or needs a claim that is absent or null, and that claim.
    /// - Complexity: O(length of the predicates + size of the claims they name).
    package func bound(to binding: PermissionBinding) throws(DocDBError) -> BoundPermissions {
        BoundPermissions(
            read: try Self.bind(read, .read, binding), write: try Self.bind(write, .write, binding))
    }

    private static func bind(
        _ rules: Rules, _ direction: Direction, _ binding: PermissionBinding
    ) throws(DocDBError) -> BoundRules {
        guard case .queriesByCollection(let queries) = rules else { return .everything }
        var filters: [ExactString: Filter] = [:]
        for collection in queries.keys.sorted() {
            var parts: [(text: ExactString, filter: Filter)] = []
            for (index, text) in (queries[collection] ?? []).enumerated() {
                let place = PredicatePlace(direction: direction, collection: collection.text, index: index)
                let filter = try bind(text, place, binding)
                parts.append((ExactString(filter.description), filter))
            }
            // Sorted and without repetitions, so that the order of an array makes no difference.
            parts.sort { $0.text < $1.text }
            let distinct = parts.indices.filter { $0 == 0 || parts[$0].text != parts[$0 - 1].text }
            let filter = Filter.any(of: distinct.map { parts[$0].filter })
            guard filter != .nothing else { continue }
            filters[collection] = try checked(
                filter, PredicatePlace(direction: direction, collection: collection.text, index: nil))
        }
        return BoundRules(isEverything: false, filters: filters)
    }

    private static func bind(
        _ text: String, _ place: PredicatePlace, _ binding: PermissionBinding
    ) throws(DocDBError) -> Filter {
        guard text.utf8.contains(where: { $0 > 0x20 }) else {
            throw place.failure("is empty; write 'true' where every document of the collection is meant")
        }
        do throws(DocDBError) {
            var arguments: [String: Value] = [:]
            for names in try Filter.argumentNames(in: text) {
                switch binding.value(of: names) {
                case .success(let value): arguments[names.joined(separator: ".")] = value
                case .failure(let failure): throw place.failure(failure.message, argument: names)
                }
            }
            return try Filter.parse(text, arguments: arguments)
        } catch  where error.code == .invalidPredicate {
            // The error's source line stays out: it may show a literal.
            throw place.failure("is refused: \(error.message)", context: error.context.filter { $0.key != "source" })
        }
    }

    /// Checks that the canonical text, which a grant carries, means the same: bound values may be too much for it.
    private static func checked(_ filter: Filter, _ place: PredicatePlace) throws(DocDBError) -> Filter {
        guard let again = try? Filter.parse(filter.description), again == filter else {
            throw place.failure("becomes too large with the user's claims in it; name smaller claims")
        }
        return filter
    }
}

/// Where a predicate stands among permissions, for errors.
private struct PredicatePlace {
    var direction: Permissions.Direction
    var collection: String
    /// Its position in the array, from zero; nil for all of a collection together.
    var index: Int?

    func failure(
        _ problem: String, argument: [String]? = nil, context further: [String: String] = [:]
    ) -> DocDBError {
        let number = index.map { "predicate \($0 + 1)" } ?? "the predicates together"
        var context = further
        context["direction"] = direction.rawValue
        context["collection"] = collection
        if let index { context["index"] = "\(index)" }
        var named = ""
        if let argument {
            context["argument"] = argument.joined(separator: ".")
            named = " ($\(argument.joined(separator: ".")))"
        }
        return Permissions.failure(
            "the \(direction.rawValue) permission on '\(collection)', \(number), \(problem)\(named)", context: context)
    }
}
