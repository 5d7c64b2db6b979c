import DocDBCore
import DocDBReplication
import Testing

@Suite("The executor over a dispatch queue", .timeLimit(.minutes(10))) struct DispatchExecutorTests {
    @Test("runs work in order, timers when their time has come, and what was cancelled or replaced never")
    func order() async {
        let executor = DispatchExecutor()
        let (stream, continuation) = AsyncStream.makeStream(of: Int.self)
        let now = executor.monotonicNanoseconds
        executor.schedule(key: 1, atNanoseconds: now + 60_000_000) { continuation.yield(4) }
        executor.schedule(key: 2, atNanoseconds: now + 40_000_000) { continuation.yield(3) }
        executor.schedule(key: 3, atNanoseconds: now + 20_000_000) { continuation.yield(99) }
        executor.schedule(key: 4, atNanoseconds: now + 20_000_000) { continuation.yield(98) }
        executor.schedule(key: 4, atNanoseconds: now + 80_000_000) {
            continuation.yield(5)
            continuation.finish()
        }
        executor.cancel(key: 3)
        executor.enqueue { continuation.yield(1) }
        executor.enqueue { continuation.yield(2) }
        var seen: [Int] = []
        for await number in stream { seen.append(number) }
        #expect(seen == [1, 2, 3, 4, 5])
        #expect(executor.monotonicNanoseconds >= now + 80_000_000)
    }

    @Test("work that is scheduled does not keep the executor")
    func lifetime() {
        weak var weakly: DispatchExecutor?
        do {
            let executor = DispatchExecutor()
            executor.schedule(key: 1, atNanoseconds: executor.monotonicNanoseconds + 3_600_000_000_000) {}
            weakly = executor
        }
        #expect(weakly == nil)
    }
}
