import DocDBCore
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
    private let state = Lock(State())

    var monotonicNanoseconds: UInt64 { base.monotonicNanoseconds + state.withLock { $0.monotonic } }
    var wallNanoseconds: UInt64 { UInt64(Int64(base.wallNanoseconds) + state.withLock { $0.wall }) }

    func enqueue(_ work: @escaping @Sendable () -> Void) { base.enqueue(work) }

    func schedule(key: UInt64, atNanoseconds time: UInt64, _ work: @escaping @Sendable () -> Void) {
        let shift = state.withLock { state in
            state.timers[key] = Timer(time: time, work: work)
            return state.monotonic
        }
        base.schedule(key: key, atNanoseconds: time > shift ? time - shift : 0) { [weak self] in
            self?.fire(key, at: time)
        }
    }

    func cancel(key: UInt64) {
        state.withLock { $0.timers[key] = nil }
        base.cancel(key: key)
    }

    /// Does what was scheduled, unless it was cancelled, replaced or done since.
    private func fire(_ key: UInt64, at time: UInt64) {
        let timer = state.withLock { state in
            state.timers[key]?.time == time ? state.timers.removeValue(forKey: key) : nil
        }
        timer?.work()
    }

    /// Lets time pass on both clocks, and returns when what is due by then is done, in the order of its times.
    func pass(seconds: UInt64) async {
        let (now, timers) = state.withLock { state in
            state.wall += Int64(seconds) * 1_000_000_000
            state.monotonic += seconds * 1_000_000_000
            return (base.monotonicNanoseconds + state.monotonic, state.timers.sorted { $0.value.time < $1.value.time })
        }
        await withCheckedContinuation { continuation in
            enqueue { [self] in
                for (key, timer) in timers where state.withLock({ $0.timers[key]?.time }) == timer.time {
                    if timer.time <= now {
                        base.cancel(key: key)
                        fire(key, at: timer.time)
                    } else {
                        schedule(key: key, atNanoseconds: timer.time, timer.work)
                    }
                }
                continuation.resume()
            }
        }
    }
}

/// Credentials in memory; after a crash what is saved is lost.
final class MemoryCredentials: CredentialStorage {
    private struct State {
        var content: [String: [UInt8]] = [:]
        var saveCounts: [String: Int] = [:]
        var hasCrashed = false
    }

    private let state = Lock(State())

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
