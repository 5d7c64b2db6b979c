import DocDBCore
package import DocDBStorage
import Dispatch
import Synchronization

/// What is read again from a store that another process may have written to, and what was read last.
package protocol FollowedReader: Sendable {
    associatedtype Delivery: Sendable

    /// What has changed since the last call, at first everything; nil where nothing visible has.
    ///
    /// - Throws: What reading the store throws.
    mutating func poll(_ store: Store) throws -> Delivery?
}

/// A live source over a store that is open for reading: it hears of no commits, so it looks at intervals whether there
/// were any, and takes by reading anew.
package final class FollowedSource<Reader: FollowedReader>: LiveSource {
    private struct State: ~Copyable {
        /// The newest commit that was seen at a look.
        var sequence: Int64 = -1
        var isAwake = true
        var isClosed = false
        /// The store, which a source that is kept too long does not keep open.
        weak var store: Store?
    }

    private let wake: @Sendable () -> Void
    private let state: Lock<State>
    /// What was read last; held while a take reads.
    private let reader: Lock<Reader>
    private let timer: any DispatchSourceTimer & Sendable

    /// Begins to look; `wake` is called from any thread when there is something to take, and must only schedule.
    ///
    /// The first take is the owner's own to make.
    package init(_ reader: Reader, store: Store, wake: @escaping @Sendable () -> Void) throws {
        try store.checkIsOpen()
        self.wake = wake
        self.reader = Lock(reader)
        state = Lock(State(store: store))
        let source = DispatchSource.makeTimerSource(queue: .global(qos: .utility))
        timer = unsafeDowncast(source as AnyObject, to: DispatchSource.self)
        let interval = DispatchTimeInterval.milliseconds(FollowLimits.intervalMilliseconds)
        source.schedule(deadline: .now() + interval, repeating: interval, leeway: interval)
        source.setEventHandler { [weak self] in self?.look() }
        source.activate()
    }

    deinit { timer.cancel() }

    package func close() {
        timer.cancel()
        state.withLock { $0.isClosed = true }
    }

    package var hasEnded: Bool { state.withLock { $0.isClosed } }
    package var readsNext: Bool { true }

    /// Looks for commits since the last time. Where that fails, the take that follows says why.
    private func look() {
        let store = state.withLock { $0.isClosed ? nil : $0.store }
        let sequence = try? store?.read { try FollowLimits.sequence($0) }
        let mustWake = state.withLock { state -> Bool in
            guard !state.isClosed, !state.isAwake, sequence == nil || sequence != state.sequence else { return false }
            if let sequence { state.sequence = sequence }
            state.isAwake = true
            return true
        }
        if mustWake { wake() }
    }

    package func take() throws -> Reader.Delivery? {
        let (store, isClosed) = state.withLock { state -> (Store?, Bool) in
            state.isAwake = false
            return (state.store, state.isClosed)
        }
        if isClosed { return nil }
        guard let store else { throw LiveFailure.databaseClosed }
        return try reader.withLock { try $0.poll(store) }
    }
}

/// How other processes' writes are followed.
package enum FollowLimits {
    /// How often a store that is open for reading is looked at: soon enough for people, and too rarely to cost anything.
    package static let intervalMilliseconds = 100

    /// The number of the newest commit; unlike SQLite's data version it compares between connections.
    static func sequence(_ context: ReadContext) throws -> Int64 {
        try ChangeLogReader(connection: context.connection).lastSequence()
    }
}
