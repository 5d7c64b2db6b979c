import Dispatch
import DocDB
import Observation
import Testing

@Suite("Observing queries in tasks, on actors and as observable objects")
struct LiveAsyncTests {
    let place: TemporaryDatabase
    var cars: Collection { place.cars }

    init() throws { place = try TemporaryDatabase() }

    @Test("several iterations of one sequence are independent")
    func iterators() async throws {
        let changes = cars.findAll().sort("_id").changes
        var first = changes.makeAsyncIterator()
        #expect(try await first.next()?.documents.count == 0)
        try cars.insert(["_id": 1])
        try cars.insert(["_id": 2])
        var second = changes.makeAsyncIterator()
        let initial = try #require(try await second.next())
        #expect(initial.documents.map(\.id) == [1, 2])
        guard case .initial = initial.event else {
            Issue.record("the first delivery is the initial one")
            return
        }
        let update = try #require(try await first.next())
        guard case .update(let insertions, _, _, _, let old) = update.event else {
            Issue.record("a later delivery is an update")
            return
        }
        #expect(insertions == [0, 1])
        #expect(old.isEmpty)
        try cars.remove(1)
        #expect(try await first.next()?.documents.map(\.id) == [2])
        #expect(try await second.next()?.documents.map(\.id) == [2])
    }

    @Test("an iteration ends when its task is cancelled, and when it began by an error it throws")
    func ending() async throws {
        let begun = AsyncStream<Void>.makeStream()
        let query = cars.findAll()
        let task = Task {
            var count = 0
            for try await _ in query.changes {
                count += 1
                begun.continuation.yield()
            }
            return count
        }
        for await _ in begun.stream { break }
        task.cancel()
        #expect(try await task.value == 1)
        var wrong = cars.findAll().limit(-1).changes.makeAsyncIterator()
        await #expect(throws: DocDBError.self) { try await wrong.next() }
    }

    actor Stock {
        var counts: [Int] = []
        var observation: LiveObservation?
        let stream = AsyncStream<Int>.makeStream()

        func begin(_ query: Query) throws {
            observation = try query.observe(on: self) { stock, documents, _ in
                stock.counts.append(documents.count)
                stock.stream.continuation.yield(documents.count)
            }
        }

        func end() { observation?.cancel() }
    }

    @Test("a handler on an actor runs isolated to it")
    func actors() async throws {
        let stock = Stock()
        try await stock.begin(cars.findAll())
        var heard = stock.stream.stream.makeAsyncIterator()
        #expect(await heard.next() == 0)
        try cars.insert(["_id": 1])
        #expect(await heard.next() == 1)
        await stock.end()
        try cars.insert(["_id": 2])
        #expect(await stock.counts == [0, 1])
    }

    @Test("an observed query tells those who track its properties")
    func observable() async throws {
        try cars.insert(["_id": 1])
        let observed = try ObservedQuery(cars.findAll().sort("_id"), on: .global())
        while observed.documents.isEmpty {
            await Self.change(of: observed) { $0.documents.isEmpty }
        }
        #expect(observed.documents.map(\.id) == [1])
        try cars.insert(["_id": 2])
        while observed.documents.count < 2 {
            await Self.change(of: observed) { $0.documents.count < 2 }
        }
        #expect(observed.documents.map(\.id) == [1, 2])
        #expect(observed.event != nil)
        #expect(observed.error == nil)
    }

    /// Waits until the documents are about to change, unless what is waited for has happened already.
    private static func change(of observed: ObservedQuery, while isWaiting: (ObservedQuery) -> Bool) async {
        await withCheckedContinuation { continuation in
            let once = ResumeOnce(continuation)
            let mustWait = withObservationTracking {
                isWaiting(observed)
            } onChange: {
                once.resume()
            }
            if !mustWait { once.resume() }
        }
    }
}

/// Resumes a continuation at the first call only.
private actor ResumeOnce {
    private var continuation: CheckedContinuation<Void, Never>?

    init(_ continuation: CheckedContinuation<Void, Never>) { self.continuation = continuation }

    nonisolated func resume() { Task { await resumeOnce() } }

    private func resumeOnce() {
        continuation?.resume()
        continuation = nil
    }
}
