import DocDB
import DocDBSimulation
import DocDBStorage
import Testing

/// Stores whose files were damaged behind their backs.
@Suite("A store on a disk that damages its files")
struct DamagedDiskTests {
    static let database = "/cars.docdb/store.sqlite"
    static let writeAheadLog = "/cars.docdb/store.sqlite-wal"

    /// A store, and what it holds.
    struct Image {
        var snapshot: DiskSnapshot
        var model: [DocumentID: Value] = [:]
        /// How many documents were in the database file before the rest went to the write-ahead log.
        var checkpointedCount = 0

        /// - Parameter isOpen: whether the process was killed, with much of the store in the write-ahead log.
        init(isOpen: Bool) throws {
            let disk = SimulatedDisk(seed: 3)
            let db = try Database(at: "cars.docdb", options: .simulated(on: disk, seed: 4))
            let cars = db.collection("cars")
            try cars.createIndex(["n"])
            for number in Int64(1)...80 {
                let text = String(repeating: "v", count: Int(number) * 13)
                let document: Value = ["_id": .int(number), "n": .int(number % 7), "text": .string(text)]
                model[DocumentID(number)] = document
                try cars.upsert(["_id": .int(number), "n": -1, "text": .string(text + text)])
                try cars.upsert(document)
                if number == 40 {
                    try db.checkpoint()
                    checkpointedCount = Int(number)
                }
            }
            if !isOpen { try db.close() }
            snapshot = disk.snapshot()
            #expect(isOpen == (disk.content(of: DamagedDiskTests.writeAheadLog)?.isEmpty == false))
        }

        func disk(_ seed: UInt64) -> SimulatedDisk {
            let disk = SimulatedDisk(seed: seed)
            disk.restore(snapshot, keepsIdentity: true)
            return disk
        }

