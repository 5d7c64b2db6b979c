import DocDB
import DocDBReplication
import Synchronization

/// An executor in life whose clocks can be put forward, and its wall clock back.
final class ShiftedExecutor: ReplicationExecutor {
    private struct Timer {
        var time: UInt64
        var work: @Sendable () -> Void
    }

    private struct State {
        var wall: Int64 = 0
        var monotonic: UInt64 = 0
        var timers: [UInt64: Timer] = [:]
    }

    private let base = DispatchExecutor()
    private let state = Mutex(State())

    var monotonicNanoseconds: UInt64 { base.monotonicNanoseconds + state.withLock { $0.monotonic } }
    var wallNanoseconds: UInt64 { UInt64(Int64(base.wallNanoseconds) + state.withLock { $0.wall }) }

    func enqueue(_ work: @escaping @Sendable () -> Void) { base.enqueue(work) }

    func schedule(key: UInt64, atNanoseconds time: UInt64, _ work: @escaping @Sendable () -> Void) {
        let shift = state.withLock { state in
            state.timers[key] = Timer(time: time, work: work)
            return state.monotonic
        }
        base.schedule(key: key, atNanoseconds: time > shift ? time - shift : 0) { [weak self] in self?.fire(key) }
    }

    func cancel(key: UInt64) {
        state.withLock { $0.timers[key] = nil }
        base.cancel(key: key)
    }

    private func fire(_ key: UInt64) { state.withLock { $0.timers.removeValue(forKey: key) }?.work() }

    /// Lets time pass on both clocks; what is due then is done at once.
    func pass(seconds: UInt64) async {
        let timers = state.withLock { state in
            state.wall += Int64(seconds) * 1_000_000_000
            state.monotonic += seconds * 1_000_000_000
            return state.timers
        }
        for (key, timer) in timers { schedule(key: key, atNanoseconds: timer.time, timer.work) }
        // Twice: what is due was scheduled before the second one.
        for _ in 0..<2 { await withCheckedContinuation { continuation in enqueue { continuation.resume() } } }
    }
}

/// Credentials in memory; after a crash what is saved is lost.
final class MemoryCredentials: CredentialStorage {
    private struct State {
        var content: [String: [UInt8]] = [:]
        var saveCounts: [String: Int] = [:]
        var hasCrashed = false
    }

    private let state = Mutex(State())

    func load(_ name: String) throws -> [UInt8]? { state.withLock { $0.content[name] } }

    func save(_ name: String, _ bytes: [UInt8]?) throws {
        state.withLock { state in
            if state.hasCrashed { return }
            state.content[name] = bytes
            state.saveCounts[name, default: 0] += 1
        }
    }

    func saveCount(_ name: String) -> Int { state.withLock { $0.saveCounts[name] ?? 0 } }
    func crash() { state.withLock { $0.hasCrashed = true } }
    func restart() { state.withLock { $0.hasCrashed = false } }
}
