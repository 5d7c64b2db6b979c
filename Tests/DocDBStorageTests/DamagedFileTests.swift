import DocDBCore
import DocDBStorage
import Foundation
import Testing

/// Files that a disk or a hand has damaged: opening, reading, verifying and writing end, with an error or without.
@Suite("A store with damaged files", .timeLimit(.minutes(3)))
struct DamagedFileTests {
    static let accepted: Set<DocDBError.Code> = [
        .corrupted, .notAStore, .storeTooNew, .storageFailed, .readOnly, .invalidIndex, .limitReached, .diskFull, .busy,
        .historyNotRetained, .documentTooLarge, .documentTooDeep, .invalidDocumentID, .misuse,
    ]

    /// Does what users do with a store; whatever fails must fail with an error that has a code.
    static func use(_ place: TemporaryStore, _ comment: Comment) {
        func attempt(_ body: () throws -> Void) {
            do {
                try body()
            } catch let error as DocDBError {
                #expect(accepted.contains(error.code), "\(comment): \(error)")
            } catch is CBORError {
                // The decoding of a value in these tests, which the layer above reports in its own way.
            } catch {
                Issue.record("\(comment): \(error)")
            }
        }
        for access in [StoreOptions.Access.readOnly, .readWriteCreate] {
            attempt {
                let store = try place.open { $0.access = access }
                attempt { _ = try store.all() }
                attempt { _ = try store.get(3) }
                attempt { _ = try store.get("a") }
                attempt { _ = try store.verify() }
                for code in ChangeLogDamageTests.exercise(store) {
                    #expect(accepted.contains(code), "\(comment): \(code)")
                }
                guard access != .readOnly else { return }
                attempt { try store.put(["_id": 3, "price": 7, "fresh": true]) }
                attempt { try store.put(["_id": "new", "price": 7], in: "cars") }
                attempt { _ = try store.write { try $0.remove("a") } }
                attempt { _ = try store.write { try $0.evict(6) } }
                attempt { _ = try store.checkpoint() }
                attempt { try store.close() }
            }
        }
    }

    /// The files of a small store, with commits in the write-ahead log where `isOpen`.
    static func files(isOpen: Bool) throws -> [String: Data] {
        let place = TemporaryStore("damaged")
        let store = try place.open()
        try VerificationTests.fill(store)
        if isOpen { try store.checkpoint() }
        for number in Int64(0)..<3 { try store.put(["_id": .int(number), "late": true]) }
        if !isOpen { try store.close() }
        var files: [String: Data] = [:]
        for name in try FileManager.default.contentsOfDirectory(atPath: place.path) {
            files[name] = FileManager.default.contents(atPath: place.path + "/" + name)
        }
        return files
    }

    static func place(_ files: [String: Data]) throws -> TemporaryStore {
        let place = TemporaryStore("damaged")
        try FileManager.default.createDirectory(atPath: place.path, withIntermediateDirectories: false)
        for (name, data) in files where !name.hasSuffix("-shm") {
            try data.write(to: URL(fileURLWithPath: place.path + "/" + name))
        }
        return place
    }

    @Test("in which bits have flipped never traps or hangs", arguments: 0..<8)
    func flippedBits(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        let sound = try Self.files(isOpen: false)
        for round in 0..<20 {
            var files = sound
            var data = try #require(files["store.sqlite"])
            for _ in 0..<Int.random(in: 1...6, using: &random) {
                let offset =
                    Bool.random(using: &random)
                    ? Int.random(in: 0..<data.count, using: &random)
                    : Int.random(in: 0..<data.count / 4096, using: &random) * 4096
                        + Int.random(in: 0..<128, using: &random)
                data[offset] ^= 1 << UInt8.random(in: 0..<8, using: &random)
            }
            files["store.sqlite"] = data
            Self.use(try Self.place(files), "seed \(seed), round \(round)")
        }
    }

