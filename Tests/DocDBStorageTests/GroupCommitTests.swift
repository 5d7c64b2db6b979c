import CSQLite
import Dispatch
import DocDBCore
import DocDBStorage
import Foundation
import Synchronization
import Testing

@Suite("Group commit", .timeLimit(.minutes(10)))
struct GroupCommitTests {
    struct Abort: Error, Equatable { var number: Int }

    /// Counts the commits of a store's writer.
    final class CommitCounter: Sendable {
        let count = Atomic<Int>(0)

        func attach(to store: Store) throws {
            let context = Unmanaged.passUnretained(self).toOpaque()
            try store.write { transaction in
                _ = sqlite3_commit_hook(
                    transaction.context.connection.handle,
                    { context in
                        guard let context else { return 0 }
                        let counter = Unmanaged<CommitCounter>.fromOpaque(context).takeUnretainedValue()
                        counter.count.add(1, ordering: .relaxed)
                        return 0
                    }, context)
            }
        }
    }

    /// Keeps the writer busy from another thread until it is let go.
    final class Occupation: Sendable {
        private let end = DispatchSemaphore(value: 0)
        private let ended = DispatchSemaphore(value: 0)

        init(_ store: Store) {
            let begun = DispatchSemaphore(value: 0)
            Thread.detachNewThread { [end, ended] in
                try? store.write { _ in
                    begun.signal()
                    end.wait()
                }
                ended.signal()
            }
            begun.wait()
        }

        func letGo() {
            end.signal()
            ended.wait()
        }
    }

    /// Starts tasks that each write through `write`, and returns once all have come to it.
    static func start<R: Sendable>(
        _ count: Int, _ write: @escaping @Sendable (Int) async throws -> R
    ) async -> [Task<R, any Error>] {
        let arrived = Counter()
        let tasks = (0..<count).map { number in
            Task {
                arrived.count.add(1, ordering: .relaxed)
                return try await write(number)
            }
        }
        while arrived.count.load(ordering: .relaxed) < count { await Task.yield() }
        // The last of them to arrive may not have queued its write yet; that they all have is not needed.
        for _ in 0..<100 { await Task.yield() }
        return tasks
    }

    final class Counter: Sendable { let count = Atomic<Int>(0) }

    @Test("gives each task its own result, number and error; a failed one alone is rolled back")
    func separates() async throws {
        let place = TemporaryStore("group")
        let store = try place.open()
        try store.put(["_id": "sum", "n": 0])
        let occupation = Occupation(store)
        let tasks = await Self.start(200) { number in
            try await store.write { transaction -> Int64 in
                let before = try transaction.context.get("sum")?["n"]?.intValue ?? -1
                try transaction.put(["_id": "sum", "n": .int(before + 1)])
                try transaction.put(["_id": .int(Int64(number)), "field\(number)": 1], in: "collection\(number % 7)")
                if number % 3 == 0 { throw Abort(number: number) }
                return transaction.sequence
            }
        }
        occupation.letGo()
        var sequences: [Int64] = []
        for (number, task) in tasks.enumerated() {
            switch await task.result {
            case .success(let sequence):
                #expect(number % 3 != 0)
                sequences.append(sequence)
            case .failure(let error): #expect(error as? Abort == Abort(number: number))
            }
        }
        #expect(sequences.sorted() == Array(2...134))
        #expect(try store.get("sum") == ["n": 133])
        for number in 0..<200 {
            let expected: Value? = number % 3 == 0 ? nil : ["field\(number)": 1]
            #expect(try store.get(DocumentID(Int64(number)), in: "collection\(number % 7)") == expected)
        }
        #expect(try store.verify().isEmpty)
        try StampTests.expectRising(store, "a group")
        try store.close()
        let reopened = try place.open()
        #expect(try reopened.get(199, in: "collection3") == ["field199": 1])
        #expect(try reopened.verify().isEmpty)
    }

