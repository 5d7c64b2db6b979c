import Dispatch
import DocDBCore
import DocDBLive
import DocDBStorage
import Synchronization

extension Query {
    /// The results of the query as they change, as a sequence to iterate over in a task.
    ///
    /// ```swift
    /// for try await update in cars.find("state == 'for sale'").sort("price").changes {
    ///     show(update.documents, update.event)
    /// }
    /// ```
    ///
    /// Each iteration observes for itself, from its first step on. While its loop is busy, changes gather and come as one
    /// event. The loop ends when the database closes or the task is cancelled, and throws what
    /// ``observe(on:onError:_:)-(DispatchQueue?,_,_)`` throws.
    public var changes: LiveChanges { LiveChanges(query: self) }
}

/// The deliveries of an observed query, as an asynchronous sequence that can be iterated over any number of times.
public struct LiveChanges: AsyncSequence, Sendable {
    let query: Query

    /// Returns an iterator that observes for itself; it begins at its first step.
    public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(query) }

    /// Waits for one delivery after another.
    public struct AsyncIterator: AsyncIteratorProtocol {
        private let query: Query
        private var stream: LiveStream?

        fileprivate init(_ query: Query) { self.query = query }

        /// Returns the next delivery, once there is one; nil when the database has closed or the task was cancelled.
        ///
        /// - Throws: as ``Query/observe(on:onError:_:)-(DispatchQueue?,_,_)`` does; the iteration has then ended.
        public mutating func next() async throws -> LiveUpdate? {
            if let stream { return try await stream.next() }
            let begun = try LiveStream(query)
            stream = begun
            return try await begun.next()
        }
    }
}

/// A live query whose one consumer is a task.
final class LiveStream: Sendable {
    private let source: any LiveSource<LiveQuery.Delivery>
    private let signal: LiveSignal

    init(_ query: Query) throws {
        let signal = LiveSignal()
        self.signal = signal
        source = try query.liveSource(query.observableStore()) { signal.set() }
    }

    /// The next delivery, once there is one; nil after the end. One task waits at a time.
    func next() async throws -> LiveUpdate? {
        do {
            while !Task.isCancelled {
                if let delivery = try await take() { return LiveUpdate(delivery) }
                if source.hasEnded { return nil }
                await signal.wait()
            }
        } catch {
            source.close()
            if (error as? DocDBError)?.code != .databaseClosed { throw error }
        }
        source.close()
        return nil
    }

    /// Takes what there is; where that reads the store, not on a thread of the cooperative pool.
    private func take() async throws -> LiveQuery.Delivery? {
        guard source.readsNext else { return try source.take() }
        return try await withCheckedThrowingContinuation { continuation in
            DispatchQueue.global().async { continuation.resume(with: Result { try self.source.take() }) }
        }
    }
}

/// A flag that one task waits for; setting it wakes the task, or lets its next wait end at once.
final class LiveSignal: Sendable {
    private enum State {
        case clear
        case set
        case waiting(CheckedContinuation<Void, Never>)
    }

    private let state = Lock(State.clear)

    func set() {
        let waiting = state.withLock { state -> CheckedContinuation<Void, Never>? in
            if case .waiting(let continuation) = state {
                state = .clear
                return continuation
            }
            state = .set
            return nil
        }
        waiting?.resume()
    }

    /// Returns when the flag is set, which clears it, or when the task is cancelled.
    func wait() async {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let isSet = state.withLock { state -> Bool in
                    if case .set = state {
                        state = .clear
                        return true
                    }
                    state = .waiting(continuation)
                    return false
                }
                if isSet { continuation.resume() }
            }
        } onCancel: {
            set()
        }
    }
}
