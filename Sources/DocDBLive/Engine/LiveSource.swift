import DocDBStorage

/// Something live that a consumer takes deliveries from when it is ready.
///
/// Whoever makes a source gives it a `wake` function: it is called from any thread when there is something to take, at
/// most once until the next take, and must only schedule.
package protocol LiveSource<Delivery>: AnyObject, Sendable {
    associatedtype Delivery: Sendable

    /// What has changed since the last time, in one delivery; nil where nothing visible has, or the source has ended.
    ///
    /// - Throws: What reading the store throws.
    func take() throws -> Delivery?
    /// Whether nothing will come any more: the source was closed, or its store was and all has been taken.
    var hasEnded: Bool { get }
    /// Whether the next take reads the store and so may wait for the disk.
    var readsNext: Bool { get }
    /// Ends the source; nothing is delivered any more.
    func close()
}

/// What one commit made of one document, as one standing predicate sees it.
struct LiveChange: Sendable {
    var key: Int64
    var matchedBefore: Bool
    /// Whether the document matches after the commit.
    var matchesAfter: Bool
    /// The document after the commit, where it matches and the target wants contents.
    var content: SharedDocument?
}

/// What hears of the changes of a standing predicate's documents, on the writer's thread and in commit order.
protocol LiveTarget: AnyObject, Sendable {
    /// Whether changes bring documents.
    var wantsContents: Bool { get }
    /// Tells what a commit did; the changes name each document once. Adds whom to wake.
    func apply(_ changes: [LiveChange], sequence: Int64, waking sleepers: inout [WakeQueue.Wake])
    /// Tells that the store has closed.
    func storeDidClose()
}

/// What hears that collections were added, on the writer's thread.
protocol CatalogTarget: AnyObject, Sendable {
    func catalogDidChange()
    func storeDidClose()
}
