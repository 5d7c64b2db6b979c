import DocDBAuth
import DocDBCore
import DocDBHub
import Foundation
import Testing

@Suite("What a hub keeps of its users")
struct HubLedgerTests {
    private let now = UnixTime(seconds: 1_800_000_000)
    private let files = HubFiles(
        directory: FileManager.default.temporaryDirectory.path + "/docdb-ledger-\(UUID().uuidString)")
    private let root: PeerKeyPair

    init() throws {
        root = try PeerKeyPair.generate()
        try files.prepare()
    }

    private func permissions(_ predicate: String) throws -> BoundPermissions {
        let rules = Rules.queriesByCollection([ExactString("cars"): [predicate]])
        return try Permissions(read: rules, write: .nothing).bound(to: PermissionBinding(userID: "dev|ada"))
    }

    @Test("A hub that was killed while it wrote a line starts again, and loses nothing that it had said")
    func killed() throws {
        let ledger = try HubLedger(files)
        #expect(try ledger.epoch(of: "dev|ada", permissions("true")).number == 1)
        #expect(try ledger.epoch(of: "dev|ada", permissions("price < 3")).number == 2)
        let handle = try #require(FileHandle(forWritingAtPath: files.epochs))
        try handle.seekToEnd()
        try handle.write(contentsOf: Data(#"{"user": "dev|a"#.utf8))
        try handle.close()
        #expect(try HubLedger(files).epoch(of: "dev|ada", permissions("price < 4")).number == 3)
        #expect(try HubLedger(files).epochs == ["dev|ada": 3])
    }

    @Test("Revocations that have run out are no hindrance once their key is gone, and their numbers stay used")
    func runOut() throws {
        var keys = try HubKeys.new(appID: "app", root: root, now: now)
        try HubLedger(files).revoke(user: "dev|ada", keys, now: now)
        // The key that has signed it goes with a rotation after the end of its certificate.
        let later = now.adding(HubKeys.certificateSeconds + 86_400)
        try keys.rotate(root: root, now: later)
        let ledger = try HubLedger(files)
        #expect(try ledger.readRevocations(keys.verifier(now: later), now: later).isEmpty)
        try ledger.revoke(user: "dev|bob", keys, now: later)
        let news = try HubLedger(files).readRevocations(keys.verifier(now: later), now: later)
        #expect(news.map(\.sequence) == [2])
        // One that still counts and that nobody can verify is not passed over.
        let foreign = try HubKeys.new(appID: "app", root: try PeerKeyPair.generate(), now: later)
        let issuer = try GrantIssuer(appID: "app", keys: foreign.keys)
        let forged = try issuer.revoke(.user("dev|eve"), sequence: 3, now: later)
        try HubFiles.append(Array(forged.text.utf8), to: files.revocations)
        #expect(throws: DocDBError.self) {
            try HubLedger(files).readRevocations(keys.verifier(now: later), now: later)
        }
    }
}
