import DocDBAuth
import DocDBCore
import DocDBHub
import Testing

@Suite("Keys of a hub")
struct HubKeysTests {
    let now = UnixTime(seconds: 1_800_000_000)

    @Test("Keys are read back as they were written, and a rotated hub's old grants stay valid")
    func rotation() throws {
        let root = try PeerKeyPair.generate()
        var keys = try HubKeys.new(appID: "app", root: root, now: now)
        let first = try keys.current(now: now)
        let firstSigner = try #require(keys.keys.last)
        #expect(firstSigner.certificate.uses == [.sign] && first.certificate.uses == [.peer])
        let later = now.adding(100 * 86_400)
        try keys.rotate(root: root, now: later)
        let read = try HubKeys(storedForm: keys.storedForm())
        #expect(read.keys.map(\.pair.publicKey) == keys.keys.map(\.pair.publicKey))
        #expect(read.roots == [root.publicKey])
        // The hub is known by the same key, for a year from now on; no other key is a hub's.
        let current = try read.current(now: later)
        #expect(current.pair.publicKey == first.pair.publicKey)
        #expect(current.certificate.expiresAt >= later.adding(HubKeys.certificateSeconds))
        let verifier = try read.verifier(now: later)
        let hubs = read.keys.filter { verifier.hubCertificate(of: $0.pair.publicKey, now: later) != nil }
        #expect(hubs.map(\.pair.publicKey) == [first.pair.publicKey])
        #expect(read.keys.count == 3 && read.keys.contains { $0.pair.publicKey == firstSigner.pair.publicKey })
        let identity = try ProviderIdentity(
            userID: UserID.make(provider: "dev", subject: "ada"), expiresAt: nil, permissions: .everything)
        let bound = try identity.boundPermissions()
        func issue(_ keys: [GrantIssuer.Key], at time: UnixTime) throws -> String {
            try GrantIssuer(appID: "app", keys: keys).issue(
                GrantIssuer.Request(
                    identity: identity, permissions: bound,
                    epoch: PermissionEpoch(number: 1, hash: try bound.hash()), peer: root.publicKey), now: time
            ).text
        }
        // The new key signs; a grant of the old one holds until it ends.
        let grants = [try issue(read.keys, at: later), try issue([firstSigner], at: later)]
        for grant in grants {
            let verified = try verifier.verify(
                grant, presentedBy: root.publicKey, now: later.adding(3600), revocations: RevocationList(),
                highestEpoch: { _ in nil })
            #expect(verified.issuedAt == later)
        }
        #expect(try JSONWebSignature(grants[0]).keyID == read.keys.last?.pair.publicKey.thumbprint)
        #expect(try JSONWebSignature(grants[1]).keyID == firstSigner.pair.publicKey.thumbprint)
        // After its end the old key is dropped, and the hub is still known by its own.
        let muchLater = now.adding(366 * 86_400)
        try keys.rotate(root: root, now: muchLater)
        #expect(!keys.keys.contains { $0.pair.publicKey == firstSigner.pair.publicKey })
        #expect(try keys.current(now: muchLater).pair.publicKey == first.pair.publicKey)
        let stranger = try PeerKeyPair.generate()
        #expect(throws: DocDBError.self) { try keys.rotate(root: stranger, now: now) }
        // Long after, no key is valid, and the remedy is named.
        let late = now.adding(3 * 366 * 86_400)
        #expect(throws: DocDBError.self) { try keys.current(now: late) }
    }
}
