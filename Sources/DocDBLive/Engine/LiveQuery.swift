package import DocDBStorage

/// One live query: what one consumer takes from a window that it shares with all queries for the same results.
///
/// Pull-based: a commit updates the window and calls `wake` once; the consumer calls `take` when it is ready and gets
/// everything since the last time in one delivery.
package final class LiveQuery: LiveSource {
    /// What a consumer gets.
    package enum Delivery: Sendable {
        case initial(ResultSnapshot<SharedDocument>)
        case update(ResultEvent<SharedDocument>)
    }

    private let window: LiveWindow
    private let consumer: Int

    /// Begins a live query; `wake` is called from any thread when there is something to take, and must only schedule.
    ///
    /// - Parameter wakesAtOnce: On the thread that commits, before its write returns; else soon after, on another.
    package init(
        _ definition: QueryDefinition, store: Store, wakesAtOnce: Bool = false, wake: @escaping @Sendable () -> Void
    ) throws {
        (window, consumer) = try LiveEngine.of(store).attach(
            definition, in: store, wake: WakeQueue.Wake(call: wake, isImmediate: wakesAtOnce))
    }

    deinit { close() }

    package func close() { window.detach(consumer) }
    package var hasEnded: Bool { window.hasEnded(consumer) }
    package var readsNext: Bool { window.readsNext }
    package func take() throws -> Delivery? { try window.take(consumer) }

    /// The rows that have been read from the store for this query and those that share its window.
    package var readRowCount: Int { window.readRowCount }

    /// Tells whether two live queries share their window.
    package func sharesWindow(with other: LiveQuery) -> Bool { window === other.window }
}
