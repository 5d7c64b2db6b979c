package import DocDBAuth
package import DocDBCore
package import DocDBSync
import Synchronization

// What hubs have certified and revoked, as peers tell it each other, also where no hub can be reached.
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

extension OnlineAuthenticator.State {
    var notices: [String] { verifier.certificateTexts + revocations.texts }

    /// The sums of all notices, worked out when they have changed.
    fileprivate mutating func digest() -> NoticeDigest {
        if let noticeDigest { return noticeDigest }
        let digest = NoticeDigest(notices)
        noticeDigest = digest
        return digest
    }

    fileprivate mutating func receive(_ message: NoticeMessage, now: UnixTime) throws(DocDBError) -> NoticeReply {
        var reply = NoticeReply()
        let own = digest()
        switch message {
        case .summary(let hash):
            if own.summary != hash { reply.answers = [NoticeMessage.buckets(own.buckets).encoded] }
        case .buckets(let theirs):
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

    /// Keeps a certificate or a revocation; tells whether it is news.
    fileprivate mutating func take(notice text: String, now: UnixTime) throws(DocDBError) -> Bool {
        guard try !GrantVerifier.isRevocation(text) else { return try take(revocation: text, now: now) }
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
}