        /// Uses a damaged store in every way: nothing may trap, and what is read wrong must be told by verification.
        ///
        /// Returns how many documents were read right.
        @discardableResult
        func use(_ disk: SimulatedDisk, mayLoseNewest: Bool = false, _ comment: Comment) throws -> Int {
            do {
                let db = try Database(at: "cars.docdb", options: .simulated(on: disk))
                let cars = db.collection("cars")
                var rightCount = 0
                var wrongCount = 0
                for number in Int64(1)...80 {
                    guard let found = try? cars.find(id: DocumentID(number))?.value else {
                        wrongCount += 1
                        continue
                    }
                    if found == model[DocumentID(number)] { rightCount += 1 } else { wrongCount += 1 }
                }
                let findings = try db.verify()
                let matching = try? cars.find("n == 3").count()
                if findings.isEmpty, mayLoseNewest {
                    // A log that ends early is one whose end was never written: the newest commits are missing, all of them.
                    #expect(rightCount >= checkpointedCount && rightCount >= 80 - wrongCount, comment)
                } else if findings.isEmpty {
                    #expect(wrongCount == 0 && matching == 12, comment)
                }
                _ = try? db.log()
                _ = try? cars.history(of: 5)
                _ = try? db.statistics()
                _ = try? cars.upsert(["_id": 5, "more": true])
                _ = try? cars.find("n == 2").remove()
                _ = try? db.compact()
                try? db.close()
                return rightCount
            } catch let error as DocDBError {
                #expect(
                    [.corrupted, .notAStore, .storeTooNew, .storageFailed].contains(error.code), "\(error): \(comment)")
                return 0
            }
        }
    }

    @Test("with flipped bits reads the other documents, and verification tells", arguments: 0..<12 as Range<UInt64>)
    func flippedBits(seed: UInt64) throws {
        let image = try Image(isOpen: false)
        var random = SimulationRandom(seed: seed)
        var rightCount = 0
        for round in 0..<25 {
            let disk = image.disk(seed)
            let size = try #require(disk.content(of: Self.database)).count
            for _ in 0..<Int.random(in: 1...3, using: &random) {
                disk.flipBit(Int.random(in: 0..<size * 8, using: &random), of: Self.database)
            }
            rightCount += try image.use(disk, "seed \(seed), round \(round)")
        }
        #expect(rightCount > 25 * 80 / 2)
    }

    @Test("with flipped bits in its write-ahead log keeps what stands before them", arguments: 0..<6 as Range<UInt64>)
    func flippedLogBits(seed: UInt64) throws {
        let image = try Image(isOpen: true)
        var random = SimulationRandom(seed: seed)
        for round in 0..<15 {
            let disk = image.disk(seed)
            let size = try #require(disk.content(of: Self.writeAheadLog)).count
            disk.flipBit(Int.random(in: 0..<size * 8, using: &random), of: Self.writeAheadLog)
            try image.use(disk, mayLoseNewest: true, "seed \(seed), round \(round)")
        }
    }

    @Test("cut short at any size is refused or read as far as it goes", arguments: [true, false])
    func truncated(isLog: Bool) throws {
        let image = try Image(isOpen: isLog)
        let path = isLog ? Self.writeAheadLog : Self.database
        let size = try #require(image.disk(1).content(of: path)).count
        var random = SimulationRandom(seed: 1)
        for round in 0..<60 {
            let disk = image.disk(1)
            disk.truncate(path, to: round < 3 ? round : Int.random(in: 0..<size, using: &random))
            try image.use(disk, mayLoseNewest: isLog, "round \(round)")
        }
    }

    @Test("with garbage in place of any page reads the others")
    func garbage() throws {
        let image = try Image(isOpen: false)
        let content = try #require(image.disk(1).content(of: Self.database))
        var random = SimulationRandom(seed: 1)
        for page in 0..<content.count / 4_096 {
            let disk = image.disk(1)
            var damaged = content
            damaged.replaceSubrange(page * 4_096..<(page + 1) * 4_096, with: random.bytes(count: 4_096))
            disk.overwrite(Self.database, with: damaged)
            try image.use(disk, "page \(page)")
        }
    }

    @Test("without its write-ahead log holds what was moved into the database, and writes as somebody else")
    func deletedLog() throws {
        let image = try Image(isOpen: true)
        let disk = image.disk(1)
        disk.remove(Self.writeAheadLog)
        let db = try Database(at: "cars.docdb", options: .simulated(on: disk))
        #expect(try db.collection("cars").findAll().count() == image.checkpointedCount)
        #expect(try db.verify().map(\.location) == ["write-ahead log"])
        // Others may know commits that were lost, so the actor that made them must not write any more.
        let before = try #require(db.log().last?.actors.first)
        try db.collection("cars").upsert(["_id": "new"])
        let after = try #require(db.log().last?.actors.first)
        #expect(after != before)
    }

    @Test("whose process was killed keeps its actor, with its write-ahead log emptied too")
    func emptiedLog() throws {
        let disk = SimulatedDisk(seed: 1)
        var db: Database? = try Database(at: "cars.docdb", options: .simulated(on: disk))
        try db?.collection("cars").insert(["_id": 1])
        let before = try db?.log().last?.actors.first
        try db?.checkpoint()
        #expect(disk.content(of: Self.writeAheadLog) == [])
        db = nil
        disk.endProcess()
        db = try Database(at: "cars.docdb", options: .simulated(on: disk))
        try db?.collection("cars").insert(["_id": 2])
        #expect(try db?.log().last?.actors.first == before)
    }

    @Test(
        "with one wrong bit or half a page for a read says so or reads right the next time",
        arguments: [
            DiskFault.Effect.flippedBit, .shortRead,
        ])
    func wrongReads(effect: DiskFault.Effect) throws {
        let image = try Image(isOpen: true)
        for skipped in 0..<36 {
            let disk = image.disk(UInt64(skipped))
            // A log that reads as damaged has ended there, as SQLite sees it; the database file is another matter.
            disk.inject(DiskFault(effect, on: [.read], path: "store.sqlite", after: skipped))
            if let db = try? Database(at: "cars.docdb", options: .simulated(on: disk)) {
                for number in Int64(1)...80 { _ = try? db.collection("cars").find(id: DocumentID(number)) }
                _ = try? db.verify()
            }
            disk.endProcess()
            disk.clearFaults()
            let db = try Database(at: "cars.docdb", options: .simulated(on: disk))
            #expect(try db.collection("cars").findAll().count() == 80, "after \(skipped) reads")
            #expect(try db.verify().isEmpty, "after \(skipped) reads")
        }
    }
}
