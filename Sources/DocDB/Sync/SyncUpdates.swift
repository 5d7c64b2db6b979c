import DocDBCore
import DocDBReplication

/// News of replication as an asynchronous sequence, which can be iterated over any number of times.
///
/// Each iteration begins with its first step. It ends when the database closes or its task is cancelled.
public struct SyncUpdates<Element: Sendable>: AsyncSequence, Sendable {
    private let makeStream: @Sendable () -> (AsyncStream<Element>, ObserverToken)

    init(_ makeStream: @escaping @Sendable () -> (AsyncStream<Element>, ObserverToken)) { self.makeStream = makeStream }

    /// Returns an iterator that observes for itself.
    public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(makeStream) }

    /// Waits for one piece of news after another.
    public struct AsyncIterator: AsyncIteratorProtocol {
        private let makeStream: @Sendable () -> (AsyncStream<Element>, ObserverToken)
        private var stream: AsyncStream<Element>.AsyncIterator?
        private var token: ObserverToken?

        fileprivate init(_ makeStream: @escaping @Sendable () -> (AsyncStream<Element>, ObserverToken)) {
            self.makeStream = makeStream
        }

        /// Returns the next piece of news, once there is one; nil after the end.
        public mutating func next() async -> Element? {
            if stream == nil {
                let (begun, token) = makeStream()
                stream = begun.makeAsyncIterator()
                self.token = token
            }
            return await stream?.next()
        }
    }

    /// No news at all: of a database that has no identity.
    static var none: SyncUpdates<Element> {
        SyncUpdates {
            let (stream, continuation) = AsyncStream.makeStream(of: Element.self)
            continuation.finish()
            return (stream, Observers<Element>().add { _ in })
        }
    }

    /// The newest of the values of observers: begins with the present one, and passes over those that come while the
    /// consumer is busy.
    static func newest<Source>(
        _ observers: Observers<Source>, of engine: ReplicationEngine, now: @escaping @Sendable () -> Source,
        _ convert: @escaping @Sendable (Source) -> Element
    ) -> SyncUpdates<Element> {
        SyncUpdates {
            let (stream, continuation) = AsyncStream.makeStream(
                of: Element.self, bufferingPolicy: .bufferingNewest(1))
            let token = observers.add({ continuation.yield(convert($0)) }, onEnd: { continuation.finish() })
            // In turn with what is told, so that it never overtakes something newer.
            engine.executor.enqueue { continuation.yield(convert(now())) }
            return (stream, token)
        }
    }

    /// Every value of observers, from now on; of those that wait for a consumer, the newest ones.
    static func each<Source>(
        _ observers: Observers<Source>, bufferCount: Int, _ convert: @escaping @Sendable (Source) -> Element?
    ) -> SyncUpdates<Element> {
        SyncUpdates {
            let (stream, continuation) = AsyncStream.makeStream(
                of: Element.self, bufferingPolicy: .bufferingNewest(bufferCount))
            let token = observers.add(
                { if let element = convert($0) { continuation.yield(element) } }, onEnd: { continuation.finish() })
            return (stream, token)
        }
    }
}
