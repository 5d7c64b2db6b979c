import DocDBCore

extension Store {
    /// Sets who hears of commits that change these collections, in place of who heard before.
    ///
    /// The numbers are the observer's own names of the collections, which need not exist yet. Commits that end after this returns are told; the observer is not kept alive. Nil ends it.
    package func observe(_ collections: [String: Int64], by observer: (any CommitObserver)?) throws {
        let writer = try requireWriter()
        try writer.exclusively { writer.observe(collections, by: observer) }
    }
}
