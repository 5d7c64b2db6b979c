package import DocDBCore
import Synchronization

extension Store {
    /// Sets which collections an observer hears of, in place of those that it heard of before.
    ///
    /// Commits that end after this returns are told; the observer is not kept alive. There may be several, who hear in the
    /// order in which they first came.
    ///
    /// - Returns: the newest commit that is not told.
    /// - Throws: `misuse` within a write, which this would wait for; `databaseClosed`, or `readOnly`.
    @discardableResult
    package func observe(_ collections: ObservedCollections, by observer: any CommitObserver) throws -> Int64 {
        let writer = try requireWriter()
        return try writer.exclusively {
            writer.observe(collections, by: observer)
            return writer.changeLog.state.nextSequence - 1
        }
    }

    /// Ends telling an observer of commits; one that hears of none is none the worse.
    ///
    /// - Throws: as `observe` does.
    package func endObserving(by observer: any CommitObserver) throws {
        let writer = try requireWriter()
        try writer.exclusively { writer.endObserving(by: observer) }
    }

    /// Whether commits to the store are this process's own: one open for reading is written to by others.
    package var hearsOfCommits: Bool { writer != nil }

    /// Checks that commits of this store can be observed, and that doing so would not wait for this thread itself.
    package func checkIsObservable() throws(DocDBError) {
        try checkIsOpen()
        guard let writer else {
            throw DocDBError(
                .misuse,
                "a database open for reading only hears of no commits; open it for writing to observe it, or run the query again"
            )
        }
        guard !writer.isHeldByThisThread else {
            throw DocDBError(
                .misuse,
                "an observation was begun within a write of the same database; begin it before or after the write")
        }
    }

    /// Tells all observers, and whom the store keeps, that it has closed.
    func tellClosed(_ observers: [any CommitObserver]) {
        for observer in observers { observer.didClose() }
        guard let kept = observerSlot.withLock({ $0 }), !observers.contains(where: { $0 === kept }) else { return }
        kept.didClose()
    }
}
