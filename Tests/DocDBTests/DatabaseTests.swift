import DocDB
import Foundation
import Testing

@Suite("Database") struct DatabaseTests {
    @Test("keeps its documents from one opening to the next")
    func reopen() throws {
        let database = try TemporaryDatabase()
        try database.cars.insert(["_id": "a", "price": 1])
        try database.cars.createIndex(["price"])
        try database.db.close()
        let again = try database.reopen()
        #expect(again.path == database.path)
        #expect(try again.collectionNames() == ["cars"])
        #expect(try again.collection("cars").find("price == 1").ids() == ["a"])
        #expect(try again.collection("cars").indexes().map(\.paths) == [["price"]])
        #expect(try again.verify().isEmpty)
        try again.close()
    }

    @Test("closes itself when nobody holds it any more")
    func closesItself() throws {
        let directory = TemporaryDirectory.make()
        defer { try? FileManager.default.removeItem(atPath: directory) }
        let path = directory + "/a.docdb"
        do { try Database(at: path).collection("cars").insert(["_id": 1]) }
        #expect(try Database(at: path).collection("cars").find(id: 1) != nil)
    }

    @Test("is held by one writer at a time, beside readers that see its commits")
    func readOnly() throws {
        let database = try TemporaryDatabase()
        try database.cars.insert(["_id": "a"])
        let error = try #require(docDBError { try database.reopen(.existing) })
        #expect(error.code == .storeLocked)
        #expect(error.message.contains("\(ProcessInfo.processInfo.processIdentifier)"))
        let reader = try database.reopen(.readOnly)
        let seen = reader.collection("cars")
        #expect(try seen.findAll().ids() == ["a"])
        try database.cars.insert(["_id": "b", "newField": [1, 2]])
        try database.db.collection("more").insert(["_id": 1])
        #expect(try seen.find(id: "b")?["newField"] == [1, 2])
        #expect(try reader.collectionNames() == ["cars", "more"])
        let writes: [() throws -> Any?] = [
            { try seen.insert(["a": 1]) }, { try seen.insert(Car(make: "a", price: 1)) }, { try seen.remove("a") },
            { try seen.update("a") { $0["b"] = 1 } }, { try seen.createIndex(["a"]) }, { try seen.findAll().remove() },
            { try reader.write { _ in } }, { try reader.compact() }, { try reader.synchronize() },
            { try reader.checkpoint() },
        ]
        for (index, write) in writes.enumerated() { #expect(errorCode(write) == .readOnly, "call \(index)") }
        #expect(try seen.find("newField[0] == 1").count() == 1, "refused writes leave no trace")
        try reader.close()
    }

    @Test("creates only where the options say so")
    func access() throws {
        let directory = TemporaryDirectory.make()
        defer { try? FileManager.default.removeItem(atPath: directory) }
        for access in [Database.Options.Access.existing, .readOnly] {
            var options = Database.Options()
            options.access = access
            #expect(errorCode { try Database(at: directory + "/none.docdb", options: options) } == .notAStore)
        }
        #expect(!FileManager.default.fileExists(atPath: directory + "/none.docdb"))
    }

    @Test("takes any option values without harm")
    func options() throws {
        for (age, bytes, busy) in [
            (Duration.seconds(-1), -1, -1), (.zero, 0, 0), (.seconds(Int64.max), Int64.max, Int.max),
            (.milliseconds(1), 1, 1),
        ] as [(Duration, Int64, Int)] {
            let database = try TemporaryDatabase {
                $0.historyAge = age
                $0.historyByteCount = bytes
                $0.busyTimeoutMilliseconds = busy
                $0.durability = .full
            }
            for number in Int64(0)..<10 { try database.cars.insert(["_id": .int(number)]) }
            #expect(try database.cars.findAll().count() == 10)
            #expect(try database.db.verify().isEmpty)
        }
    }

    @Test("counts what it holds")
    func statistics() throws {
        let database = try TemporaryDatabase()
        let db = database.db
        try db.write { tx in
            for number in Int64(0)..<10 {
                try tx.collection("cars").insert(["_id": .int(number), "tags": ["a", "b"]])
            }
            try tx.collection("bikes").insert(["_id": 1])
        }
        try database.cars.remove(3)
        try database.cars.createIndex(["tags[*]"])
        let statistics = try db.statistics()
        #expect(statistics.collections.map(\.name) == ["bikes", "cars"])
        #expect(statistics.collections.map(\.documentCount) == [1, 9])
        #expect(statistics.collections.map(\.tombstoneCount) == [0, 1])
        #expect(statistics.documentCount == 10)
        #expect(statistics.collections[1].indexes.map(\.entryCount) == [18])
        #expect(statistics.collections[1].indexes.map(\.definition.paths) == [["tags[*]"]])
        #expect(statistics.log.recordCount == 2)
        #expect(statistics.log.lastSequence == 2)
        #expect(statistics.actorCount == 1)
        #expect(statistics.databaseByteCount + statistics.writeAheadLogByteCount > 4096)
        #expect(!statistics.isErasurePending)
        #expect(try db.checkpoint())
        #expect(try db.statistics().writeAheadLogByteCount == 0)
    }

    @Test("backs up to a database of its own, and compacts")
    func backupAndCompact() throws {
        let database = try TemporaryDatabase()
        let db = database.db
        try db.write { tx in
            for number in Int64(0)..<2_000 {
                try tx.collection("cars").insert([
                    "_id": .int(number), "text": .string(String(repeating: "x", count: 200)),
                ])
            }
        }
        let copy = database.directory + "/copy.docdb"
        try db.backup(to: copy)
        #expect(errorCode { try db.backup(to: copy) } == .misuse)
        try database.cars.find("_id >= 100").remove()
        try db.synchronize()
        try db.checkpoint()
        let before = try db.statistics().databaseByteCount
        try db.compact()
        #expect(try db.statistics().databaseByteCount < before)
        #expect(try database.cars.findAll().count() == 100)
        let restored = try Database(at: copy)
        #expect(try restored.collection("cars").findAll().count() == 2_000)
        try restored.collection("cars").insert(["_id": "new"])
        #expect(try restored.log().last?.actors != db.log().last?.actors)
        #expect(try restored.verify().isEmpty)
        #expect(try db.verify().isEmpty)
        try restored.close()
    }
}
