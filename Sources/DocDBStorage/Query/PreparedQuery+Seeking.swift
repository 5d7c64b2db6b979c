import DocDBCore
import DocDBQuery

/// A place in the order of a query's results, from which they are read on.
package struct ResultPlace: Sendable {
    /// The sort key up to which results are passed over: the query's order in bytes, or the key of the document in storage,
    /// eight bytes with the highest first, where it has no order. Empty for none.
    package let sortKey: [UInt8]
    /// A result no further than that, at which an index is entered; nil for its beginning.
    package let document: SharedDocument?

    package init(sortKey: [UInt8], document: SharedDocument?) {
        self.sortKey = sortKey
        self.document = document
    }

    fileprivate func precedes(_ bytes: UnsafeRawBufferPointer) -> Bool {
        sortKey.withUnsafeBytes { CBOR.compare($0, bytes) < 0 }
    }

    /// The key of the document, where the results are in storage order.
    fileprivate var storageKey: Int64 {
        guard sortKey.count == 8 else { return .min }
        return Int64(bitPattern: sortKey.reduce(UInt64(0)) { $0 << 8 | UInt64($1) })
    }
}

extension PreparedQuery {
    /// Calls `deliver` with the first results beyond a place, in order and up to the limit, until it returns false.
    func forEachResult(_ definition: QueryDefinition, beyond place: ResultPlace, _ deliver: Visit) throws {
        let limit = definition.limit ?? .max
        guard limit > 0 else { return }
        guard let sortKeys else { return try forEachResult(storedBeyond: place, limit, deliver) }
        guard try givesOrder() else {
            let keys = try self.sortedKeys(sortKeys, beyond: place, limit: definition.limit)
            try fetch(keys.prefix(limit), nil, deliver)
            return
        }
        var rest = limit
        try scan(entering: place) { body, row in
            try writeSortKey(sortKeys, body, row)
            guard place.precedes(scratch.pointee.sortKey.bytes) else { return true }
            rest -= 1
            return try deliver(body, row) && rest > 0
        }
    }

    private func writeSortKey(
        _ sortKeys: SortKeyEncoder, _ body: UnsafeRawBufferPointer, _ row: SQLiteStatement
    ) throws {
        scratch.pointee.sortKey.removeAll()
        guard sortKeys.append(body: body, id: id(of: row), to: &scratch.pointee.sortKey) else {
            throw damaged(row.int(0))
        }
    }

    /// The keys of the documents beyond a place in the wanted order, where nothing gives the order.
    private func sortedKeys(
        _ sortKeys: SortKeyEncoder, beyond place: ResultPlace, limit: Int?
    ) throws -> [Int64] {
        var sorter = ResultSorter(limit: limit)
        try scan(needsID: true) { body, row in
            try writeSortKey(sortKeys, body, row)
            let key = scratch.pointee.sortKey.bytes
            if place.precedes(key) { try sorter.add(key, key: row.int(0)) }
            return true
        }
        return sorter.finish()
    }

    private func forEachResult(storedBeyond place: ResultPlace, _ limit: Int, _ deliver: Visit) throws {
        let first = place.storageKey
        var rest = limit
        let counted: Visit = { body, row in
            rest -= 1
            return try deliver(body, row) && rest > 0
        }
        switch plan.access {
        case .documents:
            let rows = try context.connection.prepareOnce(
                "SELECT key, body, id FROM documents_\(collection.number) WHERE key > ?1 ORDER BY key")
            rows.bind(1, first)
            try step(rows, evaluator, counted)
        case .index(let scan):
            try fetch(try indexKeys(scan).filter { $0 > first }[...], evaluator, counted)
        case .nothing, .ids, .idOrder:
            try fetch(try matchingKeys().filter { $0 > first }.sorted()[...], nil, counted)
        }
    }

    /// Calls `visit` with each matching document in the order of the plan's access, from a place in it on where an index
    /// can be entered there, else from the beginning.
    private func scan(entering place: ResultPlace, _ visit: Visit) throws {
        switch plan.access {
        case .idOrder(let range, let isBackward):
            guard let part = place.document.flatMap({ range.beyond($0, isBackward: isBackward) }) else { break }
            let rows = try context.connection.prepareOnce(sql(.rows, part, isBackward: isBackward))
            part.bind(to: rows)
            try step(rows, evaluator, visit)
            return
        case .index(let scan) where !scan.findsDuplicates:
            guard let entry = try place.document.flatMap({ try entry(of: $0, in: scan.index) }) else { break }
            let rows = try statement(.rows)
            for range in scan.isBackward ? scan.ranges.reversed() : scan.ranges {
                let part = range.beyond(entry, isBackward: scan.isBackward)
                guard !part.isEmpty else { continue }
                rows.bind(part)
                guard try step(rows, evaluator, visit) else { return }
            }
            return
        case .nothing, .documents, .ids, .index: break
        }
        try scan(needsID: true, visit)
    }

    /// The document's one entry in an index; nil where it has several.
    private func entry(of document: SharedDocument, in index: IndexInfo) throws -> [UInt8]? {
        guard index.definition.multiValuedComponent == nil else { return nil }
        let encoder = IndexEntryEncoder(index.definition, names: context.names)
        var entries = IndexEntries()
        do {
            try document.content.withBytes { id, body, _ in try encoder.encode(body: body, id: id, into: &entries) }
        } catch {
            return nil
        }
        return entries.count == 1 ? Array(entries[0]) : nil
    }
}

extension KeyByteRange {
    /// The part of the range that is read after an entry; empty where there is none.
    fileprivate func beyond(_ entry: [UInt8], isBackward: Bool) -> KeyByteRange {
        if isBackward {
            return entry.lexicographicallyPrecedes(upper) ? KeyByteRange(lower: lower, upper: entry) : self
        }
        return lower.lexicographicallyPrecedes(entry) || lower == entry
            ? KeyByteRange(lower: entry + [0], upper: upper) : self
    }
}

extension IDRange {
    /// The part of the range that is read after a document; nil where its id is no number and no text.
    fileprivate func beyond(_ document: SharedDocument, isBackward: Bool) -> IDRange? {
        let id = document.content.withBytes { id, _, _ in try? DocumentID(canonicalCBOR: id) }
        let edge: Edge
        switch id?.value {
        case .int(let number): edge = .int(number)
        case .string(let text): edge = .text(Array(text.utf8))
        default: return nil
        }
        var part = self
        if isBackward {
            part.upper = Bound(edge: edge, isInclusive: false)
        } else {
            part.lower = Bound(edge: edge, isInclusive: false)
        }
        return part
    }
}
