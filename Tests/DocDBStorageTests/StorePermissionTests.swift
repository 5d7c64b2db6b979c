import DocDBCore
import DocDBStorage
import Foundation
import Testing

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// What a user gets who may not write where the store lies.
///
/// Each runs in a child process that gives up the rights of root first, since permissions do not stop root.
@Suite("A store without write permission")
struct StorePermissionTests {
    /// Makes this process one that permissions stop.
    static func becomeNobody() {
        if geteuid() == 0 { precondition(setgid(65_534) == 0 && setuid(65_534) == 0, "cannot give up root's rights") }
    }

    static func set(_ permissions: Int, _ path: String) throws {
        try FileManager.default.setAttributes([.posixPermissions: permissions], ofItemAtPath: path)
    }

    /// A closed store that everybody may read and nobody may write.
    static func readOnlyStore(_ place: TemporaryStore) throws {
        let store = try place.open()
        try store.put(["_id": 1, "a": 1])
        try store.close()
    }

    static func protect(_ place: TemporaryStore) throws {
        for name in try FileManager.default.contentsOfDirectory(atPath: place.path) {
            try set(0o444, place.path + "/" + name)
        }
        try set(0o555, place.path)
        try set(0o555, place.directory)
    }

    static func unprotect(_ place: TemporaryStore) {
        try? set(0o755, place.directory)
        try? set(0o755, place.path)
    }

    @Test("is read at rest, and refuses to be opened for writing")
    func readsAtRest() async throws {
        let place = TemporaryStore("permission")
        try Self.readOnlyStore(place)
        try Self.protect(place)
        defer { Self.unprotect(place) }
        await #expect(processExitsWith: .success) { [path = place.path as String] in
            StorePermissionTests.becomeNobody()
            var options = StoreOptions()
            #expect(errorCode { _ = try Store(path: path, options: options) } == .readOnly)
            options.access = .readOnly
            let store = try Store(path: path, options: options)
            #expect(try store.get(1) == ["a": 1])
            #expect(try store.verify().isEmpty)
            #expect(errorCode { try store.put(["_id": 2]) } == .readOnly)
        }
        #expect(
            Set(try FileManager.default.contentsOfDirectory(atPath: place.path)) == [
                "incarnation", "lock", "store.sqlite",
            ])
    }

    @Test("is not created where the parent directory is not writable")
    func refusesToCreate() async throws {
        let place = TemporaryStore("permission")
        try Self.set(0o555, place.directory)
        defer { Self.unprotect(place) }
        await #expect(processExitsWith: .success) { [path = place.path as String] in
            StorePermissionTests.becomeNobody()
            #expect(errorCode { _ = try Store(path: path) } == .readOnly)
        }
    }

    @Test("says that it may not be entered rather than that it is no store")
    func refusesToEnter() async throws {
        let place = TemporaryStore("permission")
        try Self.readOnlyStore(place)
        try Self.set(0, place.path)
        defer { Self.unprotect(place) }
        await #expect(processExitsWith: .success) { [path = place.path as String] in
            StorePermissionTests.becomeNobody()
            var options = StoreOptions()
            #expect(errorCode { _ = try Store(path: path, options: options) } == .readOnly)
            options.access = .readOnly
            #expect(errorCode { _ = try Store(path: path, options: options) } == .readOnly)
        }
    }

    @Test("with commits that only the write-ahead log holds is refused rather than read without them")
    func refusesStaleRead() async throws {
        let place = TemporaryStore("permission")
        await #expect(processExitsWith: .signal(SIGKILL)) { [path = place.path as String] in
            let store = try Store(path: path)
            try store.put(["_id": 1, "a": 1])
            kill(getpid(), SIGKILL)
        }
        // Without the shared memory, nobody who may not write can read the write-ahead log.
        try FileManager.default.removeItem(atPath: place.database + "-shm")
        try Self.protect(place)
        defer { Self.unprotect(place) }
        await #expect(processExitsWith: .success) { [path = place.path as String] in
            StorePermissionTests.becomeNobody()
            var options = StoreOptions()
            options.access = .readOnly
            let error = docdbError { _ = try Store(path: path, options: options).get(1) }
            #expect(error?.code == .storageFailed || error?.code == .readOnly)
        }
    }
}
