import Dispatch
import DocDBCore
import DocDBStorage
import Foundation
import Synchronization
import Testing

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

@Suite("A backup of a store", .timeLimit(.minutes(10)))
struct BackupTests {
    @Test("taken while a writer is busy is whole, sound, and of one moment")
    func whileWriting() throws {
        let place = TemporaryStore("backup")
        let store = try place.open()
        try store.put(["_id": "left", "n": 0])
        try store.put(["_id": "right", "n": 0])
        let isDone = Atomic<Bool>(false)
        let ended = DispatchSemaphore(value: 0)
        let failure = Lock<String?>(nil)
        Thread.detachNewThread {
            do {
                var number: Int64 = 0
                while !isDone.load(ordering: .acquiring) {
                    number += 1
                    try store.write { transaction in
                        try transaction.put(["_id": "left", "n": .int(number), "field\(number % 200)": true])
                        try transaction.put(["_id": "right", "n": .int(number)])
                        try transaction.put(["_id": .int(number)], in: "collection\(number % 5)")
                    }
                }
            } catch {
                failure.withLock { $0 = "\(error)" }
            }
            ended.signal()
        }
        var last: Int64 = -1
        for round in 0..<5 {
            let path = place.directory + "/backup\(round).docdb"
            try store.backup(to: path)
            let backup = try Store(path: path)
            let left = try backup.get("left")?["n"]?.intValue
            #expect(try backup.get("right")?["n"]?.intValue == left)
            #expect(left.map { $0 >= last } == true)
            last = left ?? last
            let findings = try backup.verify()
            #expect(findings.isEmpty, "\(findings)")
            try backup.put(["_id": "left", "n": -1])
            #expect(try backup.lastActor() != store.lastActor())
        }
        isDone.store(true, ordering: .releasing)
        ended.wait()
        #expect(failure.withLock { $0 } == nil)
        #expect(try store.verify().isEmpty)
    }

    @Test("holds documents, history, names and tombstones, and none of the transaction that runs")
    func holdsAll() throws {
        let place = TemporaryStore("backup")
        let store = try place.open()
        try store.put(["_id": 1, "a": 1])
        try store.put(["_id": 1, "a": 2, "b": ["c": nil]])
        try store.put(["_id": 2, "a": 1], in: "other")
        _ = try store.write { try $0.remove(2, in: "other") }
        let path = place.directory + "/target.docdb"
        try store.write { transaction in
            try transaction.put(["_id": 3])
            try store.backup(to: path)
        }
        var options = StoreOptions()
        options.access = .readOnly
        let backup = try Store(path: path, options: options)
        #expect(try backup.all() == [1: ["a": 2, "b": ["c": nil]]])
        #expect(try backup.revisions(of: 1).map(\.sequence) == [2, 1])
        #expect(try backup.revisions(of: 2, in: "other").map(\.sequence) == [4, 3])
        #expect(try backup.statistics().collections.map(\.tombstoneCount) == [0, 1])
        #expect(backup.storeID == store.storeID)
        #expect(try StoreOpeningTests.permissions(path) & 0o777 == 0o700)
    }

    enum Obstacle: CaseIterable { case file, directory, store }

    @Test("is refused where something exists at its path, which stays as it was", arguments: Obstacle.allCases)
    func refusesExisting(obstacle: Obstacle) throws {
        let place = TemporaryStore("backup")
        let store = try place.open()
        try store.put(["_id": 1])
        let path = place.directory + "/target.docdb"
        switch obstacle {
        case .file: try Data("text".utf8).write(to: URL(fileURLWithPath: path))
        case .directory: try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
        case .store: try Store(path: path).close()
        }
        #expect(errorCode { try store.backup(to: path) } == .misuse)
        switch obstacle {
        case .file: #expect(FileManager.default.contents(atPath: path) == Data("text".utf8))
        case .directory: #expect(try FileManager.default.contentsOfDirectory(atPath: path).isEmpty)
        case .store:
            let other = try Store(path: path)
            #expect(try other.all() == [:])
        }
        #expect(errorCode { try store.backup(to: place.path) } == .misuse)
        #expect(errorCode { try store.backup(to: "") } == .misuse)
        #expect(errorCode { try store.backup(to: place.directory + "/missing/a.docdb") } == .storageFailed)
    }

    @Test("to one path from many threads succeeds once, and touches nothing beside it")
    func isAlone() throws {
        let place = TemporaryStore("backup")
        let store = try place.open()
        for number in Int64(0)..<50 { try store.put(["_id": .int(number)]) }
        let path = place.directory + "/target.docdb"
        let bystander = try Store(path: path + ".partial")
        try bystander.put(["_id": 7])
        try bystander.close()
        let successCount = Atomic<Int>(0)
        DispatchQueue.concurrentPerform(iterations: 4) { _ in
            if (try? store.backup(to: path)) != nil { successCount.add(1, ordering: .relaxed) }
        }
        #expect(successCount.load(ordering: .relaxed) == 1)
        let backup = try Store(path: path)
        #expect(try backup.all().count == 50)
        #expect(try Store(path: path + ".partial").all() == [7: [:]])
        #expect(try FileManager.default.contentsOfDirectory(atPath: place.directory).count == 3)
    }

