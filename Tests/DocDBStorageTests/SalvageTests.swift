import DocDBCore
import DocDBStorage
import Foundation
import Testing

/// What is written to a new store from one whose files are damaged.
@Suite("Salvage", .timeLimit(.minutes(5)))
struct SalvageTests {
    /// Whether every page and hundreds of seeds are taken, not a few.
    static let runsAll = ProcessInfo.processInfo.environment["DOCDB_EVERY_FAULT"] != nil

    typealias Contents = [String: [DocumentID: Value]]

    /// Two collections of several pages, an index, changes, deletions and long documents.
    static func fill(_ store: Store) throws {
        try VerificationTests.fill(store)
        try store.write { transaction in
            for number in Int64(100)..<260 {
                try transaction.put([
                    "_id": .int(number), "price": .int(number), "name": .string(String(repeating: "n", count: 90)),
                ])
                try transaction.put(
                    ["_id": .string("boat \(number)"), "feet": .int(number), "log": .string("l\(number)")], in: "boats")
            }
            try transaction.put(["_id": "long", "text": .string(String(repeating: "t", count: 30_000))], in: "boats")
        }
        try store.write { transaction in
            for number in Int64(100)..<110 { try transaction.remove(DocumentID(number)) }
        }
    }

    static func contents(_ store: Store) throws -> Contents {
        var contents: Contents = [:]
        for name in try store.read({ $0.catalog.names }) { contents[name] = try store.all(in: name) }
        return contents
    }

    /// The canonical digest of each document's state, deleted ones included.
    static func digests(_ store: Store) throws -> [String: StateDigest] {
        try store.read { context in
            var result: [String: StateDigest] = [:]
            for name in context.catalog.names {
                let number = try #require(context.catalog[name]).number
                let rows = try context.connection.prepareOnce("SELECT id, body, state FROM documents_\(number)")
                while try rows.step() {
                    var id = ByteBuffer()
                    rows.appendID(0, to: &id)
                    let state = try DocumentState(
                        body: rows.isNull(1) ? nil : rows.blob(1), state: rows.blob(2), actors: context.actors)
                    result["\(name) \(id.array)"] = DocumentState.digest(
                        collection: name, id: id.bytes, seen: state.seen, deleted: state.deleted,
                        hash: ContentHash.digest)
                }
            }
            return result
        }
    }

    /// The files of a filled store and what it holds; left open, so that some of it is in the write-ahead log, or closed.
    static func sound(isOpen: Bool) throws -> (files: [String: Data], contents: Contents) {
        let place = TemporaryStore("salvage")
        let store = try place.open()
        try fill(store)
        if isOpen {
            try store.checkpoint()
            for number in Int64(200)..<230 { try store.put(["_id": .int(number), "late": true]) }
        }
        let contents = try contents(store)
        if !isOpen { try store.close() }
        var files: [String: Data] = [:]
        for name in try FileManager.default.contentsOfDirectory(atPath: place.path) {
            files[name] = FileManager.default.contents(atPath: place.path + "/" + name)
        }
        return (files, contents)
    }

