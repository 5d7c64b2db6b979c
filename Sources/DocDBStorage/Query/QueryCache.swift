import DocDBCore
import DocDBQuery

/// The queries that have been planned and compiled for one connection, by their shape.
final class QueryCache {
    /// The most queries that are kept; past it all are dropped and made anew.
    private static let countLimit = 128

    private var prepared: [QueryShape: PreparedQuery] = [:]

    /// Lets go of all of them, after collections or indexes have changed.
    func removeAll() { prepared.removeAll() }

    /// A query ready to run, made where it is new, stale, or running further out.
    func query(
        _ definition: QueryDefinition, isOrdered: Bool, in context: ReadContext
    ) throws(DocDBError) -> PreparedQuery? {
        var shape = definition.shape
        shape.isOrdered = isOrdered
        let known = prepared[shape]
        if let known, !known.isRunning, !known.needsRecompile { return known }
        guard let collection = context.catalog[definition.collection] else { return nil }
        let made = try PreparedQuery(definition, isOrdered: isOrdered, collection: collection, context: context)
        if known?.isRunning != true {
            if prepared.count >= Self.countLimit { prepared.removeAll() }
            prepared[shape] = made
        }
        return made
    }
}