    @Test("that fails half-way leaves nothing, and the store as it was", arguments: [0, 4_096, 20_000, 100_000])
    func failsHalfWay(limit: Int) async throws {
        let place = TemporaryStore("backup")
        await #expect(processExitsWith: .success) {
            [path = place.path as String, directory = place.directory as String, bytes = limit as Int] in
            signal(SIGXFSZ, SIG_IGN)
            let store = try Store(path: path)
            let text = Value.string(String(repeating: "t", count: 1_000))
            for number in Int64(0)..<200 { try store.put(["_id": .int(number), "text": text]) }
            FileSize.limit(to: bytes)
            let code = errorCode { try store.backup(to: directory + "/target.docdb") }
            #expect(code == .diskFull || code == .storageFailed)
            FileSize.limit(to: nil)
            let left = try FileManager.default.contentsOfDirectory(atPath: directory)
            #expect(left.count == 1)
            try store.backup(to: directory + "/target.docdb")
            let backup = try Store(path: directory + "/target.docdb")
            #expect(try backup.all().count == 200)
            #expect(try store.verify().isEmpty)
        }
    }
}

/// How large a file this process may write.
enum FileSize {
    static func limit(to bytes: Int?) {
        var limit = rlimit()
        #if canImport(Glibc)
            let resource = __rlimit_resource_t(RLIMIT_FSIZE.rawValue)
        #else
            let resource = RLIMIT_FSIZE
        #endif
        getrlimit(resource, &limit)
        limit.rlim_cur = bytes.map { rlim_t($0) } ?? limit.rlim_max
        precondition(setrlimit(resource, &limit) == 0, "cannot limit the size of files")
    }
}

@Suite("Compaction and checkpoints")
struct MaintenanceTests {
    @Test("keep documents, history, keys, actor and incarnation, and give space back")
    func compacts() throws {
        let place = TemporaryStore("maintenance")
        var store = try place.open()
        for number in Int64(0)..<300 {
            try store.put(["_id": .int(number), "text": .string(String(repeating: "t", count: 3_000))])
        }
        for number in Int64(0)..<290 { _ = try store.write { try $0.remove(DocumentID(number)) } }
        try store.put(["_id": 299, "a": 1])
        let documents = try store.all()
        let records = try store.logRecords().map { "\($0)" }
        let actor = try store.lastActor()
        let incarnations = try store.incarnations()
        try store.checkpoint()
        let before = try store.statistics().databaseByteCount
        try store.compact()
        #expect(try store.statistics().databaseByteCount < before / 2)
        #expect(try store.statistics().writeAheadLogByteCount == 0)
        #expect(try store.all() == documents)
        #expect(try store.logRecords().map { "\($0)" } == records)
        #expect(try store.verify().isEmpty)
        try store.put(["_id": 1_000])
        #expect(try store.lastActor() == actor)
        #expect(try store.incarnations() == incarnations)
        // Keys of documents that are gone are not given out again.
        let key = try store.read { try $0.connection.integer("SELECT key FROM documents_1 WHERE id = 1000") }
        #expect(key.map { $0 > 300 } == true)
        try store.close()
        store = try place.open()
        #expect(try store.all().count == 11)
    }

    @Test("wait for a reader no longer than configured, and say that it was in the way")
    func busyReader() throws {
        let place = TemporaryStore("maintenance")
        let store = try place.open { $0.busyTimeoutMilliseconds = 20 }
        try store.put(["_id": 1, "a": 1])
        try store.read { context in
            #expect(try context.get(1) == ["a": 1])
            try store.put(["_id": 1, "a": 2])
            #expect(try store.checkpoint() == false)
            #expect(try context.get(1) == ["a": 1])
        }
        #expect(try store.checkpoint())
        #expect(try store.statistics().writeAheadLogByteCount == 0)
        #expect(try store.get(1) == ["a": 2])
    }

    @Test("are refused within a write")
    func withinWrite() throws {
        let place = TemporaryStore("maintenance")
        let store = try place.open()
        try store.write { _ in
            #expect(errorCode { try store.checkpoint() } == .misuse)
            #expect(errorCode { try store.compact() } == .misuse)
        }
    }

    @Test("never give a key out twice, over rollbacks, evictions and reopening")
    func keysAreUnique() throws {
        struct Abort: Error {}
        let place = TemporaryStore("maintenance")
        var seen: Set<Int64> = []
        for round in 0..<4 {
            let store = try place.open()
            for number in 0..<5 {
                try? store.write { transaction in
                    try transaction.put(["_id": "lost"])
                    throw Abort()
                }
                let id = DocumentID(Int64(round * 5 + number))
                try store.put(["_id": id.value])
                let key = try store.read { try $0.connection.integer("SELECT max(key) FROM documents_1") }
                #expect(seen.insert(key ?? 0).inserted)
                _ = try store.write { try $0.evict(id) }
            }
            try store.close()
        }
    }
}
