import DocDBCore
import DocDBLive
import DocDBStorage

/// The results of a live query that are taken when somebody wants them, on no thread of their own: for simulations.
package final class TakenResults: Sendable {
    private let source: LiveQuery

    fileprivate init(_ source: LiveQuery) { self.source = source }

    /// What has changed since the last call, at first all results; nil where nothing visible has.
    package func take() throws -> LiveUpdate? { try source.take().map { LiveUpdate($0) } }

    /// Ends the live query.
    package func cancel() { source.close() }
}

extension Query {
    /// Begins a live query whose results are to be taken; `wake` is called once when there is something to take,
    /// on the thread that commits.
    package func taken(wake: @escaping @Sendable () -> Void) throws -> TakenResults {
        TakenResults(try LiveQuery(definition, store: try observableStore(), wakesAtOnce: true, wake: wake))
    }
}
