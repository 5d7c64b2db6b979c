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
        try keys.rotate(root: root, now: now)
        let read = try HubKeys(storedForm: keys.storedForm())
        #expect(read.keys.map(\.pair.publicKey) == keys.keys.map(\.pair.publicKey))
        #expect(read.roots == [root.publicKey])
        #expect(try read.current(now: now).pair.publicKey != first.pair.publicKey)
        let verifier = try read.verifier(now: now)
        for key in read.keys { #expect(verifier.hubCertificate(of: key.pair.publicKey, now: now) != nil) }
        let stranger = try PeerKeyPair.generate()
        #expect(throws: DocDBError.self) { try keys.rotate(root: stranger, now: now) }
        // Long after, no key is valid, and the remedy is named.
        let late = now.adding(2 * 366 * 86_400)
        #expect(throws: DocDBError.self) { try keys.current(now: late) }
    }
}
