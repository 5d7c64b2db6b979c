import DocDB
import DocDBSimulation
import DocDBStorage
import Testing

/// Steps of work on a store, of which some fail, beside what the store must then hold.
final class FaultyWork {
    typealias Model = [String: [DocumentID: Value]]

    let disk: SimulatedDisk
    let db: Database
    private(set) var model: Model = [:]
    /// The errors of steps that failed.
    private(set) var errors: [DocDBError] = []

    init(_ disk: SimulatedDisk) throws {
        self.disk = disk
        db = try Database(at: "cars.docdb", options: .simulated(on: disk))
    }

    /// Runs one step; where it succeeds, the model changes as `change` says.
    func step(_ body: (Database) throws -> Void, _ change: (inout Model) -> Void = { _ in }) throws {
        do {
            try body(db)
            change(&model)
        } catch let error as DocDBError {
            errors.append(error)
        }
    }

    func put(_ id: DocumentID, _ fields: [String: Value], in collection: String = "cars") throws {
        try step { db in
            var document = fields
            document["_id"] = id.value
            let object = Value.object(document)
            try db.write { _ = try $0.collection(collection).upsert(object) }
        } _: { model in
            var document = fields
            document["_id"] = id.value
            model[collection, default: [:]][id] = .object(document)
        }
    }

    /// Work of every kind: new documents, names and collections, changes, deletions, an index, an eviction, upkeep.
    func run() throws {
        for number in 1...4 { try put(DocumentID(Int64(number)), ["field\(number)": .int(Int64(number))]) }
        try step { try $0.collection("cars").createIndex(["field1"]) }
        try put("long", ["text": .string(String(repeating: "l", count: 9_000))])
        try put(1, ["field1": 9], in: "others")
        try put(1, ["field1": 7])
        try step {
            try $0.collection("cars").remove(2)
        } _: {
            $0["cars"]?[2] = nil
        }
        try step { try $0.synchronize() }
        try step { db in
            try db.write(durability: .full) { transaction in
                try transaction.collection("cars").upsert(["_id": 5, "a": 1])
                try transaction.collection("others").upsert(["_id": 5, "b": 1])
            }
        } _: {
            $0["cars", default: [:]][5] = ["_id": 5, "a": 1]
            $0["others", default: [:]][5] = ["_id": 5, "b": 1]
        }
        try step { try $0.checkpoint() }
        try step {
            try $0.collection("cars").evict(3, force: true)
        } _: {
            $0["cars"]?[3] = nil
        }
        try step { _ = try $0.collection("cars").find("field1 > 0").count() }
        try step { db in
            let cars = db.collection("cars")
            if try !cars.indexes().isEmpty { try cars.dropIndex(["field1"]) }
        }
        try step { try $0.backup(to: "/backup.docdb") }
        try put(6, ["late": true])
    }

    static func contents(_ db: Database) throws -> Model {
        var contents: Model = [:]
        for name in try db.collectionNames() {
            let documents = try db.collection(name).findAll().documents()
            if documents.isEmpty { continue }
            contents[name] = try documents.reduce(into: [:]) { $0[$1.id] = try $1.value }
        }
        return contents
    }

    /// Checks that the store holds what the model says, in memory and on the disk, and goes on.
    func check(_ comment: Comment) throws {
        var expected = model.filter { !$0.value.isEmpty }
        #expect(try Self.contents(db) == expected, comment)
        try db.write { _ = try $0.collection("cars").upsert(["_id": "after", "new": 1]) }
        expected["cars", default: [:]]["after"] = ["_id": "after", "new": 1]
        #expect(try Self.contents(db) == expected, comment)
        let copy = SimulatedDisk(seed: 1)
        copy.restore(disk.snapshot())
        let copied = try Database(at: "cars.docdb", options: .simulated(on: copy))
        #expect(try Self.contents(copied) == expected, "as the disk has it: \(comment)")
        let findings = try copied.verify()
        #expect(findings.isEmpty, "\(findings): \(comment)")
        try db.close()
        let reopened = try Database(at: "cars.docdb", options: .simulated(on: disk))
        #expect(try Self.contents(reopened) == expected, "reopened: \(comment)")
    }
}

/// Disks that fail while a store works on them.
@Suite("A store on a disk that fails")
struct DiskFaultTests {
    static func operationCount() throws -> Int {
        let disk = SimulatedDisk(seed: 1)
        let work = try FaultyWork(disk)
        let before = disk.operationCount
        try work.run()
        #expect(work.errors.isEmpty, "\(work.errors)")
        #expect(work.model["cars"]?.count == 5)
        try work.check("without a fault")
        return disk.operationCount - before
    }

    enum Failure: CaseIterable {
        case once, thrice
        var count: Int { self == .once ? 1 : 3 }
    }

    @Test("at any operation fails what it must, and nothing else is lost", arguments: Failure.allCases)
    func ioErrors(failure: Failure) throws {
        var failedCount = 0
        for operation in stride(from: 0, to: try Self.operationCount(), by: failure.count) {
            let disk = SimulatedDisk(seed: UInt64(operation))
            let work = try FaultyWork(disk)
            disk.inject(DiskFault(.ioError, after: operation, count: failure.count))
            try work.run()
            disk.clearFaults()
            for error in work.errors {
                #expect(error.code == .storageFailed, "operation \(operation): \(error)")
            }
            failedCount += work.errors.count
            try work.check("operation \(operation)")
        }
        #expect(failedCount > 50)
    }

