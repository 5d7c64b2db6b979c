package import DocDBAuth
package import DocDBCore
import Synchronization

/// What a hub keeps of its users: the permission epoch of each, and the revocations. Files that grow line by line; that of the
/// epochs is written anew where most of its lines have been overtaken.
package final class HubLedger: Sendable {
    private struct State {
        var epochs: [ExactString: PermissionEpoch] = [:]
        var revocations = RevocationList()
        /// How many lines the file of epochs has.
        var epochLineCount = 0
        /// How many lines of revocations were read.
        var revocationCount = 0
        /// Certificates that the hub's own keys do not have, as devices have brought them.
        var certificates: [String] = []
    }

    private let files: HubFiles
    private let leastLineCount: Int
    private let state = Lock(State())

    /// The file of epochs is never written anew with fewer lines than this, nor with fewer than four times the users'.
    package static let leastEpochLineCount = 4_096

    /// Reads what there is.
    package init(_ files: HubFiles, leastEpochLineCount: Int = leastEpochLineCount) throws(DocDBError) {
        self.files = files
        leastLineCount = leastEpochLineCount
        var epochs: [ExactString: PermissionEpoch] = [:]
        let lines = try HubFiles.lines(files.epochs)
        for line in lines {
            guard let members = try? StrictJSON.object(line), let user = members["user"]?.stringValue,
                let number = members["epoch"]?.intValue, number >= 0,
                let hash = members["hash"]?.stringValue.flatMap(Base64URL.decode)
            else {
                throw DocDBError(.corrupted, "the file \(files.epochs) is damaged; restore it from a backup")
            }
            epochs[ExactString(user)] = PermissionEpoch(number: number, hash: hash)
        }
        let certificates = try HubFiles.lines(files.certificates).map { String(decoding: $0, as: UTF8.self) }
        state.withLock { [epochs] state in
            state.epochs = epochs
            state.epochLineCount = lines.count
            state.certificates = certificates
        }
    }

    /// The epoch of a user's permissions, which is written before it is returned where it is a new one.
    package func epoch(of userID: String, _ permissions: BoundPermissions) throws(DocDBError) -> PermissionEpoch {
        let result = state.withLock { state in
            Result { () throws(DocDBError) -> PermissionEpoch in
                let former = state.epochs[ExactString(userID)]
                let epoch = try PermissionEpoch.following(former, permissions)
                if epoch != former {
                    try HubFiles.append(try Self.line(userID, epoch), to: files.epochs)
                    state.epochs[ExactString(userID)] = epoch
                    state.epochLineCount += 1
                    try shorten(&state)
                }
                return epoch
            }
        }
        return try result.get()
    }

    private static func line(_ userID: String, _ epoch: PermissionEpoch) throws(DocDBError) -> [UInt8] {
        try StrictJSON.text([
            "user": .string(userID), "epoch": .int(epoch.number), "hash": .string(Base64URL.encode(epoch.hash)),
        ])
    }

    /// Writes the file of epochs anew, with the newest of each user, where it has become too long. The hub alone writes it.
    private func shorten(_ state: inout State) throws(DocDBError) {
        guard state.epochLineCount > max(leastLineCount, 4 * state.epochs.count) else { return }
        var content: [UInt8] = []
        for (user, epoch) in state.epochs.sorted(by: { $0.key.text < $1.key.text }) {
            content += try Self.line(user.text, epoch) + [0x0A]
        }
        try HubFiles.replace(files.epochs, with: content)
        state.epochLineCount = state.epochs.count
    }

    /// The epochs of all users.
    package var epochs: [ExactString: Int64] { state.withLock { $0.epochs.mapValues(\.number) } }

    /// Certificates of other hubs, and of keys that this one has lost, that devices have brought.
    package var certificates: [String] { state.withLock { $0.certificates } }

    /// A verifier that knows the hub's own certificates and those that devices have brought.
    package func verifier(_ keys: HubKeys, now: UnixTime) throws(DocDBError) -> GrantVerifier {
        var verifier = try keys.verifier(now: now)
        // Those that count no more, or are of another root by now, are passed over.
        for certificate in certificates { _ = try? verifier.learn(certificate: certificate, now: now) }
        return verifier
    }

    /// Writes down notices that devices have brought, so that they hold over a restart: a hub that was put back to a backup
    /// gets its own again.
    ///
    /// - Parameter notices: verified ones; those that are kept already, or can be verified no more, are passed over.
    /// - Returns: how many were written.
    package func keep(_ notices: [String], _ keys: HubKeys, now: UnixTime) throws(DocDBError) -> Int {
        let own = Set(keys.keys.map { ExactString($0.certificate.text) })
        var count = 0
        for text in notices where try GrantVerifier.kind(ofNotice: text) == .certificate {
            guard !own.contains(ExactString(text)) else { continue }
            let result = state.withLock { [files] state in
                Result { () throws(DocDBError) -> Bool in
                    guard !state.certificates.contains(where: { ExactString($0) == ExactString(text) }) else {
                        return false
                    }
                    try HubFiles.append(Array(text.utf8), to: files.certificates)
                    state.certificates.append(text)
                    return true
                }
            }
            if try result.get() { count += 1 }
        }
        let verifier = try verifier(keys, now: now)
        for text in notices where try GrantVerifier.kind(ofNotice: text) == .revocation {
            guard let revocation = try? verifier.verify(revocation: text) else { continue }
            let result = state.withLock { [files] state in
                Result { () throws(DocDBError) -> Bool in
                    var list = state.revocations
                    guard !list.holds(text), try list.add(revocation, now: now) else { return false }
                    try HubFiles.append(Array(text.utf8), to: files.revocations)
                    state.revocations = list
                    return true
                }
            }
            if try result.get() { count += 1 }
        }
        return count
    }

    package var revocations: RevocationList { state.withLock { $0.revocations } }

    /// Reads revocations that were added to the file since, by this process or another, and returns them.
    ///
    /// - Throws: `invalidGrant` where one was not signed by this hub.
    package func readRevocations(_ verifier: GrantVerifier, now: UnixTime) throws(DocDBError) -> [Revocation] {
        let lines = try HubFiles.lines(files.revocations)
        let result = state.withLock { state in
            Result { () throws(DocDBError) -> [Revocation] in
                var news: [Revocation] = []
                for line in lines.dropFirst(state.revocationCount) {
                    let text = String(decoding: line, as: UTF8.self)
                    // The key that signed an entry may be forgotten by the time that the entry has run out.
                    let revocation: Revocation
                    if let past = Revocation.runOut(text, at: now) {
                        revocation = past
                    } else {
                        revocation = try verifier.verify(revocation: text)
                    }
                    if try state.revocations.add(revocation, now: now) { news.append(revocation) }
                    state.revocationCount += 1
                }
                return news
            }
        }
        return try result.get()
    }

    /// Revokes what was granted to a user until now, and appends that to the file.
    package func revoke(user: String, _ keys: HubKeys, now: UnixTime) throws(DocDBError) {
        try revoke(.user(ExactString(user)), keys, now: now)
    }

    /// Revokes what was granted to a user until now, or one grant, and appends that to the file.
    ///
    /// - Throws: `limitReached` where there are so many revocations that peers keep no more.
    package func revoke(_ subject: Revocation.Subject, _ keys: HubKeys, now: UnixTime) throws(DocDBError) {
        _ = try readRevocations(try verifier(keys, now: now), now: now)
        let issuer = try GrantIssuer(appID: keys.appID, keys: keys.keys)
        var list = revocations
        list.forget(now: now)
        let revocation = try issuer.revoke(subject, sequence: list.highestSequence + 1, now: now)
        _ = try list.add(revocation, now: now)
        try HubFiles.append(Array(revocation.text.utf8), to: files.revocations)
    }
}
