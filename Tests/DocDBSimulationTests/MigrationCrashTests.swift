import DocDB
import DocDBSimulation
import DocDBStorage
import Foundation
import Testing

/// A store of version 1 of the format, which the first opening for writing migrates.
@Suite("A store that ends while it is migrated")
struct MigrationCrashTests {
    static func image() throws -> DiskSnapshot {
        let golden = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .appending(path: "Golden/store-version-1.sql")
        let disk = SimulatedDisk(seed: 1)
        try disk.fileSystem.makeDirectory("/cars.docdb")
        let connection = try SQLiteConnection(
            path: "/cars.docdb/store.sqlite", mode: .readWriteCreate, busyTimeoutMilliseconds: 0,
            fileSystem: disk.fileSystem)
        try connection.execute("PRAGMA page_size = 4096; PRAGMA journal_mode = WAL")
        try connection.execute(String(contentsOf: golden, encoding: .utf8))
        return disk.snapshot()
    }

    @Test("is finished by the next opening, and keeps everything")
    func survives() throws {
        let image = try Self.image()
        var isFinished = false
        var stop = 0
        while !isFinished {
            for end in [CrashEnd.process, CrashEnd.powerCuts[stop % CrashEnd.powerCuts.count]] {
                let disk = SimulatedDisk(seed: UInt64(stop))
                disk.restore(image)
                disk.stop(afterChanges: stop)
                do {
                    let db = try Database(at: "cars.docdb", options: .simulated(on: disk))
                    try db.collection("cars").upsert(["_id": "new"])
                    try db.close()
                } catch { #expect(error is DocDBError) }
                isFinished = !disk.isStopped
                end.happen(to: disk, seed: UInt64(stop))
                let comment: Comment = "change \(stop), \(end)"
                let db = try Database(at: "cars.docdb", options: .simulated(on: disk))
                let cars = db.collection("cars")
                // The store of version 1 holds 38 cars, of which number 2 costs 207.
                let count = try cars.findAll().count()
                #expect(count == 38 || count == 39, comment)
                #expect(try cars.find(id: 2)?["price"] == 207, comment)
                #expect(try cars.history(of: 1).count == 3, comment)
                try cars.upsert(["_id": "new", "again": true])
                #expect(try cars.findAll().count() == 39, comment)
                let findings = try db.verify()
                #expect(findings.isEmpty, "\(findings): \(comment)")
            }
            stop += 1
        }
        #expect(stop > 10)
    }
}
