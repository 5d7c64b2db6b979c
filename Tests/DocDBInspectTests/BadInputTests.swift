import DocDB
import DocDBInspect
import Foundation
import Testing

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

@Suite("Bad input to the inspector")
struct BadInputTests {
    struct BadRecord: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let text: String
        let phrase: String

        init(_ name: String, _ text: String, _ phrase: String) {
            testDescription = name
            self.text = text
            self.phrase = phrase
        }
    }

    static let badRecords = [
        BadRecord("two commas", "{\"a\":1,,\"b\":2}", "column 8: invalid JSON: expected a member's name"),
        BadRecord("cut short", "{\"a\":[1,", "column 1: the object that begins here is not closed"),
        BadRecord("no object", "7", "column 1: expected an object, found a number"),
        BadRecord("NaN", "{\"a\":NaN}", "column 6: invalid JSON: expected a value"),
        BadRecord("beyond a double", "{\"a\":1e999}", "column 6: invalid JSON: expected a number within the range"),
        BadRecord("a name twice", "{\"a\":1,\"a\":2}", "column 13: invalid JSON: expected each name once"),
        BadRecord("id null", "{\"_id\":null}", "column 8: null and floats cannot be document ids"),
        BadRecord("id float", "{\"_id\":1.5}", "column 8: null and floats cannot be document ids"),
        BadRecord(
            "id too long", "{\"_id\":\"\(String(repeating: "x", count: 300))\"}",
            "column 8: the document id is longer than 256 bytes"),
        BadRecord(
            "65 deep", "{\"a\":\(String(repeating: "[", count: 64))\(String(repeating: "]", count: 64))}",
            "column 69: the document is nested deeper than 64"),
        BadRecord(
            "over 5 MiB", "{\"a\":\"\(String(repeating: "x", count: 5 * 1024 * 1024))\"}",
            "column 1: the document is larger than 5242880 bytes"),
    ]

    @Test("a bad record is named by its place, and what came before it is kept", arguments: badRecords)
    func badRecord(_ record: BadRecord) throws {
        let store = try InspectedStore(cars: "{\"_id\":1}")
        let input = "{\"_id\":2}\n{\"_id\":3}\n{\"_id\":4}\n\(record.text)\n{\"_id\":5}\n"
        let outcome = store.run("import", store.path, "cars", "-", "--batch", "2", input: input)
        #expect(outcome.code == 1)
        #expect(
            outcome.error.hasPrefix("docdb-inspect: standard input, line 4, \(record.phrase)"), "\(outcome.error)")
        #expect(
            outcome.error.hasSuffix("\n3 documents before it imported and kept; correct the record and import again\n"))
        #expect(
            store.run("export", store.path, "cars").output == "{\"_id\":1}\n{\"_id\":2}\n{\"_id\":3}\n{\"_id\":4}\n")
        #expect(store.run("verify", store.path).output == "ok\n")
    }

    /// A command on a collection, all of which need one that exists.
    static let collectionCommands = [
        ["export"], ["find"], ["get", "1"], ["history", "1"], ["index create", "a"], ["index drop", "a"],
        ["index list"],
    ]

    @Test("an unknown collection is answered with the ones there are", arguments: collectionCommands)
    func unknownCollection(_ words: [String]) throws {
        let store = try InspectedStore(cars: "{\"_id\":1}")
        let command = words[0].split(separator: " ").map(String.init)
        let outcome = InspectedStore.run(command + [store.path, "card"] + words.dropFirst())
        #expect(
            outcome == .init(code: 1, error: "docdb-inspect: the store has no collection card; it has cars\n"))
        let log = store.run("log", store.path, "--collection", "card")
        #expect(log == .init(code: 1, error: "docdb-inspect: the store has no collection card; it has cars\n"))
    }

    @Test(
        "a wrong collection name or file makes no store", arguments: [("__cars", "-"), ("cars", "/nonexistent.json")])
    func makesNoStore(collection: String, file: String) throws {
        let store = try InspectedStore()
        let outcome = store.run("import", store.path, collection, file, input: "{}")
        #expect(outcome.code == 1)
        #expect(!FileManager.default.fileExists(atPath: store.path))
    }

    /// Commands that read a whole store.
    static func readers(_ path: String) -> [[String]] {
        [
            ["collections", path], ["stat", path], ["log", path], ["verify", path], ["export", path, "cars"],
            ["find", path, "cars"], ["get", path, "cars", "1"], ["history", path, "cars", "1"],
            ["index", "list", path, "cars"], ["peers", path],
        ]
    }

    static func writers(_ path: String) -> [[String]] {
        [
            ["import", path, "cars", "-"], ["index", "create", path, "cars", "a"],
            ["index", "drop", path, "cars", "a"],
            ["compact", path],
        ]
    }

    /// Expects that each command fails with a message that has `phrase`.
    static func expectFailure(_ commands: [[String]], _ phrase: String, _ location: SourceLocation = #_sourceLocation) {
        for command in commands {
            let outcome = InspectedStore.run(command, input: "{\"_id\":9}")
            #expect(outcome.code == 1, "\(command)", sourceLocation: location)
            #expect(outcome.output.isEmpty, "\(command)", sourceLocation: location)
            #expect(outcome.error.hasPrefix("docdb-inspect: "), "\(command)", sourceLocation: location)
            #expect(outcome.error.contains(phrase), "\(command): \(outcome.error)", sourceLocation: location)
        }
    }

    @Test("what is no store is refused by every command")
    func noStore() throws {
        let place = try InspectedStore()
        let path = place.directory
        let file = try place.file("file", "text")
        Self.expectFailure(Self.readers(path) + Self.writers(path), "without a store in it")
        Self.expectFailure(Self.readers(file) + Self.writers(file), "is a file, not a store")
        Self.expectFailure(
            Self.readers(path + "/none") + Self.writers(path + "/none").dropFirst(), "there is no store at")
        #expect(try FileManager.default.contentsOfDirectory(atPath: path) == ["file"])
    }

    @Test("a store of a newer version is refused by every command, unchanged")
    func newerStore() throws {
        let store = try InspectedStore(cars: "{\"_id\":1}")
        // SQLite keeps user_version at byte 60, as a big-endian number.
        try store.damage { $0[63] += 1 }
        let before = try Data(contentsOf: URL(filePath: store.databaseFile))
        Self.expectFailure(Self.readers(store.path) + Self.writers(store.path), "update DocDB")
        #expect(try Data(contentsOf: URL(filePath: store.databaseFile)) == before)
    }

    @Test("a store cut short is refused by every command", arguments: [0, 50, 4096])
    func truncated(byteCount: Int) throws {
        let store = try InspectedStore(cars: "{\"_id\":1}")
        try store.damage { $0 = $0.prefix(byteCount) }
        Self.expectFailure(Self.readers(store.path) + Self.writers(store.path), "backup")
    }

    @Test("verify lists what a flipped bit in a document damages, and the rest is still read")
    func flippedDocument() throws {
        let store = try InspectedStore(cars: "{\"_id\":1,\"make\":\"toyota\"}{\"_id\":2}")
        try store.damage { bytes in
            let place = try #require(bytes.firstRange(of: Data("toyota".utf8)))
            bytes[place.lowerBound] ^= 1
        }
        let outcome = store.run("verify", store.path)
        #expect(outcome.code == 1)
        let lines = outcome.output.split(separator: "\n")
        #expect(lines.first?.hasPrefix("change log: ") == true, "\(outcome.output)")
        #expect(outcome.error.hasPrefix("docdb-inspect: \(Figures.counted(lines.count, "fault")) found; "))
        #expect(!outcome.output.contains("uoyota"))
        #expect(store.run("get", store.path, "cars", "2").output == "{\"_id\":2}\n")
    }

    @Test("a flipped bit anywhere ends in output or in an error", arguments: UInt64(0)..<40)
    func flippedAnywhere(seed: UInt64) throws {
        let lines = (0..<40).map { "{\"_id\":\($0),\"make\":\"toyota\",\"tags\":[\($0)]}" }.joined()
        let store = try InspectedStore(cars: lines)
        try store.damage { bytes in
            // A multiplicative hash spreads the seeds over the file (Knuth, TAOCP 3, 6.4).
            let place = (seed &+ 1) &* 0x9E37_79B9_7F4A_7C15
            bytes[Int(place >> 8) % bytes.count] ^= 1 << UInt8(place & 7)
        }
        for command in Self.readers(store.path) {
            let outcome = InspectedStore.run(command)
            #expect([0, 1].contains(outcome.code))
            if outcome.code == 1 { #expect(outcome.error.hasPrefix("docdb-inspect: ")) }
        }
    }

    @Test("a store that another process writes to can be read, and refuses a second writer by name")
    func storeInUse() async throws {
        let store = try InspectedStore(cars: "{\"_id\":1,\"a\":1}")
        let database = try Database(at: store.path)
        try database.collection("cars").createIndex(["a"])
        try database.collection("cars").upsert(["_id": 2, "a": 2])
        await #expect(processExitsWith: .success) {
            [path = store.path as String, holder = String(getpid()) as String] in
            for command in BadInputTests.readers(path) {
                let outcome = InspectedStore.run(command)
                #expect(outcome.code == 0 && outcome.error.isEmpty, "\(command)")
                // A store that has met no peer has none to list.
                #expect(outcome.output.isEmpty == (command[0] == "peers"), "\(command)")
            }
            #expect(InspectedStore.run(["find", path, "cars", "a == 2"]).output == "{\"_id\":2,\"a\":2}\n")
            BadInputTests.expectFailure(
                Array(BadInputTests.writers(path).dropFirst()), "process \(holder)")
            let outcome = InspectedStore.run(["import", path, "cars", "-"], input: "{\"_id\":9}")
            #expect(outcome.code == 1)
            #expect(outcome.error.contains("process \(holder)"))
        }
        try database.collection("cars").upsert(["_id": 3, "a": 3])
        #expect(store.run("find", store.path, "cars", "--count").output == "3\n")
        try database.close()
    }

    @Test("a store in a directory that may not be written to is read, and refuses to be written to")
    func readOnlyDirectory() async throws {
        let store = try InspectedStore(cars: "{\"_id\":1,\"a\":1}")
        let manager = FileManager.default
        for name in try manager.contentsOfDirectory(atPath: store.path) {
            try manager.setAttributes([.posixPermissions: 0o444], ofItemAtPath: store.path + "/" + name)
        }
        try manager.setAttributes([.posixPermissions: 0o555], ofItemAtPath: store.path)
        try manager.setAttributes([.posixPermissions: 0o555], ofItemAtPath: store.directory)
        defer {
            try? manager.setAttributes([.posixPermissions: 0o755], ofItemAtPath: store.directory)
            try? manager.setAttributes([.posixPermissions: 0o755], ofItemAtPath: store.path)
        }
        await #expect(processExitsWith: .success) { [path = store.path as String] in
            // Permissions do not stop root.
            if geteuid() == 0 {
                precondition(setgid(65_534) == 0 && setuid(65_534) == 0, "cannot give up root's rights")
            }
            let exported = InspectedStore.run(["export", path, "cars"])
            #expect(exported == .init(code: 0, output: "{\"_id\":1,\"a\":1}\n"), "\(exported)")
            let verified = InspectedStore.run(["verify", path])
            #expect(verified == .init(code: 0, output: "ok\n"), "\(verified)")
            BadInputTests.expectFailure(BadInputTests.writers(path), "denied")
            let created = InspectedStore.run(["import", path + "2", "cars", "-"], input: "{\"_id\":9}")
            #expect(created.code == 1, "\(created)")
            #expect(created.error.contains("cannot create"), "\(created)")
            let names = try FileManager.default.contentsOfDirectory(atPath: path)
            #expect(names.sorted() == ["incarnation", "lock", "store.sqlite"], "\(names)")
        }
    }
}
