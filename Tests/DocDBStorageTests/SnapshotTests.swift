import Dispatch
import DocDBCore
import DocDBStorage
import Foundation
import Synchronization
import Testing

@Suite("Reads of one moment", .timeLimit(.minutes(10)))
struct SnapshotTests {
    @Test("see a transaction whole or not at all: documents, collections and indexes", arguments: [false, true])
    func whole(isOtherStore: Bool) throws {
        let place = TemporaryStore("snapshot")
        let writer = try place.open()
        try writer.put(["_id": "count", "n": 1])
        let definition = try IndexDefinition(text: "n")
        let reader = isOtherStore ? try ReadOnlyStoreTests.openForReading(place.path) : writer
        let failures = Lock<[String]>([])
        let isDone = Atomic<Bool>(false)
        DispatchQueue.concurrentPerform(iterations: 4) { thread in
            do {
                if thread == 0 {
                    defer { isDone.store(true, ordering: .releasing) }
                    for number in Int64(2)...250 {
                        try writer.write { transaction in
                            try transaction.put(["_id": "count", "n": .int(number)])
                            try transaction.put(["_id": 1], in: "collection\(number)")
                            if number % 2 == 0 {
                                try transaction.createIndex(definition, collection: "cars")
                            } else {
                                try transaction.dropIndex(definition, collection: "cars")
                            }
                        }
                    }
                    return
                }
                while !isDone.load(ordering: .acquiring) {
                    try reader.read { context in
                        let number = try context.get("count")?["n"]?.intValue ?? -1
                        if Int64(context.catalog.names.count) != number {
                            failures.withLock { $0.append("\(context.catalog.names.count) collections at \(number)") }
                        }
                        for index in context.catalog["cars"]?.indexes ?? [] {
                            _ = try context.connection.prepareOnce("SELECT count(*) FROM index_\(index.number)").step()
                        }
                    }
                }
            } catch {
                failures.withLock { $0.append("\(error)") }
            }
        }
        #expect(failures.withLock { $0 } == [])
        #expect(try writer.verify().isEmpty)
    }

    @Test("of many threads each see commits in their order, and their own writes at once")
    func ordered() throws {
        let place = TemporaryStore("snapshot")
        let store = try place.open()
        let failures = Lock<[String]>([])
        DispatchQueue.concurrentPerform(iterations: 6) { thread in
            do {
                var last: Int64 = 0
                for number in Int64(1)...40 {
                    try store.put(["_id": .int(Int64(thread)), "n": .int(number)])
                    let own = try store.get(DocumentID(Int64(thread)))?["n"]?.intValue
                    if own != number { failures.withLock { $0.append("\(own ?? -1) instead of \(number)") } }
                    let sequence = try store.lastSequence()
                    if sequence <= last { failures.withLock { $0.append("\(sequence) after \(last)") } }
                    last = sequence
                }
            } catch {
                failures.withLock { $0.append("\(error)") }
            }
        }
        #expect(failures.withLock { $0 } == [])
        #expect(try store.lastSequence() == 240)
    }

    @Test("go on while the store is closed, and end with an error or with what they began with")
    func closed() throws {
        let place = TemporaryStore("snapshot")
        let store = try place.open()
        try store.put(["_id": 1, "a": 1])
        try store.read { context in
            #expect(try context.get(1) == ["a": 1])
            try store.close()
            #expect(try context.get(1) == ["a": 1])
        }
        #expect(errorCode { _ = try store.get(1) } == .databaseClosed)
        #expect(try place.open().get(1) == ["a": 1])
    }

    @Test("of tasks run beside writes of tasks")
    func asynchronous() async throws {
        let place = TemporaryStore("snapshot")
        let store = try place.open()
        try store.put(["_id": 1, "n": 0])
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<4 {
                group.addTask {
                    for _ in 0..<20 {
                        try await store.write { transaction in
                            let before = try transaction.context.get(1)?["n"]?.intValue ?? 0
                            try transaction.put(["_id": 1, "n": .int(before + 1)])
                        }
                        let seen = try await store.read { try $0.get(1)?["n"]?.intValue ?? 0 }
                        #expect(seen >= 1)
                    }
                }
            }
            try await group.waitForAll()
        }
        #expect(try store.get(1) == ["n": 80])
    }
}
