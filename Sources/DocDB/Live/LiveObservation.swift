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

    init(end: @escaping @Sendable () -> Void) { self.end = end }

    deinit { end() }

    /// Ends the observation; calls after the first do nothing.
    ///
    /// May be called from any thread, also within the handler. A call of the handler that is under way on another thread
    /// is not waited for; none begins after it.
    public func cancel() { end() }
}
