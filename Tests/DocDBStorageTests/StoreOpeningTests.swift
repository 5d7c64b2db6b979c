import DocDBCore
import DocDBStorage
import Foundation
import Testing

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

@Suite("Opening a store")
struct StoreOpeningTests {
    static func permissions(_ path: String) throws -> Int {
        let attributes = try FileManager.default.attributesOfItem(atPath: path)
        return (attributes[.posixPermissions] as? NSNumber)?.intValue ?? -1
    }

    @Test("creates a directory that only its owner may enter")
    func createsDirectory() throws {
        let place = TemporaryStore("opening")
        let store = try place.open()
        try store.put(["_id": 1, "a": 1])
        #expect(try Self.permissions(place.path) & 0o777 == 0o700)
        #expect(try Self.permissions(place.path + "/lock") & 0o077 == 0)
        #expect(try Self.permissions(place.path + "/incarnation") & 0o077 == 0)
    }

    @Test("finds what was written before it was closed")
    func reopens() throws {
        let place = TemporaryStore("opening")
        var store = try place.open()
        let storeID = store.storeID
        try store.put(["_id": 1, "a": 1])
        try store.close()
        for access in [StoreOptions.Access.readWrite, .readWriteCreate, .readOnly] {
            store = try place.open { $0.access = access }
            #expect(try store.get(1) == ["a": 1])
            #expect(store.storeID == storeID)
            try store.close()
        }
        #expect(storeID.count == 16)
    }

    @Test(
        "does not create a store where that was not asked for", arguments: [StoreOptions.Access.readWrite, .readOnly])
    func requiresExisting(access: StoreOptions.Access) throws {
        let place = TemporaryStore("opening")
        let error = docdbError { _ = try place.open { $0.access = access } }
        #expect(error?.code == .notAStore)
        #expect(error?.message.contains(place.path) == true)
        #expect(!FileManager.default.fileExists(atPath: place.path))
    }

    @Test("refuses a file in place of a directory", arguments: [StoreOptions.Access.readWriteCreate, .readOnly])
    func refusesFile(access: StoreOptions.Access) throws {
        let place = TemporaryStore("opening")
        try Data("text".utf8).write(to: URL(fileURLWithPath: place.path))
        #expect(errorCode { _ = try place.open { $0.access = access } } == .notAStore)
        #expect(FileManager.default.contents(atPath: place.path) == Data("text".utf8))
    }

    @Test("refuses a directory that holds something else, and leaves it as it was", arguments: ["notes.txt", "lock"])
    func refusesOtherDirectory(name: String) throws {
        let place = TemporaryStore("opening")
        try FileManager.default.createDirectory(atPath: place.path, withIntermediateDirectories: false)
        for file in [name, "other"] { try Data().write(to: URL(fileURLWithPath: place.path + "/" + file)) }
        for access in [StoreOptions.Access.readWriteCreate, .readWrite, .readOnly] {
            #expect(errorCode { _ = try place.open { $0.access = access } } == .notAStore)
        }
        let names = try FileManager.default.contentsOfDirectory(atPath: place.path)
        #expect(Set(names) == [name, "other"])
    }

    @Test("uses an empty directory")
    func usesEmptyDirectory() throws {
        let place = TemporaryStore("opening")
        try FileManager.default.createDirectory(atPath: place.path, withIntermediateDirectories: false)
        #expect(errorCode { _ = try place.open { $0.access = .readWrite } } == .notAStore)
        let store = try place.open()
        try store.put(["_id": 1])
        #expect(try store.get(1) == [:])
    }

    @Test("names both versions where the store is newer")
    func refusesNewer() throws {
        let place = TemporaryStore("opening")
        try place.open().close()
        try place.alter("PRAGMA user_version = 734")
        for access in [StoreOptions.Access.readWriteCreate, .readOnly] {
            let error = docdbError { _ = try place.open { $0.access = access } }
            #expect(error?.code == .storeTooNew)
            #expect(error?.message.contains("734") == true)
            #expect(error?.message.contains("\(Store.formatVersion)") == true)
        }
        try place.alter("PRAGMA user_version = \(Store.formatVersion)")
        try place.open().close()
    }

    @Test("refuses the database of another application", arguments: [0, 0x1234])
    func refusesForeignDatabase(applicationID: Int) throws {
        let place = TemporaryStore("opening")
        try FileManager.default.createDirectory(atPath: place.path, withIntermediateDirectories: false)
        try place.alter("PRAGMA application_id = \(applicationID); CREATE TABLE t (a); INSERT INTO t VALUES (1)")
        let before = FileManager.default.contents(atPath: place.database)
        for access in [StoreOptions.Access.readWriteCreate, .readOnly] {
            #expect(errorCode { _ = try place.open { $0.access = access } } == .notAStore)
        }
        #expect(FileManager.default.contents(atPath: place.database) == before)
    }

