import DocDB
import Foundation
import Testing

@Suite("Bad input") struct BadInputTests {
    let database: TemporaryDatabase
    var db: Database { database.db }
    var cars: Collection { database.cars }

    init() throws {
        database = try TemporaryDatabase()
        try cars.insert(["_id": "committed", "n": 1])
    }

    /// Checks that a call fails with a code and a message that a person can act on, and that nothing was changed.
    private func expect<R>(_ code: DocDBError.Code, _ body: () throws -> R) throws {
        guard let error = docDBError(body) else {
            Issue.record("nothing was thrown, expected \(code)")
            return
        }
        #expect(error.code == code)
        #expect(error.message.count > 20)
        #expect(try cars.findAll().documents().map { try $0.value } == [["_id": "committed", "n": 1]])
    }

    @Test(
        "malformed JSON is refused with its place",
        arguments: [
            ("", 1), ("{", 2), ("[]", 1), ("{\"a\":1,}", 8), ("{\"a\" 1}", 6), ("{\"a\":01}", 7), ("{\"a\":1} x", 9),
            ("{\"a\":\"\u{1}\"}", 7), ("{\"a\":1,\"a\":2}", 13), ("nul", 1), ("{\"a\":99999999999999999999}", 6),
        ])
    func malformedJSON(_ text: String, _ column: Int) throws {
        try expect(.invalidJSON) { try cars.insert(json: text) }
        let error = try #require(docDBError { try cars.upsert(json: text) })
        #expect(error.context["line"] == "1")
        #expect(Int(error.context["column"] ?? "") != nil)
    }

    @Test("JSON that is not UTF-8 is refused")
    func invalidUTF8() throws {
        let bytes: [UInt8] = Array("{\"a\":\"".utf8) + [0xC3, 0x28] + Array("\"}".utf8)
        try expect(.invalidJSON) {
            try db.write { tx in try bytes.withUnsafeBytes { try tx.collection("cars").insert(json: $0) } }
        }
        try expect(.invalidJSON) {
            try db.write { tx in try tx.collection("cars").insert(json: UnsafeRawBufferPointer(start: nil, count: 0)) }
        }
    }

    @Test("ids that are null, floats or too long are refused in every form")
    func invalidIDs() throws {
        struct Odd<ID: Encodable>: Encodable {
            // swift-format-ignore: NoLeadingUnderscores
            let _id: ID
        }
        let long = String(repeating: "x", count: Limits.documentIDByteCount)
        for id in [.null, .float(1), .float(0.5), .string(long), .bytes([UInt8](repeating: 0, count: 256))] as [Value] {
            try expect(.invalidDocumentID) { try cars.insert(["_id": id]) }
            try expect(.invalidDocumentID) { try DocumentID(id) }
        }
        for text in ["null", "1.5", "1e2", "\"\(long)\""] {
            try expect(.invalidDocumentID) { try cars.insert(json: "{\"_id\": \(text)}") }
        }
        try expect(.invalidDocumentID) { try cars.insert(Odd(_id: 1.5)) }
        try expect(.invalidDocumentID) { try cars.insert(Odd(_id: long)) }
        try expect(.invalidDocumentID) { try DocumentID(long) }
    }

    @Test("NaN and infinities are refused in every form")
    func notFinite() throws {
        struct Weighted: Encodable { let weight: Double }
        for number in [Double.nan, .infinity, -.infinity] {
            try expect(.invalidValue) { try cars.insert(["weight": .float(number)]) }
            try expect(.invalidValue) { try cars.insert(["a": ["b": [.float(number)]]]) }
            try expect(.invalidValue) { try cars.insert(Weighted(weight: number)) }
            try expect(.invalidValue) { try cars.update("committed") { $0["weight"] = .float(number) } }
            try expect(.invalidValue) { try cars.increment("n", by: .float(number), id: "committed") }
        }
        try expect(.invalidJSON) { try cars.insert(json: "{\"a\": NaN}") }
        try expect(.invalidJSON) { try cars.insert(json: "{\"a\": 1e999}") }
    }

    @Test("what is no object is refused as a document")
    func noObject() throws {
        for value in [1, "x", .null, [1, 2], true] as [Value] { try expect(.invalidValue) { try cars.insert(value) } }
        try expect(.invalidValue) { try cars.insert(5 as Int) }
        try expect(.invalidValue) { try cars.insert([1, 2] as [Int]) }
    }

