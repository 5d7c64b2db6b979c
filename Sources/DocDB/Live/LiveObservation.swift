import DocDBCore

/// An observation under way: it lasts until it is cancelled, released, or its database closes.
///
/// Keep it for as long as events are wanted. An observation that is kept too long keeps neither the database open nor
/// anything else of it but the documents that it delivered last.
///
/// ```swift
/// let observation = try cars.find("state == 'for sale'").sort("price").observe { documents, event in
///     print("\(documents.count) cars for sale")
/// }
/// ...
/// observation.cancel()
/// ```
public final class LiveObservation: Sendable {
    private let end: @Sendable () -> Void
    private let failure: @Sendable () -> (any Error)?

    init(failure: @escaping @Sendable () -> (any Error)?, end: @escaping @Sendable () -> Void) {
        self.failure = failure
        self.end = end
    }

    deinit { end() }

    /// Why the observation has ended by itself; nil while it goes on, and where it was cancelled or the database has closed.
    ///
    /// It is the error that `onError` was called with; an observation never ends in silence.
    public var error: (any Error)? { failure() }

    /// Ends the observation; calls after the first do nothing.
    ///
    /// May be called from any thread, also within the handler. A call of the handler that is under way on another thread
    /// is not waited for; none begins after it.
    public func cancel() { end() }
}