    @Test("for want of space at any size says so, and goes on once there is some", arguments: 0..<60)
    func fullDisk(step: Int) throws {
        let disk = SimulatedDisk(seed: 1)
        let work = try FaultyWork(disk)
        disk.byteLimit = disk.usedByteCount + step * 3_000
        try work.run()
        disk.byteLimit = nil
        for error in work.errors { #expect(error.code == .diskFull, "\(error)") }
        if step < 20 { #expect(!work.errors.isEmpty) }
        try work.check("\(step * 3_000) bytes left")
    }

    @Test("that stays full lets everything be read, and refuses each write with the same error")
    func staysFull() throws {
        let disk = SimulatedDisk(seed: 1)
        let work = try FaultyWork(disk)
        for number in 1...50 { try work.put(DocumentID(Int64(number)), ["n": .int(Int64(number))]) }
        disk.byteLimit = disk.usedByteCount
        for _ in 0..<3 {
            #expect(errorCode { try work.db.collection("cars").upsert(["_id": "new", "name": 1]) } == .diskFull)
            #expect(try work.db.collection("cars").findAll().count() == 50)
        }
        #expect(errorCode { try work.db.backup(to: "/backup.docdb") } == .diskFull)
        #expect(!disk.files().contains { $0.hasPrefix("/backup") })
        // Even full it can be closed, which may fail, and opened for reading.
        _ = errorCode { try work.db.close() }
        var options = Database.Options.simulated(on: disk)
        options.access = .readOnly
        #expect(try Database(at: "cars.docdb", options: options).collection("cars").findAll().count() == 50)
        disk.byteLimit = nil
        let reopened = try Database(at: "cars.docdb", options: .simulated(on: disk))
        try reopened.collection("cars").upsert(["_id": "new", "name": 1])
        #expect(try reopened.collection("cars").findAll().count() == 51)
        #expect(try reopened.verify().isEmpty)
    }

    @Test("that lets nothing be changed is reported as read-only, and read")
    func readOnlyDisk() throws {
        let disk = SimulatedDisk(seed: 1)
        let work = try FaultyWork(disk)
        try work.put(1, ["a": 1])
        disk.isReadOnly = true
        #expect(errorCode { try work.db.collection("cars").upsert(["_id": 2]) } == .readOnly)
        #expect(try work.db.collection("cars").findAll().count() == 1)
        disk.isReadOnly = false
        try work.db.close()
        disk.isReadOnly = true
        #expect(errorCode { _ = try Database(at: "cars.docdb", options: .simulated(on: disk)) } == .readOnly)
        #expect(errorCode { _ = try Database(at: "new.docdb", options: .simulated(on: disk)) } == .readOnly)
        var options = Database.Options.simulated(on: disk)
        options.access = .readOnly
        #expect(try Database(at: "cars.docdb", options: options).collection("cars").findAll().count() == 1)
    }

    @Test("while it is opened, at any operation, says so; the next opening finds everything", arguments: [true, false])
    func opening(isCrashed: Bool) throws {
        let disk = SimulatedDisk(seed: 1)
        let work = try FaultyWork(disk)
        for number in 1...5 { try work.put(DocumentID(Int64(number)), ["n": .int(Int64(number))]) }
        if !isCrashed { try work.db.close() }
        let image = disk.snapshot()
        var operation = 0
        var isDone = false
        while !isDone {
            let disk = SimulatedDisk(seed: 2)
            disk.restore(image, keepsIdentity: true)
            disk.inject(DiskFault(.ioError, after: operation))
            do {
                let db = try Database(at: "cars.docdb", options: .simulated(on: disk))
                isDone = disk.operationCount < operation
                _ = try? db.collection("cars").upsert(["_id": 1, "n": 1])
                try? db.close()
            } catch let error as DocDBError {
                #expect(error.code == .storageFailed, "operation \(operation): \(error)")
            }
            disk.clearFaults()
            let db = try Database(at: "cars.docdb", options: .simulated(on: disk))
            #expect(try db.collection("cars").findAll().count() == 5, "operation \(operation)")
            #expect(try db.verify().isEmpty, "operation \(operation)")
            operation += 1
        }
        #expect(operation > 20)
    }

    @Test("that somebody else has locked says who, and goes on once it is free")
    func locked() throws {
        let disk = SimulatedDisk(seed: 1)
        var options = Database.Options.simulated(on: disk)
        options.busyTimeoutMilliseconds = 0
        let db = try Database(at: "cars.docdb", options: options)
        try db.collection("cars").insert(["_id": 1])
        #expect(errorCode { _ = try Database(at: "cars.docdb", options: options) } == .storeLocked)
        let other = try SQLiteConnection(
            path: "/cars.docdb/store.sqlite", mode: .readWrite, busyTimeoutMilliseconds: 0, fileSystem: disk.fileSystem)
        try other.execute("BEGIN IMMEDIATE")
        #expect(errorCode { try db.collection("cars").insert(["_id": 2]) } == .busy)
        #expect(try db.collection("cars").findAll().count() == 1)
        try other.execute("ROLLBACK")
        try db.collection("cars").insert(["_id": 2])
        #expect(try db.collection("cars").findAll().count() == 2)
        try db.close()
        try Database(at: "cars.docdb", options: options).collection("cars").insert(["_id": 3])
    }
}
