import DocDB
import Foundation

/// The process that is killed: writes in every way, replicates and compacts, and prints each write that has returned.
enum CrashWorker {
    /// Works until the process is killed; an error ends it with a message.
    static func run(path: String, url: String, seed: UInt64) -> Never {
        do {
            let database = try CrashDatabase.open(path)
            try CrashDatabase.subscribe(database)
            database.sync.configuration.connect = [url]
            try database.sync.start()
            begin { try write(CrashModel.full, .full, "f", database, seed) }
            begin { try write(CrashModel.normal, .normal, "n", database, seed &+ 1) }
            begin { try maintain(database, seed &+ 2) }
            for group in 0..<CrashModel.groupCount { Task { await writeGrouped(group, database) } }
        } catch {
            fail(error)
        }
        while true { pause() }
    }

    private static func begin(_ body: @escaping @Sendable () throws -> Void) {
        Thread.detachNewThread {
            do { try body() } catch { fail(error) }
        }
    }

    private static func fail(_ error: any Error) -> Never {
        tell("error \(error)")
        exit(3)
    }

    /// Prints a line in one call, so that it is there whole or not at all.
    private static func tell(_ line: String) {
        var text = line.replacing("\n", with: " ") + "\n"
        text.withUTF8 { _ = Foundation.write(1, $0.baseAddress, $0.count) }
    }

    private static func pause() { _ = Foundation.sleep(1) }

    private static func write(
        _ model: CrashModel, _ durability: Durability, _ kind: String, _ database: Database, _ seed: UInt64
    ) throws {
        var random = SeededGenerator(seed: seed)
        var number = try model.last(in: database)
        while true {
            number += 1
            try model.write(number, to: database, durability)
            tell("\(kind) \(number)")
            if Int.random(in: 0..<20, using: &random) == 0 { usleep(UInt32.random(in: 0..<4_000, using: &random)) }
        }
    }

    private static func writeGrouped(_ group: Int, _ database: Database) async {
        do {
            let id = DocumentID(Int64(group))
            var number = CrashModel.number(of: try database.collection(CrashModel.grouped).find(id: id))
            while true {
                number += 1
                let next = number
                try await database.write(durability: .full) { transaction in
                    _ = try transaction.collection(CrashModel.grouped).upsert(["_id": id.value, "n": .int(next)])
                }
                tell("g \(group) \(number)")
            }
        } catch {
            fail(error)
        }
    }

    private static func maintain(_ database: Database, _ seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        let normal = database.collection(CrashModel.normal.collection)
        while true {
            usleep(UInt32.random(in: 5_000..<80_000, using: &random))
            switch Int.random(in: 0..<5, using: &random) {
            case 0: try database.checkpoint()
            case 1: try database.compact()
            case 2: try database.synchronize()
            case 3: if try normal.indexes().isEmpty { try normal.createIndex(["n"]) }
            default: if try !normal.indexes().isEmpty { try normal.dropIndex(["n"]) }
            }
        }
    }
}