    @Test("documents over the size limit are refused, those at it are kept")
    func tooLarge() throws {
        let text = String(repeating: "x", count: Limits.documentByteCount)
        try expect(.documentTooLarge) { try cars.insert(["a": .string(text)]) }
        try expect(.documentTooLarge) { try cars.insert(json: "{\"a\":\"\(text)\"}") }
        try expect(.documentTooLarge) { try cars.insert(["a": text] as [String: String]) }
        try expect(.documentTooLarge) { try cars.upsert(["_id": "committed", "a": .string(text)]) }
        try expect(.documentTooLarge) { try cars.update("committed") { $0["a"] = .string(text) } }
        let half = String(repeating: "x", count: Limits.documentByteCount / 2)
        try expect(.documentTooLarge) {
            try cars.update("committed") {
                $0["a"] = .string(half); $0["b"] = .string(half)
            }
        }
        try db.collection("large").insert(["_id": 1, "a": .string(String(text.dropLast(100)))])
        #expect(try db.collection("large").find(id: 1)?["a"]?.stringValue?.utf8.count == text.utf8.count - 100)
        #expect(try db.verify().isEmpty)
    }

    @Test("documents nested over the limit are refused, those at it are kept")
    func tooDeep() throws {
        let levels = Limits.nestingDepth
        func text(_ depth: Int) -> String {
            "{\"a\":" + String(repeating: "[", count: depth - 1) + String(repeating: "]", count: depth - 1) + "}"
        }
        func value(_ depth: Int) -> Value { (1..<depth - 1).reduce([]) { inner, _ in [inner] } }
        try expect(.documentTooDeep) { try cars.insert(json: text(levels + 1)) }
        try expect(.documentTooDeep) { try cars.insert(["a": value(levels + 1)]) }
        try expect(.documentTooDeep) { try cars.update("committed") { $0["a"]["b"] = value(levels) } }
        try db.collection("deep").insert(json: text(levels))
        try db.collection("deep").insert(["a": value(levels)])
        let documents = try db.collection("deep").findAll().documents()
        #expect(try documents.map { try $0.value["a"] } == [value(levels), value(levels)])
    }

    @Test("predicates that do not parse are refused with a caret")
    func invalidPredicates() throws {
        for text in [
            "state ==", "(a", "a == 'x", "a ~ 1", "a == $none", "regex(a, '(')", String(repeating: "!", count: 1000),
        ] {
            try expect(.invalidPredicate) { try cars.find(text) }
        }
        try expect(.invalidPredicate) { try cars.find("n == 1", ["unused": 1]) }
        let error = try #require(docDBError { try cars.find("state === 1") })
        #expect(error.context["source"]?.contains("^") == true)
    }

    @Test("collection names that are reserved, empty or too long are refused on every call")
    func collectionNames() throws {
        for name in ["", "__system", String(repeating: "x", count: Limits.collectionNameByteCount + 1), "a\0b"] {
            let collection = db.collection(name)
            try expect(.invalidCollectionName) { try collection.insert(["a": 1]) }
            try expect(.invalidCollectionName) { try collection.insert(json: "{}") }
            try expect(.invalidCollectionName) { try collection.find(id: 1) }
            try expect(.invalidCollectionName) { try collection.find("a == 1").count() }
            try expect(.invalidCollectionName) { try collection.findAll().documents() }
            try expect(.invalidCollectionName) { try collection.update(1) { $0["a"] = 1 } }
            try expect(.invalidCollectionName) { try collection.remove(1) }
            try expect(.invalidCollectionName) { try collection.createIndex(["a"]) }
            try expect(.invalidCollectionName) { try db.asOf(sequence: 1).collection(name).find(id: 1) }
        }
        try db.collection(String(repeating: "x", count: Limits.collectionNameByteCount)).insert(["_id": 1])
    }

    @Test("field paths that cannot be are refused")
    func paths() throws {
        for text in ["", "a..b", "a[0]", ".a", "`a"] { #expect(errorCode { try FieldPath(text) } == .invalidPath) }
        #expect(errorCode { try FieldPath(components: []) } == .invalidPath)
        #expect(
            errorCode { try FieldPath(components: [String](repeating: "a", count: Limits.nestingDepth + 1)) }
                == .invalidPath)
        try expect(.invalidPath) {
            try cars.update("committed") {
                var field = $0["a"]
                for _ in 0..<Limits.nestingDepth { field = field["a"] }
                field.set(1)
            }
        }
    }
}

@Suite("Bad stores") struct BadStoreTests {
    let directory = TemporaryDirectory.make()
    var path: String { directory + "/cars.docdb" }
    var file: String { path + "/store.sqlite" }

    private func clean() { try? FileManager.default.removeItem(atPath: directory) }

