import DocDBCore
import Synchronization

extension Query {
    /// Observes the query on an actor: the handler is called isolated to it, and may use its state.
    ///
    /// ```swift
    /// actor Stock {
    ///     var observation: LiveObservation?
    ///     var count = 0
    ///     func begin(_ cars: Collection) throws {
    ///         observation = try cars.findAll().observe(on: self) { stock, documents, event in
    ///             stock.count = documents.count
    ///         }
    ///     }
    /// }
    /// ```
    ///
    /// The actor is not kept alive; when it goes, the observation ends.
    ///
    /// - Parameters:
    ///   - actor: where the handler runs.
    ///   - onError: called once on the actor where the store cannot be read any more; the observation has then ended.
    ///   - handler: gets the actor, the results and what happened to them. Calls never overlap.
    /// - Returns: the observation, which ends when it is cancelled or released.
    /// - Throws: as ``observe(on:onError:_:)-(DispatchQueue?,_,_)`` does.
    public func observe<A: Actor>(
        on actor: A, onError: @escaping @Sendable (isolated A, any Error) -> Void = { _, _ in },
        _ handler: @escaping @Sendable (isolated A, LiveDocuments, LiveEvent) -> Void
    ) throws -> LiveObservation {
        let stream = try LiveStream(self)
        let failure = Lock<(any Error)?>(nil)
        let task = Task { [weak actor] in
            do {
                while let update = try await stream.next() {
                    guard let actor, !Task.isCancelled else { return }
                    await Self.deliver(update, to: actor, handler)
                }
            } catch {
                guard let actor, !Task.isCancelled else { return }
                failure.withLock { $0 = error }
                await Self.fail(error, on: actor, onError)
            }
        }
        return LiveObservation(failure: { failure.withLock { $0 } }, end: { task.cancel() })
    }

    private static func deliver<A: Actor>(
        _ update: LiveUpdate, to actor: isolated A, _ handler: @Sendable (isolated A, LiveDocuments, LiveEvent) -> Void
    ) {
        // Cancelled on the actor itself, it must not be called any more.
        guard !Task.isCancelled else { return }
        handler(actor, update.documents, update.event)
    }

    private static func fail<A: Actor>(
        _ error: any Error, on actor: isolated A, _ onError: @Sendable (isolated A, any Error) -> Void
    ) {
        onError(actor, error)
    }
}
