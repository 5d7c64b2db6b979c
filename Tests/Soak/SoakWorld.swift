import DocDB
import DocDBSimulation

/// Who takes part in a soak, what they write, and what each may read and write.
///
/// Each field that is checked at the end has one writer, whose numbers only rise: so the newest number that was acknowledged
/// says what must be there, whatever happened in between.
enum SoakWorld {
    static let appID = "com.example.soak"
    static let provider = "soak"
    /// The first reads everything, the others what lies at or below their level, and what is their own.
    static let users = ["ann", "bob", "cat"]
    private static let usersOfClients = [0, 0, 0, 1, 1, 1, 2, 2]
    static var clientCount: Int { usersOfClients.count }
    /// Clients that are never killed, so that their memory can be watched.
    static let steadyClients: Set<Int> = [2, 5]

    static let grantSeconds = 12
    static let levels = [3, 5, 7]
    static let vaultLevel: Int64 = 9
    /// What stands in documents that only the first user may read, and must reach no other's device.
    static let canary = "a-vault-is-for-ann-alone"

    static let items = "items"
    static let shared = "shared"
    static let temporary = "temporary"
    static let collections = [items, shared, temporary]
    private static let itemCount = 40
    private static let vaultCount = 10
    private static let sharedCount = 30
    private static let temporaryCount = 20

    static func user(of client: Int) -> String { users[usersOfClients[client]] }
    /// What a document's owner is called, and `$user.id` in permissions.
    static func owner(_ user: String) -> String { "\(provider)|\(user)" }
    static func readsEverything(_ user: String) -> Bool { user == users[0] }

    /// Whether a refused document is one that a client writes to without a right. Others are refused for their time alone, and
    /// wait: giving them up would give up what is audited.
    static func mayRevert(_ refusal: SyncRefusal, client: Int) -> Bool {
        guard refusal.side == .peer, refusal.document.collection == items,
            case .string(let id) = refusal.document.id.value
        else { return false }
        let user = user(of: client)
        return !id.hasPrefix(user + "-") && !(readsEverything(user) && id.hasPrefix("vault-"))
            && id != "fence-\(client)"
    }

    /// The predicate of what a user may read of the items.
    static func readable(_ user: String, level: Int) -> String {
        readsEverything(user) ? "true" : "level <= \(level) || owner == '\(owner(user))'"
    }

    /// What the webhook answers for a user.
    ///
    /// - Parameter isWide: whether the user may write others' items of level 1, too.
    static func permissions(_ user: String, level: Int, isWide: Bool) -> Value {
        let read: [Value] =
            readsEverything(user) ? ["true"] : [.string("level <= \(level)"), "owner == $user.id"]
        let write: [Value] = isWide ? ["owner == $user.id", "level == 1"] : ["owner == $user.id"]
        return [
            "read": ["queriesByCollection": ["items": .array(read), "shared": ["true"], "temporary": ["true"]]],
            "write": [
                "queriesByCollection": [
                    "items": .array(write), "shared": ["true"], "temporary": ["owner == $user.id"],
                ]
            ],
        ]
    }

    // MARK: Documents

    static func item<R: RandomNumberGenerator>(of user: String, _ random: inout R) -> DocumentID {
        id("\(user)-\(Int.random(in: 0..<itemCount, using: &random))")
    }

    static func vault<R: RandomNumberGenerator>(_ random: inout R) -> DocumentID {
        id("vault-\(Int.random(in: 0..<vaultCount, using: &random))")
    }

    static func shared<R: RandomNumberGenerator>(_ random: inout R) -> DocumentID {
        id("shared-\(Int.random(in: 0..<sharedCount, using: &random))")
    }

    static func temporary<R: RandomNumberGenerator>(of client: Int, _ random: inout R) -> DocumentID {
        id("temporary-\(client)-\(Int.random(in: 0..<temporaryCount, using: &random))")
    }

    /// What a client writes into each collection last: who sees it has all that the client wrote before.
    static func fence(of client: Int) -> DocumentID { id("fence-\(client)") }

    static func field(of client: Int) -> String { "c\(client)" }
    static func foreignField(of client: Int) -> String { "x\(client)" }

    /// Ids that are written here are short texts, which no limit refuses.
    static func id(_ text: String) -> DocumentID { (try? DocumentID(text)) ?? 0 }

    static func text<R: RandomNumberGenerator>(_ random: inout R) -> Value {
        let letter = Character(Unicode.Scalar(UInt8.random(in: 97...122, using: &random)))
        return .string(String(repeating: letter, count: Int.random(in: 0..<1_500, using: &random)))
    }
}

/// What went wrong in a soak.
struct SoakFailure: Error, CustomStringConvertible {
    let description: String
    init(_ description: String) { self.description = description }
}
