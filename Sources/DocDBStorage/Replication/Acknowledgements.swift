package import DocDBCore
import DocDBQuery

/// Tells which documents' changes a keeper holds, in one moment of a store: those can be evicted.
///
/// A document is acknowledged where, for some keeper, its interest covers the document, it has not refused it, and each
/// commit that changed the document is among those it has acknowledged or came from a keeper itself.
package final class Acknowledgements {
    private struct Keeper {
        var number: Int64
        var acknowledgedSequence: Int64
        var interest: StoredInterest
        var predicates: [CollectionName: Predicate] = [:]
    }

    private enum Predicate {
        case nothing, everything
        case some(Evaluator)
    }

    private let context: ReadContext
    private let reader: ChangeLogReader
    private var keepers: [Keeper] = []
    /// All keepers, also those that have not announced an interest.
    private var keeperNumbers: Set<Int64> = []
    private let refusal: SQLiteStatement

    /// Whether there is a keeper at all that has announced an interest.
    package var hasKeepers: Bool { !keepers.isEmpty }

    package init(_ context: ReadContext) throws(DocDBError) {
        self.context = context
        reader = ChangeLogReader(connection: context.connection)
        refusal = try context.connection.prepare(
            "SELECT 1 FROM apart WHERE peer = ? AND side = 1 AND collection = ? AND key = ?")
        let rows = try context.connection.prepare(
            "SELECT number, acknowledged_seq, interest FROM peers WHERE is_keeper = 1 ORDER BY acknowledged_seq DESC")
        defer { rows.reset() }
        while try rows.step() {
            keeperNumbers.insert(rows.int(0))
            guard !rows.isNull(2) else { continue }
            keepers.append(
                Keeper(
                    number: rows.int(0), acknowledgedSequence: rows.int(1),
                    interest: try StoredInterest(bytes: rows.blob(2))))
        }
    }

    /// Whether a keeper holds all changes of a document.
    ///
    /// - Parameters:
    ///   - body: The visible document, nil where it is deleted.
    ///   - lastChange: The commit that changed it last.
    /// - Complexity: that of matching the keepers' predicates; where the last change is newer than what a keeper has
    ///   acknowledged, also of the changes since.
    package func isAcknowledged(
        _ collection: CollectionInfo, key: Int64, id: UnsafeRawBufferPointer, body: UnsafeRawBufferPointer?,
        lastChange: Int64
    ) throws(DocDBError) -> Bool {
        var newestOwn: Int64?
        for index in keepers.indices {
            guard try covers(index, collection, id: id, body: body),
                try !hasRefused(keepers[index].number, collection.number, key)
            else { continue }
            if lastChange <= keepers[index].acknowledgedSequence { return true }
            let newest: Int64
            if let newestOwn {
                newest = newestOwn
            } else {
                newest = try newestOwnChange(collection.number, key, lastChange)
            }
            newestOwn = newest
            if newest <= keepers[index].acknowledgedSequence { return true }
        }
        return false
    }

    /// The newest commit that every document has behind it for certain where a keeper wants all of a collection and has
    /// refused nothing of it; and that keeper. Nil where no keeper does.
    func unconditionalKeeper(of collection: CollectionInfo) throws(DocDBError) -> (number: Int64, sequence: Int64)? {
        for index in keepers.indices {
            if case .everything = try predicate(index, collection) {
                return (keepers[index].number, keepers[index].acknowledgedSequence)
            }
        }
        return nil
    }

    private func covers(
        _ index: Int, _ collection: CollectionInfo, id: UnsafeRawBufferPointer, body: UnsafeRawBufferPointer?
    ) throws(DocDBError) -> Bool {
        switch try predicate(index, collection) {
        case .nothing: false
        case .everything: true
        case .some(let evaluator): body.map { evaluator.matches(body: $0, id: id) } ?? false
        }
    }

    private func predicate(_ index: Int, _ collection: CollectionInfo) throws(DocDBError) -> Predicate {
        let name = CollectionName(collection.name)
        if let known = keepers[index].predicates[name] {
            guard case .some(let evaluator) = known, evaluator.needsRecompile(context.names) else { return known }
        }
        let predicate: Predicate
        switch keepers[index].interest.predicate(collection: collection.name) {
        case nil: predicate = .nothing
        case StoredInterest.unconditional: predicate = .everything
        case let text?:
            // A predicate of a newer version, which does not parse here, covers nothing for certain.
            let filter = try? Filter.parse(text)
            predicate = filter.map { .some(Evaluator($0, names: context.names)) } ?? .nothing
        }
        keepers[index].predicates[name] = predicate
        return predicate
    }

    private func hasRefused(_ peer: Int64, _ collection: Int64, _ key: Int64) throws(DocDBError) -> Bool {
        refusal.bind(1, peer)
        refusal.bind(2, collection)
        refusal.bind(3, key)
        defer { refusal.reset() }
        return try refusal.step()
    }

    /// The newest commit that changed a document and came from no keeper; zero where there is none.
    ///
    /// Where the log does not reach back, or values were erased, nothing is certain: then the commit at that place.
    private func newestOwnChange(_ collection: Int64, _ key: Int64, _ lastChange: Int64) throws(DocDBError) -> Int64 {
        let oldestWanted = keepers.map(\.acknowledgedSequence).min() ?? 0
        var sequence = lastChange
        while sequence > oldestWanted {
            guard
                let entry = try reader.oldestEntry(
                    of: sequence, collection: collection, key: key, isFrom: keeperNumbers)
            else { return sequence }
            switch entry.change {
            case .inserted: return 0
            case .changed(let previous, _) where previous < sequence: sequence = previous
            case .changed, .evicted, .erased: return sequence
            }
        }
        return sequence
    }
}

extension ChangeLogReader {
    /// The oldest entry that a record has of a document, or nil where there is none, or one is not from these peers.
    fileprivate func oldestEntry(
        of sequence: Int64, collection: Int64, key: Int64, isFrom peers: Set<Int64>
    ) throws(DocDBError) -> ChangeLogRecord.Entry? {
        var oldest: ChangeLogRecord.Entry?
        var isOwn = false
        try forEachEntry(of: sequence) { entry in
            guard entry.key == key, entry.collection == collection else { return true }
            if case .evicted = entry.change { return true }
            if oldest == nil { oldest = entry }
            isOwn = !peers.contains(entry.peer)
            return !isOwn
        }
        return isOwn ? nil : oldest
    }
}
