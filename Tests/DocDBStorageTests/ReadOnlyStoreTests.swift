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

@Suite("A store open for reading only")
struct ReadOnlyStoreTests {
    static func openForReading(_ path: String) throws -> Store {
        var options = StoreOptions()
        options.access = .readOnly
        return try Store(path: path, options: options)
    }

    @Test("refuses all that writes")
    func refusesWrites() async throws {
        let place = TemporaryStore("reading")
        try place.open().close()
        let store = try Self.openForReading(place.path)
        #expect(errorCode { try store.put(["_id": 1]) } == .readOnly)
        #expect(errorCode { try store.checkpoint() } == .readOnly)
        #expect(errorCode { try store.compact() } == .readOnly)
        #expect(errorCode { _ = try store.synchronize() } == .readOnly)
        #expect(errorCode { try store.read { try $0.connection.execute("DELETE FROM meta") } } == .readOnly)
        await #expect { _ = try await store.write { _ in 1 } } throws: { ($0 as? DocDBError)?.code == .readOnly }
    }

    @Test("sees the commits of a writer beside it: documents, collections and field names that are new")
    func followsWriter() throws {
        let place = TemporaryStore("reading")
        let writer = try place.open()
        let reader = try Self.openForReading(place.path)
        #expect(try reader.all() == [:])
        for number in 1...5 {
            let id = DocumentID(Int64(number))
            let document: Value = ["_id": id.value, "name\(number)": ["inner\(number)": .int(Int64(number))]]
            try writer.put(document, in: "collection\(number)")
            #expect(
                try reader.get(id, in: "collection\(number)") == [
                    "name\(number)": ["inner\(number)": .int(Int64(number))]
                ])
            #expect(try reader.read { $0.catalog.names } == (1...number).map { "collection\($0)" })
        }
        #expect(try reader.verify().isEmpty)
        try writer.write { _ = try $0.remove(1, in: "collection1") }
        #expect(try reader.get(1, in: "collection1") == nil)
    }

    @Test("sees the commits of another process")
    func followsProcess() async throws {
        let place = TemporaryStore("reading")
        try place.open().close()
        let reader = try Self.openForReading(place.path)
        #expect(try reader.all() == [:])
        await #expect(processExitsWith: .success) { [path = place.path as String] in
            let store = try Store(path: path)
            for number in Int64(0)..<50 { try store.put(["_id": .int(number), "field\(number)": .int(number)]) }
            try store.close()
        }
        #expect(try reader.all().count == 50)
        #expect(try reader.get(49) == ["field49": 49])
        await #expect(processExitsWith: .signal(SIGKILL)) { [path = place.path as String] in
            let store = try Store(path: path)
            try store.put(["_id": 50, "late": true], in: "other")
            kill(getpid(), SIGKILL)
        }
        #expect(try reader.get(50, in: "other") == ["late": true])
        #expect(try reader.verify().isEmpty)
    }

    @Test("keeps one moment for as long as a read lasts")
    func keepsMoment() throws {
        let place = TemporaryStore("reading")
        let writer = try place.open()
        try writer.put(["_id": 1, "a": 1])
        let reader = try Self.openForReading(place.path)
        for store in [writer, reader] {
            try writer.put(["_id": 1, "a": 1])
            try store.read { context in
                #expect(try context.get(1) == ["a": 1])
                try writer.put(["_id": 1, "a": 2])
                #expect(try context.get(1) == ["a": 1])
            }
            #expect(try store.get(1) == ["a": 2])
        }
    }

    @Test("reads on many threads while a writer adds field names and collections")
    func readsConcurrently() throws {
        let place = TemporaryStore("reading")
        let writer = try place.open()
        try writer.put(["_id": 0, "n": 0])
        let reader = try Self.openForReading(place.path)
        let failures = Lock<[String]>([])
        let isDone = Atomic<Bool>(false)
        DispatchQueue.concurrentPerform(iterations: 5) { thread in
            do {
                if thread == 0 {
                    defer { isDone.store(true, ordering: .releasing) }
                    for number in 1...300 {
                        try writer.write { transaction in
                            try transaction.put(["_id": 0, "n": .int(Int64(number)), "field\(number)": true])
                            if number % 10 == 0 { try transaction.put(["_id": 0], in: "collection\(number)") }
                        }
                    }
                    return
                }
                var last: Int64 = 0
                while !isDone.load(ordering: .acquiring) {
                    let document = try reader.get(0)
                    let number = document?["n"]?.intValue ?? -1
                    let isWhole = number == 0 || document?["field\(number)"] == true
                    if number < last || !isWhole { failures.withLock { $0.append("\(last) then \(number)") } }
                    last = number
                }
            } catch {
                failures.withLock { $0.append("\(error)") }
            }
        }
        #expect(failures.withLock { $0 } == [])
    }

    @Test("learns many field names on many threads at once")
    func learnsNamesConcurrently() throws {
        let place = TemporaryStore("reading")
        let writer = try place.open()
        try writer.put(["_id": 0, "n": 0])
        let reader = try Self.openForReading(place.path)
        let failures = Lock<[String]>([])
        for round in 0..<4 {
            var document: [String: Value] = ["_id": 0]
            for number in 0..<1_000 { document["field\(round)_\(number)"] = true }
            try writer.put(.object(document), .replace)
            document["_id"] = nil
            let expected = Value.object(document)
            DispatchQueue.concurrentPerform(iterations: 6) { _ in
                do {
                    if try reader.get(0) != expected { failures.withLock { $0.append("another document") } }
                } catch {
                    failures.withLock { $0.append("\(error)") }
                }
            }
        }
        #expect(failures.withLock { $0 } == [])
        #expect(try reader.verify().isEmpty)
    }

    @Test("is backed up like any other")
    func backsUp() throws {
        let place = TemporaryStore("reading")
        let writer = try place.open()
        try writer.put(["_id": 1, "a": 1])
        let reader = try Self.openForReading(place.path)
        try reader.backup(to: place.directory + "/backup.docdb")
        let backup = try Store(path: place.directory + "/backup.docdb")
        #expect(try backup.get(1) == ["a": 1])
    }
}
