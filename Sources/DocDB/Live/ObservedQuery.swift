public import Dispatch
import DocDBCore
public import Observation
import Synchronization

/// A query whose results are observable properties: for SwiftUI, and for anything that uses `withObservationTracking`.
///
/// ```swift
/// struct CarList: View {
///     @State private var cars: ObservedQuery
///     var body: some View {
///         List(cars.documents, id: \.id) { Text($0["make"]?.stringValue ?? "") }
///     }
/// }
/// ```
///
/// The properties change on the main queue unless another is given, and may be read on any thread. They change until the
/// object goes, or the database closes.
public final class ObservedQuery: Sendable {
    private struct State {
        var documents = LiveDocuments()
        var event: LiveEvent?
        var error: (any Error)?
        var observation: LiveObservation?
    }

    private let state = Lock(State())
    private let registrar = ObservationRegistrar()

    /// Begins to observe a query.
    ///
    /// - Parameters:
    ///   - query: a query of the database itself.
    ///   - queue: where the properties change; the main one unless given.
    /// - Throws: as `Query.observe(on:onError:_:)` does.
    public init(_ query: Query, on queue: DispatchQueue = .main) throws {
        let observation = try query.observe(
            on: queue, onError: { [weak self] in self?.fail($0) },
            { [weak self] documents, event in self?.update(documents, event) })
        state.withLock { $0.observation = observation }
    }

    /// The results; none before the first delivery.
    public var documents: LiveDocuments {
        registrar.access(self, keyPath: \.documents)
        return state.withLock { $0.documents }
    }

    /// What led to the results; nil before the first delivery.
    public var event: LiveEvent? {
        registrar.access(self, keyPath: \.event)
        return state.withLock { $0.event }
    }

    /// Why the results do not change any more; nil while all is well, and after the database has closed.
    public var error: (any Error)? {
        registrar.access(self, keyPath: \.error)
        return state.withLock { $0.error }
    }

    private func update(_ documents: LiveDocuments, _ event: LiveEvent) {
        registrar.willSet(self, keyPath: \.documents)
        registrar.willSet(self, keyPath: \.event)
        state.withLock { state in
            state.documents = documents
            state.event = event
        }
        registrar.didSet(self, keyPath: \.event)
        registrar.didSet(self, keyPath: \.documents)
    }

    private func fail(_ error: any Error) {
        registrar.withMutation(of: self, keyPath: \.error) { state.withLock { $0.error = error } }
    }
}

extension ObservedQuery: Observable {}
