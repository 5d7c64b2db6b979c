import Dispatch
import DocDBCore
import DocDBStorage
import Foundation
import Testing

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// A process that writes for as long as it lives, and notes each commit that it was told of.
///
/// Commit n writes document n and sets `last` to n, both in one transaction. A file's bytes survive a kill.
struct CrashingWriter {
    let path: String
    /// Where the number of each acknowledged commit is appended, eight bytes each.
    let acknowledgements: String
    let seed: UInt64

    /// Kills this process after a random time, which may be while the store is being created.
    func killLater() {
        var random = SeededGenerator(seed: seed)
        let delay = UInt64.random(in: 0...60_000_000, using: &random)
        let deadline = DispatchTime.now().uptimeNanoseconds + delay
        Thread.detachNewThread {
            while DispatchTime.now().uptimeNanoseconds < deadline { sched_yield() }
            kill(getpid(), SIGKILL)
        }
    }

    func run() throws {
        var random = SeededGenerator(seed: seed &+ 1_000)
        let file = open(acknowledgements, O_WRONLY | O_CREAT | O_APPEND, 0o600)
        killLater()
        let store = try Store(path: path)
        var number = try store.get("last")?["n"]?.intValue ?? 0
        while true {
            number += 1
            let current = number
            let filler = String(repeating: "f", count: Int.random(in: 0...3_000, using: &random))
            try store.write(durability: Int.random(in: 0..<8, using: &random) == 0 ? .full : .normal) { transaction in
                try transaction.put(["_id": .int(current), "filler": .string(filler), "field\(current % 300)": true])
                if current % 20 == 0 { try transaction.put(["_id": 1], in: "collection\(current)") }
                try transaction.put(["_id": "last", "n": .int(current)])
            }
            withUnsafeBytes(of: current) { bytes in
                precondition(write(file, bytes.baseAddress, bytes.count) == bytes.count)
            }
            if current % 25 == 0 { try store.checkpoint() }
        }
    }
}

@Suite("A store whose process is killed")
struct CrashTests {
    static func acknowledged(_ path: String) -> Int64 {
        let bytes = FileManager.default.contents(atPath: path) ?? Data()
        return bytes.count < 8
            ? 0 : bytes.suffix(8).withUnsafeBytes { $0.loadUnaligned(as: Int64.self) }
    }

    @Test("holds every commit that was acknowledged, whole, and goes on", arguments: 0..<15)
    func survives(seed: UInt64) async throws {
        let place = TemporaryStore("crash")
        let acknowledgements = place.directory + "/acknowledged"
        var newest = HybridTime.zero
        for round in Int64(0)..<2 {
            await #expect(processExitsWith: .signal(SIGKILL)) {
                [
                    path = place.path as String, file = acknowledgements as String,
                    seed = (seed * 10 + UInt64(round)) as UInt64
                ]
                in
                try CrashingWriter(path: path, acknowledgements: file, seed: seed).run()
            }
            let store = try place.open()
            let comment: Comment = "seed \(seed), round \(round)"
            let last = try store.get("last")?["n"]?.intValue ?? 0
            let acknowledged = Self.acknowledged(acknowledgements)
            // One commit more may have come through before its acknowledgement was noted.
            #expect(last == acknowledged || last == acknowledged + 1, comment)
            let documents = try store.all()
            #expect(documents.count == (last + round == 0 ? 0 : Int(last) + 1), comment)
            for number in stride(from: Int64(1), through: last, by: 1) {
                let document = documents[DocumentID(number)]
                #expect(document?["field\(number % 300)"] == true, comment)
                if number % 20 == 0 { #expect(try store.get(1, in: "collection\(number)") == [:], comment) }
            }
            let findings = try store.verify()
            #expect(findings.isEmpty, "seed \(seed), round \(round): \(findings)")
            #expect(try store.lastSequence() == last + round, comment)
            // The next stamp lies after all that the process may have issued.
            let before = try store.logRecords().last?.time ?? .zero
            try store.put(["_id": "last", "n": .int(last)], .replace)
            let after = try #require(try store.logRecords().last?.time)
            #expect(after > before && after > newest, comment)
            newest = after
            try store.close()
            // The next round goes on from there, whether the last commit was noted or not.
            try withUnsafeBytes(of: last) { Data($0) }.write(to: URL(fileURLWithPath: acknowledgements), options: [])
        }
    }

