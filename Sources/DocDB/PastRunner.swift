import DocDBCore
import DocDBQuery
import DocDBStorage

/// A query over the documents as they were after a commit: a scan that unwinds what changed since.
struct PastRunner: QueryRunner {
    private let definition: QueryDefinition
    private let context: ReadContext
    private let sequence: Int64
    let names: FieldNames

    init(_ definition: QueryDefinition, in context: ReadContext, sequence: Int64) throws {
        if context.catalog[definition.collection] == nil { try Catalog.validate(collectionName: definition.collection) }
        self.definition = definition
        self.context = context
        self.sequence = sequence
        names = context.names
    }

    /// A result that waits for its place in the order.
    private struct Match {
        var sortKey: [UInt8]
        var id: [UInt8]
        var body: [UInt8]
    }

    func forEach(_ body: (UnsafeRawBufferPointer, UnsafeRawBufferPointer) throws -> Bool) throws {
        guard !definition.sort.isEmpty else { return try forEachUnsorted(body) }
        var matches = try sortedMatches().dropFirst(definition.offset)
        if let limit = definition.limit { matches = matches.prefix(limit) }
        for match in matches {
            let goesOn = try match.id.withUnsafeBytes { id in try match.body.withUnsafeBytes { try body(id, $0) } }
            if !goesOn { return }
        }
    }

    func count() throws -> Int {
        var count = 0
        try forEachMatch { _, _ in
            count += 1
            return true
        }
        let rest = max(count - definition.offset, 0)
        return definition.limit.map { min(rest, $0) } ?? rest
    }

    func exists() throws -> Bool {
        if definition.limit == 0 { return false }
        var rest = definition.offset
        var isFound = false
        try forEachMatch { _, _ in
            isFound = rest == 0
            rest -= 1
            return !isFound
        }
        return isFound
    }

    func explain() throws -> String { "full scan of the state after commit \(sequence)" }

    // MARK: Scanning

    private func forEachUnsorted(
        _ body: (UnsafeRawBufferPointer, UnsafeRawBufferPointer) throws -> Bool
    ) throws {
        var place = 0
        let end =
            definition.limit.map { definition.offset.addingReportingOverflow($0) }.map { $1 ? .max : $0 } ?? Int.max
        guard end > definition.offset else { return try requireHistory() }
        try forEachMatch { id, bytes in
            defer { place += 1 }
            guard place >= definition.offset else { return true }
            return try body(id, bytes) && place + 1 < end
        }
    }

    private func sortedMatches() throws -> [Match] {
        let encoder = try SortKeyEncoder(definition.sort, names: names)
        var matches: [Match] = []
        var key = ByteBuffer()
        try forEachMatch { id, body in
            key.removeAll()
            guard encoder.append(body: body, id: id, to: &key) else { throw damaged }
            matches.append(Match(sortKey: key.array, id: [UInt8](id), body: [UInt8](body)))
            return true
        }
        matches.sort { $0.sortKey.lexicographicallyPrecedes($1.sortKey) }
        return matches
    }

    private struct End: Error {}

    /// Calls `body` with each document that matched then, in storage order, until it returns false.
    private func forEachMatch(_ body: (UnsafeRawBufferPointer, UnsafeRawBufferPointer) throws -> Bool) throws {
        guard let collection = try context.collection(definition.collection) else { return try requireHistory() }
        let evaluator = Evaluator(definition.filter, names: names)
        do {
            try context.forEachDocument(in: collection, asOf: sequence) { _, id, bytes in
                guard evaluator.matches(body: bytes, id: id) else {
                    if evaluator.isDamaged { throw damaged }
                    if evaluator.didExhaustLimits {
                        throw DocDBError(
                            .limitReached, "a document takes the predicate too many steps; simplify the predicate")
                    }
                    return
                }
                guard try body(id, bytes) else { throw End() }
            }
        } catch is End {}
    }

    private func requireHistory() throws {
        try context.requireHistory(to: sequence, ChangeLogReader(connection: context.connection))
    }

    private var damaged: DocDBError {
        DocDBError(
            .corrupted, "a stored document is damaged; verify the database and restore a backup where it says so")
    }
}