    private func makeStore(count: Int64 = 500) throws {
        let db = try Database(at: path)
        try db.write { tx in
            for number in 0..<count { try tx.collection("cars").insert(["_id": .int(number), "n": .int(number)]) }
        }
        try db.close()
    }

    private func patch(_ offset: Int, _ bytes: [UInt8]) throws {
        let handle = try #require(FileHandle(forUpdatingAtPath: file))
        try handle.seek(toOffset: UInt64(offset))
        handle.write(Data(bytes))
        try handle.close()
    }

    @Test("a store of a newer version is refused with both versions")
    func newerVersion() throws {
        defer { clean() }
        try makeStore()
        // The user version of an SQLite file: four bytes at offset 60, big-endian.
        try patch(60, [0, 0, 0, 99])
        for access in [Database.Options.Access.readWrite, .existing, .readOnly] {
            var options = Database.Options()
            options.access = access
            let error = try #require(docDBError { try Database(at: path, options: options) })
            #expect(error.code == .storeTooNew)
            #expect(error.message.contains("99"))
        }
    }

    @Test("a directory or a file that is no store is refused and left as it is")
    func noStore() throws {
        defer { clean() }
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
        try Data("hello".utf8).write(to: URL(fileURLWithPath: path + "/notes.txt"))
        #expect(errorCode { try Database(at: path) } == .notAStore)
        #expect(try FileManager.default.contentsOfDirectory(atPath: path) == ["notes.txt"])
        let other = directory + "/file"
        try Data("hello".utf8).write(to: URL(fileURLWithPath: other))
        #expect(errorCode { try Database(at: other) } == .notAStore)
        #expect(try Data(contentsOf: URL(fileURLWithPath: other)) == Data("hello".utf8))
        #expect(docDBError { try Database(at: directory + "/no/such/parent.docdb") } != nil)
    }

    @Test("a file that is no database is told as damaged or as no store")
    func garbage() throws {
        defer { clean() }
        try makeStore()
        try Data((0..<8192).map { UInt8(truncatingIfNeeded: $0 &* 31) }).write(to: URL(fileURLWithPath: file))
        let code = errorCode { try Database(at: path) }
        #expect(code == .notAStore || code == .corrupted)
    }

    @Test("a truncated file is found out, by an error or by verifying", arguments: [100, 4096, 10_000, 20_000])
    func truncated(_ count: Int) throws {
        defer { clean() }
        try makeStore()
        let handle = try #require(FileHandle(forUpdatingAtPath: file))
        try #require(try handle.seekToEnd() > UInt64(count))
        try handle.truncate(atOffset: UInt64(count))
        try handle.close()
        try expectDamageIsTold()
    }

    @Test("flipped bits are found out, by an error or by verifying", arguments: 0..<24)
    func flippedBits(_ place: Int) throws {
        defer { clean() }
        try makeStore()
        let bytes = try Data(contentsOf: URL(fileURLWithPath: file))
        var generator = SeededNumbers(seed: UInt64(place) + 1)
        // Not in the first page, whose head holds fields that nothing depends on.
        let offset = 4096 + generator.next(below: bytes.count - 4096)
        let original = bytes[offset]
        try patch(offset, [original ^ UInt8(1 << generator.next(below: 8))])
        do {
            let db = try Database(at: path)
            let documents = try db.collection("cars").findAll().documents()
            let isWhole = try documents.map { try $0.value } == (0..<500).map { ["_id": .int($0), "n": .int($0)] }
            let findings = try db.verify()
            // A bit in a gap between rows says nothing.
            #expect(isWhole || !findings.isEmpty, "offset \(offset), seed \(place + 1)")
            try db.close()
        } catch let error as DocDBError {
            #expect([.corrupted, .notAStore, .storageFailed].contains(error.code), "offset \(offset): \(error)")
        }
    }

    private func expectDamageIsTold() throws {
        do {
            let db = try Database(at: path)
            let findings = try db.verify()
            #expect(!findings.isEmpty)
            _ = try? db.collection("cars").findAll().documents()
            try? db.close()
        } catch let error as DocDBError {
            #expect([.corrupted, .notAStore, .storageFailed].contains(error.code), "\(error)")
        }
    }

    @Test("a read-only directory is read but not written to", .enabled(if: geteuid() != 0))
    func readOnlyDirectory() throws {
        defer {
            chmod(path, 0o700)
            clean()
        }
        try makeStore(count: 3)
        chmod(path, 0o500)
        let code = errorCode { try Database(at: path) }
        #expect(code == .readOnly || code == .storageFailed)
        var options = Database.Options()
        options.access = .readOnly
        #expect(try Database(at: path, options: options).collection("cars").findAll().count() == 3)
    }
}
