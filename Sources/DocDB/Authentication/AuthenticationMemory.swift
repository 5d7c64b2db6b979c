import DocDBAuth
import DocDBCore

/// What a database keeps beside its grant: whose it is, and what must never go back.
struct AuthenticationMemory: Equatable {
    /// The user whose documents the database holds; nil before the first login, and after a logout that cleaned up.
    var owner: String?
    /// The latest time that is known.
    var latest = UnixTime(seconds: 0)
    /// The highest permission epoch seen of each user.
    var epochs: [ExactString: Int64] = [:]

    private static let name = "memory"

    init() {}

    init(_ storage: any CredentialStorage) throws {
        guard let bytes = try storage.load(Self.name) else { return }
        guard let members = try? StrictJSON.object(bytes), let time = members["latest"]?.intValue,
            let epochs = Self.epochs(members["epochs"])
        else { throw DocDBError(.invalidGrant, "what is kept of logins is damaged; remove the credentials and log in") }
        owner = members["owner"]?.stringValue
        latest = UnixTime(seconds: time)
        self.epochs = epochs
    }

    /// Reads pairs of a user and an epoch, or, as they were kept before, an object of them.
    private static func epochs(_ value: Value?) -> [ExactString: Int64]? {
        var epochs: [ExactString: Int64] = [:]
        switch value {
        case .array(let pairs):
            for pair in pairs {
                guard case .array(let parts) = pair, parts.count == 2, let user = parts[0].stringValue,
                    let epoch = parts[1].intValue
                else { return nil }
                epochs[ExactString(user)] = epoch
            }
        case .object(let members): for (user, epoch) in members { epochs[ExactString(user)] = epoch.intValue }
        default: return nil
        }
        return epochs
    }

    func save(_ storage: any CredentialStorage) throws {
        var members: [String: Value] = [
            "latest": .int(latest.seconds),
            // Not an object, whose names must differ in more than Unicode normalisation.
            "epochs": .array(
                epochs.sorted { $0.key < $1.key }.map { .array([.string($0.key.text), .int($0.value)]) }),
        ]
        if let owner { members["owner"] = .string(owner) }
        try storage.save(Self.name, try StrictJSON.text(members))
    }
}

/// What hubs have certified and revoked, as it is kept: one signed text a line.
enum StoredNotices {
    private static let name = "notices"

    static func load(_ storage: any CredentialStorage) throws -> [String] {
        let bytes = try storage.load(name) ?? []
        return String(decoding: bytes, as: UTF8.self).split(separator: "\n").map(String.init)
    }

    static func save(_ notices: [String], _ storage: any CredentialStorage) throws {
        try storage.save(name, Array(notices.joined(separator: "\n").utf8))
    }
}