    /// Salvages files, checks what must always hold, and returns the report with what the new store holds.
    static func salvage(
        _ files: [String: Data], of original: Contents, _ comment: Comment
    ) throws -> (report: SalvageReport, contents: Contents) {
        let place = try DamagedFileTests.place(files)
        let before = place.fileBytes
        let target = place.directory + "/new.docdb"
        let report = try StoreSalvage.run(from: place.path, to: target)
        #expect(place.fileBytes == before, "the damaged store was written to: \(comment)")
        let store = try Store(path: target)
        let found = try contents(store)
        let findings = try store.verify()
        #expect(findings.isEmpty, "\(findings): \(comment)")
        if report.isLossless { #expect(found == original, comment) }
        for collection in report.collections {
            #expect(Int64(found[collection.name]?.count ?? -1) == collection.documentCount, comment)
        }
        try store.put(["_id": "written after", "x": 1])
        return (report, found)
    }

    @Test(
        "of a sound store keeps documents, deletions, states and indexes, under a new identity",
        arguments: [true, false])
    func sound(isOpen: Bool) throws {
        let place = TemporaryStore("salvage")
        var store = try place.open()
        try Self.fill(store)
        if isOpen { try store.put(["_id": "late", "x": 1]) }
        let refused = "INSERT INTO voided (document, actor, time) VALUES (zeroblob(16), zeroblob(16), 77)"
        try store.write { try $0.context.connection.execute(refused) }
        let (contents, digests, id, actor) = (
            try Self.contents(store), try Self.digests(store), store.storeID, try store.lastActor()
        )
        try store.close()
        let target = place.directory + "/new.docdb"
        let report = try StoreSalvage.run(from: place.path, to: target)
        #expect(report.isLossless, "\(report)")
        #expect(report.losses.isEmpty && report.remarks.isEmpty)
        store = try Store(path: target)
        #expect(try Self.contents(store) == contents)
        #expect(try Self.digests(store) == digests)
        #expect(digests.count == 20 - 1 + 1 + 160 + (isOpen ? 1 : 0) + 161 + 1)
        #expect(try store.read { $0.catalog["cars"]?.indexes.map(\.definition.text) } == ["price"])
        #expect(store.storeID != id)
        #expect(try store.read { try $0.connection.integer("SELECT sum(time) FROM voided") } == 77)
        try store.put(["_id": "fresh"])
        #expect(try store.lastActor() != actor)
        #expect(try store.verify() == [])
    }

    @Test("of a store with an unfinished write-ahead log reads that too")
    func openStore() throws {
        let (files, contents) = try Self.sound(isOpen: true)
        let outcome = try Self.salvage(files, of: contents, "open store")
        #expect(outcome.report.isLossless, "\(outcome.report)")
        #expect(outcome.contents["cars"]?[200]?["late"] == true)
    }

    @Test("tells of a write-ahead log that is missing, and of pages in it that are damaged")
    func writeAheadLog() throws {
        var (files, contents) = try Self.sound(isOpen: true)
        let log = try #require(files["store.sqlite-wal"])
        files["store.sqlite-wal"] = nil
        let missing = try Self.salvage(files, of: contents, "no log")
        #expect(missing.report.losses.contains { $0.contains("the write-ahead log is missing") })
        #expect(missing.contents["cars"]?[200]?["price"] == 200)
        #expect(missing.contents["boats"] == contents["boats"])

        // A frame has 24 bytes before its page; that of one in the middle is damaged, and what follows is read all the same.
        var damaged = log
        let frame = 32 + (log.count / 4120 / 2) * 4120
        damaged[frame + 1_000] ^= 4
        files["store.sqlite-wal"] = damaged
        let outcome = try Self.salvage(files, of: contents, "damaged log")
        #expect(outcome.report.losses.contains { $0.contains("damaged pages of the write-ahead log") })
        #expect(outcome.contents["cars"]?[229]?["late"] == true)
        damaged = log
        damaged[5] ^= 1
        files["store.sqlite-wal"] = damaged
        let header = try Self.salvage(files, of: contents, "damaged header of the log")
        #expect(header.report.losses.contains { $0.contains("header") })
        #expect(header.contents["cars"]?[229]?["late"] == true)
    }

    enum PageDamage: CaseIterable { case zeros, noise, repetition }

    @Test("reads around any page that is gone", arguments: PageDamage.allCases)
    func damagedPages(damage: PageDamage) throws {
        let (files, contents) = try Self.sound(isOpen: false)
        let sound = try #require(files["store.sqlite"])
        let all = contents.values.reduce(0) { $0 + $1.count }
        var random = SeededGenerator(seed: 5)
        var losslessCount = 0
        // The first pages hold the catalog; of the others each kind of damage takes its third.
        let kind = PageDamage.allCases.firstIndex(of: damage) ?? 0
        for page in 0..<sound.count / 4096 where Self.runsAll || page < 6 || page % 3 == kind {
            var data = sound
            let bytes: [UInt8] =
                switch damage {
                case .zeros: [UInt8](repeating: 0, count: 4096)
                case .noise: (0..<4096).map { _ in UInt8.random(in: .min ... .max, using: &random) }
                case .repetition: [UInt8](sound[(page / 2) * 4096..<(page / 2) * 4096 + 4096])
                }
            data.replaceSubrange(page * 4096..<page * 4096 + 4096, with: bytes)
            var damaged = files
            damaged["store.sqlite"] = data
            let outcome = try Self.salvage(damaged, of: contents, "page \(page + 1), \(damage)")
            // A leaf holds at most some eighty of these documents; a table of names or collections takes more with it.
            let found = outcome.contents.values.reduce(0) { $0 + $1.count }
            let isCatalog = outcome.report.losses.contains { $0.contains("tables of names") }
            #expect(found >= all - 90 || isCatalog, "page \(page + 1): \(found) of \(all), \(outcome.report)")
            for (name, documents) in outcome.contents where contents[name] != nil {
                for (id, document) in documents {
                    #expect(document == contents[name]?[id], "page \(page + 1), \(damage): \(name)")
                }
            }
            if outcome.report.isLossless { losslessCount += 1 }
        }
        // Pages of indexes and of the change log are not missed.
        #expect(losslessCount > 2)
    }

    @Test("never passes for whole what bits have changed", arguments: 0..<(runsAll ? 100 : 8))
    func flippedBits(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        let (files, contents) = try Self.sound(isOpen: seed % 2 == 0)
        let sound = try #require(files["store.sqlite"])
        for round in 0..<10 {
            var data = sound
            for _ in 0..<Int.random(in: 1...3, using: &random) {
                let offset =
                    Bool.random(using: &random)
                    ? Int.random(in: 0..<data.count, using: &random)
                    : Int.random(in: 0..<data.count / 4096, using: &random) * 4096
                        + Int.random(in: 0..<200, using: &random)
                data[offset] ^= 1 << UInt8.random(in: 0..<8, using: &random)
            }
            var damaged = files
            damaged["store.sqlite"] = data
            do {
                _ = try Self.salvage(damaged, of: contents, "seed \(seed), round \(round)")
            } catch let error as DocDBError {
                // The few bits that say what the file is and of which version.
                #expect([.storeTooNew, .notAStore].contains(error.code), "seed \(seed), round \(round): \(error)")
            }
        }
    }

    @Test("gives a collection whose name is lost another")
    func lostName() throws {
        let place = TemporaryStore("salvage")
        let store = try place.open()
        try Self.fill(store)
        let contents = try Self.contents(store)
        try store.write { try $0.context.connection.execute("DELETE FROM collections WHERE name = 'boats'") }
        try store.close()
        let number = 3
        let report = try StoreSalvage.run(from: place.path, to: place.directory + "/new.docdb")
        let salvaged = try Self.contents(Store(path: place.directory + "/new.docdb"))
        #expect(salvaged["recovered_\(number)"] == contents["boats"])
        #expect(salvaged["cars"] == contents["cars"])
        #expect(report.isLossless == false)
        #expect(report.losses.contains { $0.contains("the name of a collection") })
    }

    @Test("names the documents that are lost, and leaves out those that speak of a name that is lost")
    func lostDocuments() throws {
        let place = TemporaryStore("salvage")
        let store = try place.open()
        try Self.fill(store)
        try store.write { transaction in
            let connection = transaction.context.connection
            try connection.execute("UPDATE documents_1 SET state = x'1234' WHERE id = 7")
            try connection.execute("UPDATE documents_1 SET body = x'FF' WHERE id = 150")
            try connection.execute("DELETE FROM field_names WHERE name = 'feet'")
        }
        try store.close()
        let report = try StoreSalvage.run(from: place.path, to: place.directory + "/new.docdb")
        let cars = try #require(report.collections.first { $0.name == "cars" })
        #expect(cars.lostIDs == [7, 150])
        #expect(cars.lostCount == 2)
        let boats = try #require(report.collections.first { $0.name == "boats" })
        #expect((boats.documentCount, boats.lostCount) == (1, 160))
        #expect(!report.isLossless)
    }

    @Test("refuses a target that exists, a store that is written to, and what is no store")
    func refusals() throws {
        let place = TemporaryStore("salvage")
        let store = try place.open()
        try store.put(["_id": 1])
        let target = place.directory + "/new.docdb"
        #expect(errorCode { _ = try StoreSalvage.run(from: place.path, to: target) } == .storeLocked)
        try store.close()
        #expect(errorCode { _ = try StoreSalvage.run(from: place.path, to: place.directory) } == .misuse)
        #expect(errorCode { _ = try StoreSalvage.run(from: place.directory + "/none", to: target) } == .notAStore)
        #expect(errorCode { _ = try StoreSalvage.run(from: place.directory, to: target) } == .notAStore)
        let names = try FileManager.default.contentsOfDirectory(atPath: place.directory)
        #expect(names == ["salvage.docdb"])
    }
}
