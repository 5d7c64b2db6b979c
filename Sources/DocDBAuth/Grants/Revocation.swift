package import DocDBCore

/// A hub's word that grants issued before a moment no longer hold: of a user, or one grant.
package struct Revocation: Hashable, Sendable {
    static let type = "docdb-revocation+jwt"

    package enum Subject: Hashable, Sendable {
        case user(ExactString)
        case grant(ExactString)
    }

    package let appID: String
    package let subject: Subject
    /// Grants issued in an earlier second are revoked.
    package let issuedBefore: UnixTime
    /// Counts the hub's revocations.
    package let sequence: Int64
    /// When the last grant that it can name has expired, so that it may be forgotten.
    package let forgetAfter: UnixTime
    /// The entry itself, as it is handed to peers.
    package let text: String

    static func issue(
        _ subject: Subject, appID: String, issuedBefore: UnixTime, sequence: Int64, now: UnixTime,
        forgetAfter: UnixTime, key: PeerKeyPair
    ) throws(DocDBError) -> Revocation {
        var claims: [String: Value] = [
            "aud": .string(appID), "iat": .int(now.seconds), "exp": .int(forgetAfter.seconds),
            "seq": .int(sequence), "issuedBefore": .int(issuedBefore.seconds),
        ]
        switch subject {
        case .user(let id): claims["sub"] = .string(id.text)
        case .grant(let id): claims["grant"] = .string(id.text)
        }
        return Revocation(
            appID: appID, subject: subject, issuedBefore: issuedBefore, sequence: sequence, forgetAfter: forgetAfter,
            text: try JSONWebSignature.sign(claims, type: type, with: key))
    }

    package init(
        appID: String, subject: Subject, issuedBefore: UnixTime, sequence: Int64, forgetAfter: UnixTime, text: String
    ) {
        self.appID = appID
        self.subject = subject
        self.issuedBefore = issuedBefore
        self.sequence = sequence
        self.forgetAfter = forgetAfter
        self.text = text
    }

    /// Reads the claims of an entry whose signature has been verified.
    init(claims: [String: Value], text: String) throws(DocDBError) {
        let reader = ClaimReader(claims)
        let subject: Subject
        switch (claims["sub"], claims["grant"]) {
        case (.string(let user), nil) where !user.isEmpty: subject = .user(ExactString(user))
        case (nil, .string(let grant)) where !grant.isEmpty: subject = .grant(ExactString(grant))
        default: throw ClaimReader.failure("sub or grant")
        }
        self.init(
            appID: try reader.text("aud"), subject: subject, issuedBefore: try reader.time("issuedBefore"),
            sequence: try reader.number("seq"), forgetAfter: try reader.time("exp"), text: text)
    }

    /// The entry of a text by which nothing is revoked any more, as it says itself, so that it need not be verified; nil
    /// where that is not so.
    package static func runOut(_ text: String, at now: UnixTime) -> Revocation? {
        guard let token = try? OwnToken(text, type: type, limit: AuthenticationLimits.certificateByteCount),
            let claims = try? token.signature.claims(),
            let revocation = try? Revocation(claims: claims, text: text), now >= revocation.forgetAfter
        else { return nil }
        return revocation
    }
}

/// The revocations that count: of each user and grant the widest.
package struct RevocationList: Sendable {
    private var entries: [Revocation.Subject: Revocation] = [:]
    /// The texts of the entries.
    private var known: Set<ExactString> = []
    /// The first second in which an entry may be forgotten.
    private var nextEnd: UnixTime?
    /// The highest sequence number met, whether its entry is still kept or not.
    package private(set) var highestSequence: Int64 = 0

    package init() {}

    package var count: Int { entries.count }

    /// Adds a verified entry; tells whether it changed anything, so that it is to be stored and passed on.
    ///
    /// - Throws: `limitReached` where the list is full of entries that still count.
    package mutating func add(_ entry: Revocation, now: UnixTime) throws(DocDBError) -> Bool {
        highestSequence = max(highestSequence, entry.sequence)
        guard now < entry.forgetAfter else { return false }
        if let known = entries[entry.subject] {
            // Neither of two entries may shorten the other.
            guard entry.issuedBefore > known.issuedBefore || entry.forgetAfter > known.forgetAfter else { return false }
            guard entry.issuedBefore >= known.issuedBefore else { return false }
        } else if entries.count >= AuthenticationLimits.revocationCount {
            forget(now: now)
            guard entries.count < AuthenticationLimits.revocationCount else {
                throw DocDBError(.limitReached, "the list of revocations is full; shorten the validity of grants")
            }
        }
        if let former = entries.updateValue(entry, forKey: entry.subject) { known.remove(ExactString(former.text)) }
        known.insert(ExactString(entry.text))
        nextEnd = min(nextEnd ?? entry.forgetAfter, entry.forgetAfter)
        return true
    }

    /// Drops entries all of whose grants have expired.
    ///
    /// - Complexity: O(1) while none of them has.
    package mutating func forget(now: UnixTime) {
        guard let nextEnd, now >= nextEnd else { return }
        entries = entries.filter { now < $0.value.forgetAfter }
        known = Set(entries.values.map { ExactString($0.text) })
        self.nextEnd = entries.values.map(\.forgetAfter).min()
    }

    package func isRevoked(_ grant: Grant) -> Bool {
        isRevoked(grantID: grant.id, userID: grant.userID, issuedAt: grant.issuedAt)
    }

    /// Tells whether a user's grant is revoked that was issued at a time.
    package func isRevoked(grantID: String, userID: String, issuedAt: UnixTime) -> Bool {
        let subjects = [Revocation.Subject.user(ExactString(userID)), .grant(ExactString(grantID))]
        return subjects.contains { subject in entries[subject].map { issuedAt < $0.issuedBefore } ?? false }
    }

    /// Whether this very text is among the entries.
    package func holds(_ text: String) -> Bool { known.contains(ExactString(text)) }

    /// The entries as they were signed, in the order of their bytes.
    package var texts: [String] { entries.values.map { ExactString($0.text) }.sorted().map(\.text) }

    /// The first second in which a grant for a user can be issued that is not revoked; nil where there is no limit.
    package func earliestIssue(for userID: String) -> UnixTime? { entries[.user(ExactString(userID))]?.issuedBefore }

    /// The entries after a sequence number, in the order of these numbers: what a peer that has heard up to it lacks.
    package func entries(after sequence: Int64) -> [Revocation] {
        entries.values.filter { $0.sequence > sequence }.sorted { ($0.sequence, $0.text) < ($1.sequence, $1.text) }
    }
}
