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

@Suite("The lock of a store")
struct StoreLockTests {
    @Test("stops a second writer in the same process, and goes with the first")
    func stopsSecondWriter() throws {
        let place = TemporaryStore("lock")
        let store = try place.open()
        let error = docdbError { _ = try place.open() }
        #expect(error?.code == .storeLocked)
        #expect(error?.message.contains("this process (\(getpid()))") == true)
        #expect(try store.put(["_id": 1]) == .inserted)
        try store.close()
        let next = try place.open()
        #expect(try next.get(1) == [:])
    }

    @Test("goes with a store that was not closed")
    func goesWithObject() throws {
        let place = TemporaryStore("lock")
        do { _ = try place.open() }
        try place.open().close()
    }

    @Test("stops a writer in another process, which hears who holds it")
    func stopsOtherProcess() async throws {
        let place = TemporaryStore("lock")
        let store = try place.open()
        try store.put(["_id": 1, "a": 1])
        await #expect(processExitsWith: .success) { [path = place.path as String, holder = getpid() as Int32] in
            let error = docdbError { _ = try Store(path: path) }
            #expect(error?.code == .storeLocked)
            #expect(error?.message.contains("process \(holder) (") == true)
            #expect(error?.context["holder"]?.contains("\(holder)") == true)
            var options = StoreOptions()
            options.access = .readOnly
            let reader = try Store(path: path, options: options)
            #expect(try reader.get(1) == ["a": 1])
        }
        #expect(try store.put(["_id": 2]) == .inserted)
    }

    @Test("goes with a process that was killed")
    func goesWithProcess() async throws {
        let place = TemporaryStore("lock")
        await #expect(processExitsWith: .signal(SIGKILL)) { [path = place.path as String] in
            let store = try Store(path: path)
            try store.put(["_id": 1, "a": 1])
            kill(getpid(), SIGKILL)
        }
        let store = try place.open()
        #expect(try store.get(1) == ["a": 1])
    }

    @Test("is left where opening fails after it was taken")
    func isLeftOnFailure() throws {
        let place = TemporaryStore("lock")
        try place.open().close()
        try place.alter("PRAGMA user_version = 99")
        #expect(errorCode { _ = try place.open() } == .storeTooNew)
        try place.alter("PRAGMA user_version = \(Store.formatVersion)")
        try place.open().close()
    }

    @Test("lets just one of many win that open at once, also where the store is new")
    func letsOneWin() throws {
        let place = TemporaryStore("lock")
        let winners = Lock<[Store]>([])
        let codes = Lock<[DocDBError.Code?]>([])
        DispatchQueue.concurrentPerform(iterations: 8) { _ in
            do {
                let store = try place.open()
                winners.withLock { $0.append(store) }
            } catch {
                codes.withLock { $0.append((error as? DocDBError)?.code) }
            }
        }
        #expect(winners.withLock { $0.count } == 1)
        #expect(codes.withLock { $0 } == Array(repeating: .storeLocked, count: 7))
        #expect(try winners.withLock { try $0[0].put(["_id": 1]) } == .inserted)
    }
}