    @Test("keeps what a full commit and a synchronisation made durable")
    func keepsSynchronised() async throws {
        let place = TemporaryStore("crash")
        await #expect(processExitsWith: .signal(SIGKILL)) { [path = place.path as String] in
            var options = StoreOptions()
            options.durability = .full
            let store = try Store(path: path, options: options)
            try store.put(["_id": 1])
            #expect(try store.synchronize() == 1)
            _ = try store.write(durability: .normal) { try $0.put(["_id": 2]) }
            _ = try store.write(durability: .normal) { try $0.put(["_id": 3]) }
            #expect(try store.synchronize() == 3)
            #expect(try store.synchronize() == 3)
            kill(getpid(), SIGKILL)
        }
        let store = try place.open()
        #expect(try store.all().count == 3)
        #expect(try store.synchronize() == 3)
    }

    @Test("whose creation was cut short at any step is finished by the next opening", arguments: 0..<12)
    func finishesCreation(seed: UInt64) async throws {
        let place = TemporaryStore("crash")
        await #expect(processExitsWith: .signal(SIGKILL)) { [path = place.path as String, seed = seed as UInt64] in
            let deadline = DispatchTime.now().uptimeNanoseconds + seed * 700_000
            Thread.detachNewThread {
                while DispatchTime.now().uptimeNanoseconds < deadline { sched_yield() }
                kill(getpid(), SIGKILL)
            }
            var stores: [Store] = []
            while true { stores.append(try Store(path: path + (stores.isEmpty ? "" : "\(stores.count)"))) }
        }
        let store = try place.open()
        try store.put(["_id": 1, "a": 1])
        try store.close()
        #expect(try place.open().verify().isEmpty)
    }
}

/// What a store looks like whose creation stopped half-way, put there by hand.
@Suite("A store that was half created")
struct HalfCreatedStoreTests {
    enum Stage: CaseIterable { case directory, lock, emptyFile, emptyDatabase }

    static func make(_ stage: Stage, _ place: TemporaryStore) throws {
        try FileManager.default.createDirectory(atPath: place.path, withIntermediateDirectories: false)
        if stage == .directory { return }
        try Data("1 test\n".utf8).write(to: URL(fileURLWithPath: place.path + "/lock"))
        if stage == .lock { return }
        try Data().write(to: URL(fileURLWithPath: place.database))
        if stage == .emptyDatabase { try place.alter("PRAGMA journal_mode = WAL") }
    }

    @Test("is finished by the next opening for writing", arguments: Stage.allCases)
    func finishes(stage: Stage) throws {
        let place = TemporaryStore("half")
        try Self.make(stage, place)
        let store = try place.open()
        try store.put(["_id": 1])
        #expect(try store.verify().isEmpty)
        try store.close()
        #expect(try place.open { $0.access = .readOnly }.get(1) == [:])
    }

    @Test("is refused for reading, and says why", arguments: Stage.allCases)
    func refusesReading(stage: Stage) throws {
        let place = TemporaryStore("half")
        try Self.make(stage, place)
        #expect(errorCode { _ = try place.open { $0.access = .readOnly } } == .notAStore)
    }

    @Test("with tables but no version is not taken for a new one")
    func refusesForeign() throws {
        let place = TemporaryStore("half")
        try Self.make(.emptyFile, place)
        try place.alter("CREATE TABLE meta (name, value)")
        #expect(errorCode { _ = try place.open() } == .notAStore)
    }

    @Test("that lost its version number is reported")
    func reportsLostVersion() throws {
        let place = TemporaryStore("half")
        try place.open().close()
        try place.alter("PRAGMA user_version = 0")
        #expect(errorCode { _ = try place.open() } == .corrupted)
    }
}
