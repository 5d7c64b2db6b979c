package import DocDBAuth
package import DocDBCore
package import DocDBSync
import Synchronization

// What hubs have certified, revoked and refused, as peers tell it each other, also where no hub can be reached.
extension OnlineAuthenticator {
    /// All notices that are known: certificates first, as revocations are verified by them.
    package var notices: [String] { state.withLock { $0.notices } }

    /// Takes notices from this peer's own files, and returns the messages that tell peers of those that are news.
    ///
    /// Those that cannot be verified are passed over.
    @discardableResult
    package func learn(notices texts: [String], now: UnixTime) -> [[UInt8]] {
        state.withLock { state in
            let news = texts.filter { (try? state.take(notice: $0, now: now)) ?? false }
            return NoticeMessage.messages(news)
        }
    }

    /// Verifies a revocation and keeps it; tells whether it is news.
    @discardableResult
    package func revoke(_ text: String, now: UnixTime) throws(DocDBError) -> Bool {
        let result = state.withLock { state in
            Result { () throws(DocDBError) in try state.take(revocation: text, now: now) }
        }
        return try result.get()
    }

    /// The revocations that count.
    package var revocations: RevocationList { state.withLock { $0.revocations } }

    /// Whether the grant that this peer presents has been revoked.
    package var isOwnGrantRevoked: Bool { isRevoked(ownRights) }

    // MARK: Sessions

    package func isRevoked(_ rights: PeerRights) -> Bool {
        guard let grant = rights.grant, let userID = rights.userID else { return false }
        return state.withLock { state in
            state.revocations.isRevoked(
                grantID: grant.id, userID: userID, issuedAt: UnixTime(seconds: grant.issuedSeconds))
        }
    }

    package var noticeGreeting: [UInt8]? {
        state.withLock { state in state.digest().summary.map { NoticeMessage.summary($0).encoded } }
    }

    package func receive(notices bytes: [UInt8], at time: SessionTime) throws -> NoticeReply {
        let message = try NoticeMessage(bytes)
        let now = now(time)
        let result = state.withLock { state in
            Result { () throws(DocDBError) in try state.receive(message, now: now) }
        }
        return try result.get()
    }
}

// Changes that hubs have refused to their authors.
extension OnlineAuthenticator {
    /// Has this hub's notices signed from now on.
    package func sign(with issuer: GrantIssuer) { state.withLock { $0.issuer = issuer } }

    /// The notices of refused changes that count, as they were signed.
    package var voidedTexts: [String] { state.withLock { $0.voided.texts } }

    package var hasVoided: Bool { state.withLock { !$0.voided.isEmpty } }

    package func voided(_ document: StateDigest) -> [VoidedRange] {
        state.withLock { $0.voided.notices(of: document) }.map {
            VoidedRange(document: document, actor: $0.subject.actor, after: $0.after, through: $0.through)
        }
    }

    package func overrule(_ range: VoidedRange) {
        state.withLock {
            $0.voided.overrule(VoidedNotice.Subject(document: range.document, actor: range.actor))
        }
    }

    package func void(_ ranges: [VoidedRange], at time: SessionTime) throws -> [[UInt8]] {
        let nanoseconds = judgedNanoseconds(at: time)
        let result = state.withLock { state in
            Result { () throws(DocDBError) -> [String] in
                var texts: [String] = []
                for range in ranges {
                    if let text = try state.void(range, at: nanoseconds) { texts.append(text) }
                }
                return texts
            }
        }
        return NoticeMessage.messages(try result.get())
    }
}

extension OnlineAuthenticator.State {
    var notices: [String] { verifier.certificateTexts + revocations.texts + voided.texts }

    /// Signs a notice, where it says what has not been said.
    fileprivate mutating func void(_ range: VoidedRange, at nanoseconds: UInt64) throws(DocDBError) -> String? {
        guard let issuer else { return nil }
        let now = UnixTime(nanoseconds: nanoseconds)
        voided.forget(now: now)
        let subject = VoidedNotice.Subject(document: range.document, actor: range.actor)
        let former = voided.notice(of: subject)
        // What nobody has heard of need not be lifted.
        if former == nil, range.isLifted { return nil }
        if let former, former.after == range.after, former.through == range.through { return nil }
        let (next, isOver) = voided.highestSequence.addingReportingOverflow(1)
        let notice = try issuer.void(
            subject, after: range.after, through: range.through,
            sequence: isOver ? .max : max(next, Int64(clamping: nanoseconds)), now: now)
        guard voided.add(notice, now: now) else { return nil }
        noticeDigest = nil
        return notice.text
    }

    /// The sums of all notices, worked out when they have changed.
    fileprivate mutating func digest() -> NoticeDigest {
        if let noticeDigest { return noticeDigest }
        let digest = NoticeDigest(notices)
        noticeDigest = digest
        return digest
    }

    fileprivate mutating func receive(_ message: NoticeMessage, now: UnixTime) throws(DocDBError) -> NoticeReply {
        var reply = NoticeReply()
        switch message {
        case .summary(let hash):
            let own = digest()
            if own.summary != hash { reply.answers = [NoticeMessage.buckets(own.buckets).encoded] }
        case .buckets(let theirs):
            let own = digest()
            reply.answers = NoticeMessage.messages(
                notices.filter { NoticeDigest.isMissing($0, in: theirs, of: own.buckets) })
        case .notices(let texts):
            var news: [String] = []
            for text in texts where try isNews(text, now: now) { news.append(text) }
            reply.news = NoticeMessage.messages(news)
        }
        return reply
    }

    /// Takes a notice of a peer. What this peer cannot judge is passed over; a forgery ends the session.
    private mutating func isNews(_ text: String, now: UnixTime) throws(DocDBError) -> Bool {
        do throws(DocDBError) { return try take(notice: text, now: now) } catch {
            guard error.context["reason"] == TokenFailure.invalidSignature.rawValue else { return false }
            throw DocDBError(.protocolError, "a peer passed on a notice that no hub has signed")
        }
    }

    /// Keeps a certificate, a revocation or a refusal; tells whether it is news.
    fileprivate mutating func take(notice text: String, now: UnixTime) throws(DocDBError) -> Bool {
        switch try GrantVerifier.kind(ofNotice: text) {
        case .revocation: return try take(revocation: text, now: now)
        case .voided: return try take(voided: text, now: now)
        case .certificate: break
        }
        let isNews = try verifier.isNews(certificate: text, now: now)
        if isNews { noticeDigest = nil }
        return isNews
    }

    fileprivate mutating func take(revocation text: String, now: UnixTime) throws(DocDBError) -> Bool {
        revocations.forget(now: now)
        // What is known needs no verification.
        guard !revocations.holds(text) else { return false }
        let isNews = try revocations.add(try verifier.verify(revocation: text), now: now)
        noticeDigest = nil
        return isNews
    }

    private mutating func take(voided text: String, now: UnixTime) throws(DocDBError) -> Bool {
        voided.forget(now: now)
        guard !voided.holds(text) else { return false }
        let isNews = voided.add(try verifier.verify(voided: text), now: now)
        if isNews { noticeDigest = nil }
        return isNews
    }
}