    @Test("commits many tasks' writes at once", arguments: [StoreDurability.normal, .full])
    func groups(durability: StoreDurability) async throws {
        let place = TemporaryStore("group")
        let store = try place.open { $0.durability = durability }
        let counter = CommitCounter()
        try counter.attach(to: store)
        // The hook must not outlive the counter.
        defer { withExtendedLifetime(counter) { try? store.close() } }
        let before = counter.count.load(ordering: .relaxed)
        let occupation = Occupation(store)
        let tasks = await Self.start(120) { number in
            try await store.write { try $0.put(["_id": .int(Int64(number))]) }
        }
        occupation.letGo()
        for task in tasks { #expect(try await task.value == .inserted) }
        // One commit is that of the occupation; one job may have been taken before the others came.
        #expect(counter.count.load(ordering: .relaxed) - before <= 60)
        #expect(try store.all().count == 120)
        #expect(try store.lastSequence() == 120)
        if durability == .full { #expect(try store.synchronize() == 120) }
    }

    @Test("fails as a whole where the disk is full, and every task hears of it")
    func failsWhole() async throws {
        let place = TemporaryStore("group")
        let store = try place.open()
        try store.put(["_id": 1])
        try FailedCommitTests.limit(store, pages: 3)
        let occupation = Occupation(store)
        let tasks = await Self.start(20) { number in
            try await store.write { transaction in
                if number == 3 { throw Abort(number: 3) }
                let text = String(repeating: "t", count: 2_000)
                try transaction.put(["_id": .int(Int64(number + 100)), "text": .string(text), "field\(number)": 1])
            }
        }
        occupation.letGo()
        var written: Set<DocumentID> = [1]
        for (number, task) in tasks.enumerated() {
            switch await task.result {
            case .success: written.insert(DocumentID(Int64(number + 100)))
            case .failure(let error):
                #expect((error as? DocDBError)?.code == .diskFull || error as? Abort == Abort(number: 3))
            }
        }
        #expect(written.count < 20)
        #expect(Set(try store.all().keys) == written)
        try FailedCommitTests.limit(store, pages: nil)
        #expect(try await store.write { try $0.put(["_id": 7, "field19": 1]) } == .inserted)
        #expect(try store.verify().isEmpty)
    }

    @Test("answers every queued write where the store is closed, and keeps just those that succeeded")
    func closes() async throws {
        let place = TemporaryStore("group")
        let store = try place.open()
        try store.put(["_id": 1_000])
        let occupation = Occupation(store)
        let tasks = await Self.start(50) { number in
            try await store.write { try $0.put(["_id": .int(Int64(number))]) }
        }
        let closed = DispatchSemaphore(value: 0)
        Thread.detachNewThread {
            try? store.close()
            closed.signal()
        }
        occupation.letGo()
        var written: Set<DocumentID> = [1_000]
        for (number, task) in tasks.enumerated() {
            switch await task.result {
            case .success: written.insert(DocumentID(Int64(number)))
            case .failure(let error): #expect((error as? DocDBError)?.code == .databaseClosed)
            }
        }
        await withCheckedContinuation { continuation in
            Thread.detachNewThread {
                closed.wait()
                continuation.resume()
            }
        }
        let reopened = try place.open()
        #expect(Set(try reopened.all().keys) == written)
        #expect(try reopened.verify().isEmpty)
    }

    @Test("writes nothing for a task that was cancelled before")
    func cancels() async throws {
        let place = TemporaryStore("group")
        let store = try place.open()
        let task = Task {
            while !Task.isCancelled { await Task.yield() }
            return try await store.write { try $0.put(["_id": 1]) }
        }
        task.cancel()
        let result = await task.result
        #expect { try result.get() } throws: { ($0 as? DocDBError)?.code == .cancelled }
        #expect(try store.all() == [:])
    }

    @Test("refuses a write within a write rather than waiting for itself")
    func refusesNested() async throws {
        let place = TemporaryStore("group")
        let store = try place.open()
        try await store.write { transaction in
            #expect(errorCode { try store.put(["_id": 1]) } == .misuse)
            #expect(errorCode { try store.close() } == .misuse)
            try transaction.put(["_id": 2])
        }
        #expect(try store.all() == [2: [:]])
    }

    @Test("refuses a transaction that is used after its closure")
    func refusesEscaped() throws {
        let place = TemporaryStore("group")
        let store = try place.open()
        var escape: WriteTransaction?
        try store.write { transaction in
            try transaction.put(["_id": 1])
            escape = transaction
        }
        let escaped = try #require(escape)
        #expect(errorCode { try escaped.put(["_id": 2]) } == .misuse)
        #expect(errorCode { _ = try escaped.remove(1) } == .misuse)
        #expect(try store.all() == [1: [:]])
    }

    @Test("mixes with writes of threads; every increment counts", arguments: [StoreDurability.normal, .full])
    func mixes(durability: StoreDurability) async throws {
        let place = TemporaryStore("group")
        let store = try place.open { $0.durability = durability }
        let increment: @Sendable (WriteTransaction) throws -> Void = { transaction in
            let before = try transaction.context.get("sum")?["n"]?.intValue ?? 0
            try transaction.put(["_id": "sum", "n": .int(before + 1)])
        }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<6 {
                group.addTask { for _ in 0..<20 { try await store.write(increment) } }
            }
            group.addTask {
                for _ in 0..<20 { _ = try store.synchronize() }
            }
            try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
                Thread.detachNewThread {
                    continuation.resume(with: Result { for _ in 0..<80 { try store.write(increment) } })
                }
            }
            try await group.waitForAll()
        }
        #expect(try store.get("sum") == ["n": 200])
        #expect(try store.lastSequence() == 200)
        #expect(try store.verify().isEmpty)
    }
}
