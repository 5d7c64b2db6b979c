import DocDB
import DocDBAuth
import DocDBCore
import DocDBHub
import Foundation
import Synchronization
import Testing

@Suite("The files of a hub", .timeLimit(.minutes(10)))
struct HubFilesTests {
    /// The modes of a directory and all that is in it, by path within it.
    private func modes(_ directory: String) throws -> [String: Int] {
        var modes: [String: Int] = [:]
        let names = try FileManager.default.subpathsOfDirectory(atPath: directory)
        for name in names + [""] {
            let attributes = try FileManager.default.attributesOfItem(atPath: directory + "/" + name)
            modes[name] = try #require(attributes[.posixPermissions] as? Int)
        }
        return modes
    }

    private func expectPrivate(_ directory: String, _ comment: Comment) throws {
        for (name, mode) in try modes(directory) {
            let isDirectory = name.isEmpty || name.hasSuffix(".docdb")
            #expect(mode == (isDirectory ? 0o700 : 0o600), "\(name): \(comment)")
        }
    }

    @Test("Files of a hub are for its user alone, also those that were open to others before")
    func modes() async throws {
        let hub = try AttackHub()
        let bob = try await hub.honest("bob")
        try bob.collection("cars").insert(["_id": "1"])
        try await eventually { try hub.hubDocuments["1"] != nil }
        try HubLedger(hub.files).revoke(user: "dev|alice", HubKeys.load(hub.files), now: AttackHub.now)
        try expectPrivate(hub.files.directory, "new")
        let names = Set(try modes(hub.files.directory).keys)
        #expect(
            names.isSuperset(of: [
                "hub-keys.json", "epochs.jsonl", "revocations.jsonl", "hub.docdb/store.sqlite",
                "hub.docdb/store.sqlite-wal", "hub.docdb/store.sqlite-shm", "hub.docdb/lock", "hub.docdb/incarnation",
            ]))
        #expect(!hub.log.text.contains("open to others"))
        try bob.close()
        let outside = hub.directory + "/outside"
        try Data().write(to: URL(fileURLWithPath: outside))
        try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: outside)
        try hub.restart {
            for (name, _) in try modes(hub.files.directory) {
                let isDirectory = name.isEmpty || name.hasSuffix(".docdb")
                try FileManager.default.setAttributes(
                    [.posixPermissions: isDirectory ? 0o755 : 0o664], ofItemAtPath: hub.files.directory + "/" + name)
            }
            try FileManager.default.createSymbolicLink(
                atPath: hub.files.directory + "/link", withDestinationPath: outside)
        }
        try FileManager.default.removeItem(atPath: hub.files.directory + "/link")
        try expectPrivate(hub.files.directory, "loose before")
        #expect(hub.log.text.contains("open to others"))
        // What a link names is not the hub's.
        #expect(try modes(hub.directory)["outside"] == 0o644)
        #expect(try hub.hubDocuments["1"] != nil)
    }

    @Test("A hub that was put back to a backup gets its revocations from the devices, and keeps them")
    func revocationsComeBack() async throws {
        let hub = try AttackHub()
        let alice = try await hub.honest("alice")
        let bob = try await hub.honest("bob")
        let backup = try HubFiles.read(hub.files.epochs)
        try HubLedger(hub.files).revoke(user: "dev|alice", HubKeys.load(hub.files), now: AttackHub.now)
        let lines = try HubFiles.lines(hub.files.revocations)
        try #require(lines.count == 1)
        let kept = hub.directory + "/bob.docdb.credentials/notices"
        @Sendable func holds(_ path: String) throws -> Bool {
            String(decoding: try HubFiles.read(path) ?? [], as: UTF8.self).contains(
                String(decoding: lines[0], as: UTF8.self))
        }
        try await eventually { try holds(kept) }
        try alice.close()
        try bob.close()
        try hub.restart {
            try FileManager.default.removeItem(atPath: hub.files.revocations)
            try HubFiles.replace(hub.files.epochs, with: try #require(backup))
        }
        let again = try hub.open("bob")
        try again.sync.start()
        try await eventually { try holds(hub.files.revocations) }
        try again.close()
        // From now on the hub knows it by itself.
        try hub.restart()
        #expect(try HubFiles.lines(hub.files.revocations) == lines)
        let revoked = try hub.open("alice")
        try revoked.sync.start()
        try await eventually { !revoked.auth.status.isAuthenticated }
        try revoked.close()
        // One more has a number of its own.
        try HubLedger(hub.files).revoke(user: "dev|carol", HubKeys.load(hub.files), now: AttackHub.now)
        #expect(try HubFiles.lines(hub.files.revocations).count == 2)
    }

    @Test("What cannot be kept of revocations is reported at the device, and kept once it can be")
    func unkeptNotices() async throws {
        let fixture = try HubFixture()
        let storage = FailingStorage()
        let alice = try fixture.open("alice", storage: storage)
        try await alice.auth.login(token: "alice-token", provider: "dev")
        try alice.sync.start()
        try await eventually { alice.sync.status.isConnected }
        storage.fails.withLock { $0 = true }
        let keys = try HubKeys.load(fixture.files)
        try HubLedger(fixture.files).revoke(user: "dev|bob", keys, now: AttackHub.now)
        try await eventually { alice.sync.status.lastProblem?.error.code == .storageFailed }
        #expect(alice.sync.status.lastProblem?.error.message.contains("revoked") == true)
        let revocation = try #require(try HubFiles.lines(fixture.files.revocations).first)
        let text = String(decoding: revocation, as: UTF8.self)
        #expect(!storage.text("notices").contains(text))
        storage.fails.withLock { $0 = false }
        try alice.close()
        #expect(storage.text("notices").contains(text))
    }
}

/// Credentials in memory, whose notices cannot be written while it is told so.
private final class FailingStorage: CredentialStorage {
    let fails = Mutex(false)
    private let values = Mutex<[String: [UInt8]]>([:])

    func load(_ name: String) throws -> [UInt8]? { values.withLock { $0[name] } }

    func save(_ name: String, _ bytes: [UInt8]?) throws {
        if name == "notices", fails.withLock({ $0 }) {
            throw DocDBError(.storageFailed, "the disk is full of secrets")
        }
        values.withLock { $0[name] = bytes }
    }

    func text(_ name: String) -> String { String(decoding: values.withLock { $0[name] } ?? [], as: UTF8.self) }
}
