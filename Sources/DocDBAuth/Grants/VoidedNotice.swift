package import DocDBCore

/// A hub's word that it has refused changes of one actor to one document to their author: who holds them gives them up.
///
/// Of the actor's changes those later than `after`, which the hub has, up to `through` are refused. Where the two are
/// equal nothing is: a notice that lifts an earlier one.
package struct VoidedNotice: Hashable, Sendable {
    static let type = "docdb-voided+jwt"

    package struct Subject: Hashable, Sendable {
        /// The first half of SHA-256 over the collection's name, a zero byte and the id's canonical CBOR, so that ids are not
        /// told to whom may not know them.
        package var document: StateDigest
        package var actor: ActorID

        package init(document: StateDigest, actor: ActorID) {
            self.document = document
            self.actor = actor
        }
    }

    package let appID: String
    package let subject: Subject
    package let after: HybridTime
    package let through: HybridTime
    /// Of two notices of one subject the one with the greater number counts: the hub's time in nanoseconds, which never
    /// goes back.
    package let sequence: Int64
    package let forgetAfter: UnixTime
    /// The notice itself, as it is handed to peers.
    package let text: String

    /// Whether it lifts what an earlier one said.
    package var isLifted: Bool { after >= through }

    static func issue(
        _ subject: Subject, after: HybridTime, through: HybridTime, appID: String, sequence: Int64, now: UnixTime,
        key: PeerKeyPair
    ) throws(DocDBError) -> VoidedNotice {
        let forgetAfter = now.adding(AuthenticationLimits.voidedSeconds)
        let claims: [String: Value] = [
            "aud": .string(appID), "iat": .int(now.seconds), "exp": .int(forgetAfter.seconds), "seq": .int(sequence),
            "doc": .string(Base64URL.encode(ActorID(high: subject.document.high, low: subject.document.low).bytes)),
            "actor": .string(Base64URL.encode(subject.actor.bytes)),
            "after": .int(Int64(clamping: after.rawValue)), "through": .int(Int64(clamping: through.rawValue)),
        ]
        return try VoidedNotice(claims: claims, text: try JSONWebSignature.sign(claims, type: type, with: key))
    }

    /// Reads the claims of a notice whose signature has been verified.
    init(claims: [String: Value], text: String) throws(DocDBError) {
        let reader = ClaimReader(claims)
        func id(_ name: String) throws(DocDBError) -> ActorID {
            guard let bytes = Base64URL.decode(try reader.text(name)), let id = ActorID(bytes: bytes) else {
                throw ClaimReader.failure(name)
            }
            return id
        }
        let document = try id("doc")
        subject = Subject(document: StateDigest(high: document.high, low: document.low), actor: try id("actor"))
        appID = try reader.text("aud")
        after = HybridTime(rawValue: UInt64(try reader.number("after")))
        through = HybridTime(rawValue: UInt64(try reader.number("through")))
        sequence = try reader.number("seq")
        forgetAfter = try reader.time("exp")
        self.text = text
    }
}

/// The voided changes that count: of each document and actor the newest notice, and of all the newest so many.
package struct VoidedList: Sendable {
    private struct Entry {
        var notice: VoidedNotice
        /// Whether a hub has been seen to hold the changes after all, so that its lifting is on its way.
        var isOverruled = false
    }

    private var documents: [StateDigest: [ActorID: Entry]] = [:]
    private var known: Set<ExactString> = []
    /// The first second in which a notice may be forgotten.
    private var nextEnd: UnixTime?
    /// The highest number met.
    package private(set) var highestSequence: Int64 = 0

    package init() {}

    package var count: Int { known.count }
    package var isEmpty: Bool { known.isEmpty }

    /// Adds a verified notice; tells whether it changed anything, so that it is to be stored and passed on.
    package mutating func add(_ notice: VoidedNotice, now: UnixTime) -> Bool {
        guard now < notice.forgetAfter else { return false }
        highestSequence = max(highestSequence, notice.sequence)
        let subject = notice.subject
        if let former = documents[subject.document]?[subject.actor]?.notice {
            guard Self.isBefore(former, notice) else { return false }
            known.remove(ExactString(former.text))
        } else if count >= AuthenticationLimits.voidedCount {
            guard let oldest = notices.min(by: Self.isBefore), Self.isBefore(oldest, notice) else { return false }
            remove(oldest)
        }
        documents[subject.document, default: [:]][subject.actor] = Entry(notice: notice)
        known.insert(ExactString(notice.text))
        nextEnd = min(nextEnd ?? notice.forgetAfter, notice.forgetAfter)
        return true
    }

    private static func isBefore(_ left: VoidedNotice, _ right: VoidedNotice) -> Bool {
        left.sequence != right.sequence
            ? left.sequence < right.sequence : ExactString(left.text) < ExactString(right.text)
    }

    private mutating func remove(_ notice: VoidedNotice) {
        known.remove(ExactString(notice.text))
        documents[notice.subject.document]?[notice.subject.actor] = nil
        if documents[notice.subject.document]?.isEmpty ?? false { documents[notice.subject.document] = nil }
    }

    /// Drops notices whose time is over.
    ///
    /// - Complexity: O(1) while none is.
    package mutating func forget(now: UnixTime) {
        guard let nextEnd, now >= nextEnd else { return }
        for notice in notices where now >= notice.forgetAfter { remove(notice) }
        self.nextEnd = notices.map(\.forgetAfter).min()
    }

    /// A hub's own state holds changes that a notice says to be refused: until a newer notice comes it counts no more.
    package mutating func overrule(_ subject: VoidedNotice.Subject) {
        documents[subject.document]?[subject.actor]?.isOverruled = true
    }

    /// What stands of a document, by actor; what has been overruled is left out.
    package func notices(of document: StateDigest) -> [VoidedNotice] {
        guard let entries = documents[document] else { return [] }
        return entries.values.filter { !$0.isOverruled }.map(\.notice).sorted { $0.subject.actor < $1.subject.actor }
    }

    package func notice(of subject: VoidedNotice.Subject) -> VoidedNotice? {
        documents[subject.document]?[subject.actor]?.notice
    }

    /// Whether this very text is among the notices.
    package func holds(_ text: String) -> Bool { known.contains(ExactString(text)) }

    private var notices: [VoidedNotice] { documents.values.flatMap { $0.values.map(\.notice) } }

    /// The notices as they were signed, in the order of their bytes.
    package var texts: [String] { known.sorted().map(\.text) }
}
