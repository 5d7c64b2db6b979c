package import DocDBCore

extension Store {
    /// Sets who hears of commits that change these collections, in place of who heard before.
    ///
    /// The numbers are the observer's own names of the collections, which need not exist yet. Commits that end after this
    /// returns are told; the observer is not kept alive. Nil ends it.
    ///
    /// - Throws: `misuse` within a write, which this would wait for; `databaseClosed`, or `readOnly`.
    package func observe(_ collections: [CollectionName: Int64], by observer: (any CommitObserver)?) throws {
        let writer = try requireWriter()
        try writer.exclusively { writer.observe(collections, by: observer) }
    }

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
}