    @Test("tells that a file is no database", arguments: [StoreOptions.Access.readWriteCreate, .readOnly])
    func refusesText(access: StoreOptions.Access) throws {
        let place = TemporaryStore("opening")
        try FileManager.default.createDirectory(atPath: place.path, withIntermediateDirectories: false)
        let text = Data(String(repeating: "no database at all, only text. ", count: 300).utf8)
        try text.write(to: URL(fileURLWithPath: place.database))
        #expect(errorCode { _ = try place.open { $0.access = access } } == .corrupted)
        #expect(FileManager.default.contents(atPath: place.database) == text)
    }

    @Test("never takes a store that was emptied or lost its database for a new one")
    func refusesEmptied() throws {
        let place = TemporaryStore("opening")
        let store = try place.open()
        try store.put(["_id": 1])
        try store.close()
        try Data().write(to: URL(fileURLWithPath: place.database))
        let error = docdbError { _ = try place.open() }
        #expect(error?.code == .corrupted)
        #expect(errorCode { _ = try place.open { $0.access = .readOnly } } != nil)
        try FileManager.default.removeItem(atPath: place.database)
        #expect(errorCode { _ = try place.open() } == .notAStore)
        #expect(!FileManager.default.fileExists(atPath: place.database))
    }

    @Test(
        "opens paths with marks that mean something elsewhere",
        arguments: [
            "with space", "question?mark", "hash#tag", "per%20cent", "quote'\"", "Zürich-汽车-🚗", "semi;colon&and",
            "-dash",
            "file:x",
        ])
    func opensOddPaths(name: String) throws {
        let place = TemporaryStore("opening")
        let path = place.directory + "/" + name + ".docdb"
        var store = try Store(path: path)
        try store.put(["_id": 1, "a": 1])
        try store.backup(to: path + ".backup")
        try store.close()
        var options = StoreOptions()
        options.access = .readOnly
        for path in [path, path + "/", path + ".backup"] {
            store = try Store(path: path, options: options)
            #expect(try store.get(1) == ["a": 1])
        }
        #expect(
            Set(try FileManager.default.contentsOfDirectory(atPath: place.directory))
                == [name + ".docdb", name + ".docdb.backup"])
    }

    @Test("refuses paths that cannot be", arguments: ["", "a\0b"])
    func refusesPaths(path: String) {
        #expect(errorCode { _ = try Store(path: path) } != nil)
        #expect(!FileManager.default.fileExists(atPath: "a"))
    }

    @Test("fails where the parent directory is missing or is a file")
    func requiresParent() throws {
        let place = TemporaryStore("opening")
        #expect(errorCode { _ = try Store(path: place.directory + "/missing/a.docdb") } == .storageFailed)
        try Data().write(to: URL(fileURLWithPath: place.directory + "/file"))
        #expect(errorCode { _ = try Store(path: place.directory + "/file/a.docdb") } == .storageFailed)
    }

    @Test("refuses every use after it was closed")
    func closes() async throws {
        let place = TemporaryStore("opening")
        let store = try place.open()
        try store.put(["_id": 1])
        try store.close()
        try store.close()
        #expect(errorCode { try store.put(["_id": 2]) } == .databaseClosed)
        #expect(errorCode { _ = try store.get(1) } == .databaseClosed)
        #expect(errorCode { _ = try store.synchronize() } == .databaseClosed)
        #expect(errorCode { _ = try store.verify() } == .databaseClosed)
        #expect(errorCode { _ = try store.statistics() } == .databaseClosed)
        #expect(errorCode { try store.compact() } == .databaseClosed)
        #expect(errorCode { try store.backup(to: place.path + "2") } == .databaseClosed)
        await #expect { _ = try await store.write { _ in 1 } } throws: { ($0 as? DocDBError)?.code == .databaseClosed }
        await #expect { _ = try await store.read { _ in 1 } } throws: { ($0 as? DocDBError)?.code == .databaseClosed }
    }

    @Test("refuses to be closed within a write, which would wait for itself")
    func refusesToCloseWithin() throws {
        let place = TemporaryStore("opening")
        let store = try place.open()
        try store.write { transaction in
            #expect(errorCode { try store.close() } == .misuse)
            #expect(errorCode { try store.put(["_id": 3]) } == .misuse)
            try transaction.put(["_id": 1])
        }
        #expect(try store.get(1) == [:])
    }
}
