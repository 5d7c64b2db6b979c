import DocDBCore

extension Store {
    /// Sets who hears of commits that change these collections, in place of who heard before.
    ///
    /// Commits that end after this returns are told; the observer is not kept alive. Nil, or no names, ends it.
    package func observe(_ collections: Set<String>, by observer: (any CommitObserver)?) throws {
        let writer = try requireWriter()
        try writer.exclusively { writer.observe(collections, by: observer) }
    }
}
