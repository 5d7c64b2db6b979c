import DocDB
import DocDBSimulation
import DocDBStorage
import Foundation
import Testing

/// Stores of all versions of the format, as they were written once: they open forever. `Tests/Golden/README.md` says how they are made.
@Suite("Golden stores")
struct GoldenStoreTests {
    static let isMaking = ProcessInfo.processInfo.environment["DOCDB_MAKE_GOLDEN"] != nil
    static let versions = ["store-version-1", "store-version-2", "store-version-3"]
    /// The one that this version writes.
    static let newest = "store-version-3"

    static func contents(_ dump: String) throws -> GoldenStore.Contents {
        let disk = try GoldenStore.restore(dump)
        let db = try Database(at: GoldenStore.path, options: .simulated(on: disk, seed: 3))
        #expect(try db.verify().isEmpty)
        var contents = try GoldenStore.contents(db)
        try db.close()
        var options = StoreOptions()
        options.fileSystem = disk.fileSystem
        contents.states = try GoldenStore.states(Store(path: GoldenStore.path, options: options))
        return contents
    }

    @Test("open, hold what they held when they were written, and are written to", arguments: versions)
    func opens(version: String) throws {
        let dump = try GoldenStore.text(version + ".sql")
        let contents = try Self.contents(dump)
        if Self.isMaking {
            try GoldenStore.json(contents).write(
                to: GoldenStore.directory.appending(path: version + ".json"), atomically: true, encoding: .utf8)
        }
        let expected = try JSONDecoder().decode(
            GoldenStore.Contents.self, from: Data(GoldenStore.text(version + ".json").utf8))
        #expect(contents.documents == expected.documents)
        #expect(contents.tombstones == expected.tombstones)
        #expect(contents.indexes == expected.indexes)
        #expect(contents.states == expected.states)
        #expect(contents.history == expected.history)
        #expect(contents.log == expected.log)

        let disk = try GoldenStore.restore(dump)
        let db = try Database(at: GoldenStore.path, options: .simulated(on: disk, seed: 4))
        let cars = db.collection("cars")
        try cars.upsert(["_id": 1, "price": 5])
        try cars.remove(2)
        try cars.upsert(["_id": "new", "make": "saab"])
        #expect(try cars.find("make == 'saab'").ids() == ["new"])
        #expect(try db.verify().isEmpty)
    }

    /// The lines of a dump; of compressed blocks, whose bytes are the compressing library's business, without these, and without
    /// what tells the file from a copy, which is the disk's.
    static func comparable(_ dump: String) -> [String] {
        dump.split(separator: "\n").filter { !$0.contains("'incarnation_") }.map { line in
            let fields = line.split(separator: ",")
            guard line.hasPrefix("INSERT INTO log"), fields.count > 5, fields[3] == "1" else { return String(line) }
            return fields[..<5].joined(separator: ",")
        }
    }

    @Test("are what this version writes, so that a store of the commit before opens as they do")
    func unchanged() throws {
        let made = try GoldenStore.make()
        if Self.isMaking {
            try made.write(
                to: GoldenStore.directory.appending(path: Self.newest + ".sql"), atomically: true, encoding: .utf8)
        }
        let golden = try GoldenStore.text(Self.newest + ".sql")
        let (lines, goldenLines) = (Self.comparable(made), Self.comparable(golden))
        let difference = zip(lines, goldenLines).first { $0 != $1 }
        #expect(
            difference == nil && lines.count == goldenLines.count,
            """
            the store is written in another form than before, first in \(difference?.0.prefix(300) ?? "its length"); where that is wanted, \
            keep the old file under another name in the list of versions, and make the new one as Tests/Golden/README.md says
            """)
        // All kinds of rows and states are there.
        let rows = golden.split(separator: "\n").filter { $0.hasPrefix("INSERT INTO log") }
        #expect(
            rows.contains { $0.split(separator: ",")[3] == "0" } && rows.contains { $0.split(separator: ",")[3] == "1" }
        )
        #expect(golden.contains("NULL,X'11") && golden.contains("X'10") && golden.contains("X'11"))
    }
}
