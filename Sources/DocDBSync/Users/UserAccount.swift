import DocDBCore
import Synchronization

/// What one user takes of a peer, over all sessions; touched on the engine's executor only, as sessions are.
package final class UserAccount {
    package let userID: String
    private let limits: UserLimits
    private let hits: UserLimitHits
    /// The sessions of each store.
    private var sessions: [[UInt8]: Int] = [:]
    private var predicateCount = 0
    private var actorCount: Int
    /// What is written down of it.
    private var saved: UserUsage
    let fieldNames: FieldNameAllowance
    private var received = BytePace()
    private var sent = BytePace()

    init(_ userID: String, _ limits: UserLimits, _ hits: UserLimitHits, usage: UserUsage) {
        self.userID = userID
        self.limits = limits
        self.hits = hits
        saved = usage
        actorCount = usage.actorCount
        fieldNames = FieldNameAllowance(limit: limits.fieldNameCount, takenCount: usage.fieldNameCount)
    }

    private func isWithin(_ isWithin: Bool, _ limit: UserLimit) -> Bool {
        if !isWithin { hits.count(limit) }
        return isWithin
    }

    // MARK: Sessions and what they ask by

    /// Counts a session; false where there are too many. One more of a store that has one takes its place.
    func begin(store: [UInt8]) -> Bool {
        guard isWithin(sessions[store] != nil || sessions.count < limits.sessionCount, .sessions) else { return false }
        sessions[store, default: 0] += 1
        return true
    }

    /// The session of a store has ended, which asked by so many predicates.
    func end(store: [UInt8], predicateCount count: Int) {
        predicateCount -= count
        let rest = (sessions[store] ?? 1) - 1
        sessions[store] = rest > 0 ? rest : nil
    }

    /// Counts the predicates of a session in place of those that it asked by before.
    func ask(by count: Int, insteadOf former: Int) -> Bool {
        let sum = predicateCount - former + count
        guard isWithin(count <= former || sum <= limits.predicateCount, .predicates) else { return false }
        predicateCount = sum
        return true
    }

    // MARK: What stays in the store's tables

    /// Counts actors that are new to the store.
    func bring(actors count: Int) -> Bool {
        guard isWithin(actorCount + count <= limits.actorCount, .actors) else { return false }
        actorCount += count
        return true
    }

    /// Counts a document that was refused because of its field names.
    func noteFieldNames() { hits.count(.fieldNames) }

    /// Whether a delta of so many bytes may wait beside what waits already.
    func maySetApart(byteCount: Int, beside waiting: (count: Int, byteCount: Int)) -> Bool {
        isWithin(
            waiting.count < limits.quarantineCount
                && waiting.byteCount + byteCount <= limits.quarantineByteCount, .quarantined)
    }

    var usage: UserUsage { UserUsage(actorCount: actorCount, fieldNameCount: fieldNames.takenCount) }
    /// Whether something is to be written down.
    var isChanged: Bool { usage != saved }
    func didSave(_ usage: UserUsage) { saved = usage }

    // MARK: Bytes

    /// The bytes that a session which had to wait takes in at its turn, but for a longer frame.
    package var turnByteCount: Int { max(16 * 1024, min(256 * 1024, limits.bytesPerSecond / 4)) }

    package func countReceived(_ byteCount: Int, at now: UInt64) { received.count(byteCount, at: now, limits) }
    package func countSent(_ byteCount: Int, at now: UInt64) { sent.count(byteCount, at: now, limits) }

    /// How long a session must wait before it takes in more, in nanoseconds.
    package func receivingWait(at now: UInt64) -> UInt64 { noted(received.wait(at: now)) }
    /// How long a session must wait before it sends further documents, in nanoseconds.
    package func sendingWait(at now: UInt64) -> UInt64 { noted(sent.wait(at: now)) }

    private func noted(_ wait: UInt64) -> UInt64 {
        if wait > 0 { hits.count(.bytesPerSecond) }
        return wait
    }

    /// Whether nothing would be lost with this object.
    func isIdle(at now: UInt64) -> Bool {
        sessions.isEmpty && !isChanged && received.isIdle(at: now) && sent.isIdle(at: now)
    }
}

/// When what has passed would have passed at a rate.
private struct BytePace {
    private var endNanoseconds: UInt64 = 0

    /// How far ahead of the rate it may get.
    private static let burstNanoseconds: UInt64 = 1_000_000_000

    mutating func count(_ byteCount: Int, at now: UInt64, _ limits: UserLimits) {
        // A frame has at most some millions of bytes, so that this does not overflow.
        let nanoseconds = UInt64(clamping: byteCount &* 1_000_000_000 / max(limits.bytesPerSecond, 1))
        endNanoseconds = max(endNanoseconds, now) &+ nanoseconds
    }

    func wait(at now: UInt64) -> UInt64 {
        let end = now &+ Self.burstNanoseconds
        return endNanoseconds > end ? endNanoseconds - end : 0
    }

    func isIdle(at now: UInt64) -> Bool { endNanoseconds <= now }
}

/// The accounts of the users whose devices have or had sessions with a peer; but for the counts, touched on its executor only.
package final class UserAccounts: @unchecked Sendable {
    // Unchecked: `accounts` belongs to the executor.
    private let limits: UserLimits
    private var accounts: [ExactUser: UserAccount] = [:]
    private var nextSweepCount = 1_024
    package let hits = UserLimitHits()

    /// A user id, compared byte by byte.
    private struct ExactUser: Hashable {
        let bytes: [UInt8]
    }

    package init(_ limits: UserLimits) { self.limits = limits }

    /// The account of a user.
    ///
    /// - Parameter usage: reads what is written down of the user, where it is not at hand.
    func account(
        of userID: String, at now: UInt64, usage: () throws -> UserUsage
    ) rethrows -> UserAccount {
        let key = ExactUser(bytes: Array(userID.utf8))
        if let known = accounts[key] { return known }
        if accounts.count >= nextSweepCount {
            accounts = accounts.filter { !$0.value.isIdle(at: now) }
            nextSweepCount = max(1_024, 2 * accounts.count)
        }
        let account = UserAccount(userID, limits, hits, usage: try usage())
        accounts[key] = account
        return account
    }
}

/// How often each limit of users was reached; from any thread.
package final class UserLimitHits: Sendable {
    private let counts = Lock<[UserLimit: Int]>([:])

    func count(_ limit: UserLimit) { counts.withLock { $0[limit, default: 0] += 1 } }

    package subscript(_ limit: UserLimit) -> Int { counts.withLock { $0[limit] ?? 0 } }
}