    @Test("that are cut short never traps or hangs", arguments: 0..<4)
    func truncated(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        let sound = try Self.files(isOpen: false)
        for round in 0..<10 {
            var files = sound
            let data = try #require(files["store.sqlite"])
            let count =
                round == 0 ? Int.random(in: 1..<100, using: &random) : Int.random(in: 1..<data.count, using: &random)
            files["store.sqlite"] = data.prefix(round % 2 == 0 ? count : count / 4096 * 4096)
            Self.use(try Self.place(files), "seed \(seed), round \(round)")
        }
    }

    @Test("whose write-ahead log is damaged keeps what was checkpointed", arguments: 0..<4)
    func damagedWriteAheadLog(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        let sound = try Self.files(isOpen: true)
        for round in 0..<10 {
            var files = sound
            var data = try #require(files["store.sqlite-wal"])
            if round % 2 == 0 {
                data[Int.random(in: 0..<data.count, using: &random)] ^= 1 << UInt8.random(in: 0..<8, using: &random)
            } else {
                data = data.prefix(Int.random(in: 0..<data.count, using: &random))
            }
            files["store.sqlite-wal"] = data
            let place = try Self.place(files)
            let store = try place.open()
            #expect(try store.get(6)?["price"] == 1, "seed \(seed), round \(round)")
            #expect(try store.verify().isEmpty, "seed \(seed), round \(round)")
            let late = try (0..<3).map { try store.get(DocumentID(Int64($0)))?["late"] == true }
            // Commits are lost from the end only.
            #expect(late == late.sorted { $0 && !$1 }, "seed \(seed), round \(round)")
            try store.put(["_id": "after"])
        }
    }

    @Test("whose documents have bytes of somebody's making never traps", arguments: 0..<8)
    func hostileDocuments(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        let place = TemporaryStore("damaged")
        let store = try place.open()
        try VerificationTests.fill(store)
        struct Abort: Error {}
        for round in 0..<60 {
            let key = [1, 4, 5, 21].randomElement(using: &random) ?? 1
            let column = Bool.random(using: &random) ? "body" : "state"
            let bytes = try store.read { context -> [UInt8] in
                let statement = try context.connection.prepareOnce(
                    "SELECT \(column) FROM documents_1 WHERE key = \(key)")
                return try statement.step() ? [UInt8](statement.blob(0)) : []
            }
            var damaged = bytes
            for _ in 0..<Int.random(in: 1...3, using: &random) where !damaged.isEmpty {
                let offset = Int.random(in: 0..<damaged.count, using: &random)
                switch Int.random(in: 0..<5, using: &random) {
                case 0: damaged.insert(UInt8.random(in: .min ... .max, using: &random), at: offset)
                case 1: damaged.remove(at: offset)
                case 2: damaged[offset] = 0xFF
                default: damaged[offset] ^= 1 << UInt8.random(in: 0..<8, using: &random)
                }
            }
            try? store.write { transaction in
                try transaction.context.connection.execute(
                    "UPDATE documents_1 SET \(column) = \(damaged.sqlLiteral) WHERE key = \(key)")
                for id in [0, 3, 4, "a"] as [DocumentID] {
                    for attempt in 0..<5 {
                        let code = errorCode {
                            switch attempt {
                            case 0: _ = try transaction.context.get(id)
                            case 1: try transaction.put(["_id": id.value, "price": 5, "deep": ["x": 1]])
                            case 2: try transaction.set(["m", "x"], to: 1, of: id)
                            case 3: _ = try transaction.remove(id)
                            default: try transaction.put(["_id": id.value, "m": 2], .replace)
                            }
                        }
                        #expect(code.map { Self.accepted.contains($0) } ?? true, "seed \(seed), round \(round)")
                    }
                }
                throw Abort()
            }
            try store.write {
                try $0.context.connection.execute(
                    "UPDATE documents_1 SET \(column) = \(damaged.sqlLiteral) WHERE key = \(key)")
            }
            _ = try store.verify()
            _ = ChangeLogDamageTests.exercise(store)
            try store.write {
                try $0.context.connection.execute(
                    "UPDATE documents_1 SET \(column) = \(bytes.isEmpty ? "NULL" : bytes.sqlLiteral) WHERE key = \(key)"
                )
            }
        }
        #expect(try store.verify().isEmpty, "seed \(seed)")
    }
}
